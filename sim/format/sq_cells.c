// SPDX-License-Identifier: Apache-2.0
// Makes the fast layout of INT8 weights, and multiplies activations by it (sq_cells.h).
#include "sim/format/sq_cells.h"

#include <stdlib.h>

#include "models/core/sq_mac.h"
#include "sim/format/sq_recipe.h"

enum sq_status sq_cells_new(const struct sq_gemm_codes *g, void **cells, struct sq_error *err)
{
    const size_t n = g->w->n, nbytes = sq_gemm_codes_cells(g);
    bool is_out_of_memory = false;
    *cells = NULL;
    if (nbytes == 0)
        return SQ_OK;
    void *to = aligned_alloc(64, nbytes);
    SQ_NEED_LAYER(to, err, n, g->w->k);
#pragma omp parallel for schedule(dynamic)
    for (size_t b = 0; b < n; b += SQ_GEMM_CODES_BLOCK) {
        SQ_FREED void *scratch = malloc(sq_gemm_codes_load_scratch(g));
        if (scratch) {
            sq_gemm_codes_load(g, b / SQ_GEMM_CODES_BLOCK, to, scratch);
        } else {
#pragma omp atomic write
            is_out_of_memory = true;
        }
    }
    *cells = to; // freed with what it belongs to, also after a failure
    return is_out_of_memory ? SQ_NO_LAYER(err, n, g->w->k) : SQ_OK;
}

static struct sq_gemm_codes product_of(const struct sq_cells *c, const struct sq_codes *x)
{
    return (struct sq_gemm_codes){
        .x = x, .w = &c->w, .row = c->row, .from = c->from, .cells = c->cells};
}

enum sq_status sq_cells_init(struct sq_cells *c, struct sq_error *err)
{
    const struct sq_codes x = sq_gemm_act_codes(NULL, 1, c->w.k);
    const struct sq_gemm_codes g = product_of(c, &x);
    return sq_cells_new(&g, &c->cells, err);
}

enum sq_status sq_cells_apply(const struct sq_cells *c, const float *x, size_t m, size_t k_orig,
                              unsigned act_bits, float *y, struct sq_error *err)
{
    const size_t k = c->w.k;
    SQ_FREED int8_t *act = malloc(m * k);
    SQ_FREED float *s_a = malloc(m * sizeof *s_a);
    const struct sq_codes a = sq_gemm_act_codes(s_a, m, k);
    struct sq_gemm_codes g = product_of(c, &a);
    SQ_FREED void *scratch = aligned_alloc(64, (sq_gemm_codes_scratch(&g) + 63) / 64 * 64);
    SQ_NEED_LAYER(act && s_a && scratch, err, c->w.n, k);
    SQ_TRY(sq_act_quantize(x, m, k_orig, k, act_bits, act, s_a, err));
    g.act = act;
    g.y = y;
    sq_gemm_codes(&g, 0, m, scratch);
    return SQ_OK;
}
