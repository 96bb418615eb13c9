// SPDX-License-Identifier: Apache-2.0
// Layers of spqt through their engine: a job a token, its segments, and the superblocks of its active
// columns as they are stored.
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "models/spqt/sq_spqt.h"
#include "sim/format/spqt/sq_spqt_route.h"

enum { BYTES = 16, BEATS = SQ_Q4K_NBYTES / BYTES, LANES = 2 * BYTES, IDX_LANES = 8 };
enum { TURNS = SQ_Q4K_LEN / LANES, SEGMENT_MAX = 64, INDEX_BITS_MIN = 7 };

bool sq_spqt_is_layer(const struct sq_product *p)
{
    return !p->file;
}

bool sq_spqt_is_trace(const struct sq_product *p)
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
    if (l->k % l->seg != 0 && l->theta == 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: K = %zu with theta = 0, need a multiple of 8 for engine_spqt",
                       sq_path_tail(p->source), l->k);
    if (l->k > SQ_SPQT_COLUMNS_MAX)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: K = %zu, need at most %d for engine_spqt",
                       sq_path_tail(p->source), l->k, SQ_SPQT_COLUMNS_MAX);
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

enum sq_status sq_spqt_make_engine(struct sq_route_work *w, struct sq_error *err)
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

enum sq_status sq_spqt_check_engine(struct sq_route_work *w, struct sq_error *err)
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
