// SPDX-License-Identifier: Apache-2.0
// The hardware of spqr. A kernel trace goes through spqr_dec, a layer through its engine
// (below).
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "models/spqr/sq_spqr.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/spqr/sq_spqr_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_route.h"

// ---- layers through the engine -----------------------------------------------------------------

enum { T = SQ_SPQR_TILE, TILE_BITS_MIN = 4, OUTLIER_BITS_MIN = 6, OUTLIER_BITS_MAX = 16 };

// The matrix of the product without its dense part, in buffers of the product.
static enum sq_status take_matrix(struct sq_product *p, struct sq_spqr *m, struct sq_error *err)
{
    const size_t nnz = sq_product_count(p, "col_val");
    *m = (struct sq_spqr){.n = p->n, .k = p->k, .outliers = {.n = p->n, .nnz = nnz}};
    SQ_PRODUCT_COPY(p, "row_offsets", SQ_I32, p->n + 1, m->outliers.row_offsets);
    SQ_PRODUCT_COPY(p, "col_val", SQ_I32, nnz, m->outliers.col_val);
    if (sq_product_count(p, "in_perm") != SIZE_MAX)
        SQ_PRODUCT_COPY(p, "in_perm", SQ_U8, 2 * p->k, m->in_perm);
    return SQ_OK;
}

// Token t of x[m][k] as sq_spqr_load makes it; values[k] is scratch.
static enum sq_status load_token(const struct sq_spqr *m, const uint16_t *x, size_t t,
                                 float *values, float *loaded, struct sq_error *err)
{
    for (size_t i = 0; i < m->k; i++)
        values[i] = sq_half_to_float(x[t * m->k + i]);
    return sq_spqr_load(m, values, loaded, err);
}

// A kernel trace ends with the decoder.
static bool is_layer(const struct sq_product *p)
{
    return !p->file;
}

static bool is_trace(const struct sq_product *p)
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
    SQ_FAIL_IF(UINT32_C(1) << outlier_bits < most, err, SQ_ERR_RANGE,
               "%s: %u outliers of %d rows, need at most %u for %s", sq_path_tail(w->p->source),
               most, T, 1u << OUTLIER_BITS_MAX, w->stream->block->name);
    sq_route_set(w, "TileW", tile_bits);
    sq_route_set(w, "OutlierW", outlier_bits);
    return SQ_OK;
}

// A job a token; all outputs are compared.
static enum sq_status make_engine(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *const p = w->p;
    const size_t n_words = sq_spqr_n_words(p->n, p->k);
    struct sq_spqr m;
    const uint64_t *words;
    const uint16_t *x;
    float *values, *loaded;
    SQ_TRY(take_matrix(p, &m, err));
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
        SQ_TRY(load_token(&m, x, t, values, loaded, err));
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

static enum sq_status check_engine(struct sq_route_work *w, struct sq_error *err)
{
    enum { LAST = T, REFUSED };
    struct sq_product *const p = w->p;
    struct sq_spqr m;
    const uint16_t *y;
    SQ_TRY(take_matrix(p, &m, err));
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

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(r->p.n, r->p.k),
                 nnz = sq_product_count(&r->p, "col_val");
    struct sq_spqr m = {.n = r->p.n, .k = r->p.k};
    const uint16_t *x;
    uint16_t *y;
    uint8_t *seen;
    float *plane, *values, *loaded, *row;
    SQ_FAIL_IF(r->p.n % SQ_SPQR_TILE != 0 || r->p.k % SQ_SPQR_TILE != 0 || r->p.k > SQ_SPQR_K_MAX,
               err, SQ_ERR_SHAPE, "%s: metadata N = %zu, K = %zu, need multiples of %d, K up to %d",
               sq_path_tail(r->p.source), r->p.n, r->p.k, SQ_SPQR_TILE, SQ_SPQR_K_MAX);
    m.outliers = (struct sq_spqr_csr){.n = r->p.n, .nnz = nnz == SIZE_MAX ? 0 : nnz};
    SQ_TRACE_INPUT_COPY(r, "dense64", SQ_I64, n_words, m.dense);
    SQ_TRACE_INPUT_COPY(r, "row_offsets", SQ_I32, r->p.n + 1, m.outliers.row_offsets);
    SQ_TRACE_INPUT_COPY(r, "col_val", SQ_I32, m.outliers.nnz, m.outliers.col_val);
    SQ_TRACE_INPUT(r, "x", SQ_F16, r->p.m * r->p.k, x);
    SQ_TRACE_KEEP(r, seen, r->p.k);
    SQ_TRACE_KEEP(r, plane, r->p.n * r->p.k);
    SQ_TRACE_KEEP(r, values, r->p.k);
    SQ_TRACE_KEEP(r, loaded, r->p.k);
    SQ_TRACE_KEEP(r, row, r->p.n);
    SQ_TRACE_KEEP(r, y, r->p.m * r->p.n);
    SQ_TRY(sq_spqr_validate(&m, n_words, r->p.n + 1, m.outliers.nnz, seen, err));
    SQ_TRY(sq_trace_compare(r, "words", SQ_I64, n_words, m.dense, err));
    sq_spqr_decode_dense(&m, plane);
    for (size_t t = 0; t < r->p.m; t++) {
        SQ_TRY(load_token(&m, x, t, values, loaded, err));
        SQ_TRY(sq_spqr_gemv(&m, NULL, plane, loaded, row, err));
        for (size_t i = 0; i < r->p.n; i++)
            y[t * r->p.n + i] = sq_f32_to_f16(row[i]);
    }
    return sq_trace_compare(r, "y", SQ_F16, r->p.m * r->p.n, y, err);
}

// ---- spqr_dec: words to codes ------------------------------------------------------------------

enum { SPQR_WORDS = 4, SPQR_BEATS = SQ_SPQR_TILE / SPQR_WORDS };

static enum sq_status make_spqr(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(w->p->n, w->p->k), n_tiles = n_words / SQ_SPQR_TILE;
    struct sq_case *c = w->stream;
    const uint64_t *words;
    SQ_PRODUCT_TENSOR(w->p, "words", SQ_I64, n_words, words);
    sq_route_set(w, "Words", SPQR_WORDS);
    SQ_TRY(sq_route_begin(w, n_tiles, n_tiles * SPQR_BEATS, err));
    for (size_t i = 0; i < n_words; i++) {
        c->beats[2 * i] = sq_field_unsigned((uint32_t)words[i], 32);
        c->beats[2 * i + 1] = sq_field_unsigned((uint32_t)(words[i] >> 32), 32);
    }
    for (size_t t = 0; t < n_tiles; t++)
        c->len[t][0] = SPQR_BEATS;
    return SQ_OK;
}

// One tile from the block's beats.
static void collect_tile(const struct sq_route_work *w, struct sq_spqr_tile *tile)
{
    const int32_t *const out = w->golden;
    const size_t scale = SPQR_WORDS * SQ_SPQR_TILE, zero = scale + SPQR_WORDS,
                 second = zero + SPQR_WORDS;
    for (size_t r = 0; r < SQ_SPQR_TILE; r++) {
        const int32_t *beat = out + r / SPQR_WORDS * w->out_len;
        for (size_t j = 0; j < SQ_SPQR_TILE; j++)
            tile->code[r][j] = (uint8_t)beat[r % SPQR_WORDS * SQ_SPQR_TILE + j];
        tile->scale[r] = (uint8_t)beat[scale + r % SPQR_WORDS];
        tile->zero[r] = (uint8_t)beat[zero + r % SPQR_WORDS];
    }
    for (size_t i = 0; i < 4; i++)
        tile->second[i] = (uint16_t)((uint32_t)out[second + i / 2] >> (16 * (i % 2)));
}

// The tokens' products from what the block decodes, in the order of sq_spqr_gemv's plane.
static enum sq_status multiply(struct sq_route_work *w, const float *plane, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_spqr m;
    const uint16_t *x, *y;
    float *values, *loaded, *row;
    SQ_TRY(take_matrix(p, &m, err));
    SQ_PRODUCT_TENSOR(p, "x", SQ_F16, p->m * p->k, x);
    SQ_PRODUCT_TENSOR(p, "y", SQ_F16, p->m * p->n, y);
    SQ_PRODUCT_KEEP(p, values, p->k);
    SQ_PRODUCT_KEEP(p, loaded, sq_spqr_padded(p->k));
    SQ_PRODUCT_KEEP(p, row, p->n);
    for (size_t t = 0; t < p->m; t++) {
        SQ_TRY(load_token(&m, x, t, values, loaded, err));
        SQ_TRY(sq_spqr_gemv(&m, NULL, plane, loaded, row, err));
        for (size_t i = 0; i < p->n; i++)
            sq_route_expect(w, "y", t * p->n + i, y[t * p->n + i], sq_f32_to_f16(row[i]));
    }
    return SQ_OK;
}

// plane as sq_spqr_decode_dense makes it: tiles, columns, 16 rows.
static enum sq_status check_spqr(struct sq_route_work *w, struct sq_error *err)
{
    float *plane;
    SQ_PRODUCT_KEEP(w->p, plane, SQ_SPQR_TILE * sq_spqr_n_words(w->p->n, w->p->k));
    for (size_t t = 0; t < w->stream->n_groups; t++) {
        struct sq_spqr_tile tile;
        (void)sq_route_golden(w, t, t * SPQR_BEATS);
        collect_tile(w, &tile);
        sq_route_expect(w, "words", t * SQ_SPQR_TILE, 0, w->golden[w->out_len - 1]); // not refused
        for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
            float s, z;
            sq_spqr_row(&tile, r, &s, &z);
            for (size_t j = 0; j < SQ_SPQR_TILE; j++)
                plane[(t * SQ_SPQR_TILE + j) * SQ_SPQR_TILE + r] =
                    sq_spqr_value(s, z, tile.code[r][j]);
        }
    }
    return multiply(w, plane, err);
}

static const struct sq_route routes[] = {
    {&sq_spqr_dec_block, make_spqr, check_spqr, is_trace},
    {&sq_engine_spqr_block, make_engine, check_engine, is_layer},
};

// ---- layers ------------------------------------------------------------------------------------

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    const struct sq_spqr *m = sq_spqr_encoded(q->state);
    uint16_t *half, *y;
    float *row;
    p->n = m->n;
    p->k = m->k;
    SQ_PRODUCT_KEEP(p, half, p->m * p->k);
    SQ_PRODUCT_KEEP(p, row, p->m * p->n);
    SQ_PRODUCT_KEEP(p, y, p->m * p->n);
    for (size_t i = 0; i < p->m * p->k; i++) {
        half[i] = sq_f32_to_f16(x[i]);
        x[i] = sq_half_to_float(half[i]);
    }
    SQ_TRY(q->format->values->apply(q->state, r, x, p->m, row, err));
    for (size_t i = 0; i < p->m * p->n; i++)
        y[i] = sq_f32_to_f16(row[i]);
    // The outliers as CSR, whatever a file holds.
    sq_product_put(p, "row_offsets", SQ_I32, m->n + 1, m->outliers.row_offsets);
    sq_product_put(p, "col_val", SQ_I32, m->outliers.nnz, m->outliers.col_val);
    if (m->in_perm)
        sq_product_put(p, "in_perm", SQ_U8, 2 * m->k, m->in_perm);
    sq_product_put(p, "words", SQ_I64, sq_spqr_n_words(m->n, m->k), m->dense);
    sq_product_put(p, "x", SQ_F16, p->m * p->k, half);
    sq_product_put(p, "y", SQ_F16, p->m * p->n, y);
    return SQ_OK;
}

const struct sq_format_routes sq_spqr_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .trace_values = values,
    .product = product,
};
