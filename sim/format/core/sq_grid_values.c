// SPDX-License-Identifier: Apache-2.0
// Products of formats on a grid of codes (sq_grid_format.h): first those where one side of the
// product stays binary32, and rotated ones; then those of codes on both sides, whose weights are
// laid out once a layer, as sq_gemm_codes reads them. A benchmark of these formats times
// sq_quant_layer_apply.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "models/number/sq_gemm_values.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/scaled/sq_bs.h"
#include "sim/format/core/sq_grid_format.h"
#include "sim/format/sq_cells.h"

enum sq_status sq_grid_rotated(unsigned rotation, const float *x, size_t m, size_t k, float **out,
                               struct sq_error *err)
{
    *out = NULL;
    SQ_FAIL_IF(k % rotation != 0, err, SQ_ERR_SHAPE, "rotate = %u, need a divisor of K = %zu",
               rotation, k);
    *out = malloc(m * k * sizeof **out);
    SQ_NEED(*out, err, "%zu rows of %zu", m, k);
    memcpy(*out, x, m * k * sizeof **out);
    for (size_t i = 0; i < m; i++)
        sq_bs_rotate(*out + i * k, k, rotation);
    return SQ_OK;
}

enum sq_status sq_grid_keep_values(struct sq_grid_layer *q, const struct sq_recipe *r,
                                   const float *w, struct sq_error *err)
{
    const size_t n = q->w.n, k = q->w.k_orig;
    const bool is_kept = r->operand == SQ_OPERAND_ACT;
    q->values = malloc(n * k * sizeof *q->values);
    SQ_NEED_LAYER(q->values, err, n, k);
    for (size_t i = 0; is_kept && i < n * k; i++)
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)w[i]);
    if (is_kept)
        memcpy(q->values, w, n * k * sizeof *q->values);
    for (size_t row = 0; !is_kept && row < n; row++) {
        if (q->packed.buffer)
            sq_decode_row(&q->packed.m, row, q->values + row * k);
        else
            sq_codes_decode_row(&q->w, row, q->values + row * k);
    }
    return SQ_OK;
}

// What the codes of x[m][k_orig] stand for.
static enum sq_status through_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *out, struct sq_error *err)
{
    SQ_CLOSED(sq_codes_free) struct sq_codes a = sq_grid_act_codes(q, r, m);
    SQ_FREED float *score = malloc(2 * a.k * sizeof *score);
    SQ_TRY(score ? sq_codes_alloc(&a, err) : SQ_NO_MEMORY(err, "%zu rows of %zu", m, a.k));
    SQ_TRY(sq_codes_encode_act(&a, x, sq_grid_recipe(r)->select, q->mask, score, err));
    for (size_t t = 0; t < m; t++)
        sq_codes_decode_row(&a, t, out + t * a.k_orig);
    return SQ_OK;
}

// sq_grid_apply by q->values (models/number/sq_gemm_values.h).
static enum sq_status apply_values(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                   const float *x, size_t m, float *y, struct sq_error *err)
{
    const size_t k = q->w.k_orig, nbytes = sq_gemm_values_scratch(m, k);
    SQ_FREED float *values = malloc(m * k * sizeof *values);
    SQ_FREED void *scratch = aligned_alloc(64, (nbytes + 63) / 64 * 64);
    SQ_NEED_LAYER(values && scratch, err, m, k);
    for (size_t i = 0; i < m * k; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "x[%zu][%zu] = %g, need a finite number", i / k, i % k, (double)x[i]);
    if (r->operand == SQ_OPERAND_ACT)
        SQ_TRY(through_codes(q, r, x, m, values, err));
    sq_gemm_values(q->values, q->w.n, r->operand == SQ_OPERAND_ACT ? values : x, m, k, y, scratch);
    return SQ_OK;
}

struct sq_codes sq_grid_act_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                  size_t m)
{
    const bool is_mixed = sq_grid_is_mixed(&r->act);
    return (struct sq_codes){.grid = r->act,
                             .n = m,
                             .k = q->w.k,
                             .k_orig = q->w.k_orig,
                             .group = q->w.k,
                             .bank = is_mixed ? r->bank : 0,
                             .high_per_bank = is_mixed ? r->high_per_bank : 0};
}

// ---- weights --------------------------------------------------------------------------------

// Packed SQ weights, of which the codes are not kept.
static enum sq_status lay_out_packed(struct sq_grid_layer *q, struct sq_error *err)
{
    q->cells = (struct sq_cells){
        .w = sq_gemm_sq_w_codes(&q->packed.m), .row = sq_gemm_sq_w_row, .from = &q->packed.m};
    return sq_cells_init(&q->cells, err);
}

static enum sq_status lay_out_codes(struct sq_grid_layer *q, const struct sq_grid *act,
                                    struct sq_error *err)
{
    const size_t k = q->w.k;
    const struct sq_codes a = {.grid = *act, .n = 1, .k = k, .k_orig = k, .group = k};
    const struct sq_gemm_codes g = {.x = &a, .w = &q->w};
    SQ_TRY(sq_gemm_codes_check(&g, err));
    return sq_cells_new(&g, &q->cells.cells, err);
}

enum sq_status sq_grid_prepare(struct sq_grid_layer *q, const struct sq_recipe *r,
                               struct sq_error *err)
{
    if (q->values || r->is_act_f16)
        return SQ_OK;
    return q->packed.buffer ? lay_out_packed(q, err) : lay_out_codes(q, &r->act, err);
}

// ---- products -------------------------------------------------------------------------------

static enum sq_status multiply_codes(const struct sq_grid_layer *q, const struct sq_codes *a,
                                     float *y, struct sq_error *err)
{
    const struct sq_gemm_codes g = {.x = a, .w = &q->w, .y = y, .cells = q->cells.cells};
    SQ_TRY(sq_gemm_codes_check(&g, err));
    SQ_FREED void *scratch = aligned_alloc(64, (sq_gemm_codes_scratch(&g) + 63) / 64 * 64);
    SQ_NEED_LAYER(scratch, err, q->w.n, q->w.k);
    sq_gemm_codes(&g, 0, a->n, scratch);
    return SQ_OK;
}

// Any pair of grids but packed weights; layers whose activations have the same codes.
static enum sq_status apply_codes(const void *const *state, size_t n, const struct sq_recipe *r,
                                  const float *x, size_t m, float *const *y, struct sq_error *err)
{
    const struct sq_grid_layer *q = state[0];
    SQ_CLOSED(sq_codes_free) struct sq_codes a = sq_grid_act_codes(q, r, m);
    SQ_TRY(sq_codes_alloc(&a, err));
    SQ_FREED float *score = malloc(2 * a.k * sizeof *score);
    SQ_TRY(score ? sq_codes_encode_act(&a, x, sq_grid_recipe(r)->select, q->mask, score, err)
                 : SQ_NO_MEMORY(err, "%zu rows of %zu", q->w.n, q->w.k));
    for (size_t i = 0; i < n; i++)
        SQ_TRY(multiply_codes(state[i], &a, y[i], err));
    return SQ_OK;
}

static enum sq_status apply_f16(const struct sq_grid_layer *q, const float *x, size_t m, float *y,
                                struct sq_error *err)
{
    SQ_FREED void *scratch = aligned_alloc(64, (sq_gemm_f16_scratch(&q->w, m) + 63) / 64 * 64);
    SQ_NEED_LAYER(scratch, err, q->w.n, q->w.k);
    return sq_gemm_f16(&q->w, x, m, y, scratch, err);
}

static bool is_of_codes(const struct sq_grid_layer *q, const struct sq_recipe *r)
{
    return !q->values && !q->packed.buffer && !r->is_act_f16;
}

// Whether activations have the same codes in two layers of one recipe.
static bool is_encoded_alike(const struct sq_grid_layer *a, const struct sq_grid_layer *b,
                             const struct sq_recipe *r)
{
    return is_of_codes(a, r) && is_of_codes(b, r) && a->w.k == b->w.k && !a->mask == !b->mask &&
           (!a->mask || memcmp(a->mask, b->mask, a->w.k) == 0);
}

// from[m][k]: rotated where the recipe says so.
static enum sq_status apply_one(const void *state, const struct sq_recipe *r, const float *from,
                                size_t m, float *y, struct sq_error *err)
{
    const struct sq_grid_layer *q = state;
    return q->values ? apply_values(q, r, from, m, y, err)
           : q->packed.buffer
               ? sq_cells_apply(&q->cells, from, m, q->w.k_orig, r->act.low_bits, y, err)
           : r->is_act_f16 ? apply_f16(q, from, m, y, err)
                           : apply_codes(&state, 1, r, from, m, &y, err);
}

enum sq_status sq_grid_apply_shared(const void *const *state, size_t n, const struct sq_recipe *r,
                                    const float *x, size_t m, float *const *y, struct sq_error *err)
{
    const struct sq_grid_layer *q = state[0];
    SQ_FREED float *rotated = NULL;
    bool is_alike = n > 1;
    for (size_t i = 1; i < n; i++)
        is_alike = is_alike && is_encoded_alike(q, state[i], r);
    if (q->rotation)
        SQ_TRY(sq_grid_rotated(q->rotation, x, m, q->w.k_orig, &rotated, err));
    const float *from = rotated ? rotated : x;
    if (is_alike)
        return apply_codes(state, n, r, from, m, y, err);
    for (size_t i = 0; i < n; i++)
        SQ_TRY(apply_one(state[i], r, from, m, y[i], err));
    return SQ_OK;
}

enum sq_status sq_grid_apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                             float *y, struct sq_error *err)
{
    return sq_grid_apply_shared(&state, 1, r, x, m, &y, err);
}
