// SPDX-License-Identifier: Apache-2.0
// One layer of a block-scaled format: encoding, product, files (sq_bs_format.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_gemm_values.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_bs_gptq.h"
#include "sim/format/scaled/sq_bs_format.h"
#include "sim/format/sq_adopted.h"

struct state {
    size_t k;       // columns of the model
    struct sq_bs w; // rotated; for operand act only shape and format
    float *values;  // [n][w.k], what the product takes where one side is not encoded
    uint8_t *stream[SQ_BS_STREAMS]; // as stored, NULL where there is none
    struct sq_bs apart; // of operand both, weights with minima as the product takes them
    void *panels;       // of operand both, as the product takes the weights
    unsigned rotation;
    bool is_act_integer; // activations are rotated in integers
    enum sq_operands operand;
    struct sq_sum_rule sum;  // kept 0: as SPEC Q.7 has it
    struct sq_bs_format act; // of activations
    bool is_act_static;
    float act_global[SQ_BS_PARTS]; // is_act_static
};

// ---- memory ---------------------------------------------------------------------------------

void sq_bs_rows_free(struct sq_bs *c)
{
    SQ_FREE(c->code, c->high, c->is_high, c->sub);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        SQ_FREE(c->scale[p], c->global[p]);
    }
}

// Zeros; shape and format are set.
static enum sq_status bs_alloc(struct sq_bs *c, struct sq_error *err)
{
    const struct sq_bs_format *f = &c->f;
    const bool has_high = sq_bs_high_bits(f) > 0, is_marked = sq_bs_n_marks(f) > 0;
    bool is_done = true;
    c->code = calloc(c->n, c->k);
    c->high = has_high ? calloc(c->n, c->k) : NULL;
    c->is_high = is_marked ? calloc(c->n, c->k) : NULL;
    c->sub = sq_bs_sub_bits(f) ? calloc(c->n * (c->k / f->block), sq_bs_n_subs(f)) : NULL;
    is_done = c->code && (c->sub || !sq_bs_sub_bits(f)) && (c->high || !has_high) &&
              (c->is_high || !is_marked);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        c->scale[p] =
            sq_bs_has_scale(f, p) ? calloc(c->n * (c->k / f->block), sq_bs_scale_nbytes(f)) : NULL;
        c->global[p] = p < sq_bs_n_parts(f) ? calloc(c->n, sizeof(float)) : NULL;
        is_done = is_done && (c->scale[p] || !sq_bs_has_scale(f, p)) &&
                  (c->global[p] || p >= sq_bs_n_parts(f));
        for (size_t i = 0; c->global[p] && i < c->n; i++)
            c->global[p][i] = 1;
    }
    return is_done ? SQ_OK : SQ_NO_LAYER(err, c->n, c->k);
}

// Rows with minima in place of themselves, as products of codes take them.
static enum sq_status take_apart(const struct sq_bs *c, bool is_weight, struct sq_bs *to,
                                 struct sq_error *err)
{
    *to =
        (struct sq_bs){.f = c->f, .n = c->n, .k = c->k * SQ_BS_APART, .k_orig = c->k * SQ_BS_APART};
    to->f.is_apart = true;
    SQ_TRY(bs_alloc(to, err));
    sq_bs_take_apart(c, is_weight, to);
    return SQ_OK;
}

static void layer_free(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    sq_bs_rows_free(&s->w);
    sq_bs_rows_free(&s->apart);
    SQ_FREE(s->values, s->panels);
    for (unsigned i = 0; i < SQ_BS_STREAMS; i++)
        free(s->stream[i]);
    free(s);
}

// A rotated layer has no padding: what was added is a column as any other.
static struct state *state_new(const struct sq_recipe *r, size_t n, size_t k)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->k = k;
    s->w = (struct sq_bs){.f = sq_bs_of(r), .n = n};
    s->act = sq_bs_act_of(r);
    s->w.k = sq_bs_padded(&s->w.f, k);
    s->rotation = sq_bs_rotation_of(r);
    s->is_act_integer = sq_bs_recipe(r)->rotation == SQ_BS_ROTATE_16_INTEGER;
    s->w.k_orig = s->rotation ? s->w.k : k;
    s->operand = (enum sq_operands)r->operand;
    (void)sq_bs_sum_of(r, &s->sum, NULL); // the recipe was settled: it has one
    s->is_act_static = sq_bs_recipe(r)->act_scale == SQ_BS_ACT_STATIC;
    return s;
}

// x[m][k], padded to k_to columns and rotated, in memory the caller frees.
static float *turned(const float *x, size_t m, size_t k, size_t k_to, unsigned rotation,
                     bool is_integer)
{
    float *to = calloc(m, k_to * sizeof *to);
    for (size_t i = 0; to && i < m; i++) {
        memcpy(to + i * k_to, x + i * k, k * sizeof *x);
        if (is_integer)
            sq_bs_rotate_integer(to + i * k_to, k_to, rotation, SQ_BS_ROTATE_BITS);
        else if (rotation)
            sq_bs_rotate(to + i * k_to, k_to, rotation);
    }
    return to;
}

static float *turned_act(const struct state *s, const float *x, size_t m, size_t k)
{
    return turned(x, m, k, s->w.k, s->rotation, s->is_act_integer);
}

// ---- weights --------------------------------------------------------------------------------

static enum sq_status encode_gptq(struct state *s, const float *w, const struct sq_quant_input *in,
                                  double percdamp, struct sq_error *err)
{
    SQ_CLOSED(sq_calibration_free) struct sq_calibration turned_inputs = {0};
    SQ_CLOSED(sq_factor_free) struct sq_factor factor = {0};
    if (!s->rotation)
        return sq_bs_gptq_encode(&s->w, w, in->factor, err);
    SQ_TRY(sq_bs_rotate_calibration(in->calibration, s->w.k, s->rotation, &turned_inputs, err));
    SQ_TRY(sq_factor_init(&factor, &turned_inputs, NULL, percdamp, err));
    return sq_bs_gptq_encode(&s->w, w, &factor, err);
}

// As another program does it.
static enum sq_status encode_like(struct state *s, enum sq_bs_like like, const float *w)
{
    const struct sq_bs_like_tensor t = sq_bs_like_begin(&s->w, like, w);
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < s->w.n; row++)
        sq_bs_like_row(&t, &s->w, row, w + row * s->w.k_orig);
    return SQ_OK;
}

static enum sq_status encode(struct state *s, const struct sq_recipe *r, const float *w,
                             const struct sq_quant_input *in, struct sq_error *err)
{
    SQ_TRY(bs_alloc(&s->w, err));
    SQ_TRY(sq_bs_globals(&s->w, w, true, err));
    if (sq_bs_recipe(r)->like)
        return encode_like(s, (enum sq_bs_like)sq_bs_recipe(r)->like, w);
    if (r->algorithm == SQ_ALGORITHM_GPTQ)
        return encode_gptq(s, w, in, r->percdamp, err);
#pragma omp parallel for schedule(static) if (s->w.n > 1)
    for (size_t row = 0; row < s->w.n; row++)
        sq_bs_encode_marked(&s->w, row, w + row * s->w.k_orig);
    return SQ_OK;
}

static size_t whole_lines(size_t nbytes)
{
    return (nbytes + 63) / 64 * 64;
}

// The weights as the product of codes takes them, once for all of them.
static enum sq_status lay_out(struct state *s, struct sq_error *err)
{
    if (sq_bs_has_minima(&s->w.f))
        SQ_TRY(take_apart(&s->w, true, &s->apart, err));
    const struct sq_bs_product g = {.w = sq_bs_layer_weights(s)};
    bool is_out_of_memory = false;
    s->panels = aligned_alloc(64, whole_lines(sq_bs_panels(&g)));
    SQ_NEED_LAYER(s->panels, err, s->w.n, s->w.k);
#pragma omp parallel for schedule(dynamic) if (s->w.n > SQ_BS_PANEL)
    for (size_t i = 0; i < s->w.n; i += SQ_BS_PANEL) {
        SQ_FREED void *scratch = aligned_alloc(64, whole_lines(sq_bs_load_scratch(&g)));
        if (scratch) {
            sq_bs_load(&g, i / SQ_BS_PANEL, s->panels, scratch);
        } else {
#pragma omp atomic write
            is_out_of_memory = true;
        }
    }
    return is_out_of_memory ? SQ_NO_LAYER(err, s->w.n, s->w.k) : SQ_OK;
}

static enum sq_status streams_alloc(struct state *s, struct sq_error *err)
{
    const struct sq_bs *w = &s->w;
    for (enum sq_bs_stream i = 0; i < SQ_BS_STREAMS; i++) {
        const size_t nbytes = sq_bs_row_nbytes(&w->f, w->k, i);
        s->stream[i] = nbytes ? malloc(w->n * nbytes) : NULL;
        SQ_NEED_LAYER(s->stream[i] || !nbytes, err, w->n, w->k);
    }
    return SQ_OK;
}

// What is stored.
static enum sq_status store(struct state *s, struct sq_error *err)
{
    const struct sq_bs *w = &s->w;
    SQ_TRY(streams_alloc(s, err));
    for (enum sq_bs_stream i = 0; i < SQ_BS_STREAMS; i++)
        for (size_t row = 0; s->stream[i] && row < w->n; row++)
            sq_bs_pack_row(w, row, i, s->stream[i] + row * sq_bs_row_nbytes(&w->f, w->k, i));
    return SQ_OK;
}

// What the product takes.
static enum sq_status finish(struct state *s, struct sq_error *err)
{
    const struct sq_bs *w = &s->w;
    if (s->operand == SQ_OPERAND_BOTH)
        return lay_out(s, err);
    s->values = malloc(w->n * w->k * sizeof *s->values);
    SQ_NEED_LAYER(s->values, err, w->n, w->k);
    for (size_t row = 0; row < w->n; row++)
        sq_bs_decode_row(w, row, s->values + row * w->k);
    return SQ_OK;
}

// The largest scales above the blocks of any token of the sample.
static enum sq_status fix_act(struct state *s, const struct sq_quant_input *in, size_t k,
                              struct sq_error *err)
{
    SQ_CLOSED(sq_bs_rows_free)
    struct sq_bs a = {.f = s->act, .n = in->n_sample, .k = s->w.k, .k_orig = s->w.k};
    SQ_FREED float *x = turned_act(s, in->sample, in->n_sample, k);
    SQ_TRY(x ? bs_alloc(&a, err) : SQ_NO_LAYER(err, a.n, a.k));
    SQ_TRY(sq_bs_globals(&a, x, false, err));
    for (unsigned p = 0; p < sq_bs_n_parts(&a.f); p++)
        for (size_t i = 0; i < a.n; i++)
            s->act_global[p] = fmaxf(s->act_global[p], a.global[p][i]);
    return SQ_OK;
}

// Weights that stay as they are.
static enum sq_status keep(struct state *s, const float *w, struct sq_error *err)
{
    for (size_t i = 0; i < s->w.n * s->w.k_orig; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / s->w.k_orig, i % s->w.k_orig,
                   (double)w[i]);
    s->values = turned(w, s->w.n, s->w.k_orig, s->w.k, 0, false);
    return s->values ? SQ_OK : SQ_NO_LAYER(err, s->w.n, s->w.k);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    struct state *const s = *state = state_new(r, n, k);
    SQ_FREED float *rotated = s && s->rotation ? turned(w, n, k, s->w.k, s->rotation, false) : NULL;
    const float *from = rotated ? rotated : w;
    SQ_NEED_LAYER(s && (rotated || !s->rotation), err, n, k);
    if (s->operand == SQ_OPERAND_ACT) {
        SQ_TRY(keep(s, from, err));
    } else {
        SQ_TRY(encode(s, r, from, in, err));
        SQ_TRY(store(s, err));
        SQ_TRY(finish(s, err));
    }
    return s->is_act_static ? fix_act(s, in, k, err) : SQ_OK;
}

// ---- products -------------------------------------------------------------------------------

static enum sq_status encode_rows(const struct state *s, const float *x, struct sq_bs *a,
                                  struct sq_error *err)
{
    SQ_TRY(bs_alloc(a, err));
    SQ_TRY(sq_bs_globals(a, x, false, err));
    for (unsigned p = 0; s->is_act_static && p < sq_bs_n_parts(&a->f); p++)
        for (size_t t = 0; t < a->n; t++)
            a->global[p][t] = s->act_global[p];
    for (size_t t = 0; t < a->n; t++)
        sq_bs_encode_marked(a, t, x + t * a->k);
    return SQ_OK;
}

// As the product takes them.
static enum sq_status encode_act(const struct state *s, const float *x, struct sq_bs *a,
                                 struct sq_error *err)
{
    SQ_CLOSED(sq_bs_rows_free) struct sq_bs whole = *a;
    if (!s->apart.code)
        return encode_rows(s, x, a, err);
    SQ_TRY(encode_rows(s, x, &whole, err));
    return take_apart(&whole, false, a, err);
}

const struct sq_bs *sq_bs_layer_weights(const void *state)
{
    const struct state *s = state;
    return s->apart.code ? &s->apart : &s->w;
}

enum sq_status sq_bs_layer_encode(const void *state, const float *x, size_t m, struct sq_bs *a,
                                  struct sq_error *err)
{
    const struct state *s = state;
    SQ_FREED float *xs = turned_act(s, x, m, s->k);
    *a = (struct sq_bs){.f = s->act, .n = m, .k = s->w.k, .k_orig = s->w.k};
    return xs ? encode_act(s, xs, a, err) : SQ_NO_LAYER(err, m, s->w.k);
}

// Finite operands may leave binary32 in both directions, and infinities then cancel to no number.
static enum sq_status check_numbers(const float *y, size_t m, size_t n, struct sq_error *err)
{
    unsigned n_bad = 0;
#pragma omp simd reduction(| : n_bad)
    for (size_t i = 0; i < m * n; i++)
        n_bad |= y[i] != y[i];
    for (size_t i = 0; n_bad && i < m * n; i++)
        SQ_FAIL_IF(isnan(y[i]), err, SQ_ERR_NON_FINITE,
                   "y[%zu][%zu] is no number: its terms are beyond binary32, of both signs", i / n,
                   i % n);
    return SQ_OK;
}

// With the sums of a tensor core: y = (A * (g_w * g_x)) in binary64, rounded once to binary32.
static enum sq_status accumulate_codes(const struct state *s, const struct sq_bs *a, float *y,
                                       struct sq_error *err)
{
    const size_t n = s->w.n, m = a->n;
    SQ_FREED double *const sum = calloc(m * n, sizeof *sum);
    const bool has_room = sum && sq_bs_accumulate(&s->sum, sq_bs_layer_weights(s), a, sum);
    for (size_t i = 0; has_room && i < m * n; i++)
        y[i] = (float)(sum[i] * ((double)s->w.global[0][i % n] * (double)a->global[0][i / n]));
    return has_room ? SQ_OK : SQ_NO_LAYER(err, n, s->w.k);
}

static enum sq_status multiply_codes(const struct state *s, const struct sq_bs *a, float *y,
                                     struct sq_error *err)
{
    if (s->sum.kept)
        return accumulate_codes(s, a, y, err);
    const struct sq_bs_product g = {
        .w = sq_bs_layer_weights(s), .x = a, .panels = s->panels, .y = y};
    SQ_FREED void *scratch = aligned_alloc(64, whole_lines(sq_bs_gemm_scratch(&g)));
    SQ_NEED_LAYER(scratch, err, s->w.n, s->w.k);
    sq_bs_gemm(&g, scratch);
    return SQ_OK;
}

static enum sq_status multiply_values(const struct state *s, const float *x, size_t m, float *y,
                                      struct sq_error *err)
{
    SQ_FREED void *scratch = aligned_alloc(64, whole_lines(sq_gemm_values_scratch(m, s->w.k)));
    SQ_NEED_LAYER(scratch, err, s->w.n, s->w.k);
    sq_gemm_values(s->values, s->w.n, x, m, s->w.k, y, scratch);
    return SQ_OK;
}

// Values of encoded activations, in memory the caller frees.
static float *decoded(const struct sq_bs *a)
{
    float *x = malloc(a->n * a->k * sizeof *x);
    for (size_t t = 0; x && t < a->n; t++)
        sq_bs_decode_row(a, t, x + t * a->k);
    return x;
}

// Layers of one recipe and input: whether their activations have the same codes.
static bool is_encoded_alike(const struct state *a, const struct state *b)
{
    return a->operand == b->operand && a->w.k == b->w.k && a->is_act_static == b->is_act_static &&
           (!a->is_act_static || memcmp(a->act_global, b->act_global, sizeof a->act_global) == 0);
}

static enum sq_status multiply_encoded(const struct state *s, const struct sq_bs *a,
                                       const float *values, float *y, struct sq_error *err)
{
    SQ_TRY(s->operand == SQ_OPERAND_BOTH ? multiply_codes(s, a, y, err)
                                         : multiply_values(s, values, a->n, y, err));
    return check_numbers(y, a->n, s->w.n, err);
}

// Layers whose activations are encoded alike.
static enum sq_status encode_and_multiply(const void *const *state, size_t n, const float *x,
                                          size_t m, float *const *y, struct sq_error *err)
{
    const struct state *first = state[0];
    SQ_CLOSED(sq_bs_rows_free)
    struct sq_bs a = {.f = first->act, .n = m, .k = first->w.k, .k_orig = first->w.k};
    SQ_FREED float *values = NULL;
    SQ_TRY(encode_act(first, x, &a, err));
    if (first->operand == SQ_OPERAND_ACT) {
        values = decoded(&a);
        SQ_NEED_LAYER(values, err, m, first->w.k);
    }
    for (size_t i = 0; i < n; i++)
        SQ_TRY(multiply_encoded(state[i], &a, values, y[i], err));
    return SQ_OK;
}

static enum sq_status multiply_plain(const struct state *s, const float *x, size_t m, float *y,
                                     struct sq_error *err)
{
    const size_t k = s->w.k;
    for (size_t i = 0; i < m * k; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "x[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)x[i]);
    SQ_TRY(multiply_values(s, x, m, y, err));
    return check_numbers(y, m, s->w.n, err);
}

// x[m][w.k] as the product takes it.
static enum sq_status multiply(const void *const *state, size_t n, bool is_alike, const float *x,
                               size_t m, float *const *y, struct sq_error *err)
{
    const bool is_plain = ((const struct state *)state[0])->operand == SQ_OPERAND_WEIGHTS;
    if (is_alike && !is_plain)
        return encode_and_multiply(state, n, x, m, y, err);
    for (size_t i = 0; i < n; i++)
        SQ_TRY(is_plain ? multiply_plain(state[i], x, m, y[i], err)
                        : encode_and_multiply(state + i, 1, x, m, y + i, err));
    return SQ_OK;
}

static enum sq_status apply_shared(const void *const *state, size_t n, const struct sq_recipe *r,
                                   const float *x, size_t m, float *const *y, struct sq_error *err)
{
    const struct state *s = state[0];
    bool is_alike = true;
    (void)r;
    for (size_t i = 1; i < n; i++)
        is_alike = is_alike && is_encoded_alike(s, state[i]);
    if (!s->rotation && s->k == s->w.k)
        return multiply(state, n, is_alike, x, m, y, err);
    SQ_FREED float *xs = turned_act(s, x, m, s->k);
    return xs ? multiply(state, n, is_alike, xs, m, y, err) : SQ_NO_LAYER(err, m, s->w.k);
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    return apply_shared(&state, 1, r, x, m, &y, err);
}

// ---- what it stands for ---------------------------------------------------------------------

static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    return state_new(r, n, k);
}

// Decodes a row in the columns of the model; rotated weights are rotated again, which undoes the rotation.
static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    float block[SQ_BS_BLOCK_MAX];
    const size_t b = s->w.f.block;
    for (size_t first = 0; first < s->k; first += b) {
        const size_t n = s->k - first < b ? s->k - first : b;
        if (s->values)
            memcpy(block, s->values + row * s->w.k + first, b * sizeof *block);
        else
            sq_bs_decode_block(&s->w, row, first / b, block);
        if (s->rotation)
            sq_bs_rotate(block, b, s->rotation);
        memcpy(out + first, block, n * sizeof *out);
    }
}

// ---- files ----------------------------------------------------------------------------------

static const char *const stream_name[SQ_BS_STREAMS] = {"codes", "high", "mask", "place", "sub"};
static const char *const scale_name[SQ_BS_PARTS] = {"scale", "scale_high"};
static const char *const global_name[SQ_BS_PARTS] = {"global", "global_high"};

// Scales above the blocks in a file: one, or one of each row.
static size_t n_globals(const struct sq_bs *w, unsigned part)
{
    return sq_bs_has_scale(&w->f, part) ? 1 : w->n;
}

static enum sq_dtype scale_dtype(const struct sq_bs *w)
{
    const struct sq_bs_table *const t = w->f.table;
    return !t || !sq_bs_scale_is_float(t->scale) ? SQ_U8
           : t->scale == SQ_BS_SCALE_F16         ? SQ_F16
           : t->scale == SQ_BS_SCALE_BF16        ? SQ_BF16
                                                 : SQ_F32;
}

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const struct sq_bs *w = &s->w;
    size_t n = 0;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (sq_bs_has_global(&w->f, p))
            part[n++] =
                (struct sq_part){global_name[p], SQ_F32, 1, {n_globals(w, p)}, w->global[p]};
    if (s->is_act_static)
        part[n++] =
            (struct sq_part){"act_global", SQ_F32, 1, {sq_bs_n_parts(&w->f)}, s->act_global};
    for (enum sq_bs_stream i = 0; i < SQ_BS_STREAMS; i++)
        if (sq_bs_row_nbytes(&w->f, w->k, i) > 0)
            part[n++] = (struct sq_part){
                stream_name[i], SQ_U8, 2, {w->n, sq_bs_row_nbytes(&w->f, w->k, i)}, s->stream[i]};
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (sq_bs_has_scale(&w->f, p))
            part[n++] = (struct sq_part){
                scale_name[p], scale_dtype(w), 2, {w->n, w->k / w->f.block}, w->scale[p]};
    return n;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    struct state *const s = *state = state_new(r, from->n, from->k_orig);
    SQ_NEED_LAYER(s, err, from->n, from->k_orig);
    struct sq_bs *const w = &s->w;
    SQ_TRY(bs_alloc(w, err));
    SQ_TRY(streams_alloc(s, err));
    SQ_TRY(sq_parts_read(parts, s, from, err));
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        for (size_t row = 1; sq_bs_has_global(&w->f, p) && n_globals(w, p) == 1 && row < w->n;
             row++)
            w->global[p][row] = w->global[p][0];
    SQ_TRY(sq_bs_check_scales(w, err));
    for (unsigned p = 0; s->is_act_static && p < sq_bs_n_parts(&w->f); p++)
        SQ_FAIL_IF(!sq_scale_is_valid(s->act_global[p]), err, SQ_ERR_SCALE,
                   "act_global[%u] = %g, need finite and > 0", p, (double)s->act_global[p]);
    for (size_t row = 0; row < w->n; row++) {
        const uint8_t *in[SQ_BS_STREAMS];
        for (enum sq_bs_stream i = 0; i < SQ_BS_STREAMS; i++)
            in[i] = s->stream[i] ? s->stream[i] + row * sq_bs_row_nbytes(&w->f, w->k, i) : NULL;
        SQ_TRY(sq_bs_unpack_row(w, row, in, err));
    }
    return finish(s, err);
}

const struct sq_format_values sq_bs_coded = {
    .check = sq_bs_recipe_check,
    .needs = sq_bs_needs,
    .has_smoothing = true,
    .init = init,
    .free = layer_free,
    .apply = apply,
    .apply_shared = apply_shared,
    .padded = sq_bs_recipe_padded,
    .decode_row = decode_row,
};

// Blocks with nothing beside codes, a scale and what is above it. An option may choose the element.
static bool takes(const struct sq_adopted *a, struct sq_recipe *r)
{
    struct sq_metadata_value value[SQ_VALUES_MAX];
    sq_bs_set(r)->element = a->element;
    sq_bs_set(r)->act_scale = a->act_global > 0 ? SQ_BS_ACT_STATIC : SQ_BS_ACT_TOKEN;
    r->operand = a->act == SQ_ADOPTED_ACT_NONE ? SQ_OPERAND_WEIGHTS : SQ_OPERAND_BOTH;
    const struct sq_bs_format f = sq_bs_of(r);
    for (size_t n = sq_bs_numbers(r, value); n-- > 0;)
        if (*value[n].number < value[n].min || *value[n].number > value[n].max)
            return false;
    return (f.kind == SQ_BS_MX || f.kind == SQ_BS_NV) && !a->is_integer &&
           f.element == a->element && f.block == a->group && a->bits == sq_bs_code_bits(&f) &&
           a->act != SQ_ADOPTED_ACT_INTEGER &&
           a->scale_type == (sq_bs_is_e8m0(&f) ? SQ_ADOPTED_E8M0 : SQ_ADOPTED_E4M3) &&
           a->has_global == sq_bs_has_global(&f, 0) && (a->has_global || a->act_global == 0);
}

static bool kind(const struct sq_recipe *r, struct sq_adopted *a)
{
    const struct sq_bs_format f = sq_bs_of(r);
    *a = (struct sq_adopted){.element = f.element,
                             .bits = sq_bs_code_bits(&f),
                             .group = f.block,
                             .scale_type = sq_bs_is_e8m0(&f) ? SQ_ADOPTED_E8M0 : SQ_ADOPTED_E4M3,
                             .has_global = sq_bs_has_global(&f, 0),
                             .act = r->operand == SQ_OPERAND_WEIGHTS ? SQ_ADOPTED_ACT_NONE
                                                                     : SQ_ADOPTED_ACT_LIKE,
                             .act_global = sq_bs_recipe(r)->act_scale == SQ_BS_ACT_STATIC};
    return (f.kind == SQ_BS_MX || f.kind == SQ_BS_NV || f.kind == SQ_BS_FOUR_SIX) &&
           f.element <= SQ_ELEMENT_E5M2 && sq_bs_recipe(r)->rotation == SQ_BS_ROTATE_NONE;
}

static const struct sq_format_adopts adopts = {takes,    kind,         "codes", "scale",
                                               "global", "act_global", "sub"};

const struct sq_format_file sq_bs_stored = {
    .parts = parts,
    .outline = outline,
    .load = load,
    .numbers = sq_bs_numbers,
    .adopts = &adopts,
};
