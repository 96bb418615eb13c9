// SPDX-License-Identifier: Apache-2.0
// Multiplies hidden states by blocks of lm_head, and keeps the running sums of each token
// (sq_logits.h).
#include "sim/llm/sq_logits.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_lanes.h"
#include "models/quant/sq_blas.h"
#include "sim/io/sq_checked.h"

enum {
    VOCAB_BLOCK = 4096, // rows of lm_head in memory at a time
    LOGIT_TOKENS = 512, // tokens of one block of logits
    LANES = 8,
};

// Running log-sum-exp of one token's logits, the most likely token, and the logit of the one that
// came.
struct logits {
    double max, sum, target;
    size_t top;
};

// A model's logits of one token, and the sum over the vocabulary of e^(p - max p) (p - q), p of the
// reference, q of the model.
struct own {
    struct logits logits;
    double cross;
};

struct blocks {
    const struct sq_tokens *tokens;
    size_t n_models;
    const float *const *x; // [n_models]
    const float *x_reference;
    size_t width;
    double cap;                     // soft cap of the logits, 0: none
    float *w;                       // [VOCAB_BLOCK][width]
    float *logit, *logit_reference; // [n_models][LOGIT_TOKENS][VOCAB_BLOCK], [LOGIT_TOKENS][...]
    struct own *own;                // [tokens][n_models]
    struct logits *reference;       // [tokens]
};

// ---- a row of logits ----------------------------------------------------------------------------

// LANES at once, whatever the width of the vectors: the same sums on every processor.
typedef float vec_f __attribute__((vector_size(4 * LANES)));
typedef double vec_d __attribute__((vector_size(8 * LANES)));
typedef int64_t vec_i __attribute__((vector_size(8 * LANES)));
typedef uint64_t vec_u __attribute__((vector_size(8 * LANES)));

// Vectors go through pointers: how they are passed depends on the processor.
SQ_LANES_BODY void widen(const float *x, vec_d *out)
{
    vec_f v;
    memcpy(&v, x, sizeof v);
    *out = __builtin_convertvector(v, vec_d);
}

// *to = e^*to of what is <= 0, relative error below 1e-15, 0 replaced by e^-708: x = i ln 2 + r, e^r by its
// Taylor polynomial, 2^i by its bits. In vectors, unlike exp, which took most of the scores' time.
SQ_LANES_BODY void exp_nonpositive(vec_d *to)
{
    vec_d x = *to;
    const double magic = 0x1.8p52; // adding it rounds to an integer, found in the low bits
    const vec_d least = (vec_d){0} - 708;
    const vec_i is_less = x < least; // keeps NaN
    x = (vec_d)(((vec_i)least & is_less) | ((vec_i)x & ~is_less));
    const vec_d shifted = x * 0x1.71547652b82fep0 + magic, i = shifted - magic;
    const vec_d r = x - i * 0x1.62e42fefa38p-1 - i * 0x1.ef35793c7673p-45;
    vec_d p = (vec_d){0} + 1.0 / 6227020800;
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
    *to = p * (vec_d)(((vec_u)shifted << 52) + (UINT64_C(1023) << 52));
}

// e[i] = e^(logit[i] - max) where e is not NULL; their sum. A row is padded to whole vectors.
SQ_LANES_BODY double exps_body(const float *logit, double max, size_t n, double *e)
{
    vec_d sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec_d v;
        widen(logit + i, &v);
        v -= max;
        exp_nonpositive(&v);
        sum += v;
        if (e)
            memcpy(e + i, &v, sizeof v);
    }
    if (i < n) {
        float rest[LANES] = {0};
        memcpy(rest, logit + i, (n - i) * sizeof *rest);
        vec_d v;
        widen(rest, &v);
        v -= max;
        exp_nonpositive(&v);
        for (size_t c = 0; c < n - i; c++)
            sum[c] += v[c];
        if (e)
            memcpy(e + i, &v, (n - i) * sizeof *e);
    }
    double all = 0;
    for (size_t c = 0; c < LANES; c++)
        all += sum[c];
    return all;
}

// Sum of e (logit - own).
SQ_LANES_BODY double cross_body(const double *e, const float *logit, const float *own, size_t n)
{
    vec_d sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec_d v, p, q;
        memcpy(&v, e + i, sizeof v);
        widen(logit + i, &p);
        widen(own + i, &q);
        sum += v * (p - q);
    }
    for (size_t c = 0; i < n; i++, c++)
        sum[c] += e[i] * ((double)logit[i] - (double)own[i]);
    double all = 0;
    for (size_t c = 0; c < LANES; c++)
        all += sum[c];
    return all;
}

SQ_LANES_BODY float max_body(const float *x, size_t n)
{
    float max = -INFINITY; // NaN is passed over
#pragma omp simd reduction(max : max)
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

SQ_LANES_EACH(double, return, exps, (const float *logit, double max, size_t n, double *e), logit,
              max, n, e)
SQ_LANES_EACH(double, return, cross,
              (const double *e, const float *logit, const float *own, size_t n), e, logit, own, n)
SQ_LANES_EACH(float, return, max, (const float *x, size_t n), x, n)

// ---- sums over blocks ---------------------------------------------------------------------------

// The logits [first, first + n) of a token: the new maximum, the factor by which the sums so far
// shrink under it, and the sum of its exponentials, which are left in e where it is not NULL.
static double add_logits(struct logits *l, const float *logit, size_t n, size_t first,
                         size_t target, double *e)
{
    const double before = l->max;
    const float max = SQ_LANES_BEST(max)(logit, n);
    if ((double)max > l->max) {
        size_t i = 0;
        while (logit[i] != max)
            i++;
        l->max = (double)max;
        l->top = first + i;
    }
    const double shrink = exp(before - l->max);
    l->sum = l->sum * shrink + SQ_LANES_BEST(exps)(logit, l->max, n, e);
    if (target >= first && target < first + n)
        l->target = (double)logit[target - first];
    return shrink;
}

// The same of token t of every model, whose logits are row `row` of the blocks.
static void add_token(const struct blocks *b, size_t t, size_t row, size_t n, size_t first)
{
    double e[VOCAB_BLOCK];
    const size_t target = (size_t)b->tokens->id[t + 1];
    const float *reference = b->x_reference ? b->logit_reference + row * n : NULL;
    const double shrink =
        reference ? add_logits(&b->reference[t], reference, n, first, target, e) : 0;
    for (size_t j = 0; j < b->n_models; j++) {
        struct own *o = &b->own[t * b->n_models + j];
        const float *own = b->logit + (j * LOGIT_TOKENS * VOCAB_BLOCK) + row * n;
        (void)add_logits(&o->logits, own, n, first, target, NULL);
        if (reference)
            o->cross = o->cross * shrink + SQ_LANES_BEST(cross)(e, reference, own, n);
    }
}

// Logits of m tokens and n rows of lm_head.
static void multiply(const struct blocks *b, const float *x, size_t m, size_t n, float *logit)
{
    sq_blas_xwt(x, b->w, m, n, b->width, logit);
    for (size_t i = 0; b->cap > 0 && i < m * n; i++)
        logit[i] = (float)(b->cap * tanh((double)logit[i] / b->cap));
}

// Rows [first, first + n) of lm_head against all tokens.
static void add_vocab_block(const struct blocks *b, size_t first, size_t n)
{
    const size_t count = sq_tokens_count(b->tokens);
    for (size_t t = 0; t < count; t += LOGIT_TOKENS) {
        const size_t m = sq_smaller(LOGIT_TOKENS, count - t), at = t * b->width;
        for (size_t j = 0; j < b->n_models; j++)
            multiply(b, b->x[j] + at, m, n, b->logit + j * LOGIT_TOKENS * VOCAB_BLOCK);
        if (b->x_reference)
            multiply(b, b->x_reference + at, m, n, b->logit_reference);
#pragma omp parallel for
        for (size_t i = 0; i < m; i++)
            if (t + i + 1 < count) // the next token is the target; the caller skips boundaries
                add_token(b, t + i, i, n, first);
    }
}

static double log_sum(const struct logits *l)
{
    return l->max + log(l->sum);
}

// reference NULL: there is none.
static struct sq_token_score score_of(const struct own *own, const struct logits *reference)
{
    struct sq_token_score s = {.nll = log_sum(&own->logits) - own->logits.target};
    if (reference) {
        const double kl = own->cross / reference->sum - log_sum(reference) + log_sum(&own->logits);
        s.nll_reference = log_sum(reference) - reference->target;
        s.kl = kl < 0 ? 0 : kl; // it is the rounding that is below 0; keeps NaN
        s.is_same_top = reference->top == own->logits.top;
    }
    return s;
}

static enum sq_status allocate(struct blocks *b, struct sq_error *err)
{
    const size_t count = sq_tokens_count(b->tokens), n = b->n_models;
    b->own = calloc(count, n * sizeof *b->own);
    b->reference = calloc(count, sizeof *b->reference);
    b->w = calloc(VOCAB_BLOCK, b->width * sizeof *b->w);
    b->logit = calloc(n * LOGIT_TOKENS, VOCAB_BLOCK * sizeof *b->logit);
    b->logit_reference = calloc(LOGIT_TOKENS, VOCAB_BLOCK * sizeof *b->logit);
    SQ_NEED(b->own && b->reference && b->w && b->logit && b->logit_reference, err,
            "the loss of %zu tokens", count);
    for (size_t i = 0; i < count; i++)
        b->reference[i].max = -INFINITY;
    for (size_t i = 0; i < count * n; i++)
        b->own[i].logits.max = -INFINITY;
    return SQ_OK;
}

static const struct sq_tensor *head_of(const struct sq_checkpoint *ck)
{
    return sq_checkpoint_find(ck, ck->config.tie_word_embeddings ? "model.embed_tokens.weight"
                                                                 : "lm_head.weight");
}

enum sq_status sq_logits_score_all(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                                   const float *const *x, size_t n_models, const float *x_reference,
                                   struct sq_token_score *const *score, struct sq_error *err)
{
    const struct sq_model_config *c = &ck->config;
    const struct sq_tensor *head = head_of(ck);
    struct blocks b = {.tokens = tokens,
                       .n_models = n_models,
                       .x = x,
                       .x_reference = x_reference,
                       .width = c->hidden_size,
                       .cap = c->logit_cap};
    enum sq_status status = allocate(&b, err);
    for (size_t first = 0; status == SQ_OK && first < c->vocab_size; first += VOCAB_BLOCK) {
        const size_t n = sq_smaller(VOCAB_BLOCK, c->vocab_size - first);
        const struct sq_tensor rows = sq_tensor_rows(head, first, n);
        status = sq_tensor_read_f32(&rows, b.w, err);
        if (status == SQ_OK)
            add_vocab_block(&b, first, n);
    }
    for (size_t i = 0; status == SQ_OK && i < sq_tokens_count(tokens); i++)
        for (size_t j = 0; j < n_models; j++)
            score[j][i] = score_of(&b.own[i * n_models + j], x_reference ? &b.reference[i] : NULL);
    sq_checkpoint_forget(ck, head);
    SQ_FREE(b.own, b.reference, b.w, b.logit, b.logit_reference);
    return status;
}

enum sq_status sq_logits_of(const struct sq_checkpoint *ck, const float *x, float *logit,
                            struct sq_error *err)
{
    const struct sq_model_config *c = &ck->config;
    const struct sq_tensor *head = head_of(ck);
    struct blocks b = {.width = c->hidden_size, .cap = c->logit_cap};
    enum sq_status status = SQ_OK;
    b.w = calloc(VOCAB_BLOCK, b.width * sizeof *b.w);
    SQ_NEED(b.w, err, "the logits of a token");
    for (size_t first = 0; status == SQ_OK && first < c->vocab_size; first += VOCAB_BLOCK) {
        const size_t n = sq_smaller(VOCAB_BLOCK, c->vocab_size - first);
        const struct sq_tensor rows = sq_tensor_rows(head, first, n);
        status = sq_tensor_read_f32(&rows, b.w, err);
        if (status == SQ_OK)
            multiply(&b, x, 1, n, logit + first);
    }
    sq_checkpoint_forget(ck, head);
    free(b.w);
    return status;
}

enum sq_status sq_logits_score(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                               const float *x, const float *x_reference,
                               struct sq_token_score *score, struct sq_error *err)
{
    return sq_logits_score_all(ck, tokens, &x, 1, x_reference, &score, err);
}

enum sq_status sq_logits_nll(const struct sq_tokens *tokens, const struct sq_token_score *score,
                             double *nll, struct sq_error *err)
{
    *nll = 0;
    for (size_t i = 0; i < tokens->n_sequences; i++)
        for (size_t t = tokens->offset[i] + sq_tokens_first_predicted(tokens, i) - 1;
             t + 1 < tokens->offset[i + 1]; t++)
            *nll += score[t].nll;
    SQ_FAIL_IF(!isfinite(*nll), err, SQ_ERR_NON_FINITE, "the loss is %g: a logit is not finite",
               *nll);
    return SQ_OK;
}
