// SPDX-License-Identifier: Apache-2.0
// Products of formats on a grid of codes (sq_grid_format.h). The weights are laid out once a layer,
// as sq_gemm_codes reads them; a benchmark of these formats times sq_quant_layer_apply.
#include <stdlib.h>

#include "models/quant/sq_codes_alloc.h"
#include "models/sq_mac.h"
#include "sim/format/sq_cells.h"
#include "sim/format/sq_grid_format.h"

static enum sq_status no_memory(size_t n, size_t k, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer of %zu x %zu", n, k);
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

// Any pair of grids but packed weights.
static enum sq_status apply_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                  const float *x, size_t m, float *y, struct sq_error *err)
{
    struct sq_codes a = sq_grid_act_codes(q, r, m);
    SQ_TRY(sq_codes_alloc(&a, err));
    const struct sq_gemm_codes g = {.x = &a, .w = &q->w, .y = y, .cells = q->cells.cells};
    float *score = malloc(2 * a.k * sizeof *score);
    void *scratch = aligned_alloc(64, (sq_gemm_codes_scratch(&g) + 63) / 64 * 64);
    enum sq_status status = sq_gemm_codes_check(&g, err);
    if (status == SQ_OK && (!score || !scratch))
        status = no_memory(q->w.n, q->w.k, err);
    if (status == SQ_OK)
        status = sq_codes_encode_act(&a, x, r->select, q->mask, score, err);
    if (status == SQ_OK)
        sq_gemm_codes(&g, 0, m, scratch);
    free(score);
    free(scratch);
    sq_codes_free(&a);
    return status;
}

static enum sq_status apply_f16(const struct sq_grid_layer *q, const float *x, size_t m, float *y,
                                struct sq_error *err)
{
    void *scratch = aligned_alloc(64, (sq_gemm_f16_scratch(&q->w, m) + 63) / 64 * 64);
    if (!scratch)
        return no_memory(q->w.n, q->w.k, err);
    const enum sq_status status = sq_gemm_f16(&q->w, x, m, y, scratch, err);
    free(scratch);
    return status;
}

enum sq_status sq_grid_apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                             float *y, struct sq_error *err)
{
    const struct sq_grid_layer *q = state;
    float *rotated = NULL;
    if (q->rotation)
        SQ_TRY(sq_grid_rotated(q->rotation, x, m, q->w.k_orig, &rotated, err));
    const float *from = rotated ? rotated : x;
    const enum sq_status status =
        q->values ? sq_grid_apply_values(q, r, from, m, y, err)
        : q->packed.buffer
            ? sq_cells_apply(&q->cells, from, m, q->w.k_orig, r->act.low_bits, y, err)
        : r->is_act_f16 ? apply_f16(q, from, m, y, err)
                        : apply_codes(q, r, from, m, y, err);
    free(rotated);
    return status;
}
