// SPDX-License-Identifier: Apache-2.0
// Encodes activations, multiplies codes, and puts operands and sums into a product
// (sq_grid_product.h).
#include "sim/format/core/sq_grid_product.h"

#include <stdlib.h>
#include <string.h>

#include "models/core/sq_mac.h"
#include "models/output/sq_combine.h"
#include "models/quant/sq_codes_alloc.h"
#include "sim/format/sq_tile_route.h"

enum { BEAT = 16 }; // columns of a beat of dense arrays: K is padded to whole beats

enum sq_status sq_grid_check_routes(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    SQ_FAIL_IF(r->is_act_f16, err, SQ_ERR_UNSUPPORTED,
               "act-bits = 16: no block multiplies binary16, need 4..8 in RTL");
    SQ_FAIL_IF(r->operand != SQ_OPERAND_BOTH || o->rotation, err, SQ_ERR_UNSUPPORTED,
               "operand, rotate: no block multiplies binary32 or rotates, need both and "
               "none in RTL");
    SQ_FAIL_IF(r->act.kind == SQ_GRID_SHIFT || r->act.high_bits > 8, err, SQ_ERR_UNSUPPORTED,
               "variant = shift, high-bits = 12: no block multiplies them yet, need own, "
               "tied or split of 8 or 4 bits in RTL");
    return SQ_OK;
}

// ---- codes of one operand -------------------------------------------------------------------

// A plane of codes, [c->n][k], c->k of them from c, zeros after.
static enum sq_status put_plane(struct sq_product *p, const char *name, const struct sq_codes *c,
                                int (*part)(const struct sq_grid *g, int16_t code),
                                struct sq_error *err)
{
    int8_t *plane;
    SQ_PRODUCT_KEEP(p, plane, c->n * p->k);
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < c->k; j++) {
            const int16_t code = c->code[i * c->k + j];
            plane[i * p->k + j] = (int8_t)(part ? part(&c->grid, code) : code);
        }
    sq_product_put(p, name, SQ_I8, c->n * p->k, plane);
    return SQ_OK;
}

// The mixed operand. is_one: its lines share one mask.
static enum sq_status put_mixed(struct sq_product *p, const struct sq_codes *c, bool is_one,
                                struct sq_error *err)
{
    const size_t n = is_one ? c->k : c->n * c->k;
    uint8_t *mask;
    SQ_PRODUCT_KEEP(p, mask, n);
    memcpy(mask, c->is_high, n);
    sq_product_put(p, "mask", SQ_U8, n, mask);
    sq_product_put_number(p, "bank", c->bank);
    sq_product_put_number(p, "k", c->high_per_bank);
    sq_product_put_number(p, "high_bits", c->grid.high_bits);
    sq_product_put_number(p, "low_bits", c->grid.low_bits);
    sq_product_put_number(p, "one_acc", sq_grid_is_single(&c->grid));
    if (c->grid.kind != SQ_GRID_SPLIT)
        return put_plane(p, "code", c, NULL, err);
    SQ_TRY(put_plane(p, "low", c, sq_split_lower, err));
    return put_plane(p, "high", c, sq_split_upper, err);
}

// ---- the integers ---------------------------------------------------------------------------

// The scales of the output stage, as sq_gemm_codes reads them.
static enum sq_status put_scales(struct sq_product *p, const struct sq_codes *a,
                                 const struct sq_codes *w, struct sq_error *err)
{
    const size_t n = w->n * (w->k / w->group);
    float *col, *row;
    SQ_PRODUCT_KEEP(p, col, n);
    SQ_PRODUCT_KEEP(p, row, a->n);
    for (size_t i = 0; i < n; i++)
        col[i] = sq_grid_is_single(&w->grid)
                     ? sq_grid_single_scale(&w->grid, w->s_lo[i], w->s_hi[i])
                     : w->s_lo[i];
    for (size_t i = 0; i < a->n; i++)
        row[i] = sq_grid_is_single(&a->grid)
                     ? sq_grid_single_scale(&a->grid, a->s_lo[i], a->s_hi[i])
                     : a->s_lo[i];
    if (w->grid.kind == SQ_GRID_OWN || w->grid.kind == SQ_GRID_FP)
        return sq_tiles_put_scales(p, SQ_COMBINE_TWO, col, w->s_hi, row, NULL, err);
    if (a->grid.kind == SQ_GRID_OWN)
        return sq_tiles_put_scales(p, SQ_COMBINE_SCALED, col, NULL, row, a->s_hi, err);
    return sq_tiles_put_scales(p, SQ_COMBINE_ONE, col, NULL, row, NULL, err);
}

static enum sq_status multiply(struct sq_product *p, const struct sq_codes *a,
                               const struct sq_codes *w, struct sq_error *err)
{
    struct sq_gemm_codes g = {.x = a, .w = w};
    const size_t n_p = p->m * p->n * (w->k / w->group);
    const bool is_fp = w->grid.kind == SQ_GRID_FP; // its sums are no integers
    const bool is_two = !sq_grid_is_single(&a->grid) || !sq_grid_is_single(&w->grid);
    uint8_t *scratch;
    SQ_PRODUCT_KEEP(p, g.y, p->m * p->n);
    if (!is_fp) {
        SQ_PRODUCT_KEEP(p, g.p_lo, n_p);
        SQ_PRODUCT_KEEP(p, g.p_hi, n_p);
    }
    SQ_TRY(sq_gemm_codes_check(&g, err));
    SQ_PRODUCT_KEEP(p, scratch, sq_gemm_codes_scratch(&g));
    sq_gemm_codes(&g, 0, p->m, scratch);
    if (!is_fp)
        sq_product_put(p, "p_lo", SQ_I32, n_p, g.p_lo);
    if (!is_fp && is_two)
        sq_product_put(p, "p_hi", SQ_I32, n_p, g.p_hi);
    sq_product_put(p, "y", SQ_F32, p->m * p->n, g.y);
    if (is_fp)
        sq_product_put_number(p, "is_fp", 1);
    if (is_fp || w->group != w->k)
        sq_product_put_number(p, "group", w->group);
    return put_scales(p, a, w, err);
}

static enum sq_status encode_act(const struct sq_codes *w, const struct sq_recipe *r,
                                 const uint8_t *mask, const float *x, size_t m, struct sq_codes *a,
                                 struct sq_error *err)
{
    const bool is_mixed = sq_grid_is_mixed(&r->act);
    *a = (struct sq_codes){.grid = r->act,
                           .n = m,
                           .k = w->k,
                           .k_orig = w->k_orig,
                           .group = w->k,
                           .bank = is_mixed ? r->bank : 0,
                           .high_per_bank = is_mixed ? r->high_per_bank : 0};
    SQ_TRY(sq_codes_alloc(a, err));
    SQ_FREED float *score = malloc(2 * a->k * sizeof *score);
    return score ? sq_codes_encode_act(a, x, sq_grid_recipe(r)->select, mask, score, err)
                 : SQ_NO_MEMORY(err, "%zu channels", a->k);
}

// Makes the product of codes that are not packed.
static enum sq_status codes_product(const struct sq_codes *w, const struct sq_recipe *r,
                                    const uint8_t *mask, const float *x, struct sq_product *p,
                                    struct sq_error *err)
{
    const bool is_act = sq_grid_is_mixed(&r->act), is_weight = sq_grid_is_mixed(&w->grid);
    SQ_CLOSED(sq_codes_free) struct sq_codes a = {0};
    SQ_TRY(encode_act(w, r, mask, x, p->m, &a, err));
    p->k = is_act || is_weight ? w->k : (w->k + BEAT - 1) / BEAT * BEAT;
    SQ_TRY(multiply(p, &a, w, err));
    SQ_TRY(is_act ? put_mixed(p, &a, mask, err)
                  : put_plane(p, is_weight ? "x" : "code", &a, NULL, err));
    SQ_TRY(is_weight ? put_mixed(p, w, false, err) : put_plane(p, "w", w, NULL, err));
    if (!is_act)
        sq_product_put_number(p, "act_bits", r->act.low_bits);
    if (!is_weight)
        sq_product_put_number(p, "weight_bits", w->grid.low_bits);
    return SQ_OK;
}

// Packed weights: what the core reads.
static enum sq_status packed_product(const struct sq_operand *o, const struct sq_recipe *r,
                                     const float *x, struct sq_product *p, struct sq_error *err)
{
    const struct sq_matrix *w = &o->m;
    const size_t groups = sq_n_groups(&w->format, w->k), n_p = p->m * p->n * groups;
    int8_t *act;
    float *s_a, *y;
    int32_t *p_lo, *p_hi;
    uint8_t *scratch;
    p->k = w->k;
    SQ_PRODUCT_KEEP(p, act, p->m * p->k);
    SQ_PRODUCT_KEEP(p, s_a, p->m);
    SQ_PRODUCT_KEEP(p, y, p->m * p->n);
    SQ_PRODUCT_KEEP(p, p_lo, n_p);
    SQ_PRODUCT_KEEP(p, p_hi, n_p);
    SQ_PRODUCT_KEEP(p, scratch, sq_gemm_scratch_nbytes(w));
    SQ_TRY(sq_act_quantize(x, p->m, w->k_orig, p->k, r->act.low_bits, act, s_a, err));
    sq_gemm_sq_w(w, act, s_a, p->m, 0, p->n, y, p_lo, p_hi, scratch);
    sq_product_put(p, "x", SQ_I8, p->m * p->k, act);
    sq_product_put(p, "lo", SQ_U8, o->lo_nbytes, w->lo);
    sq_product_put(p, "hi", SQ_U8, o->hi_nbytes, w->hi);
    sq_product_put(p, "s_lo", SQ_F32, o->n_scales, w->s_lo);
    sq_product_put(p, "s_hi", SQ_F32, o->n_scales, w->s_hi);
    sq_product_put(p, "p_lo", SQ_I32, n_p, p_lo);
    sq_product_put(p, "p_hi", SQ_I32, n_p, p_hi);
    sq_product_put(p, "y", SQ_F32, p->m * p->n, y);
    sq_product_put_number(p, "act_bits", r->act.low_bits);
    sq_product_put_number(p, "bank", w->format.bank);
    sq_product_put_number(p, "k", w->format.high_per_bank);
    sq_product_put_number(p, "high_bits", w->format.high_bits);
    sq_product_put_number(p, "low_bits", w->format.low_bits);
    sq_product_put_number(p, "group", w->format.group ? w->format.group : p->k);
    return sq_tiles_put_scales(p, SQ_COMBINE_TWO, w->s_lo, w->s_hi, s_a, NULL, err);
}

enum sq_status sq_grid_product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                               struct sq_product *p, struct sq_error *err)
{
    const struct sq_grid_layer *l = sq_grid_layer_of(q);
    p->n = q->n;
    return l->packed.buffer ? packed_product(&l->packed, r, x, p, err)
                            : codes_product(&l->w, r, l->mask, x, p, err);
}
