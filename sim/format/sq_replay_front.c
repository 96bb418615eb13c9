// SPDX-License-Identifier: Apache-2.0
// Traces through the blocks that stand in front of the arrays: masks, metadata, index walks, words.
#include <string.h>

#include "models/sq_fp.h"
#include "models/sq_half.h"
#include "models/sq_meta24.h"
#include "models/sq_spqr.h"
#include "models/sq_spqt_idx.h"
#include "models/sq_topk.h"
#include "sim/format/sq_replay_plan.h"

// ---- topk: the mask of dynamic activations --------------------------------------------------

enum { BF16_MAG_BITS = 15 };

static enum sq_status make_topk(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t n = w->r->m * w->r->k;
    const uint32_t *x; // bits of binary32
    unsigned bank, high;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "x", SQ_F32, n, x);
    sq_replay_set(w, "BankLen", bank);
    sq_replay_set(w, "HighPerBank", high);
    sq_replay_set(w, "MagW", BF16_MAG_BITS);
    sq_replay_set(w, "Topk", SQ_TOPK_RADIX);
    SQ_TRY(sq_replay_begin(w, n / bank, n / bank, err));
    for (size_t i = 0; i < n; i++) {
        if (x[i] & 0xffff)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%s: x[%zu] = 0x%x, need a BF16 number",
                           sq_path_tail(w->r->path), i, x[i]);
        w->out->stream.beats[i] = sq_magnitude_fp((uint16_t)(x[i] >> 16));
    }
    for (size_t g = 0; g < n / bank; g++)
        w->out->stream.len[g][0] = 1;
    return SQ_OK;
}

static enum sq_status check_topk(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t bank = sq_replay_get(w, "BankLen"), n_groups = w->out->stream.n_groups;
    const uint8_t *mask;
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, w->r->m * w->r->k, mask);
    for (size_t g = 0; g < n_groups; g++) {
        (void)sq_replay_golden(w, g, g);
        for (size_t i = 0; i < bank; i++)
            sq_replay_expect(w, "mask", g * bank + i, mask[g * bank + i], w->golden[i]);
    }
    return SQ_OK;
}

// ---- meta24: a metadata word selects activations --------------------------------------------

enum { META_ROWS = 2, META_GROUPS = 4, META_COLUMNS = 4 * META_GROUPS }; // a word: SPEC E.3

// Beats: for (channel) for (tile of tokens) for (word of the row).
static enum sq_status make_meta24(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, n = w->r->n, k = w->r->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS;
    const int8_t *x;
    const uint8_t *meta;
    SQ_REPLAY_TENSOR(w->r, "x", SQ_I8, m * k, x);
    SQ_REPLAY_TENSOR(w->r, "meta", SQ_U8, n * k / 8, meta);
    sq_replay_set(w, "Rows", META_ROWS);
    sq_replay_set(w, "Groups", META_GROUPS);
    sq_replay_set(w, "ActW", 8);
    SQ_TRY(sq_replay_begin(w, n * tiles_m * words, n * tiles_m * words, err));
    int32_t *beat = w->out->stream.beats;
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++)
            for (size_t word = 0; word < words; word++, beat += w->len) {
                for (size_t i = 0; i < META_GROUPS; i++)
                    beat[i] = meta[(c * k + word * META_COLUMNS) / 8 + i / 2] >> (4 * (i % 2)) & 15;
                for (size_t row = 0; row < META_ROWS && tile * META_ROWS + row < m; row++)
                    for (size_t i = 0; i < META_COLUMNS; i++)
                        beat[META_GROUPS + row * META_COLUMNS + i] =
                            x[(tile * META_ROWS + row) * k + word * META_COLUMNS + i];
            }
    for (size_t g = 0; g < w->out->stream.n_groups; g++)
        w->out->stream.len[g][0] = 1;
    return SQ_OK;
}

// What is selected, times the stored values, is the kernel's product.
static enum sq_status check_meta24(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, n = w->r->n, k = w->r->k, words = k / META_COLUMNS;
    const size_t tiles_m = (m + META_ROWS - 1) / META_ROWS, kept = META_COLUMNS / 2;
    const int8_t *values;
    const int32_t *p_lo;
    size_t g = 0;
    SQ_REPLAY_TENSOR(w->r, "values", SQ_I8, n * k / 2, values);
    SQ_REPLAY_TENSOR(w->r, "p_lo", SQ_I32, m * n, p_lo);
    for (size_t c = 0; c < n; c++)
        for (size_t tile = 0; tile < tiles_m; tile++) {
            int32_t sum[META_ROWS] = {0};
            for (size_t word = 0; word < words; word++, g++) {
                (void)sq_replay_golden(w, g, g);
                for (size_t i = 0; i < META_ROWS * kept; i++)
                    sum[i / kept] += w->golden[i] * values[c * k / 2 + word * kept + i % kept];
            }
            for (size_t row = 0; row < META_ROWS && tile * META_ROWS + row < m; row++) {
                const size_t at = (tile * META_ROWS + row) * n + c;
                sq_replay_expect(w, "p_lo", at, p_lo[at], sum[row]);
            }
        }
    return SQ_OK;
}

// ---- gqsa_walk: the kept groups of the matrix -----------------------------------------------

enum { WALK_GROUP_BITS = 16, WALK_AT_BITS = 32, WALK_ROW_BITS = 16 };

static enum sq_status make_walk(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t n = w->r->n, nnz = sq_replay_count(w->r, "s_w");
    struct sq_case *c = &w->out->stream;
    const uint32_t *row_index;
    const uint16_t *groups;
    if (n > SQ_WALK_ROWS_MAX || nnz > SQ_WALK_GROUPS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: %zu rows with %zu groups for gqsa_walk, need at most %d and %d",
                       sq_path_tail(w->r->path), n, nnz, SQ_WALK_ROWS_MAX, SQ_WALK_GROUPS_MAX);
    SQ_REPLAY_TENSOR(w->r, "row_index", SQ_I32, n + 1, row_index);
    SQ_REPLAY_TENSOR(w->r, "groups", SQ_U8, 2 * nnz, groups);
    sq_replay_set(w, "GroupLen", SQ_REPLAY_GQSA_GROUP);
    sq_replay_set(w, "GroupW", WALK_GROUP_BITS);
    sq_replay_set(w, "AtW", WALK_AT_BITS);
    sq_replay_set(w, "RowW", WALK_ROW_BITS);
    const size_t n_records = nnz > n + 1 ? nnz : n + 1;
    c->max_outputs = n + nnz;
    SQ_TRY(sq_replay_begin(w, 1, n_records, err));
    c->len[0][0] = (uint32_t)(n + 1);
    c->len[0][1] = (uint32_t)nnz;
    for (size_t i = 0; i <= n; i++)
        c->beats[i * w->len + sq_replay_field(w, "offset")] = (int32_t)row_index[i];
    for (size_t i = 0; i < nnz; i++)
        c->beats[i * w->len + sq_replay_field(w, "index")] = groups[i];
    c->beats[sq_replay_field(w, "limit")] = (int32_t)(w->r->k / SQ_REPLAY_GQSA_GROUP);
    c->beats[n * w->len + sq_replay_field(w, "last")] = 1;
    return SQ_OK;
}

// Row by row the stored groups in their places, a step for a row without any, none refused.
static enum sq_status check_walk(struct sq_replay_work *w, struct sq_error *err)
{
    enum { ROW, AT, GROUP, COLUMN, FIRST, LAST, EMPTY, END, REFUSED };
    const size_t n = w->r->n, nnz = sq_replay_count(w->r, "s_w");
    const uint32_t *row_index;
    const uint16_t *groups;
    size_t n_steps = nnz;
    SQ_REPLAY_TENSOR(w->r, "row_index", SQ_I32, n + 1, row_index);
    SQ_REPLAY_TENSOR(w->r, "groups", SQ_U8, 2 * nnz, groups);
    for (size_t row = 0; row < n; row++)
        n_steps += row_index[row] == row_index[row + 1];
    const size_t n_golden = sq_replay_golden(w, 0, 0);
    const int32_t *step = w->golden;
    sq_replay_expect(w, "row_index", n, (int64_t)n_steps, (int64_t)n_golden);
    for (size_t row = 0; row < n && n_golden == n_steps; row++) {
        const uint32_t from = row_index[row], to = row_index[row + 1], n_row = to - from;
        for (uint32_t i = 0; i < (n_row > 0 ? n_row : 1); i++, step += w->out_len) {
            sq_replay_expect(w, "row_index", row, (int64_t)row, step[ROW]);
            sq_replay_expect(w, "row_index", row, from + i, step[AT]);
            sq_replay_expect(w, "row_index", row, i == 0, step[FIRST]);
            sq_replay_expect(w, "row_index", row, i + 1 >= n_row, step[LAST]);
            sq_replay_expect(w, "row_index", row, n_row == 0, step[EMPTY]);
            sq_replay_expect(w, "row_index", row, row + 1 == n && i + 1 >= n_row, step[END]);
            sq_replay_expect(w, "row_index", row, 0, step[REFUSED]);
            if (n_row == 0)
                continue;
            sq_replay_expect(w, "groups", from + i, groups[from + i], step[GROUP]);
            sq_replay_expect(w, "groups", from + i, groups[from + i] * SQ_REPLAY_GQSA_GROUP,
                             step[COLUMN]);
        }
    }
    return SQ_OK;
}

// ---- spqt_idx: the active columns -----------------------------------------------------------

enum { SPQT_SEGMENT = 64, SPQT_LANES = 8, SPQT_INDEX_BITS = 16 };

static enum sq_status make_spqt(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t m = w->r->m, k = w->r->k, segments = k / SPQT_SEGMENT;
    struct sq_case *c = &w->out->stream;
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
    sq_replay_set(w, "SegLen", SPQT_SEGMENT);
    sq_replay_set(w, "Lanes", SPQT_LANES);
    sq_replay_set(w, "Fp16", 1);
    sq_replay_set(w, "IndexW", SPQT_INDEX_BITS);
    SQ_TRY(sq_replay_begin(w, m, m * segments, err));
    int32_t *beat = c->beats;
    for (size_t t = 0; t < m; t++) {
        c->len[t][0] = (uint32_t)segments;
        for (size_t s = 0; s < segments; s++, beat += w->len) {
            for (size_t i = 0; i < SPQT_SEGMENT; i++)
                beat[sq_replay_field(w, "x") + i] = (int16_t)x[t * k + s * SPQT_SEGMENT + i];
            beat[sq_replay_field(w, "theta")] = pattern;
            beat[sq_replay_field(w, "last")] = s + 1 == segments;
        }
    }
    return SQ_OK;
}

static enum sq_status check_spqt(struct sq_replay_work *w, struct sq_error *err)
{
    enum { COUNT = SPQT_LANES, TOTAL, LAST, REFUSED }; // behind the indices
    const size_t m = w->r->m, k = w->r->k, segments = k / SPQT_SEGMENT;
    const int32_t *n_active, *index;
    SQ_REPLAY_TENSOR(w->r, "n_active", SQ_I32, m, n_active);
    SQ_REPLAY_TENSOR(w->r, "index", SQ_I32, m * k, index);
    for (size_t t = 0; t < m; t++) {
        size_t found = 0;
        const size_t n_beats = sq_replay_golden(w, t, t * segments);
        for (size_t b = 0; b < n_beats; b++) {
            const int32_t *beat = w->golden + b * w->out_len;
            for (int32_t i = 0; i < beat[COUNT] && found < k; i++, found++)
                sq_replay_expect(w, "index", t * k + found, index[t * k + found], beat[i]);
            sq_replay_expect(w, "n_active", t, b + 1 == n_beats, beat[LAST]);
            sq_replay_expect(w, "x", t, 0, beat[REFUSED]);
        }
        sq_replay_expect(w, "n_active", t, n_active[t],
                         w->golden[(n_beats - 1) * w->out_len + TOTAL]);
        sq_replay_expect(w, "n_active", t, n_active[t], (int64_t)found);
    }
    return SQ_OK;
}

// ---- spqr_dec: words to codes ---------------------------------------------------------------

enum { SPQR_WORDS = 4, SPQR_BEATS = SQ_SPQR_TILE / SPQR_WORDS };

static enum sq_status make_spqr(struct sq_replay_work *w, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(w->r->n, w->r->k), n_tiles = n_words / SQ_SPQR_TILE;
    struct sq_case *c = &w->out->stream;
    const uint64_t *words;
    SQ_REPLAY_TENSOR(w->r, "words", SQ_I64, n_words, words);
    sq_replay_set(w, "Words", SPQR_WORDS);
    SQ_TRY(sq_replay_begin(w, n_tiles, n_tiles * SPQR_BEATS, err));
    for (size_t i = 0; i < n_words; i++) {
        c->beats[2 * i] = sq_field_unsigned((uint32_t)words[i], 32);
        c->beats[2 * i + 1] = sq_field_unsigned((uint32_t)(words[i] >> 32), 32);
    }
    for (size_t t = 0; t < n_tiles; t++)
        c->len[t][0] = SPQR_BEATS;
    return SQ_OK;
}

// One tile from the block's beats.
static void collect_tile(const struct sq_replay_work *w, struct sq_spqr_tile *tile)
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
static enum sq_status multiply(struct sq_replay_work *w, const float *plane, struct sq_error *err)
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
            sq_replay_expect(w, "y", t * r->n + i, y[t * r->n + i], sq_f32_to_f16(row[i]));
    }
    return SQ_OK;
}

// plane as sq_spqr_decode_dense makes it: tiles, columns, 16 rows.
static enum sq_status check_spqr(struct sq_replay_work *w, struct sq_error *err)
{
    float *plane;
    SQ_REPLAY_KEEP(w->r, plane, w->r->n * w->r->k);
    for (size_t t = 0; t < w->out->stream.n_groups; t++) {
        struct sq_spqr_tile tile;
        (void)sq_replay_golden(w, t, t * SPQR_BEATS);
        collect_tile(w, &tile);
        sq_replay_expect(w, "words", t * SQ_SPQR_TILE, 0, w->golden[w->out_len - 1]); // not refused
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

const struct sq_replay_plan sq_replay_front_plans[] = {
    {SQ_REPLAY_SQ_A_DYNAMIC, &sq_topk_block, make_topk, check_topk},
    {SQ_REPLAY_SP24, &sq_meta24_block, make_meta24, check_meta24},
    {SQ_REPLAY_GQSA, &sq_gqsa_walk_block, make_walk, check_walk},
    {SQ_REPLAY_SPQT, &sq_spqt_idx_block, make_spqt, check_spqt},
    {SQ_REPLAY_SPQR, &sq_spqr_dec_block, make_spqr, check_spqr},
};
