// SPDX-License-Identifier: Apache-2.0
// The hardware of gqsa. A kernel trace goes through gqsa_walk and the array, a layer through its engine.
#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_mac.h"
#include "models/gqsa/sq_gqsa.h"
#include "sim/format/file/sq_trace.h"
#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/sq_recipe.h"
#include "sim/format/sq_tile_route.h"
#include "sim/format/top/sq_chip_route.h"

// The kept groups of w by the group quantizer into m, whose row_index and groups are valid.
static enum sq_status quantize(const struct sq_gqsa *m, const float *w, struct sq_error *err)
{
    const size_t g = m->group;
    for (size_t row = 0; row < m->n; row++)
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            uint8_t code[SQ_TRACE_GQSA_GROUP];
            SQ_TRY(sq_gqsa_quantize_group(w + row * m->k + m->groups[e] * g, g, code, &m->scale[e],
                                          &m->zero[e], err));
            for (size_t i = 0; i < g; i++)
                m->codes[(e * g + i) / 2] |= (uint8_t)(code[i] << (4 * (i % 2)));
        }
    return SQ_OK;
}

// Sums of the integers of each row's groups.
static enum sq_status row_sums(struct sq_trace *r, const struct sq_gqsa *m, const int8_t *x,
                               int32_t *p, struct sq_error *err)
{
    int32_t *sum_x, *acc;
    float *y;
    SQ_TRACE_KEEP(r, sum_x, m->k / m->group);
    SQ_TRACE_KEEP(r, acc, m->nnz);
    SQ_TRACE_KEEP(r, y, m->n);
    for (size_t t = 0; t < r->p.m; t++) {
        sq_gqsa_gemv_int8(m, x + t * m->k, 1.0f, sum_x, y, acc);
        for (size_t row = 0; row < m->n; row++)
            for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++)
                p[t * m->n + row] += acc[e];
    }
    return SQ_OK;
}

static enum sq_status values(struct sq_trace *r, struct sq_error *err)
{
    const size_t half = SQ_TRACE_GQSA_GROUP / 2, n_groups = sq_product_count(&r->p, "s_w");
    struct sq_gqsa m = {.n = r->p.n, .k = r->p.k, .k_orig = r->p.k, .group = SQ_TRACE_GQSA_GROUP};
    struct sq_gqsa stored = m;
    const float *w;
    const int8_t *x;
    const uint8_t *packed;
    uint8_t *zeros;
    int32_t *p;
    m.nnz = stored.nnz = n_groups == SIZE_MAX ? 0 : n_groups;
    SQ_TRACE_INPUT(r, "w", SQ_F32, r->p.n * r->p.k, w);
    SQ_TRACE_INPUT(r, "x", SQ_I8, r->p.m * r->p.k, x);
    SQ_TRACE_INPUT_COPY(r, "row_index", SQ_I32, r->p.n + 1, m.row_index);
    SQ_TRACE_INPUT_COPY(r, "groups", SQ_U8, 2 * m.nnz, m.groups);
    SQ_TRACE_KEEP(r, m.codes, half * m.nnz);
    SQ_TRACE_KEEP(r, m.scale, m.nnz);
    SQ_TRACE_KEEP(r, m.zero, m.nnz);
    stored = m; // what the file holds is legal, then right
    SQ_TRACE_COPY(r, "values", SQ_U8, half * m.nnz, stored.codes);
    SQ_TRACE_COPY(r, "s_w", SQ_F16, m.nnz, stored.scale);
    SQ_TRACE_TENSOR(r, "zero", SQ_U8, sq_gqsa_zero_nbytes(m.nnz), packed);
    SQ_TRACE_KEEP(r, stored.zero, m.nnz);
    SQ_TRY(sq_gqsa_unpack_zeros(packed, m.nnz, stored.zero, err));
    SQ_TRY(sq_gqsa_validate(&stored, err));
    SQ_TRY(quantize(&m, w, err));
    SQ_TRACE_KEEP(r, zeros, sq_gqsa_zero_nbytes(m.nnz));
    SQ_TRACE_KEEP(r, p, r->p.m * r->p.n);
    sq_gqsa_pack_zeros(m.zero, m.nnz, zeros);
    SQ_TRY(sq_trace_compare(r, "values", SQ_U8, half * m.nnz, m.codes, err));
    SQ_TRY(sq_trace_compare(r, "s_w", SQ_F16, m.nnz, m.scale, err));
    SQ_TRY(sq_trace_compare(r, "zero", SQ_U8, sq_gqsa_zero_nbytes(m.nnz), zeros, err));
    SQ_TRY(row_sums(r, &m, x, p, err));
    return sq_trace_compare(r, "p_lo", SQ_I32, r->p.m * r->p.n, p, err);
}

// ---- gqsa_walk: the kept groups of the matrix --------------------------------------------------

enum { WALK_GROUP_BITS = 16, WALK_AT_BITS = 32, WALK_ROW_BITS = 16 };

// What every route reads. group: G.
struct kept {
    size_t group, nnz;
    const uint32_t *row_index;
    const uint16_t *groups;
};

static enum sq_status take_kept(struct sq_product *p, struct kept *k, struct sq_error *err)
{
    SQ_TRY(sq_product_option(p, "group", 4, SQ_BANK_MAX, SQ_TRACE_GQSA_GROUP, &k->group, err));
    k->nnz = sq_product_count(p, "s_w");
    SQ_PRODUCT_TENSOR(p, "row_index", SQ_I32, p->n + 1, k->row_index);
    SQ_PRODUCT_TENSOR(p, "groups", SQ_U8, 2 * k->nnz, k->groups);
    return SQ_OK;
}

// The unit walks as many rows at a time as its golden model holds: the first row after those from
// `row` on.
static size_t walk_end(const struct kept *k, size_t row, size_t n)
{
    size_t end = row;
    while (end < n && end - row < SQ_WALK_ROWS_MAX &&
           k->row_index[end + 1] - k->row_index[row] <= SQ_WALK_GROUPS_MAX)
        end++;
    return end;
}

static size_t walk_records(const struct kept *k, size_t row, size_t end)
{
    const size_t n = end - row + 1, nnz = k->row_index[end] - k->row_index[row];
    return nnz > n ? nnz : n;
}

// Rows row..end-1 as a matrix of its own; returns its records.
static size_t put_walk(struct sq_route_work *w, const struct kept *k, size_t row, size_t end,
                       uint32_t *len, int32_t *beats)
{
    const uint32_t first = k->row_index[row], nnz = k->row_index[end] - first;
    len[0] = (uint32_t)(end - row + 1);
    len[1] = nnz;
    for (size_t i = row; i <= end; i++)
        beats[(i - row) * w->len + sq_route_field(w, "offset")] =
            (int32_t)(k->row_index[i] - first);
    for (size_t i = 0; i < nnz; i++)
        beats[i * w->len + sq_route_field(w, "index")] = k->groups[first + i];
    beats[sq_route_field(w, "limit")] = (int32_t)(w->p->k / k->group);
    beats[(end - row) * w->len + sq_route_field(w, "last")] = 1;
    return walk_records(k, row, end);
}

static enum sq_status make_walk(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n = w->p->n;
    struct sq_case *c = w->stream;
    struct kept k;
    size_t n_walks = 0, n_records = 0, g = 0;
    SQ_TRY(take_kept(w->p, &k, err));
    for (size_t row = 0, end; row < n; row = end, n_walks++) {
        end = walk_end(&k, row, n);
        SQ_FAIL_IF(end == row, err, SQ_ERR_RANGE, "%s: row %zu of %u groups, need at most %d",
                   sq_path_tail(w->p->source), row, k.row_index[row + 1] - k.row_index[row],
                   SQ_WALK_GROUPS_MAX);
        const size_t outputs = end - row + k.row_index[end] - k.row_index[row];
        c->max_outputs = outputs > c->max_outputs ? outputs : c->max_outputs;
        n_records += walk_records(&k, row, end);
    }
    sq_route_set(w, "GroupLen", (unsigned)k.group);
    sq_route_set(w, "GroupW", WALK_GROUP_BITS);
    sq_route_set(w, "AtW", WALK_AT_BITS);
    sq_route_set(w, "RowW", WALK_ROW_BITS);
    SQ_TRY(sq_route_begin(w, n_walks, n_records, err));
    int32_t *beats = c->beats;
    for (size_t row = 0, end; row < n; row = end) {
        end = walk_end(&k, row, n);
        beats += put_walk(w, &k, row, end, c->len[g++], beats) * w->len;
    }
    return SQ_OK;
}

// Row by row the stored groups in their places, a step for a row without any, none refused.
static void check_rows(struct sq_route_work *w, const struct kept *k, size_t first, size_t end,
                       size_t n_golden)
{
    enum { ROW, AT, GROUP, COLUMN, FIRST, LAST, EMPTY, END, REFUSED };
    const uint32_t base = k->row_index[first];
    const int32_t *step = w->golden;
    size_t n_steps = k->row_index[end] - base;
    for (size_t row = first; row < end; row++)
        n_steps += k->row_index[row] == k->row_index[row + 1];
    sq_route_expect(w, "row_index", end, (int64_t)n_steps, (int64_t)n_golden);
    for (size_t row = first; row < end && n_golden == n_steps; row++) {
        const uint32_t from = k->row_index[row], to = k->row_index[row + 1], n_row = to - from;
        for (uint32_t i = 0; i < (n_row > 0 ? n_row : 1); i++, step += w->out_len) {
            sq_route_expect(w, "row_index", row, (int64_t)(row - first), step[ROW]);
            sq_route_expect(w, "row_index", row, from - base + i, step[AT]);
            sq_route_expect(w, "row_index", row, i == 0, step[FIRST]);
            sq_route_expect(w, "row_index", row, i + 1 >= n_row, step[LAST]);
            sq_route_expect(w, "row_index", row, n_row == 0, step[EMPTY]);
            sq_route_expect(w, "row_index", row, row + 1 == end && i + 1 >= n_row, step[END]);
            sq_route_expect(w, "row_index", row, 0, step[REFUSED]);
            if (n_row == 0)
                continue;
            sq_route_expect(w, "groups", from + i, k->groups[from + i], step[GROUP]);
            sq_route_expect(w, "groups", from + i, (int64_t)(k->groups[from + i] * k->group),
                            step[COLUMN]);
        }
    }
}

static enum sq_status check_walk(struct sq_route_work *w, struct sq_error *err)
{
    struct kept k;
    size_t g = 0, record = 0;
    SQ_TRY(take_kept(w->p, &k, err));
    for (size_t row = 0, end; row < w->p->n; row = end) {
        end = walk_end(&k, row, w->p->n);
        const size_t n_golden = sq_route_golden(w, g++, record);
        check_rows(w, &k, row, end, n_golden);
        record += walk_records(&k, row, end);
    }
    return SQ_OK;
}

// ---- array -------------------------------------------------------------------------------------

// A kernel sums the groups of a row, of code - zero: -15..15.
enum { GQSA_LOW_BITS = 6 };

static bool is_layer(const struct sq_product *p)
{
    return sq_product_count(p, "s_a") != SIZE_MAX;
}

static bool is_trace(const struct sq_product *p)
{
    return !is_layer(p);
}

struct coded {
    const uint8_t *values, *zero;
    const int8_t *x;
};

static enum sq_status take_coded(struct sq_product *p, const struct kept *k, struct coded *c,
                                 struct sq_error *err)
{
    SQ_PRODUCT_TENSOR(p, "values", SQ_U8, k->group / 2 * k->nnz, c->values);
    SQ_PRODUCT_TENSOR(p, "zero", SQ_U8, (k->nnz + 1) / 2, c->zero);
    SQ_PRODUCT_TENSOR(p, "x", SQ_I8, p->m * p->k, c->x);
    return SQ_OK;
}

static int code_of(const struct coded *c, size_t i)
{
    return c->values[i / 2] >> (4 * (i % 2)) & 15;
}

static int zero_of(const struct coded *c, size_t e)
{
    return c->zero[e / 2] >> (4 * (e % 2)) & 15;
}

// Kept group e for the tokens of a tile.
static void put_group(struct sq_route_work *w, const struct kept *k, const struct coded *c,
                      size_t e, size_t tile, int32_t *beat)
{
    const size_t b = k->group, rows = w->array_rows;
    const int z = zero_of(c, e);
    int32_t *const low = beat + sq_route_field(w, "low"), *const plain =
                                                              beat + sq_route_field(w, "plain");
    for (size_t i = 0; i < b; i++)
        low[i] = code_of(c, e * b + i) - z;
    for (size_t row = 0; row < rows && tile * rows + row < w->p->m; row++)
        sq_route_copy(plain + row * b, c->x + (tile * rows + row) * w->p->k + k->groups[e] * b, b);
}

// Groups of the case: (channel, tile of tokens) in this order, channels without groups left out.
static enum sq_status make_gqsa(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    const size_t rows = w->array_rows, tiles_m = (p->m + rows - 1) / rows;
    struct kept k;
    struct coded c;
    size_t n_used = 0;
    SQ_TRY(take_kept(p, &k, err));
    SQ_TRY(take_coded(p, &k, &c, err));
    sq_route_set_array(w, SQ_ARRAY_DENSE, (unsigned)k.group, 1, false, 8, GQSA_LOW_BITS, 4);
    sq_route_set(w, "Cols", 1);
    for (size_t n = 0; n < p->n; n++)
        n_used += k.row_index[n + 1] > k.row_index[n];
    SQ_TRY(sq_route_begin(w, n_used * tiles_m, k.nnz * tiles_m, err));
    int32_t *beat = w->stream->beats;
    uint32_t(*len)[SQ_STREAMS_MAX] = w->stream->len;
    for (size_t n = 0; n < p->n; n++)
        for (size_t tile = 0; tile < tiles_m; tile++)
            for (size_t e = k.row_index[n]; e < k.row_index[n + 1]; e++, beat += w->len) {
                const bool is_last = e + 1 == k.row_index[n + 1];
                (*len)[0]++;
                len += is_last;
                beat[sq_route_field(w, "last")] = is_last;
                put_group(w, &k, &c, e, tile, beat);
            }
    return SQ_OK;
}

static enum sq_status check_gqsa(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    const size_t rows = sq_route_get(w, "Rows"), tiles_m = (p->m + rows - 1) / rows;
    struct kept k;
    const int32_t *p_lo;
    size_t g = 0, first = 0;
    SQ_TRY(take_kept(p, &k, err));
    SQ_PRODUCT_TENSOR(p, "p_lo", SQ_I32, p->m * p->n, p_lo);
    for (size_t i = 0; i < p->n * tiles_m; i++) {
        const size_t n = i / tiles_m, tile = i % tiles_m;
        const bool is_used = k.row_index[n + 1] > k.row_index[n];
        if (is_used) {
            (void)sq_route_golden(w, g, first);
            first += w->stream->len[g++][0];
        }
        for (size_t row = 0; row < rows && tile * rows + row < p->m; row++) {
            const size_t at = (tile * rows + row) * p->n + n;
            sq_route_expect(w, "p_lo", at, p_lo[at], is_used ? w->golden[row] : 0);
        }
    }
    return SQ_OK;
}

// ---- engine_gqsa: a job for each tile of tokens -----------------------------------------------------

enum { ENGINE_AT_BITS = 32, ENGINE_ROWS_MAX = 65534, ENGINE_GROUP_BITS_MAX = 16 };

static void put_engine_acts(struct sq_route_work *w, const struct kept *k, const struct coded *c,
                            size_t tile, int32_t *beats)
{
    const size_t rows = w->array_rows;
    for (size_t g = 0; g < w->p->k / k->group; g++)
        for (size_t row = 0; row < rows && tile * rows + row < w->p->m; row++)
            sq_route_copy(beats + g * w->len + sq_route_field(w, "code") + row * k->group,
                          c->x + (tile * rows + row) * w->p->k + g * k->group, k->group);
}

// Offsets and kept groups as the file has them; codes stand after the index.
static void put_engine_matrix(struct sq_route_work *w, const struct kept *k, const struct coded *c,
                              const uint16_t *scale, int32_t *beats)
{
    const size_t index = sq_route_field(w, "index");
    for (size_t n = 0; n <= w->p->n; n++)
        beats[n * w->len + sq_route_field(w, "at")] = (int32_t)k->row_index[n];
    for (size_t e = 0; e < k->nnz; e++) {
        int32_t *const beat = beats + e * w->len;
        beat[index] = k->groups[e];
        for (size_t i = 0; i < k->group; i++)
            beat[index + 1 + i] = code_of(c, e * k->group + i);
        beat[sq_route_field(w, "zero")] = zero_of(c, e);
        beat[sq_route_field(w, "scale")] = scale[e];
    }
}

static enum sq_status set_engine(struct sq_route_work *w, const struct kept *k,
                                 struct sq_error *err)
{
    const size_t groups = w->p->k / k->group;
    unsigned bits = 1;
    while (bits < ENGINE_GROUP_BITS_MAX && (size_t)1 << bits < groups)
        bits++;
    SQ_FAIL_IF(w->p->n > ENGINE_ROWS_MAX || groups > (size_t)1 << bits, err, SQ_ERR_RANGE,
               "%s: %zu rows of %zu groups, need at most %d of %d", sq_path_tail(w->p->source),
               w->p->n, groups, ENGINE_ROWS_MAX, 1 << ENGINE_GROUP_BITS_MAX);
    sq_route_set(w, "Rows", w->array_rows);
    sq_route_set(w, "GroupLen", (unsigned)k->group);
    sq_route_set(w, "GroupW", bits);
    sq_route_set(w, "AtW", ENGINE_AT_BITS);
    return SQ_OK;
}

static enum sq_status make_engine(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    const size_t rows = w->array_rows, tiles_m = (p->m + rows - 1) / rows;
    const float one = 1.0f;
    struct kept k;
    struct coded c;
    const uint16_t *scale;
    const int32_t *s_a; // bits of binary32
    SQ_TRY(take_kept(p, &k, err));
    SQ_TRY(take_coded(p, &k, &c, err));
    SQ_PRODUCT_TENSOR(p, "s_w", SQ_F16, k.nnz, scale);
    SQ_PRODUCT_TENSOR(p, "s_a", SQ_F32, p->m, s_a);
    SQ_TRY(set_engine(w, &k, err));
    const size_t groups = p->k / k.group, offsets = p->n + 1;
    const size_t most = groups > offsets ? groups : offsets, records = most > k.nnz ? most : k.nnz;
    w->stream->max_outputs = p->n;
    SQ_TRY(sq_route_begin(w, tiles_m, tiles_m * records, err));
    for (size_t tile = 0; tile < tiles_m; tile++) {
        int32_t *const job = w->stream->beats + tile * records * w->len;
        const uint32_t len[] = {1, (uint32_t)groups, (uint32_t)offsets, (uint32_t)k.nnz};
        memcpy(w->stream->len[tile], len, sizeof len);
        job[sq_route_field(w, "groups")] = (int32_t)groups;
        job[sq_route_field(w, "offsets")] = (int32_t)offsets;
        for (size_t row = 0; row < rows; row++) // 1.0 of a token that is not there
            memcpy(job + sq_route_field(w, "s_a") + row,
                   tile * rows + row < p->m ? (const void *)(s_a + tile * rows + row) : &one,
                   sizeof *s_a);
        put_engine_acts(w, &k, &c, tile, job);
        put_engine_matrix(w, &k, &c, scale, job);
    }
    return SQ_OK;
}

static enum sq_status check_engine(struct sq_route_work *w, struct sq_error *err)
{
    const size_t rows = sq_route_get(w, "Rows");
    const float *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    for (size_t g = 0, first = 0; g < w->stream->n_groups;
         first += sq_case_records(w->stream, g++)) {
        (void)sq_route_golden(w, g, first);
        for (size_t n = 0; n < w->p->n; n++)
            sq_tiles_expect_words(w, y, g * rows, rows, n, 1, w->golden + n * w->out_len);
    }
    return SQ_OK;
}

static const struct sq_route routes[] = {
    {&sq_gqsa_walk_block, make_walk, check_walk, is_trace},
    {&sq_array_block, make_gqsa, check_gqsa, is_trace},
    {&sq_engine_gqsa_block, make_engine, check_engine, is_layer},
};

static enum sq_status make_chip(struct sq_route_work *w, struct sq_error *err)
{
    return sq_chip_make(w, &sq_engine_gqsa_block, make_engine, err);
}

static const struct sq_route chip = {&sq_top_block, make_chip, sq_chip_check, is_layer};

// ---- layers ------------------------------------------------------------------------------------

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const unsigned bits = sq_gqsa_recipe(r)->weight_bits;
    SQ_FAIL_IF(bits != 0 && bits != 4, err, SQ_ERR_UNSUPPORTED,
               "weight-bits = %u: the engine of gqsa has codes of 4 bits, need 4 in RTL", bits);
    SQ_FAIL_IF(r->is_act_f16, err, SQ_ERR_UNSUPPORTED,
               "act-bits = 16: no block multiplies binary16, need 8 in RTL");
    return SQ_OK;
}

static enum sq_status product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                              struct sq_product *p, struct sq_error *err)
{
    const struct sq_gqsa *m = sq_gqsa_encoded(q->state);
    int8_t *code;
    float *scale, *y;
    int32_t *sum_x, *acc;
    p->n = m->n;
    p->k = m->k;
    SQ_PRODUCT_KEEP(p, code, p->m * p->k);
    SQ_PRODUCT_KEEP(p, scale, p->m);
    SQ_PRODUCT_KEEP(p, sum_x, p->k / m->group);
    SQ_PRODUCT_KEEP(p, y, p->m * p->n);
    SQ_PRODUCT_KEEP(p, acc, p->m * m->nnz);
    SQ_TRY(sq_act_quantize(x, p->m, m->k_orig, p->k, r->act.low_bits, code, scale, err));
    for (size_t t = 0; t < p->m; t++)
        sq_gqsa_gemv_int8(m, code + t * p->k, scale[t], sum_x, y + t * p->n, acc + t * m->nnz);
    sq_route_put_parts(p, q);
    sq_product_put(p, "x", SQ_I8, p->m * p->k, code);
    sq_product_put(p, "s_a", SQ_F32, p->m, scale);
    sq_product_put(p, "y", SQ_F32, p->m * p->n, y);
    sq_product_put_number(p, "group", m->group);
    return SQ_OK;
}

const struct sq_format_routes sq_gqsa_routes = {
    .route = routes,
    .n_routes = SQ_LEN(routes),
    .chip = &chip,
    .trace_values = values,
    .check = check,
    .product = product,
};
