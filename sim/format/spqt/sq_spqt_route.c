// SPDX-License-Identifier: Apache-2.0
// The hardware of spqt. Routes of a kernel trace: spqt_idx; of a layer: its engine
// (sq_spqt_engine_route.c).
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "models/spqt/sq_spqt.h"
#include "models/spqt/sq_spqt_idx.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/format/spqt/sq_spqt_route.h"
#include "sim/format/sq_format_ops.h"

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    struct sq_spqt m = {r->p.n, r->p.k, NULL};
    const float *w, *theta;
    const uint16_t *x;
    int32_t *n_active, *index;
    uint32_t *active;
    float *values;
    if (r->p.n % SQ_Q4K_LEN != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata N = %zu, need a multiple of %d",
                       sq_path_tail(r->p.source), r->p.n, SQ_Q4K_LEN);
    SQ_TRACE_INPUT(r, "w", SQ_F32, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "x", SQ_F16, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT(r, "theta", SQ_F32, 1, theta);
    const size_t n_bytes = sq_spqt_n_blocks(r->p.n, r->p.k) * SQ_Q4K_NBYTES;
    SQ_TRACE_KEEP(r, m.block, n_bytes);
    SQ_TRACE_KEEP(r, n_active, r->p.m);
    SQ_TRACE_KEEP(r, index, r->p.m * r->p.k);
    SQ_TRACE_KEEP(r, active, r->p.k);
    SQ_TRACE_KEEP(r, values, r->p.k);
    SQ_TRY(sq_spqt_encode(w, &m, err));
    SQ_TRY(sq_trace_compare(r, "superblocks", SQ_U8, n_bytes, m.block, err));
    for (size_t t = 0; t < r->p.m; t++) {
        for (size_t i = 0; i < r->p.k; i++) {
            values[i] = sq_half_to_float(x[t * r->p.k + i]);
            index[t * r->p.k + i] = -1;
        }
        SQ_TRY(sq_spqt_check(values, r->p.k, *theta, err));
        const size_t n = sq_spqt_active(values, r->p.k, *theta, SQ_SPQT_SEGMENT, active);
        n_active[t] = (int32_t)n;
        for (size_t i = 0; i < n; i++)
            index[t * r->p.k + i] = (int32_t)active[i];
    }
    SQ_TRY(sq_trace_compare(r, "n_active", SQ_I32, r->p.m, n_active, err));
    return sq_trace_compare(r, "index", SQ_I32, r->p.m * r->p.k, index, err);
}

// ---- spqt_idx: the active columns --------------------------------------------------------------

enum { SPQT_SEGMENT = 64, SPQT_LANES = 8, SPQT_INDEX_BITS = 16 };

static enum sq_status make_spqt(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->p->m, k = w->p->k, segments = k / SPQT_SEGMENT;
    struct sq_case *c = w->stream;
    const uint16_t *x;
    const float *theta;
    if (k % SPQT_SEGMENT != 0 || k > SQ_SPQT_COLUMNS_MAX)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: metadata K = %zu, need a multiple of %d up to %d for spqt_idx",
                       sq_path_tail(w->p->source), k, SPQT_SEGMENT, SQ_SPQT_COLUMNS_MAX);
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_F16, m * k, x);
    SQ_PRODUCT_TENSOR(w->p, "theta", SQ_F32, 1, theta);
    const uint16_t pattern = sq_f32_to_f16(*theta);
    if (sq_half_to_float(pattern) != *theta)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: theta = %g, need a binary16 number for spqt_idx",
                       sq_path_tail(w->p->source), (double)*theta);
    sq_route_set(w, "SegLen", SPQT_SEGMENT);
    sq_route_set(w, "Lanes", SPQT_LANES);
    sq_route_set(w, "Fp16", 1);
    sq_route_set(w, "IndexW", SPQT_INDEX_BITS);
    c->max_outputs = k / SPQT_LANES + 2;
    SQ_TRY(sq_route_begin(w, m, m * segments, err));
    int32_t *beat = c->beats;
    for (size_t t = 0; t < m; t++) {
        c->len[t][0] = (uint32_t)segments;
        for (size_t s = 0; s < segments; s++, beat += w->len) {
            for (size_t i = 0; i < SPQT_SEGMENT; i++)
                beat[sq_route_field(w, "x") + i] = (int16_t)x[t * k + s * SPQT_SEGMENT + i];
            beat[sq_route_field(w, "theta")] = pattern;
            beat[sq_route_field(w, "last")] = s + 1 == segments;
        }
    }
    return SQ_OK;
}

static enum sq_status check_spqt(struct sq_route_work *w, struct sq_error *err)
{
    enum { COUNT = SPQT_LANES, TOTAL, LAST, REFUSED }; // behind the indices
    const size_t m = w->p->m, k = w->p->k, segments = k / SPQT_SEGMENT;
    const int32_t *n_active, *index;
    SQ_PRODUCT_TENSOR(w->p, "n_active", SQ_I32, m, n_active);
    SQ_PRODUCT_TENSOR(w->p, "index", SQ_I32, m * k, index);
    for (size_t t = 0; t < m; t++) {
        size_t found = 0;
        const size_t n_beats = sq_route_golden(w, t, t * segments);
        for (size_t b = 0; b < n_beats; b++) {
            const int32_t *beat = w->golden + b * w->out_len;
            for (int32_t i = 0; i < beat[COUNT] && found < k; i++, found++)
                sq_route_expect(w, "index", t * k + found, index[t * k + found], beat[i]);
            sq_route_expect(w, "n_active", t, b + 1 == n_beats, beat[LAST]);
            sq_route_expect(w, "x", t, 0, beat[REFUSED]);
        }
        sq_route_expect(w, "n_active", t, n_active[t],
                        w->golden[(n_beats - 1) * w->out_len + TOTAL]);
        sq_route_expect(w, "n_active", t, n_active[t], (int64_t)found);
    }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_spqt_idx_block, make_spqt, check_spqt, sq_spqt_is_trace},
    {&sq_engine_spqt_block, sq_spqt_make_engine, sq_spqt_check_engine, sq_spqt_is_layer},
};

// ---- layers ------------------------------------------------------------------------------------

// The index unit compares binary16: of such x, |x| >= theta where |x| reaches theta rounded up.
static uint16_t round_up(float theta)
{
    const uint16_t pattern = sq_f32_to_f16(theta);
    return (uint16_t)(pattern + (sq_half_to_float(pattern) < theta));
}

static enum sq_status put_active(struct sq_product *p, const float *wide, float theta,
                                 struct sq_error *err)
{
    const size_t m = p->m, k = p->k;
    uint32_t *active;
    int32_t *n_active, *index;
    SQ_PRODUCT_KEEP(p, active, k);
    SQ_PRODUCT_KEEP(p, n_active, m);
    SQ_PRODUCT_KEEP(p, index, m * k);
    for (size_t t = 0; t < m; t++) {
        SQ_TRY(sq_spqt_check(wide + t * k, k, theta, err));
        const size_t n = sq_spqt_active(wide + t * k, k, theta, SQ_SPQT_SEGMENT, active);
        n_active[t] = (int32_t)n;
        for (size_t i = 0; i < k; i++)
            index[t * k + i] = i < n ? (int32_t)active[i] : -1;
    }
    sq_product_put(p, "n_active", SQ_I32, m, n_active);
    sq_product_put(p, "index", SQ_I32, m * k, index);
    return SQ_OK;
}

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    float theta, *wide, *pattern, *y;
    uint16_t *half;
    const struct sq_spqt *m = sq_spqt_encoded(q->state, &theta);
    p->n = m->n;
    p->k = (m->k + SPQT_SEGMENT - 1) / SPQT_SEGMENT * SPQT_SEGMENT;
    SQ_PRODUCT_KEEP(p, wide, p->m * p->k);
    SQ_PRODUCT_KEEP(p, half, p->m * p->k);
    SQ_PRODUCT_KEEP(p, pattern, 1);
    for (size_t i = 0; i < p->m * m->k; i++) {
        const size_t at = i / m->k * p->k + i % m->k;
        half[at] = sq_f32_to_f16(x[i]);
        x[i] = wide[at] = sq_half_to_float(half[at]);
    }
    *pattern = sq_half_to_float(round_up(theta));
    sq_product_put(p, "x", SQ_F16, p->m * p->k, half);
    sq_product_put(p, "theta", SQ_F32, 1, pattern);
    SQ_PRODUCT_KEEP(p, y, p->m * p->n);
    SQ_TRY(q->format->values->apply(q->state, r, x, p->m, y, err));
    sq_product_put(p, "y", SQ_F32, p->m * p->n, y);
    sq_product_put(p, "superblocks", SQ_U8, sq_spqt_n_blocks(m->n, m->k) * SQ_Q4K_NBYTES, m->block);
    sq_product_put_number(p, "workers", o->workers ? o->workers : SQ_SPQT_WORKERS);
    return put_active(p, wide, theta, err);
}

const struct sq_format_routes sq_spqt_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .trace_values = values,
    .product = product,
};
