// SPDX-License-Identifier: Apache-2.0
// Kernel traces of spqt: superblocks and active columns. Route: spqt_idx.
#include "models/sq_fp.h"
#include "models/sq_half.h"
#include "models/sq_spqt.h"
#include "models/sq_spqt_idx.h"
#include "sim/format/sq_kernel_trace.h"

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
{
    struct sq_spqt m = {r->n, r->k, NULL};
    const float *w, *theta;
    const uint16_t *x;
    int32_t *n_active, *index;
    uint32_t *active;
    float *values;
    if (r->n % SQ_Q4K_LEN != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata N = %zu, need a multiple of %d",
                       sq_path_tail(r->path), r->n, SQ_Q4K_LEN);
    SQ_REPLAY_INPUT(r, "w", SQ_F32, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "x", SQ_F16, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "theta", SQ_F32, 1, theta);
    const size_t n_bytes = sq_spqt_n_blocks(r->n, r->k) * SQ_Q4K_NBYTES;
    SQ_REPLAY_KEEP(r, m.block, n_bytes);
    SQ_REPLAY_KEEP(r, n_active, r->m);
    SQ_REPLAY_KEEP(r, index, r->m * r->k);
    SQ_REPLAY_KEEP(r, active, r->k);
    SQ_REPLAY_KEEP(r, values, r->k);
    SQ_TRY(sq_spqt_encode(w, &m, err));
    SQ_TRY(sq_replay_compare(r, "superblocks", SQ_U8, n_bytes, m.block, err));
    for (size_t t = 0; t < r->m; t++) {
        for (size_t i = 0; i < r->k; i++) {
            values[i] = sq_half_to_float(x[t * r->k + i]);
            index[t * r->k + i] = -1;
        }
        SQ_TRY(sq_spqt_check(values, r->k, *theta, err));
        const size_t n = sq_spqt_active(values, r->k, *theta, SQ_SPQT_SEGMENT, active);
        n_active[t] = (int32_t)n;
        for (size_t i = 0; i < n; i++)
            index[t * r->k + i] = (int32_t)active[i];
    }
    SQ_TRY(sq_replay_compare(r, "n_active", SQ_I32, r->m, n_active, err));
    return sq_replay_compare(r, "index", SQ_I32, r->m * r->k, index, err);
}

// ---- spqt_idx: the active columns --------------------------------------------------------------

enum { SPQT_SEGMENT = 64, SPQT_LANES = 8, SPQT_INDEX_BITS = 16 };

static enum sq_status make_spqt(struct sq_route_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, k = w->r->k, segments = k / SPQT_SEGMENT;
    struct sq_case *c = w->stream;
    const uint16_t *x;
    const float *theta;
    if (k % SPQT_SEGMENT != 0 || k > SQ_SPQT_COLUMNS_MAX)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: metadata K = %zu, need a multiple of %d up to %d for spqt_idx",
                       sq_path_tail(w->r->path), k, SPQT_SEGMENT, SQ_SPQT_COLUMNS_MAX);
    SQ_REPLAY_TENSOR(w->r, "x", SQ_F16, m * k, x);
    SQ_REPLAY_TENSOR(w->r, "theta", SQ_F32, 1, theta);
    const uint16_t pattern = sq_f32_to_f16(*theta);
    if (sq_half_to_float(pattern) != *theta)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: theta = %g, need a binary16 number for spqt_idx",
                       sq_path_tail(w->r->path), (double)*theta);
    sq_route_set(w, "SegLen", SPQT_SEGMENT);
    sq_route_set(w, "Lanes", SPQT_LANES);
    sq_route_set(w, "Fp16", 1);
    sq_route_set(w, "IndexW", SPQT_INDEX_BITS);
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
    const size_t m = w->r->m, k = w->r->k, segments = k / SPQT_SEGMENT;
    const int32_t *n_active, *index;
    SQ_REPLAY_TENSOR(w->r, "n_active", SQ_I32, m, n_active);
    SQ_REPLAY_TENSOR(w->r, "index", SQ_I32, m * k, index);
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
    {&sq_spqt_idx_block, make_spqt, check_spqt},
};

const struct sq_format_trace sq_spqt_trace = {NULL, NULL, values, routes, 1};
