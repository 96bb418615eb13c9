// SPDX-License-Identifier: Apache-2.0
// Runs embedding, blocks, norm and loss of a decoder (sq_llama.h).
#include "sim/llm/sq_llama.h"

#include <math.h>
#include <stdlib.h>

#include "models/number/sq_half.h"
#include "models/quant/sq_blas.h"
#include "models/vector/sq_attend.h"
#include "models/vector/sq_vector.h"
#include "sim/io/sq_checked.h"
#include "sim/llm/sq_attention.h"
#include "sim/llm/sq_logits.h"
#include "sim/llm/sq_softmax.h"

enum {
    MANY = 16, // tokens from which on threads are worth their start
    NORM_TOKENS = 8,
    NAME_MAX_LEN = 80,
};

// ---- set-up ---------------------------------------------------------------------------------

// Rotary frequency of pair i; Llama 3.1 stretches long wavelengths by `factor` and blends between.
static double frequency(const struct sq_rope *r, size_t head_dim, size_t i)
{
    const double f = pow(r->theta, -2.0 * (double)i / (double)head_dim) / r->linear;
    if (!r->is_llama3)
        return f;
    const double wavelength = 2 * acos(-1.0) / f, context = (double)r->original_max_position;
    if (wavelength < context / r->high_freq_factor)
        return f;
    if (wavelength > context / r->low_freq_factor)
        return f / r->factor;
    const double smooth =
        (context / wavelength - r->low_freq_factor) / (r->high_freq_factor - r->low_freq_factor);
    return (1 - smooth) * f / r->factor + smooth * f;
}

// Llama 3's scaling comes as a tensor in GGUF: what each frequency is divided by.
static enum sq_status read_divisors(const struct sq_checkpoint *ck, float *divisor, size_t n,
                                    struct sq_error *err)
{
    static const char name[] = "rope_freqs.weight";
    for (size_t i = 0; i < n; i++)
        divisor[i] = 1;
    return ck->tensor && sq_checkpoint_find(ck, name)
               ? sq_checkpoint_read(ck, name, divisor, n, err)
               : SQ_OK;
}

// rotation[i]: what frequency i is divided by, on entry; each is used before its place is.
static void fill_rotation(const struct sq_rope *r, size_t head_dim, size_t n_positions,
                          float *rotation)
{
    const size_t half = head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        const double f = frequency(r, head_dim, i) / (double)rotation[i];
        for (size_t p = 0; p < n_positions; p++) {
            rotation[p * head_dim + i] = (float)(r->attention_factor * cos((double)p * f));
            rotation[p * head_dim + half + i] = (float)(r->attention_factor * sin((double)p * f));
        }
    }
}

static enum sq_status fill_rotations(struct sq_llama *s, size_t n_positions, struct sq_error *err)
{
    const struct sq_model_config *c = &s->ck->config;
    SQ_TRY(read_divisors(s->ck, s->rotation, c->head_dim / 2, err));
    fill_rotation(&c->rope, c->head_dim, n_positions, s->rotation);
    for (size_t i = 0; s->local && i < c->head_dim / 2; i++)
        s->local[i] = 1;
    if (s->local)
        fill_rotation(&c->local_rope, c->head_dim, n_positions, s->local);
    return SQ_OK;
}

// Rows [first, first + n) of a matrix tensor as binary32.
static enum sq_status read_rows(const struct sq_tensor *t, size_t first, size_t n, float *out,
                                struct sq_error *err)
{
    const struct sq_tensor rows = sq_tensor_rows(t, first, n);
    return sq_tensor_read_f32(&rows, out, err);
}

static enum sq_status embed(struct sq_llama *s, struct sq_error *err)
{
    const struct sq_model_config *c = &s->ck->config;
    const struct sq_tensor *t = sq_checkpoint_find(s->ck, "model.embed_tokens.weight");
    for (size_t i = 0; i < sq_tokens_count(s->tokens); i++) {
        const int32_t id = s->tokens->id[i];
        SQ_FAIL_IF(id < 0 || (size_t)id >= c->vocab_size, err, SQ_ERR_INDEX,
                   "token %zu = %d, need 0..%zu, the vocabulary", i, (int)id, c->vocab_size - 1);
        float *h = s->h + i * c->hidden_size;
        SQ_TRY(read_rows(t, (size_t)id, 1, h, err));
        for (size_t j = 0; j < c->hidden_size; j++)
            h[j] *= (float)c->embedding_scale;
    }
    sq_checkpoint_forget(s->ck, t);
    return SQ_OK;
}

static size_t longest_sequence(const struct sq_tokens *t)
{
    size_t longest = 0;
    for (size_t i = 0; i < t->n_sequences; i++)
        longest = sq_larger(longest, t->offset[i + 1] - t->offset[i]);
    return longest;
}

// Positions that a token may have.
static size_t n_positions(const struct sq_llama *s)
{
    return s->capacity > 0 ? s->capacity : longest_sequence(s->tokens);
}

static enum sq_status allocate(struct sq_llama *s, struct sq_error *err)
{
    const struct sq_model_config *c = &s->ck->config;
    const size_t n = sq_tokens_count(s->tokens), q = c->n_heads * c->head_dim;
    const size_t kv = c->n_kv_heads * c->head_dim;
    size_t largest = 0;
    for (size_t i = 0; i < s->ck->n_layers; i++)
        largest = sq_larger(largest, s->ck->layer[i].n * s->ck->layer[i].k);
    s->h = calloc(n, c->hidden_size * sizeof(float));
    s->x = calloc(n, sq_larger(q, c->hidden_size) * sizeof(float));
    s->q = calloc(n, sq_larger(q, c->hidden_size) * sizeof(float));
    if (s->capacity > 0)
        s->kept = calloc(2 * c->n_layers * s->capacity, kv * sizeof(float));
    else {
        s->k = calloc(n, kv * sizeof(float));
        s->v = calloc(n, kv * sizeof(float));
    }
    s->gate = calloc(n, c->intermediate_size * sizeof(float));
    s->up = calloc(n, c->intermediate_size * sizeof(float));
    s->w = calloc(sq_larger(largest, c->hidden_size), sizeof(float));
    s->rotation = calloc(n_positions(s), c->head_dim * sizeof(float));
    if (c->local_window > 0)
        s->local = calloc(n_positions(s), c->head_dim * sizeof(float));
    const bool has_keys = s->capacity > 0 ? s->kept != NULL : s->k && s->v;
    if (!s->h || !s->x || !s->q || !has_keys || !s->gate || !s->up || !s->w || !s->rotation ||
        (c->local_window > 0 && !s->local))
        return SQ_NO_MEMORY(err, "the activations of %zu tokens", n);
    return SQ_OK;
}

static enum sq_status set_up(struct sq_llama *s, struct sq_error *err)
{
    SQ_FAIL_IF(s->ck->is_model && n_positions(s) > s->ck->config.window, err, SQ_ERR_UNSUPPORTED,
               "a sequence of %zu tokens is longer than sliding_window = %zu; only full "
               "attention is supported",
               n_positions(s), s->ck->config.window);
    SQ_FAIL_IF(!s->ck->is_model, err, SQ_ERR_UNSUPPORTED,
               "a forward pass needs a model directory with config.json, or GGUF");
    SQ_TRY(allocate(s, err));
    return fill_rotations(s, n_positions(s), err);
}

enum sq_status sq_llama_init(struct sq_llama *s, const struct sq_checkpoint *ck,
                             const struct sq_tokens *tokens, struct sq_error *err)
{
    *s = (struct sq_llama){.ck = ck, .tokens = tokens, .held = SIZE_MAX};
    enum sq_status status = set_up(s, err);
    SQ_THEN(status, embed(s, err));
    return SQ_ELSE(status, sq_llama_free(s));
}

enum sq_status sq_llama_init_cached(struct sq_llama *s, const struct sq_checkpoint *ck,
                                    const struct sq_tokens *tokens, size_t capacity,
                                    struct sq_error *err)
{
    *s = (struct sq_llama){.ck = ck, .tokens = tokens, .held = SIZE_MAX, .capacity = capacity};
    const enum sq_status status = set_up(s, err);
    return SQ_ELSE(status, sq_llama_free(s));
}

enum sq_status sq_llama_next(struct sq_llama *s, const struct sq_tokens *tokens,
                             struct sq_error *err)
{
    const size_t n = sq_tokens_count(tokens);
    SQ_FAIL_IF(s->past + s->fed + n > s->capacity, err, SQ_ERR_RANGE,
               "%zu tokens, need at most %zu", s->past + s->fed + n, s->capacity);
    s->past += s->fed;
    s->fed = n;
    s->tokens = tokens;
    return embed(s, err);
}

enum sq_status sq_llama_init_beside(struct sq_llama *s, const struct sq_llama *of,
                                    struct sq_error *err)
{
    const size_t n = sq_tokens_count(of->tokens);
    *s = *of;
    s->is_beside = true;
    s->h = calloc(n, of->ck->config.hidden_size * sizeof(float));
    const enum sq_status status =
        s->h ? embed(s, err) : SQ_NO_MEMORY(err, "the activations of %zu tokens", n);
    return SQ_ELSE(status, sq_llama_free(s));
}

void sq_llama_free(struct sq_llama *s)
{
    float *const keys = s->capacity ? NULL : s->k, *const values = s->capacity ? NULL : s->v;
    float *const buffer[] = {s->h,  s->x, s->q,        keys,     values, s->gate,
                             s->up, s->w, s->rotation, s->local, s->kept};
    const size_t n_owned = s->is_beside ? 1 : sizeof buffer / sizeof buffer[0];
    for (size_t i = 0; i < n_owned; i++)
        free(buffer[i]);
    *s = (struct sq_llama){0};
}

// ---- the operations of a block --------------------------------------------------------------

// Sums of squares of n <= NORM_TOKENS tokens, each by ascending index: side by side they do not wait
// for one another's additions.
static void squares(const float *h, size_t n, size_t width, double sum[NORM_TOKENS])
{
    const float *row[NORM_TOKENS];
    for (size_t t = 0; t < NORM_TOKENS; t++) {
        row[t] = h + (t < n ? t : 0) * width;
        sum[t] = 0;
    }
    for (size_t i = 0; i < width; i++)
        for (size_t t = 0; t < NORM_TOKENS; t++)
            sum[t] += (double)row[t][i] * (double)row[t][i];
}

// out = in / rms(in) * gain, of n rows; s->w holds the gain meanwhile. out may be in.
static enum sq_status rms_norm(struct sq_llama *s, const char *name, const float *in, size_t n,
                               size_t width, float *out, struct sq_error *err)
{
    s->held = SIZE_MAX;
    SQ_TRY(sq_checkpoint_read(s->ck, name, s->w, width, err));
    for (size_t i = 0; s->ck->config.has_offset_gain && i < width; i++)
        s->w[i] += 1;
    if (s->steps_nbytes)
        return sq_vector_steps_norm(s->steps_nbytes, in, s->w, (float)s->ck->config.rms_norm_eps, n,
                                    width, out, err);
#pragma omp parallel for if (n >= MANY)
    for (size_t first = 0; first < n; first += NORM_TOKENS) {
        const size_t end = sq_smaller(first + NORM_TOKENS, n);
        double sum[NORM_TOKENS];
        squares(in + first * width, end - first, width, sum);
        for (size_t t = first; t < end; t++) {
            const double mean = sum[t - first] / (double)width;
            const float scale = (float)(1 / sqrt(mean + s->ck->config.rms_norm_eps));
            const float *h = in + t * width;
            float *to = out + t * width;
#pragma omp simd
            for (size_t i = 0; i < width; i++)
                to[i] = h[i] * scale * s->w[i];
        }
    }
    return SQ_OK;
}

// Rotates the pairs (i, i + half) of every head of one token.
static void rotate(float *v, size_t n_heads, size_t head_dim, const float *rotation)
{
    const size_t half = head_dim / 2;
    for (size_t head = 0; head < n_heads; head++, v += head_dim)
        for (size_t i = 0; i < half; i++) {
            const float a = v[i], b = v[half + i], c = rotation[i], d = rotation[half + i];
            v[i] = a * c - b * d;
            v[half + i] = b * c + a * d;
        }
}

static enum sq_status rotate_all(struct sq_llama *s, const float *table, struct sq_error *err)
{
    const struct sq_model_config *c = &s->ck->config;
    const size_t q = c->n_heads * c->head_dim, kv = c->n_kv_heads * c->head_dim;
    for (size_t i = 0; s->steps_nbytes && i < s->tokens->n_sequences; i++) {
        const size_t t = s->tokens->offset[i], n = s->tokens->offset[i + 1] - t;
        const float *const rotation = table + s->past * c->head_dim;
        SQ_TRY(sq_vector_steps_rotary(s->steps_nbytes, s->q + t * q, rotation, c->n_heads,
                                      n * c->n_heads, c->head_dim, err));
        SQ_TRY(sq_vector_steps_rotary(s->steps_nbytes, s->k + (s->past + t) * kv, rotation,
                                      c->n_kv_heads, n * c->n_kv_heads, c->head_dim, err));
    }
    if (s->steps_nbytes)
        return SQ_OK;
#pragma omp parallel for schedule(dynamic) if (sq_tokens_count(s->tokens) >= MANY)
    for (size_t i = 0; i < s->tokens->n_sequences; i++)
        for (size_t t = s->tokens->offset[i]; t < s->tokens->offset[i + 1]; t++) {
            const float *rotation = table + (s->past + t - s->tokens->offset[i]) * c->head_dim;
            rotate(s->q + t * q, c->n_heads, c->head_dim, rotation);
            rotate(s->k + (s->past + t) * kv, c->n_kv_heads, c->head_dim, rotation);
        }
    return SQ_OK;
}

// Keys, or values, as the cache gives them back: each head of a token is a row.
static enum sq_status through_cache(const struct sq_llama *s, float *kv, struct sq_error *err)
{
    const struct sq_model_config *c = &s->ck->config;
    enum sq_status status = SQ_OK;
    for (size_t i = 0; s->has_int8 && i < sq_tokens_count(s->tokens) * c->n_kv_heads; i++)
        sq_attend_round_int8(kv + i * c->head_dim, c->head_dim);
    if (!s->cache)
        return SQ_OK;
#pragma omp parallel for schedule(dynamic, 16) if (sq_tokens_count(s->tokens) >= MANY)
    for (size_t i = 0; i < sq_tokens_count(s->tokens) * c->n_kv_heads; i++) {
        struct sq_error why;
        const enum sq_status mine =
            sq_cache_round(s->cache, kv + i * c->head_dim, c->head_dim, &why);
        if (mine != SQ_OK) {
#pragma omp critical
            {
                status = mine;
                if (err)
                    *err = why;
            }
        }
    }
    return status;
}

static void soft_cap(float *x, size_t n, double cap)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(cap * tanh((double)x[i] / cap));
}

// The first key that query i sees: as many as `window`, itself among them.
static size_t first_key(size_t i, size_t window)
{
    return i + 1 > window ? i + 1 - window : 0;
}

// Rows of a cache in binary16: of a head of d.
static void round_rows(const float *x, size_t ld, size_t n, size_t d, float *out)
{
    for (size_t i = 0; i < n; i++)
        sq_half_round_all(x + i * ld, d, out + i * d);
}

// One head of one sequence into s->x; score is scratch of as many floats as there are keys, for the attention unit of
// 2 d times as many more.
static void attend(struct sq_llama *s, size_t sequence, size_t head, size_t window, float *score)
{
    const struct sq_model_config *c = &s->ck->config;
    const size_t d = c->head_dim, ld_q = c->n_heads * d, ld_kv = c->n_kv_heads * d;
    const size_t kv_head = head / (c->n_heads / c->n_kv_heads);
    const size_t begin = s->tokens->offset[sequence];
    const size_t length = s->past + s->tokens->offset[sequence + 1] - begin;
    const float *k = s->k + begin * ld_kv + kv_head * d, *v = s->v + begin * ld_kv + kv_head * d;
    const float scale = 1 / sqrtf((float)c->query_scale);
    const bool is_unit = s->softmax_lanes == SQ_LLAMA_ATTEND,
               is_rounded = is_unit && !s->cache && !s->has_int8;
    const size_t ld = is_rounded ? d : ld_kv;
    float scaled[SQ_ATTEND_HEAD_MAX];
    if (is_rounded) {
        float *const key = score + length, *const value = key + length * d;
        round_rows(k, ld_kv, length, d, key);
        round_rows(v, ld_kv, length, d, value);
        k = key;
        v = value;
    }
    for (size_t i = s->past; i < length; i++) {
        const size_t first = first_key(i, window), keys = i + 1 - first;
        const size_t at = (begin + i - s->past) * ld_q + head * d;
        if (is_unit) {
            for (size_t e = 0; e < d; e++)
                scaled[e] = s->q[at + e] * scale;
            sq_attend(scaled, k + first * ld, v + first * ld, ld, keys, d, s->x + at);
            continue;
        }
        sq_attention_scores(s->q + at, k + first * ld_kv, ld_kv, keys, d, scale, score);
        if (c->attention_cap > 0)
            soft_cap(score, keys, c->attention_cap);
        if (s->softmax_lanes > 0)
            sq_vector_softmax(&(struct sq_vector_unit){.lanes = s->softmax_lanes}, score, keys);
        else
            sq_softmax(score, keys);
        sq_attention_sum(score, v + first * ld_kv, ld_kv, keys, d, s->x + at);
    }
}

// Causal attention of every head over s->q, s->k, s->v into s->x.
static enum sq_status attention(struct sq_llama *s, size_t window, struct sq_error *err)
{
    const size_t longest = s->past + longest_sequence(s->tokens);
    const struct sq_model_config *c = &s->ck->config;
    const bool is_unit = s->softmax_lanes == SQ_LLAMA_ATTEND;
    bool is_out_of_memory = false;
    SQ_FAIL_IF(is_unit && (c->attention_cap > 0 || c->head_dim > SQ_ATTEND_HEAD_MAX ||
                           longest > SQ_ATTEND_KEYS_MAX),
               err, SQ_ERR_UNSUPPORTED,
               "attention unit: heads of %zu, %zu keys, scores capped at %g, need at most "
               "%d, %d and no cap",
               c->head_dim, longest, c->attention_cap, SQ_ATTEND_HEAD_MAX, SQ_ATTEND_KEYS_MAX);
    const size_t row = 1 + (is_unit ? 2 * c->head_dim : 0);
#pragma omp parallel if (sq_tokens_count(s->tokens) * longest >= MANY * MANY)
    {
        SQ_FREED float *score = malloc(longest * row * sizeof *score);
        if (!score) {
#pragma omp atomic write
            is_out_of_memory = true;
        }
#pragma omp barrier
#pragma omp for collapse(2) schedule(dynamic)
        for (size_t i = 0; i < s->tokens->n_sequences; i++)
            for (size_t head = 0; head < s->ck->config.n_heads; head++)
                if (!is_out_of_memory)
                    attend(s, i, head, window, score);
    }
    if (is_out_of_memory)
        return SQ_NO_MEMORY(err, "attention over %zu tokens", longest);
    return SQ_OK;
}

// Rows of `width`.
static void gate_rows(float *gate, const float *up, size_t n, size_t width, bool is_geglu)
{
#pragma omp parallel for if (n >= MANY)
    for (size_t t = 0; t < n; t++)
        (is_geglu ? sq_geglu : sq_swiglu)(gate + t * width, up + t * width, width);
}

static void add(float *h, const float *y, size_t n)
{
#pragma omp parallel for simd if (n >= MANY * 1024)
    for (size_t i = 0; i < n; i++)
        h[i] += y[i];
}

// ---- a block --------------------------------------------------------------------------------

enum { Q, K, V, O, GATE, UP, DOWN, N_LINEAR };

// What a block passes down to its linear layers.
struct pass {
    struct sq_llama *s;
    size_t block;
    sq_llama_hook *hook;
    void *context;
};

// s->w holds the bias meanwhile.
static enum sq_status add_bias(struct sq_llama *s, const struct sq_layer *l, float *y,
                               struct sq_error *err)
{
    s->held = SIZE_MAX;
    SQ_TRY(sq_tensor_read_f32(l->bias, s->w, err));
#pragma omp parallel for if (sq_tokens_count(s->tokens) >= MANY)
    for (size_t t = 0; t < sq_tokens_count(s->tokens); t++)
        for (size_t i = 0; i < l->n; i++)
            y[t * l->n + i] += s->w[i];
    return SQ_OK;
}

enum sq_status sq_llama_weights(const struct sq_llama_linear *l, const float **w,
                                struct sq_error *err)
{
    struct sq_llama *s = l->model;
    *w = s->w;
    if (s->held == l->layer)
        return SQ_OK;
    s->held = SIZE_MAX;
    SQ_TRY(sq_checkpoint_read_layer(s->ck, l->layer, s->w, err));
    s->held = l->layer;
    return SQ_OK;
}

static enum sq_status linear(const struct pass *p, unsigned part, const float *x, float *y,
                             struct sq_error *err)
{
    static const unsigned shared[N_LINEAR] = {Q, Q, Q, O, GATE, GATE, DOWN};
    size_t n_shared = 0;
    struct sq_llama *s = p->s;
    const size_t layer = p->block * N_LINEAR + part;
    const struct sq_layer *l = &s->ck->layer[layer];
    const size_t past = s->past * s->ck->config.n_kv_heads * s->ck->config.head_dim;
    const float *w;
    while (part + n_shared < N_LINEAR && shared[part + n_shared] == part)
        n_shared++;
    const struct sq_llama_linear call = {
        .layer = layer,
        .name = l->name,
        .shared = p->block * N_LINEAR + shared[part],
        .m = sq_tokens_count(s->tokens),
        .n = l->n,
        .k = l->k,
        .x = x,
        .y = y,
        .n_shared = n_shared,
        .shared_y = {y, part == Q ? s->k + past : s->up, s->v + past},
        .model = s};
    bool is_done = false;
    if (p->hook)
        SQ_TRY(p->hook(p->context, &call, &is_done, err));
    if (!is_done) {
        SQ_TRY(sq_llama_weights(&call, &w, err));
        sq_blas_xwt(x, w, call.m, call.n, call.k, y);
    }
    return l->bias ? add_bias(s, l, y, err) : SQ_OK;
}

// A norm of the block over n rows of `width`.
static enum sq_status norm(const struct pass *p, const char *which, const float *in, size_t n,
                           size_t width, float *out, struct sq_error *err)
{
    char name[NAME_MAX_LEN];
    snprintf(name, sizeof name, "model.layers.%zu.%s.weight", p->block, which);
    return rms_norm(p->s, name, in, n, width, out, err);
}

// s->h += y, normed where the model does so.
static enum sq_status add_normed(const struct pass *p, const char *which, float *y,
                                 struct sq_error *err)
{
    const struct sq_model_config *c = &p->s->ck->config;
    const size_t n = sq_tokens_count(p->s->tokens);
    if (c->has_post_norm)
        SQ_TRY(norm(p, which, y, n, c->hidden_size, y, err));
    if (p->s->steps_nbytes)
        return sq_vector_steps_add(p->s->steps_nbytes, p->s->h, y, n, c->hidden_size, err);
    add(p->s->h, y, n * c->hidden_size);
    return SQ_OK;
}

static enum sq_status attention_half(const struct pass *p, struct sq_error *err)
{
    struct sq_llama *s = p->s;
    const struct sq_model_config *c = &s->ck->config;
    const size_t n = sq_tokens_count(s->tokens);
    const bool is_local = c->is_local[p->block];
    const size_t kv = c->n_kv_heads * c->head_dim;
    if (s->capacity > 0) {
        s->k = s->kept + 2 * p->block * s->capacity * kv;
        s->v = s->k + s->capacity * kv;
    }
    float *const k = s->k + s->past * kv, *const v = s->v + s->past * kv;
    SQ_TRY(norm(p, "input_layernorm", s->h, n, c->hidden_size, s->x, err));
    SQ_TRY(linear(p, Q, s->x, s->q, err));
    SQ_TRY(linear(p, K, s->x, k, err));
    SQ_TRY(linear(p, V, s->x, v, err));
    if (c->has_qk_norm) {
        SQ_TRY(norm(p, "self_attn.q_norm", s->q, n * c->n_heads, c->head_dim, s->q, err));
        SQ_TRY(norm(p, "self_attn.k_norm", k, n * c->n_kv_heads, c->head_dim, k, err));
    }
    if (s->is_cached_before)
        SQ_TRY(through_cache(s, k, err));
    SQ_TRY(rotate_all(s, is_local ? s->local : s->rotation, err));
    if (!s->is_cached_before)
        SQ_TRY(through_cache(s, k, err));
    SQ_TRY(through_cache(s, v, err));
    SQ_TRY(attention(s, is_local ? c->local_window : SIZE_MAX, err));
    SQ_TRY(linear(p, O, s->x, s->q, err));
    return add_normed(p, "post_attention_layernorm", s->q, err);
}

static enum sq_status mlp_half(const struct pass *p, struct sq_error *err)
{
    struct sq_llama *s = p->s;
    const struct sq_model_config *c = &s->ck->config;
    const size_t n = sq_tokens_count(s->tokens);
    SQ_TRY(norm(p, c->has_post_norm ? "pre_feedforward_layernorm" : "post_attention_layernorm",
                s->h, n, c->hidden_size, s->x, err));
    SQ_TRY(linear(p, GATE, s->x, s->gate, err));
    SQ_TRY(linear(p, UP, s->x, s->up, err));
    if (s->steps_nbytes && !c->is_geglu)
        SQ_TRY(sq_vector_steps_gate(s->steps_nbytes, s->gate, s->up, n, c->intermediate_size, err));
    else
        gate_rows(s->gate, s->up, n, c->intermediate_size, c->is_geglu);
    SQ_TRY(linear(p, DOWN, s->gate, s->q, err));
    return add_normed(p, "post_feedforward_layernorm", s->q, err);
}

enum sq_status sq_llama_block(struct sq_llama *s, size_t block, sq_llama_hook *hook, void *context,
                              struct sq_error *err)
{
    const struct pass p = {s, block, hook, context};
    s->held = SIZE_MAX; // another pass may have used the memory
    SQ_FAIL_IF(block >= s->ck->config.n_layers, err, SQ_ERR_ARG, "block = %zu, need 0..%zu", block,
               s->ck->config.n_layers - 1);
    SQ_TRY(attention_half(&p, err));
    return mlp_half(&p, err);
}

// ---- loss -----------------------------------------------------------------------------------

enum sq_status sq_llama_norm(struct sq_llama *s, struct sq_error *err)
{
    return rms_norm(s, "model.norm.weight", s->h, sq_tokens_count(s->tokens),
                    s->ck->config.hidden_size, s->x, err);
}

enum sq_status sq_llama_nll(struct sq_llama *s, double *nll, struct sq_error *err)
{
    const size_t count = sq_tokens_count(s->tokens);
    SQ_FREED struct sq_token_score *score = calloc(count, sizeof *score);
    SQ_TRY(score ? sq_llama_norm(s, err) : SQ_NO_MEMORY(err, "the loss of %zu tokens", count));
    SQ_TRY(sq_logits_score(s->ck, s->tokens, s->x, NULL, score, err));
    return sq_logits_nll(s->tokens, score, nll, err);
}

enum sq_status sq_llama_loss(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                             sq_llama_hook *hook, void *context, double *loss, struct sq_error *err)
{
    SQ_CLOSED(sq_llama_free) struct sq_llama s = {0};
    double nll = 0;
    SQ_TRY(sq_llama_init(&s, ck, tokens, err));
    for (size_t i = 0; i < ck->config.n_layers; i++)
        SQ_TRY(sq_llama_block(&s, i, hook, context, err));
    SQ_TRY(sq_llama_nll(&s, &nll, err));
    *loss = nll / (double)sq_tokens_predicted(tokens);
    return SQ_OK;
}
