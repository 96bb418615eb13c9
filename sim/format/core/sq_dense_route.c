// SPDX-License-Identifier: Apache-2.0
// Kernel traces of dense: codes and product. Routes: the array; for layers its engine, or the chip.
#include "models/core/sq_format.h"
#include "models/core/sq_mac.h"
#include "models/output/sq_combine.h"
#include "sim/format/core/sq_grid_product.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/sq_tile_route.h"
#include "sim/format/top/sq_chip_route.h"

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const float *x, *s_w;
    const int8_t *w;
    int8_t *code;
    float *s_x;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_product_number(&r->p, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_product_number(&r->p, "weight_bits", 4, 8, &weight_bits, err));
    SQ_FAIL_IF(act_bits % 4 != 0 || weight_bits % 4 != 0, err, SQ_ERR_UNSUPPORTED,
               "%s: metadata act_bits = %zu, weight_bits = %zu, need 4 or 8",
               sq_path_tail(r->p.source), act_bits, weight_bits);
    SQ_TRACE_INPUT(r, "x", SQ_F32, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT(r, "w", SQ_I8, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "s_w", SQ_F32, r->p.n, s_w);
    for (size_t i = 0; i < r->p.n * r->p.k; i++)
        SQ_FAIL_IF(w[i] < -sq_qmax((unsigned)weight_bits) || w[i] > sq_qmax((unsigned)weight_bits),
                   err, SQ_ERR_CODE, "%s: w[%zu] = %d, need %d..%d", sq_path_tail(r->p.source), i,
                   w[i], -sq_qmax((unsigned)weight_bits), sq_qmax((unsigned)weight_bits));
    SQ_TRACE_KEEP(r, code, r->p.m * r->p.k);
    SQ_TRACE_KEEP(r, s_x, r->p.m);
    SQ_TRY(sq_act_quantize(x, r->p.m, r->p.k, r->p.k, (unsigned)act_bits, code, s_x, err));
    SQ_TRY(sq_trace_compare(r, "code", SQ_I8, r->p.m * r->p.k, code, err));
    SQ_TRY(sq_trace_compare(r, "s_x", SQ_F32, r->p.m, s_x, err));
    return sq_trace_product(r, code, s_x, w, s_w, err);
}

// ---- route -------------------------------------------------------------------------------------

enum { DENSE_BANK = 16 };

static enum sq_status make_dense(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    const int8_t *x, *weight;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_product_number(w->p, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_product_number(w->p, "weight_bits", 2, 8, &weight_bits, err));
    SQ_PRODUCT_TENSOR(w->p, "code", SQ_I8, w->p->m * w->p->k, x);
    SQ_PRODUCT_TENSOR(w->p, "w", SQ_I8, w->p->n * w->p->k, weight);
    const unsigned bank =
        sq_chip_bank(w, DENSE_BANK, 2 * (unsigned)act_bits * (unsigned)weight_bits);
    sq_route_set_array(w, SQ_ARRAY_DENSE, bank, 1, false, (unsigned)act_bits, (unsigned)weight_bits,
                       4);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    for (size_t g = 0; g < t.all; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            sq_tiles_put(w, &t, g, b, x, sq_tiles_plain(w, "plain", beat), weight,
                         beat + sq_route_field(w, "low"));
        }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_array_block, make_dense, sq_tiles_check, sq_tiles_has_no_scales},
    {&sq_engine_array_block, make_dense, sq_tiles_check, sq_tiles_has_scales},
};

static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    return sq_chip_make(w, &sq_engine_array_block, make_dense, err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, sq_tiles_has_scales};

const struct sq_format_routes sq_dense_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .chip = &chip,
    .trace_values = values,
    .trace_output = {SQ_COMBINE_ONE, {"s_w", NULL, "s_x", NULL}},
    .check = sq_grid_check_routes,
    .product = sq_grid_product,
};
