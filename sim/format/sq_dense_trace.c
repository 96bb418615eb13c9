// SPDX-License-Identifier: Apache-2.0
// Kernel traces of dense: codes and product. Route: the array.
#include "models/sq_format.h"
#include "models/sq_mac.h"
#include "sim/format/sq_tile_route.h"

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
{
    const float *x, *s_w;
    const int8_t *w;
    int8_t *code;
    float *s_x;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_replay_number(r, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_replay_number(r, "weight_bits", 4, 8, &weight_bits, err));
    if (act_bits % 4 != 0 || weight_bits % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: metadata act_bits = %zu, weight_bits = %zu, need 4 or 8",
                       sq_path_tail(r->path), act_bits, weight_bits);
    SQ_REPLAY_INPUT(r, "x", SQ_F32, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "w", SQ_I8, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "s_w", SQ_F32, r->n, s_w);
    for (size_t i = 0; i < r->n * r->k; i++)
        if (w[i] < -sq_qmax((unsigned)weight_bits) || w[i] > sq_qmax((unsigned)weight_bits))
            return SQ_FAIL(err, SQ_ERR_CODE, "%s: w[%zu] = %d, need %d..%d", sq_path_tail(r->path),
                           i, w[i], -sq_qmax((unsigned)weight_bits),
                           sq_qmax((unsigned)weight_bits));
    SQ_REPLAY_KEEP(r, code, r->m * r->k);
    SQ_REPLAY_KEEP(r, s_x, r->m);
    SQ_TRY(sq_act_quantize(x, r->m, r->k, r->k, (unsigned)act_bits, code, s_x, err));
    SQ_TRY(sq_replay_compare(r, "code", SQ_I8, r->m * r->k, code, err));
    SQ_TRY(sq_replay_compare(r, "s_x", SQ_F32, r->m, s_x, err));
    return sq_replay_product(r, code, s_x, w, s_w, err);
}

// ---- route -------------------------------------------------------------------------------------

enum { DENSE_BANK = 16 };

static enum sq_status make_dense(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_tiles t;
    const int8_t *x, *weight;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_replay_number(w->r, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_replay_number(w->r, "weight_bits", 4, 8, &weight_bits, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * w->r->k, x);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * w->r->k, weight);
    sq_route_set_array(w, SQ_ARRAY_DENSE, DENSE_BANK, 1, false, (unsigned)act_bits,
                       (unsigned)weight_bits, 4);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = sq_tiles_beat(w, &t, g, b);
            sq_tiles_put(w, &t, g, b, x, beat + sq_route_field(w, "plain"), weight,
                         beat + sq_route_field(w, "low"));
        }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_array_block, make_dense, sq_tiles_check},
};

const struct sq_format_trace sq_dense_trace = {NULL, NULL, values, routes, 1};
