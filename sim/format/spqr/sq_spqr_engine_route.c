// SPDX-License-Identifier: Apache-2.0
// Layers of spqr through their engine: a job a token, the words of its tiles worker by worker, and the
// outliers as CSR.
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "sim/format/spqr/sq_spqr_route.h"

enum { T = SQ_SPQR_TILE, TILE_BITS_MIN = 4, OUTLIER_BITS_MIN = 6, OUTLIER_BITS_MAX = 16 };

// The matrix without its dense part.
enum sq_status sq_spqr_take_matrix(struct sq_product *p, struct sq_spqr *m, struct sq_error *err)
{
    const size_t nnz = sq_product_count(p, "col_val");
    const uint32_t *row_offsets, *col_val;
    const uint8_t *perm;
    *m = (struct sq_spqr){.n = p->n, .k = p->k};
    SQ_PRODUCT_TENSOR(p, "row_offsets", SQ_I32, p->n + 1, row_offsets);
    SQ_PRODUCT_TENSOR(p, "col_val", SQ_I32, nnz, col_val);
    m->outliers = (struct sq_spqr_csr){.n = p->n, .nnz = nnz};
    SQ_PRODUCT_KEEP(p, m->outliers.row_offsets, p->n + 1);
    SQ_PRODUCT_KEEP(p, m->outliers.col_val, nnz);
    memcpy(m->outliers.row_offsets, row_offsets, (p->n + 1) * sizeof *row_offsets);
    memcpy(m->outliers.col_val, col_val, nnz * sizeof *col_val);
    if (sq_product_count(p, "in_perm") == SIZE_MAX)
        return SQ_OK;
    SQ_PRODUCT_TENSOR(p, "in_perm", SQ_U8, 2 * p->k, perm);
    SQ_PRODUCT_KEEP(p, m->in_perm, p->k);
    for (size_t j = 0; j < p->k; j++)
        m->in_perm[j] = (uint16_t)(perm[2 * j] | perm[2 * j + 1] << 8);
    return SQ_OK;
}

// x of token t in the order of the words, padded.
enum sq_status sq_spqr_load_token(const struct sq_spqr *m, const uint16_t *x, size_t t,
                                  float *values, float *loaded, struct sq_error *err)
{
    for (size_t i = 0; i < m->k; i++)
        values[i] = sq_half_to_float(x[t * m->k + i]);
    return sq_spqr_load(m, values, loaded, err);
}

bool sq_spqr_is_layer(const struct sq_product *p)
{
    return !p->file;
}

bool sq_spqr_is_trace(const struct sq_product *p)
{
    return p->file;
}

// Rows of tiles, tiles of a row, records of a job.
struct shape {
    size_t rows, tiles, records;
    unsigned workers;
};

static struct shape shape_of(const struct sq_product *p, const struct sq_spqr *m)
{
    struct shape s = {.rows = sq_spqr_padded(p->n) / T,
                      .tiles = sq_spqr_padded(p->k) / T,
                      .workers = sq_spqr_workers(p->k)};
    s.records = s.rows * s.tiles * T;
    if (s.records < s.rows * T + 1)
        s.records = s.rows * T + 1;
    if (s.records < m->outliers.nnz)
        s.records = m->outliers.nnz;
    return s;
}

static uint32_t offset_of(const struct sq_spqr *m, size_t row)
{
    return m->outliers.row_offsets[row < m->n ? row : m->n]; // rows of padding have none
}

static void put_words(const struct sq_route_work *w, const struct shape *s, const uint64_t *words,
                      int32_t *record)
{
    const size_t at = sq_route_field(w, "word");
    for (size_t row = 0; row < s->rows; row++)
        for (unsigned u = 0; u < s->workers; u++)
            for (size_t t = u; t < s->tiles; t += s->workers)
                for (size_t r = 0; r < T; r++, record += w->len) {
                    const uint64_t word = words[(row * s->tiles + t) * T + r];
                    record[at] = (int32_t)(uint32_t)word;
                    record[at + 1] = (int32_t)(uint32_t)(word >> 32);
                }
}

static void put_outliers(const struct sq_route_work *w, const struct shape *s,
                         const struct sq_spqr *m, int32_t *record)
{
    for (size_t row = 0; row <= s->rows * T; row++)
        record[row * w->len + sq_route_field(w, "at")] = (int32_t)offset_of(m, row);
    for (size_t e = 0; e < m->outliers.nnz; e++) {
        record[e * w->len + sq_route_field(w, "column")] =
            (int32_t)(m->outliers.col_val[e] & 0xffffu);
        record[e * w->len + sq_route_field(w, "value")] = (int32_t)(m->outliers.col_val[e] >> 16);
    }
}

static enum sq_status set_point(struct sq_route_work *w, const struct shape *s,
                                const struct sq_spqr *m, struct sq_error *err)
{
    unsigned tile_bits = TILE_BITS_MIN, outlier_bits = OUTLIER_BITS_MIN;
    uint32_t most = 0;
    for (size_t row = 0; row < s->rows; row++) {
        const uint32_t n = offset_of(m, (row + 1) * T) - offset_of(m, row * T);
        most = n > most ? n : most;
    }
    while ((size_t)1 << tile_bits < s->tiles)
        tile_bits++;
    while (UINT32_C(1) << outlier_bits < most && outlier_bits < OUTLIER_BITS_MAX)
        outlier_bits++;
    if (UINT32_C(1) << outlier_bits < most)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %u outliers of %d rows, need at most %u for %s",
                       sq_path_tail(w->p->source), most, T, 1u << OUTLIER_BITS_MAX,
                       w->stream->block->name);
    sq_route_set(w, "TileW", tile_bits);
    sq_route_set(w, "OutlierW", outlier_bits);
    return SQ_OK;
}

enum sq_status sq_spqr_make_engine(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *const p = w->p;
    const size_t n_words = sq_spqr_n_words(p->n, p->k);
    struct sq_spqr m;
    const uint64_t *words;
    const uint16_t *x;
    float *values, *loaded;
    SQ_TRY(sq_spqr_take_matrix(p, &m, err));
    SQ_PRODUCT_TENSOR(p, "words", SQ_I64, n_words, words);
    SQ_PRODUCT_TENSOR(p, "x", SQ_F16, p->m * p->k, x);
    SQ_PRODUCT_KEEP(p, values, p->k);
    SQ_PRODUCT_KEEP(p, loaded, sq_spqr_padded(p->k));
    const struct shape s = shape_of(p, &m);
    SQ_TRY(set_point(w, &s, &m, err));
    w->stream->max_outputs = s.rows;
    SQ_TRY(sq_route_begin(w, p->m, p->m * s.records, err));
    for (size_t t = 0; t < p->m; t++) {
        int32_t *const record = w->stream->beats + t * s.records * w->len;
        SQ_TRY(sq_spqr_load_token(&m, x, t, values, loaded, err));
        record[sq_route_field(w, "tiles")] = (int32_t)s.tiles;
        record[sq_route_field(w, "rows")] = (int32_t)s.rows;
        record[sq_route_field(w, "workers")] = (int32_t)s.workers;
        for (size_t i = 0; i < s.tiles * T; i++)
            record[i / T * w->len + sq_route_field(w, "x") + i % T] =
                (int16_t)sq_f32_to_f16(loaded[i]);
        put_words(w, &s, words, record);
        put_outliers(w, &s, &m, record);
        memcpy(
            w->stream->len[t],
            (const uint32_t[SQ_STREAMS_MAX]){1, (uint32_t)s.tiles, (uint32_t)(s.rows * s.tiles * T),
                                             (uint32_t)(s.rows * T + 1), (uint32_t)m.outliers.nnz},
            sizeof w->stream->len[t]);
    }
    return SQ_OK;
}

enum sq_status sq_spqr_check_engine(struct sq_route_work *w, struct sq_error *err)
{
    enum { LAST = T, REFUSED };
    struct sq_product *const p = w->p;
    struct sq_spqr m;
    const uint16_t *y;
    SQ_TRY(sq_spqr_take_matrix(p, &m, err));
    SQ_PRODUCT_TENSOR(p, "y", SQ_F16, p->m * p->n, y);
    const struct shape s = shape_of(p, &m);
    for (size_t t = 0; t < p->m; t++) {
        const size_t n = sq_route_golden(w, t, t * s.records);
        sq_route_expect(w, "y", t * p->n, (int64_t)s.rows, (int64_t)n);
        for (size_t row = 0; row < p->n; row++)
            sq_route_expect(w, "y", t * p->n + row, y[t * p->n + row],
                            w->golden[row / T * w->out_len + row % T]);
        for (size_t b = 0; b < n; b++) {
            const int32_t *const beat = w->golden + b * w->out_len;
            sq_route_expect(w, "y", t * p->n, b + 1 == n, beat[LAST]);
            sq_route_expect(w, "words", t, 0, beat[REFUSED]);
        }
    }
    return SQ_OK;
}
