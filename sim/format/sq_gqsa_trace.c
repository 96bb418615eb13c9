// SPDX-License-Identifier: Apache-2.0
// Kernel traces of gqsa: groups and their integers. Routes: gqsa_walk, the array.
#include <string.h>

#include "models/sq_fp.h"
#include "models/sq_gqsa.h"
#include "sim/format/sq_tile_route.h"

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

static enum sq_status values(struct sq_replay *r, struct sq_error *err)
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

// ---- gqsa_walk: the kept groups of the matrix --------------------------------------------------

enum { WALK_GROUP_BITS = 16, WALK_AT_BITS = 32, WALK_ROW_BITS = 16 };

static enum sq_status make_walk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n = w->r->n, nnz = sq_replay_count(w->r, "s_w");
    struct sq_case *c = w->stream;
    const uint32_t *row_index;
    const uint16_t *groups;
    if (n > SQ_WALK_ROWS_MAX || nnz > SQ_WALK_GROUPS_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: %zu rows with %zu groups for gqsa_walk, need at most %d and %d",
                       sq_path_tail(w->r->path), n, nnz, SQ_WALK_ROWS_MAX, SQ_WALK_GROUPS_MAX);
    SQ_REPLAY_TENSOR(w->r, "row_index", SQ_I32, n + 1, row_index);
    SQ_REPLAY_TENSOR(w->r, "groups", SQ_U8, 2 * nnz, groups);
    sq_route_set(w, "GroupLen", SQ_REPLAY_GQSA_GROUP);
    sq_route_set(w, "GroupW", WALK_GROUP_BITS);
    sq_route_set(w, "AtW", WALK_AT_BITS);
    sq_route_set(w, "RowW", WALK_ROW_BITS);
    const size_t n_records = nnz > n + 1 ? nnz : n + 1;
    c->max_outputs = n + nnz;
    SQ_TRY(sq_route_begin(w, 1, n_records, err));
    c->len[0][0] = (uint32_t)(n + 1);
    c->len[0][1] = (uint32_t)nnz;
    for (size_t i = 0; i <= n; i++)
        c->beats[i * w->len + sq_route_field(w, "offset")] = (int32_t)row_index[i];
    for (size_t i = 0; i < nnz; i++)
        c->beats[i * w->len + sq_route_field(w, "index")] = groups[i];
    c->beats[sq_route_field(w, "limit")] = (int32_t)(w->r->k / SQ_REPLAY_GQSA_GROUP);
    c->beats[n * w->len + sq_route_field(w, "last")] = 1;
    return SQ_OK;
}

// Row by row the stored groups in their places, a step for a row without any, none refused.
static enum sq_status check_walk(struct sq_route_work *w, struct sq_error *err)
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
    const size_t n_golden = sq_route_golden(w, 0, 0);
    const int32_t *step = w->golden;
    sq_route_expect(w, "row_index", n, (int64_t)n_steps, (int64_t)n_golden);
    for (size_t row = 0; row < n && n_golden == n_steps; row++) {
        const uint32_t from = row_index[row], to = row_index[row + 1], n_row = to - from;
        for (uint32_t i = 0; i < (n_row > 0 ? n_row : 1); i++, step += w->out_len) {
            sq_route_expect(w, "row_index", row, (int64_t)row, step[ROW]);
            sq_route_expect(w, "row_index", row, from + i, step[AT]);
            sq_route_expect(w, "row_index", row, i == 0, step[FIRST]);
            sq_route_expect(w, "row_index", row, i + 1 >= n_row, step[LAST]);
            sq_route_expect(w, "row_index", row, n_row == 0, step[EMPTY]);
            sq_route_expect(w, "row_index", row, row + 1 == n && i + 1 >= n_row, step[END]);
            sq_route_expect(w, "row_index", row, 0, step[REFUSED]);
            if (n_row == 0)
                continue;
            sq_route_expect(w, "groups", from + i, groups[from + i], step[GROUP]);
            sq_route_expect(w, "groups", from + i, groups[from + i] * SQ_REPLAY_GQSA_GROUP,
                            step[COLUMN]);
        }
    }
    return SQ_OK;
}

// ---- array -------------------------------------------------------------------------------------

enum { GQSA_LOW_BITS = 6 }; // code - zero: -15..15

// Groups of the case: (channel, tile of tokens) in this order, channels without groups left out.
static enum sq_status make_gqsa(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t b = SQ_REPLAY_GQSA_GROUP, k = r->k, rows = w->array_rows;
    const size_t nnz = sq_replay_count(r, "s_w"), tiles_m = (r->m + rows - 1) / rows;
    const uint32_t *row_index;
    const uint16_t *groups;
    const uint8_t *values, *zero;
    const int8_t *x;
    size_t n_used = 0;
    SQ_REPLAY_TENSOR(r, "row_index", SQ_I32, r->n + 1, row_index);
    SQ_REPLAY_TENSOR(r, "groups", SQ_U8, 2 * nnz, groups);
    SQ_REPLAY_TENSOR(r, "values", SQ_U8, b / 2 * nnz, values);
    SQ_REPLAY_TENSOR(r, "zero", SQ_U8, (nnz + 1) / 2, zero);
    SQ_REPLAY_TENSOR(r, "x", SQ_I8, r->m * k, x);
    sq_route_set_array(w, SQ_ARRAY_DENSE, SQ_REPLAY_GQSA_GROUP, 1, false, 8, GQSA_LOW_BITS, 4);
    sq_route_set(w, "Cols", 1);
    for (size_t n = 0; n < r->n; n++)
        n_used += row_index[n + 1] > row_index[n];
    SQ_TRY(sq_route_begin(w, n_used * tiles_m, nnz * tiles_m, err));
    const size_t plain = sq_route_field(w, "plain"), low = sq_route_field(w, "low");
    int32_t *beat = w->stream->beats;
    uint32_t(*len)[SQ_STREAMS_MAX] = w->stream->len;
    for (size_t n = 0; n < r->n; n++)
        for (size_t tile = 0; tile < tiles_m && row_index[n + 1] > row_index[n]; tile++) {
            (*len++)[0] = row_index[n + 1] - row_index[n];
            for (size_t e = row_index[n]; e < row_index[n + 1]; e++, beat += w->len) {
                const int z = zero[e / 2] >> (4 * (e % 2)) & 15;
                beat[sq_route_field(w, "last")] = e + 1 == row_index[n + 1];
                for (size_t i = 0; i < b; i++)
                    beat[low + i] = (values[(e * b + i) / 2] >> (4 * (i % 2)) & 15) - z;
                for (size_t row = 0; row < rows && tile * rows + row < r->m; row++)
                    sq_route_copy(beat + plain + row * b,
                                  x + (tile * rows + row) * k + groups[e] * b, b);
            }
        }
    return SQ_OK;
}

static enum sq_status check_gqsa(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t rows = sq_route_get(w, "Rows"), tiles_m = (r->m + rows - 1) / rows;
    const struct sq_case *c = w->stream;
    const uint32_t *row_index;
    const int32_t *p_lo;
    size_t g = 0, first = 0;
    SQ_REPLAY_TENSOR(r, "row_index", SQ_I32, r->n + 1, row_index);
    SQ_REPLAY_TENSOR(r, "p_lo", SQ_I32, r->m * r->n, p_lo);
    for (size_t n = 0; n < r->n; n++)
        for (size_t tile = 0; tile < tiles_m; tile++) {
            const bool has_groups = row_index[n + 1] > row_index[n];
            if (has_groups) {
                (void)sq_route_golden(w, g, first);
                first += c->len[g++][0];
            }
            for (size_t row = 0; row < rows && tile * rows + row < r->m; row++) {
                const size_t at = (tile * rows + row) * r->n + n;
                sq_route_expect(w, "p_lo", at, p_lo[at], has_groups ? w->golden[row] : 0);
            }
        }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_gqsa_walk_block, make_walk, check_walk},
    {&sq_array_block, make_gqsa, check_gqsa},
};

const struct sq_format_trace sq_gqsa_trace = {NULL, NULL, values, routes, 2};
