// SPDX-License-Identifier: Apache-2.0
// Replay of the decode formats: GQSA, SpQt, SpQR.
#include <string.h>

#include "models/sq_fp.h"
#include "models/sq_gqsa.h"
#include "models/sq_half.h"
#include "models/sq_spqr.h"
#include "models/sq_spqt.h"
#include "sim/format/sq_replay.h"

// ---- GQSA -----------------------------------------------------------------------------------

// The kept groups of w by the group quantizer into m, whose row_index and groups are valid.
static enum sq_status quantize(const struct sq_gqsa *m, const float *w, struct sq_error *err)
{
    const size_t g = m->group;
    for (size_t row = 0; row < m->n; row++)
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            uint8_t code[SQ_REPLAY_GQSA_GROUP];
            SQ_TRY(sq_gqsa_quantize_group(w + row * m->k + m->groups[e] * g, g, code, &m->scale[e],
                                          &m->zero[e], err));
            for (size_t i = 0; i < g; i++)
                m->codes[(e * g + i) / 2] |= (uint8_t)(code[i] << (4 * (i % 2)));
        }
    return SQ_OK;
}

// Sums of the integers of each row's groups.
static enum sq_status row_sums(struct sq_replay *r, const struct sq_gqsa *m, const int8_t *x,
                               int32_t *p, struct sq_error *err)
{
    int32_t *sum_x, *acc;
    float *y;
    SQ_REPLAY_KEEP(r, sum_x, m->k / m->group);
    SQ_REPLAY_KEEP(r, acc, m->nnz);
    SQ_REPLAY_KEEP(r, y, m->n);
    for (size_t t = 0; t < r->m; t++) {
        sq_gqsa_gemv_int8(m, x + t * m->k, 1.0f, sum_x, y, acc);
        for (size_t row = 0; row < m->n; row++)
            for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++)
                p[t * m->n + row] += acc[e];
    }
    return SQ_OK;
}

enum sq_status sq_replay_gqsa(struct sq_replay *r, struct sq_error *err)
{
    const size_t half = SQ_REPLAY_GQSA_GROUP / 2, n_groups = sq_replay_count(r, "s_w");
    struct sq_gqsa m = {.n = r->n, .k = r->k, .k_orig = r->k, .group = SQ_REPLAY_GQSA_GROUP};
    struct sq_gqsa stored = m;
    const float *w;
    const int8_t *x;
    const uint32_t *row_index;
    const uint16_t *groups, *scale;
    const uint8_t *values, *packed;
    uint8_t *zeros;
    int32_t *p;
    m.nnz = stored.nnz = n_groups == SIZE_MAX ? 0 : n_groups;
    SQ_REPLAY_INPUT(r, "w", SQ_F32, r->n * r->k, w);
    SQ_REPLAY_INPUT(r, "x", SQ_I8, r->m * r->k, x);
    SQ_REPLAY_INPUT(r, "row_index", SQ_I32, r->n + 1, row_index);
    SQ_REPLAY_INPUT(r, "groups", SQ_U8, 2 * m.nnz, groups);
    SQ_REPLAY_TENSOR(r, "values", SQ_U8, half * m.nnz, values);
    SQ_REPLAY_TENSOR(r, "s_w", SQ_F16, m.nnz, scale);
    SQ_REPLAY_TENSOR(r, "zero", SQ_U8, sq_gqsa_zero_nbytes(m.nnz), packed);
    SQ_REPLAY_KEEP(r, m.row_index, r->n + 1);
    SQ_REPLAY_KEEP(r, m.groups, m.nnz);
    SQ_REPLAY_KEEP(r, m.codes, half * m.nnz);
    SQ_REPLAY_KEEP(r, m.scale, m.nnz);
    SQ_REPLAY_KEEP(r, m.zero, m.nnz);
    memcpy(m.row_index, row_index, (r->n + 1) * sizeof *row_index);
    memcpy(m.groups, groups, m.nnz * sizeof *groups);
    stored = m; // what the file holds is legal, then right
    SQ_REPLAY_KEEP(r, stored.codes, half * m.nnz);
    SQ_REPLAY_KEEP(r, stored.scale, m.nnz);
    SQ_REPLAY_KEEP(r, stored.zero, m.nnz);
    memcpy(stored.codes, values, half * m.nnz);
    memcpy(stored.scale, scale, m.nnz * sizeof *scale);
    SQ_TRY(sq_gqsa_unpack_zeros(packed, m.nnz, stored.zero, err));
    SQ_TRY(sq_gqsa_validate(&stored, err));
    SQ_TRY(quantize(&m, w, err));
    SQ_REPLAY_KEEP(r, zeros, sq_gqsa_zero_nbytes(m.nnz));
    SQ_REPLAY_KEEP(r, p, r->m * r->n);
    sq_gqsa_pack_zeros(m.zero, m.nnz, zeros);
    SQ_TRY(sq_replay_compare(r, "values", SQ_U8, half * m.nnz, m.codes, err));
    SQ_TRY(sq_replay_compare(r, "s_w", SQ_F16, m.nnz, m.scale, err));
    SQ_TRY(sq_replay_compare(r, "zero", SQ_U8, sq_gqsa_zero_nbytes(m.nnz), zeros, err));
    SQ_TRY(row_sums(r, &m, x, p, err));
    return sq_replay_compare(r, "p_lo", SQ_I32, r->m * r->n, p, err);
}

// ---- SpQt -----------------------------------------------------------------------------------

enum sq_status sq_replay_spqt(struct sq_replay *r, struct sq_error *err)
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

// ---- SpQR -----------------------------------------------------------------------------------

enum sq_status sq_replay_spqr(struct sq_replay *r, struct sq_error *err)
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
