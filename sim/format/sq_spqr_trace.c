// SPDX-License-Identifier: Apache-2.0
// Kernel traces of spqr: words and product. Route: spqr_dec.
#include <string.h>

#include "models/sq_fp.h"
#include "models/sq_half.h"
#include "models/sq_spqr.h"
#include "sim/format/sq_kernel_trace.h"

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(r->n, r->k), nnz = sq_replay_count(r, "col_val");
    struct sq_spqr m = {.n = r->n, .k = r->k};
    const uint64_t *words;
    const uint32_t *row_offsets, *col_val;
    const uint16_t *x;
    uint16_t *y;
    uint8_t *seen;
    float *plane, *values, *loaded, *row;
    if (r->n % SQ_SPQR_TILE != 0 || r->k % SQ_SPQR_TILE != 0 || r->k > SQ_SPQR_K_MAX)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: metadata N = %zu, K = %zu, need multiples of %d, K up to %d",
                       sq_path_tail(r->path), r->n, r->k, SQ_SPQR_TILE, SQ_SPQR_K_MAX);
    m.outliers = (struct sq_spqr_csr){.n = r->n, .nnz = nnz == SIZE_MAX ? 0 : nnz};
    SQ_REPLAY_INPUT(r, "dense64", SQ_I64, n_words, words);
    SQ_REPLAY_INPUT(r, "row_offsets", SQ_I32, r->n + 1, row_offsets);
    SQ_REPLAY_INPUT(r, "col_val", SQ_I32, m.outliers.nnz, col_val);
    SQ_REPLAY_INPUT(r, "x", SQ_F16, r->m * r->k, x);
    SQ_REPLAY_KEEP(r, m.dense, n_words);
    SQ_REPLAY_KEEP(r, m.outliers.row_offsets, r->n + 1);
    SQ_REPLAY_KEEP(r, m.outliers.col_val, m.outliers.nnz);
    memcpy(m.dense, words, n_words * sizeof *words);
    memcpy(m.outliers.row_offsets, row_offsets, (r->n + 1) * sizeof *row_offsets);
    memcpy(m.outliers.col_val, col_val, m.outliers.nnz * sizeof *col_val);
    SQ_REPLAY_KEEP(r, seen, r->k);
    SQ_REPLAY_KEEP(r, plane, r->n * r->k);
    SQ_REPLAY_KEEP(r, values, r->k);
    SQ_REPLAY_KEEP(r, loaded, r->k);
    SQ_REPLAY_KEEP(r, row, r->n);
    SQ_REPLAY_KEEP(r, y, r->m * r->n);
    SQ_TRY(sq_spqr_validate(&m, n_words, r->n + 1, m.outliers.nnz, seen, err));
    SQ_TRY(sq_replay_compare(r, "words", SQ_I64, n_words, m.dense, err));
    sq_spqr_decode_dense(&m, plane);
    for (size_t t = 0; t < r->m; t++) {
        for (size_t i = 0; i < r->k; i++)
            values[i] = sq_half_to_float(x[t * r->k + i]);
        SQ_TRY(sq_spqr_load(&m, values, loaded, err));
        SQ_TRY(sq_spqr_gemv(&m, NULL, plane, loaded, row, err));
        for (size_t i = 0; i < r->n; i++)
            y[t * r->n + i] = sq_f32_to_f16(row[i]);
    }
    return sq_replay_compare(r, "y", SQ_F16, r->m * r->n, y, err);
}

// ---- spqr_dec: words to codes ------------------------------------------------------------------

enum { SPQR_WORDS = 4, SPQR_BEATS = SQ_SPQR_TILE / SPQR_WORDS };

static enum sq_status make_spqr(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(w->r->n, w->r->k), n_tiles = n_words / SQ_SPQR_TILE;
    struct sq_case *c = w->stream;
    const uint64_t *words;
    SQ_REPLAY_TENSOR(w->r, "words", SQ_I64, n_words, words);
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
    struct sq_replay *r = w->r;
    struct sq_spqr m = {.n = r->n, .k = r->k};
    const size_t nnz = sq_replay_count(r, "col_val");
    const uint32_t *row_offsets, *col_val;
    const uint16_t *x, *y;
    float *values, *loaded, *row;
    SQ_REPLAY_TENSOR(r, "row_offsets", SQ_I32, r->n + 1, row_offsets);
    SQ_REPLAY_TENSOR(r, "col_val", SQ_I32, nnz, col_val);
    SQ_REPLAY_TENSOR(r, "x", SQ_F16, r->m * r->k, x);
    SQ_REPLAY_TENSOR(r, "y", SQ_F16, r->m * r->n, y);
    m.outliers = (struct sq_spqr_csr){.n = r->n, .nnz = nnz};
    SQ_REPLAY_KEEP(r, m.outliers.row_offsets, r->n + 1);
    SQ_REPLAY_KEEP(r, m.outliers.col_val, nnz);
    memcpy(m.outliers.row_offsets, row_offsets, (r->n + 1) * sizeof *row_offsets);
    memcpy(m.outliers.col_val, col_val, nnz * sizeof *col_val);
    SQ_REPLAY_KEEP(r, values, r->k);
    SQ_REPLAY_KEEP(r, loaded, r->k);
    SQ_REPLAY_KEEP(r, row, r->n);
    for (size_t t = 0; t < r->m; t++) {
        for (size_t i = 0; i < r->k; i++)
            values[i] = sq_half_to_float(x[t * r->k + i]);
        SQ_TRY(sq_spqr_load(&m, values, loaded, err));
        SQ_TRY(sq_spqr_gemv(&m, NULL, plane, loaded, row, err));
        for (size_t i = 0; i < r->n; i++)
            sq_route_expect(w, "y", t * r->n + i, y[t * r->n + i], sq_f32_to_f16(row[i]));
    }
    return SQ_OK;
}

// plane as sq_spqr_decode_dense makes it: tiles, columns, 16 rows.
static enum sq_status check_spqr(struct sq_route_work *w, struct sq_error *err)
{
    float *plane;
    SQ_REPLAY_KEEP(w->r, plane, w->r->n * w->r->k);
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
    {&sq_spqr_dec_block, make_spqr, check_spqr},
};

const struct sq_format_trace sq_spqr_trace = {NULL, NULL, values, routes, 1};
