// SPDX-License-Identifier: Apache-2.0
// The hardware of spqt. A kernel trace goes through spqt_idx, a layer through its engine
// (below).
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "models/spqt/sq_spqt.h"
#include "models/spqt/sq_spqt_idx.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_route.h"

// ---- layers through the engine -----------------------------------------------------------------

enum { BYTES = 16, BEATS = SQ_Q4K_NBYTES / BYTES, LANES = 2 * BYTES, IDX_LANES = 8 };
enum { TURNS = SQ_Q4K_LEN / LANES, SEGMENT_MAX = 64, INDEX_BITS_MIN = 7 };

// A kernel trace has no product.
static bool is_layer(const struct sq_product *p)
{
    return !p->file;
}

static bool is_trace(const struct sq_product *p)
{
    return p->file;
}

struct layer {
    const int32_t *n_active, *index;
    const uint8_t *blocks;
    const uint16_t *x;
    uint16_t theta;
    size_t rows, k; // superblock rows, columns of the model
    size_t seg, segments;
    size_t workers;
};

// The segments hold the columns of the model and no others, or others are never active.
static enum sq_status choose_segment(const struct sq_product *p, struct layer *l,
                                     struct sq_error *err)
{
    l->seg = SEGMENT_MAX;
    while (l->seg > 8 && l->k % l->seg != 0)
        l->seg /= 2;
    l->segments = (l->k + l->seg - 1) / l->seg;
    SQ_FAIL_IF(l->k % l->seg != 0 && l->theta == 0, err, SQ_ERR_SHAPE,
               "%s: K = %zu with theta = 0, need a multiple of 8 for engine_spqt",
               sq_path_tail(p->source), l->k);
    SQ_FAIL_IF(l->k > SQ_SPQT_COLUMNS_MAX, err, SQ_ERR_SHAPE,
               "%s: K = %zu, need at most %d for engine_spqt", sq_path_tail(p->source), l->k,
               SQ_SPQT_COLUMNS_MAX);
    return SQ_OK;
}

static enum sq_status take_layer(struct sq_product *p, struct layer *l, struct sq_error *err)
{
    const size_t nbytes = sq_product_count(p, "superblocks");
    const float *theta;
    SQ_PRODUCT_TENSOR(p, "n_active", SQ_I32, p->m, l->n_active);
    SQ_PRODUCT_TENSOR(p, "index", SQ_I32, p->m * p->k, l->index);
    SQ_PRODUCT_TENSOR(p, "superblocks", SQ_U8, nbytes, l->blocks);
    SQ_PRODUCT_TENSOR(p, "x", SQ_F16, p->m * p->k, l->x);
    SQ_PRODUCT_TENSOR(p, "theta", SQ_F32, 1, theta);
    SQ_TRY(sq_product_number(p, "workers", 1, SQ_SPQT_WORKERS_MAX, &l->workers, err));
    l->theta = sq_f32_to_f16(*theta);
    l->rows = sq_spqt_n_rows(p->n);
    l->k = nbytes / SQ_Q4K_NBYTES / l->rows;
    return choose_segment(p, l, err);
}

// Columns of token t that the model has: padding is at the end.
static size_t n_columns(const struct sq_product *p, const struct layer *l, size_t t)
{
    size_t n = (size_t)l->n_active[t];
    while (n > 0 && (size_t)l->index[t * p->k + n - 1] >= l->k)
        n--;
    return n;
}

static size_t n_records(const struct sq_product *p, const struct layer *l, size_t t)
{
    const size_t beats = l->rows * n_columns(p, l, t) * BEATS;
    return beats > l->segments ? beats : l->segments;
}

static void put_superblock(const struct sq_route_work *w, const uint8_t *b, size_t column,
                           int32_t *record)
{
    record[sq_route_field(w, "column")] = (int32_t)column;
    for (size_t i = 0; i < BEATS; i++, record += w->len)
        for (size_t word = 0; word < BYTES / 4; word++, b += 4)
            record[sq_route_field(w, "data") + word] =
                (int32_t)(b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
}

static void put_token(const struct sq_route_work *w, const struct layer *l, size_t t, uint32_t *len,
                      int32_t *record)
{
    const struct sq_product *const p = w->p;
    const size_t n = n_columns(p, l, t), most = (size_t)1 << sq_route_get(w, "IndexW");
    record[sq_route_field(w, "segments")] = (int32_t)l->segments;
    record[sq_route_field(w, "blocks")] = (int32_t)l->rows;
    // More workers than columns: each column is a share.
    record[sq_route_field(w, "workers")] = (int32_t)(l->workers < most ? l->workers : most);
    record[sq_route_field(w, "theta")] = l->theta;
    for (size_t i = 0; i < l->segments * l->seg; i++)
        record[i / l->seg * w->len + sq_route_field(w, "x") + i % l->seg] =
            (int16_t)l->x[t * p->k + i];
    for (size_t row = 0; row < l->rows; row++)
        for (size_t i = 0; i < n; i++) {
            const size_t column = (size_t)l->index[t * p->k + i];
            put_superblock(w, l->blocks + sq_spqt_address(l->k, row, column), column,
                           record + (row * n + i) * BEATS * w->len);
        }
    len[0] = 1;
    len[1] = (uint32_t)l->segments;
    len[2] = (uint32_t)(l->rows * n * BEATS);
}

// A job a token; all outputs are compared.
static enum sq_status make_engine(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *const p = w->p;
    struct layer l;
    unsigned bits = INDEX_BITS_MIN;
    size_t n = 0;
    SQ_TRY(take_layer(p, &l, err));
    while ((size_t)1 << bits < l.segments * l.seg)
        bits++;
    sq_route_set(w, "SegLen", (unsigned)l.seg);
    sq_route_set(w, "IdxLanes", IDX_LANES);
    sq_route_set(w, "IndexW", bits);
    sq_route_set(w, "Bytes", BYTES);
    for (size_t t = 0; t < p->m; t++)
        n += n_records(p, &l, t);
    w->stream->max_outputs = l.rows * TURNS;
    SQ_TRY(sq_route_begin(w, p->m, n, err));
    int32_t *record = w->stream->beats;
    for (size_t t = 0; t < p->m; t++) {
        put_token(w, &l, t, w->stream->len[t], record);
        record += n_records(p, &l, t) * w->len;
    }
    return SQ_OK;
}

// Row of a superblock whose output is lane i of beat b.
static size_t row_of(size_t b, size_t i)
{
    const size_t byte = b * BYTES, pair = byte / SQ_Q4K_BLOCK_LEN;
    return (2 * pair + i / BYTES) * SQ_Q4K_BLOCK_LEN + byte % SQ_Q4K_BLOCK_LEN + i % BYTES;
}

static enum sq_status check_engine(struct sq_route_work *w, struct sq_error *err)
{
    enum { LAST = LANES, REFUSED };
    struct sq_product *const p = w->p;
    struct layer l;
    const float *y;
    size_t first = 0;
    SQ_TRY(take_layer(p, &l, err));
    SQ_PRODUCT_TENSOR(p, "y", SQ_F32, p->m * p->n, y);
    for (size_t t = 0; t < p->m; first += n_records(p, &l, t++)) {
        const size_t n = sq_route_golden(w, t, first);
        sq_route_expect(w, "y", t, (int64_t)(l.rows * TURNS), (int64_t)n);
        for (size_t b = 0; b < n; b++) {
            const int32_t *const beat = w->golden + b * w->out_len;
            for (size_t i = 0; i < LANES; i++) {
                const size_t row = b / TURNS * SQ_Q4K_LEN + row_of(b % TURNS, i);
                int32_t want;
                if (row >= p->n) // padding
                    continue;
                memcpy(&want, &y[t * p->n + row], sizeof want);
                sq_route_expect(w, "y", t * p->n + row, want, beat[i]);
            }
            sq_route_expect(w, "y", t, b + 1 == n, beat[LAST]);
            sq_route_expect(w, "superblocks", t, 0, beat[REFUSED]);
        }
    }
    return SQ_OK;
}

// Active columns of each token of x[m][k]: how many, and which, -1 after the last.
static enum sq_status find_active(struct sq_product *p, const float *x, float theta,
                                  int32_t **n_active, int32_t **index, struct sq_error *err)
{
    const size_t m = p->m, k = p->k;
    uint32_t *active;
    SQ_PRODUCT_KEEP(p, active, k);
    SQ_PRODUCT_KEEP(p, *n_active, m);
    SQ_PRODUCT_KEEP(p, *index, m * k);
    for (size_t t = 0; t < m; t++) {
        SQ_TRY(sq_spqt_check(x + t * k, k, theta, err));
        const size_t n = sq_spqt_active(x + t * k, k, theta, SQ_SPQT_SEGMENT, active);
        (*n_active)[t] = (int32_t)n;
        for (size_t i = 0; i < k; i++)
            (*index)[t * k + i] = i < n ? (int32_t)active[i] : -1;
    }
    return SQ_OK;
}

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    struct sq_spqt m = {r->p.n, r->p.k, NULL};
    const float *w, *theta;
    const uint16_t *x;
    int32_t *n_active, *index;
    float *values;
    SQ_FAIL_IF(r->p.n % SQ_Q4K_LEN != 0, err, SQ_ERR_SHAPE,
               "%s: metadata N = %zu, need a multiple of %d", sq_path_tail(r->p.source), r->p.n,
               SQ_Q4K_LEN);
    SQ_TRACE_INPUT(r, "w", SQ_F32, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "x", SQ_F16, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT(r, "theta", SQ_F32, 1, theta);
    const size_t n_bytes = sq_spqt_n_blocks(r->p.n, r->p.k) * SQ_Q4K_NBYTES;
    SQ_TRACE_KEEP(r, m.block, n_bytes);
    SQ_TRACE_KEEP(r, values, r->p.m * r->p.k);
    SQ_TRY(sq_spqt_encode(w, &m, err));
    SQ_TRY(sq_trace_compare(r, "superblocks", SQ_U8, n_bytes, m.block, err));
    for (size_t i = 0; i < r->p.m * r->p.k; i++)
        values[i] = sq_half_to_float(x[i]);
    SQ_TRY(find_active(&r->p, values, *theta, &n_active, &index, err));
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
    SQ_FAIL_IF(k % SPQT_SEGMENT != 0 || k > SQ_SPQT_COLUMNS_MAX, err, SQ_ERR_SHAPE,
               "%s: metadata K = %zu, need a multiple of %d up to %d for spqt_idx",
               sq_path_tail(w->p->source), k, SPQT_SEGMENT, SQ_SPQT_COLUMNS_MAX);
    SQ_PRODUCT_TENSOR(w->p, "x", SQ_F16, m * k, x);
    SQ_PRODUCT_TENSOR(w->p, "theta", SQ_F32, 1, theta);
    const uint16_t pattern = sq_f32_to_f16(*theta);
    SQ_FAIL_IF(sq_half_to_float(pattern) != *theta, err, SQ_ERR_RANGE,
               "%s: theta = %g, need a binary16 number for spqt_idx", sq_path_tail(w->p->source),
               (double)*theta);
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
    enum { COUNT = SPQT_LANES, TOTAL, LAST, REFUSED }; // after the indices
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
    {&sq_spqt_idx_block, make_spqt, check_spqt, is_trace},
    {&sq_engine_spqt_block, make_engine, check_engine, is_layer},
};

// ---- layers ------------------------------------------------------------------------------------

// The index unit compares binary16: of such x, |x| >= theta where |x| reaches theta rounded up.
static uint16_t round_up(float theta)
{
    const uint16_t pattern = sq_f32_to_f16(theta);
    return (uint16_t)(pattern + (sq_half_to_float(pattern) < theta));
}

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    float theta, *wide, *pattern, *y;
    int32_t *n_active, *index;
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
    SQ_TRY(find_active(p, wide, theta, &n_active, &index, err));
    sq_product_put(p, "n_active", SQ_I32, p->m, n_active);
    sq_product_put(p, "index", SQ_I32, p->m * p->k, index);
    return SQ_OK;
}

const struct sq_format_routes sq_spqt_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .trace_values = values,
    .product = product,
};
