// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_logits.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"

enum {
    VOCAB_BLOCK = 4096, // rows of lm_head in memory at a time
    LOGIT_TOKENS = 256, // tokens of one block of logits
    LANES = 8,
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Running log-sum-exp of one token's logits, the most likely token, and the logit of the one that
// came.
struct logits {
    double max, sum, target;
    size_t top;
};

// Both sets' logits of one token, and sum over the vocabulary of e^(p - max p) (p - q).
struct pair {
    struct logits reference, own;
    double cross;
};

struct blocks {
    const struct sq_tokens *tokens;
    const float *x, *x_reference;
    size_t width;
    float *w;                       // [VOCAB_BLOCK][width]
    float *logit, *logit_reference; // [LOGIT_TOKENS][VOCAB_BLOCK]
    struct pair *pair;              // [tokens]
};

// The factor by which the sums so far shrink under the new maximum.
static double raise_max(struct logits *l, const float *logit, size_t n, size_t first)
{
    const double before = l->max;
    for (size_t i = 0; i < n; i++)
        if ((double)logit[i] > l->max) {
            l->max = (double)logit[i];
            l->top = first + i;
        }
    const double shrink = exp(before - l->max);
    l->sum *= shrink;
    return shrink;
}

// e^x for x <= 0, relative error below 1e-15, 0 replaced by e^-708: x = i ln 2 + r, e^r by its
// Taylor polynomial, 2^i by its bits. In vectors, unlike exp, which took most of the scores' time.
static inline __attribute__((always_inline)) double exp_nonpositive(double x)
{
    const double magic = 0x1.8p52; // adding it rounds to an integer, found in the low bits
    x = x < -708 ? -708 : x;       // keeps NaN
    const double shifted = x * 0x1.71547652b82fep0 + magic, i = shifted - magic;
    const double r = x - i * 0x1.62e42fefa38p-1 - i * 0x1.ef35793c7673p-45;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 1.0 / 2;
    p = (p * r + 1) * r + 1;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + (UINT64_C(1023) << 52);
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

// Sums over logits of e = e^(logit - max), and of e (logit - own), in LANES partial sums whatever
// the width of the vectors, so that they are the same on every processor.
struct sums {
    double e, cross;
};

static inline __attribute__((always_inline)) struct sums
sums_body(const float *logit, const float *own, double max, size_t n)
{
    double e[LANES] = {0}, cross[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
#pragma omp simd
        for (size_t c = 0; c < LANES; c++) {
            const double x = exp_nonpositive((double)logit[i + c] - max);
            e[c] += x;
            cross[c] += x * ((double)logit[i + c] - (double)own[i + c]);
        }
    for (; i < n; i++) {
        const double x = exp_nonpositive((double)logit[i] - max);
        e[i % LANES] += x;
        cross[i % LANES] += x * ((double)logit[i] - (double)own[i]);
    }
    struct sums s = {0, 0};
    for (size_t c = 0; c < LANES; c++) {
        s.e += e[c];
        s.cross += cross[c];
    }
    return s;
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq,prefer-vector-width=512"))) static struct sums
sums_avx512(const float *logit, const float *own, double max, size_t n)
{
    return sums_body(logit, own, max, n);
}
#endif

static struct sums sums_of(const float *logit, const float *own, double max, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return sums_avx512(logit, own, max, n);
#endif
    return sums_body(logit, own, max, n);
}

static void add_logits(struct logits *l, const float *logit, size_t n, size_t first, size_t target)
{
    (void)raise_max(l, logit, n, first);
    l->sum += sums_of(logit, logit, l->max, n).e;
    if (target >= first && target < first + n)
        l->target = (double)logit[target - first];
}

// The same of the reference, with what ties it to `own`.
static void add_reference(struct pair *p, const float *logit, const float *own, size_t n,
                          size_t first, size_t target)
{
    struct logits *l = &p->reference;
    p->cross *= raise_max(l, logit, n, first);
    const struct sums s = sums_of(logit, own, l->max, n);
    l->sum += s.e;
    p->cross += s.cross;
    if (target >= first && target < first + n)
        l->target = (double)logit[target - first];
}

// Rows [first, first + n) of lm_head against all tokens.
static void add_vocab_block(const struct blocks *b, size_t first, size_t n)
{
    const size_t count = sq_tokens_count(b->tokens);
    for (size_t t = 0; t < count; t += LOGIT_TOKENS) {
        const size_t m = min_size(LOGIT_TOKENS, count - t), at = t * b->width;
        sq_blas_xwt(b->x + at, b->w, m, n, b->width, b->logit);
        if (b->x_reference)
            sq_blas_xwt(b->x_reference + at, b->w, m, n, b->width, b->logit_reference);
#pragma omp parallel for
        for (size_t i = 0; i < m; i++) {
            if (t + i + 1 == count) // the next token is the target; the caller skips boundaries
                continue;
            const size_t target = (size_t)b->tokens->id[t + i + 1];
            const float *own = b->logit + i * n;
            add_logits(&b->pair[t + i].own, own, n, first, target);
            if (b->x_reference)
                add_reference(&b->pair[t + i], b->logit_reference + i * n, own, n, first, target);
        }
    }
}

static double log_sum(const struct logits *l)
{
    return l->max + log(l->sum);
}

static struct sq_token_score score_of(const struct pair *p, bool has_reference)
{
    struct sq_token_score s = {.nll = log_sum(&p->own) - p->own.target};
    if (has_reference) {
        const double kl = p->cross / p->reference.sum - log_sum(&p->reference) + log_sum(&p->own);
        s.nll_reference = log_sum(&p->reference) - p->reference.target;
        s.kl = kl < 0 ? 0 : kl; // it is the rounding that is below 0; keeps NaN
        s.is_same_top = p->reference.top == p->own.top;
    }
    return s;
}

static enum sq_status allocate(struct blocks *b, size_t vocab, struct sq_error *err)
{
    const size_t count = sq_tokens_count(b->tokens), block = min_size(VOCAB_BLOCK, vocab);
    b->pair = calloc(count, sizeof *b->pair);
    b->w = calloc(block, b->width * sizeof *b->w);
    b->logit = calloc(LOGIT_TOKENS, block * sizeof *b->logit);
    b->logit_reference = calloc(b->x_reference ? LOGIT_TOKENS : 1, block * sizeof *b->logit);
    if (!b->pair || !b->w || !b->logit || !b->logit_reference)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the loss of %zu tokens", count);
    for (size_t i = 0; i < count; i++)
        b->pair[i].own.max = b->pair[i].reference.max = -INFINITY;
    return SQ_OK;
}

enum sq_status sq_logits_score(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                               const float *x, const float *x_reference,
                               struct sq_token_score *score, struct sq_error *err)
{
    const struct sq_model_config *c = &ck->config;
    const struct sq_tensor *head = sq_checkpoint_find(
        ck, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    struct blocks b = {
        .tokens = tokens, .x = x, .x_reference = x_reference, .width = c->hidden_size};
    enum sq_status status = allocate(&b, c->vocab_size, err);
    for (size_t first = 0; status == SQ_OK && first < c->vocab_size; first += VOCAB_BLOCK) {
        const size_t n = min_size(VOCAB_BLOCK, c->vocab_size - first);
        const struct sq_tensor rows = sq_tensor_rows(head, first, n);
        status = sq_tensor_read_f32(&rows, b.w, err);
        if (status == SQ_OK)
            add_vocab_block(&b, first, n);
    }
    for (size_t i = 0; status == SQ_OK && i < sq_tokens_count(tokens); i++)
        score[i] = score_of(&b.pair[i], x_reference);
    sq_checkpoint_forget(ck, head);
    free(b.pair);
    free(b.w);
    free(b.logit);
    free(b.logit_reference);
    return status;
}

enum sq_status sq_logits_nll(const struct sq_tokens *tokens, const struct sq_token_score *score,
                             double *nll, struct sq_error *err)
{
    *nll = 0;
    for (size_t i = 0; i < tokens->n_sequences; i++)
        for (size_t t = tokens->offset[i] + sq_tokens_first_predicted(tokens, i) - 1;
             t + 1 < tokens->offset[i + 1]; t++)
            *nll += score[t].nll;
    if (!isfinite(*nll))
        return SQ_FAIL(err, SQ_ERR_NON_FINITE, "the loss is %g: a logit is not finite", *nll);
    return SQ_OK;
}
