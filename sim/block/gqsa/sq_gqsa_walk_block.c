// SPDX-License-Identifier: Apache-2.0
// sq_gqsa_walk: the kept groups of a BSR matrix, row by row.
#include <assert.h>
#include <string.h>

#include "models/gqsa/sq_gqsa_walk.h"
#include "sim/block/gqsa/sq_gqsa_walk.block.h"
#include "sim/block/gqsa/sq_gqsa_walk_sim.h"

enum { FIELDS = 4, ALL_GROUPS = 4, BEFORE_MAX = 2 };

// Adds `n` ascending groups below `limit` (>= n); returns how many there are then.
static uint32_t add_groups(struct sq_rng *rng, int32_t *record, uint32_t count, uint32_t n,
                           uint32_t limit)
{
    uint32_t group = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t spare = limit - group - (n - i); // how many may be skipped
        group += sq_rng_below(rng, (spare < 3 || sq_rng_below(rng, 4) == 0 ? spare : 3) + 1);
        record[count++ * FIELDS + 3] = (int32_t)group++;
    }
    return count;
}

// Matrices without rows, which give no step, in front of one with rows: row_index[0] is their last.
static void put_before(const unsigned *v, struct sq_rng *rng, uint32_t n, int32_t *record,
                       uint32_t *len)
{
    for (uint32_t i = len[0]; i-- > 0;)
        memcpy(record + (i + n) * FIELDS, record + i * FIELDS, 3 * sizeof *record);
    for (uint32_t i = 0; i < n; i++) {
        record[i * FIELDS] = sq_field_unsigned((uint32_t)sq_rng_next(rng), v[AT_W]);
        record[i * FIELDS + 1] = sq_draw_bits(rng, v[GROUP_W] + 1, true);
        record[i * FIELDS + 2] = 1;
    }
    len[0] += n;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const uint32_t bits = v[GROUP_W], whole = 1u << bits;
    const bool is_all = kind == SQ_STIMULUS_ALL, is_illegal = kind == SQ_STIMULUS_ILLEGAL;
    const uint32_t rows = is_all ? 3 : 1 + sq_rng_below(rng, ROWS_MAX);
    uint32_t limit = ROW_GROUPS_MAX + sq_rng_below(rng, 20), count = 0, end = 0;
    if (is_all)
        limit = ALL_GROUPS;
    else if (kind == SQ_STIMULUS_EXTREME) // up to the end of the index, and back again
        limit = sq_rng_below(rng, 4) ? whole : limit;
    else if (kind == SQ_STIMULUS_UNIFORM && sq_rng_below(rng, 2))
        limit += sq_rng_below(rng, whole);
    if (limit > whole)
        limit = whole;
    if (is_illegal && sq_rng_below(rng, 2)) { // row_index[0], anywhere where the others still fit
        const uint32_t most = (UINT32_MAX >> (32 - v[AT_W])) - GROUPS_MAX;
        const uint32_t bit = UINT32_C(1) << sq_rng_below(rng, v[AT_W]);
        end = bit < most && sq_rng_below(rng, 2) ? bit : sq_rng_below(rng, most);
    }
    record[0] = (int32_t)end;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t n = sq_rng_below(rng, ROW_GROUPS_MAX + 1), offset;
        if (kind == SQ_STIMULUS_FEW) // runs of empty rows and of single groups
            n = sq_rng_below(rng, 4) == 0;
        if (is_all) {
            n = 0;
            for (uint32_t i = 0; i < ALL_GROUPS; i++)
                if (number >> (r * ALL_GROUPS + i) & 1)
                    record[(count + n++) * FIELDS + 3] = (int32_t)i;
            count += n;
        } else {
            count = add_groups(rng, record, count, n, limit);
        }
        end += n;
        offset = end;
        if (is_illegal && n == 0 && end > 0 && sq_rng_below(rng, 2)) // decreases
            offset = sq_rng_below(rng, end);
        record[(r + 1) * FIELDS] = (int32_t)offset;
    }
    for (uint32_t i = 0; is_illegal && i < count; i++) // anywhere, often close to the limit
        if (sq_rng_below(rng, 4) == 0)
            record[i * FIELDS + 3] =
                (int32_t)((sq_rng_below(rng, 2) ? limit - 1 + sq_rng_below(rng, 3)
                                                : sq_rng_below(rng, whole)) &
                          (whole - 1));
    record[1] = (int32_t)limit;
    for (uint32_t r = 1; r <= rows; r++) // read with row_index[0] only
        record[r * FIELDS + 1] = (int32_t)sq_rng_below(rng, whole);
    record[rows * FIELDS + 2] = 1;
    len[0] = rows + 1;
    len[1] = count;
    if (!is_all && sq_rng_below(rng, 8) == 0)
        put_before(v, rng, 1 + sq_rng_below(rng, BEFORE_MAX), record, len);
}

// ---- the ends of rows and offsets -----------------------------------------------------------

enum { MANY_ROWS = 320, MANY_GROUPS = 600 };

// A matrix whose first offset is `start`: rows of 0, 1, 2 and 3 groups, a whole one among them if
// it fits, and index 2^GroupW - 1.
static void put_matrix(const unsigned *v, uint32_t start, uint32_t rows, uint32_t most,
                       int32_t *record, uint32_t *len)
{
    const uint32_t whole = 1u << v[GROUP_W];
    uint32_t n = 0;
    record[0] = (int32_t)start;
    record[1] = (int32_t)whole;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t groups = r == 1 && whole <= 256 ? whole : r % 4;
        groups = groups < most - n ? groups : most - n;
        for (uint32_t i = 0; i < groups; i++)
            record[n++ * FIELDS + 3] = (int32_t)(whole - groups + i);
        record[(r + 1) * FIELDS] = (int32_t)(start + n);
    }
    record[rows * FIELDS + 2] = 1;
    len[0] = rows + 1;
    len[1] = n;
}

enum { CARRY_ROWS = 8, CARRY_FROM = 4 }; // of a matrix across 2^4, 2^5, ...

// More than 256 rows where they can be named: from offset 0, across 2^16 or the highest bit of an
// offset, and up to its end; then few across each power of two. Starting anywhere but at 0 is an
// error, and walked.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t last = UINT32_MAX >> (32 - v[AT_W]);
    const uint32_t rows = v[ROW_W] > 8 ? MANY_ROWS : 1u << v[ROW_W];
    const uint32_t most = last < MANY_GROUPS ? last : MANY_GROUPS;
    const uint32_t middle = UINT32_C(1) << (v[AT_W] > 16 ? 16 : v[AT_W] - 1);
    const uint32_t start[3] = {0, middle - 16, last - most};
    (void)number;
    (void)rng;
    c->max_outputs = MANY_ROWS + MANY_GROUPS;
    SQ_TRY(sq_case_room(c, 3 + v[AT_W] - CARRY_FROM, (size_t)(MANY_ROWS + MANY_GROUPS), err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const record = c->beats + c->n_beats * FIELDS;
        if (g < 3)
            put_matrix(v, start[g], rows, g == 1 && last - start[1] < most ? last - start[1] : most,
                       record, c->len[g]);
        else
            put_matrix(v, (UINT32_C(1) << (g - 3 + CARRY_FROM)) - CARRY_FROM, CARRY_ROWS,
                       2 * CARRY_FROM, record, c->len[g]);
        c->n_beats += sq_case_records(c, g);
    }
    return SQ_OK;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    uint32_t offset[SQ_WALK_ROWS_MAX + 1]; // a given matrix is larger than those drawn
    uint16_t group[SQ_WALK_GROUPS_MAX];
    struct sq_gqsa_step step[SQ_WALK_ROWS_MAX + SQ_WALK_GROUPS_MAX];
    assert(len[0] <= SQ_WALK_ROWS_MAX + 1 && len[1] <= SQ_WALK_GROUPS_MAX);
    uint32_t before = 0; // matrices without rows
    while (record[before * FIELDS + 2])
        before++;
    for (uint32_t i = before; i < len[0]; i++)
        offset[i - before] = (uint32_t)record[i * FIELDS];
    for (uint32_t i = 0; i < len[1]; i++)
        group[i] = (uint16_t)record[i * FIELDS + 3];
    const size_t n = sq_gqsa_walk(offset, len[0] - before - 1, group,
                                  (uint32_t)record[before * FIELDS + 1], step);
    for (const struct sq_gqsa_step *s = step; s < step + n; s++) {
        const int32_t beat[9] = {
            (int32_t)s->row,  (int32_t)s->at, (int32_t)s->group, (int32_t)(s->group * v[GROUP_LEN]),
            s->first,         s->last,        s->empty,          s->end,
            (int32_t)s->error};
        memcpy(out, beat, sizeof beat);
        out += 9;
    }
    return n;
}

// ---- time -----------------------------------------------------------------------------------

static void init(const unsigned *v, void *state)
{
    (void)v;
    *(struct sq_gqsa_walk_sim *)state = (struct sq_gqsa_walk_sim){0};
}

// A step of the row can be made, and it is its last one.
static void walk_step(const struct sq_gqsa_walk_sim *s, const struct sq_offer *in, bool *steps,
                      bool *ends)
{
    *steps = s->has_row && (s->left == 0 || in[1].valid);
    *ends = *steps && s->left <= 1;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_gqsa_walk_sim *s = state;
    const bool moves = !s->has_step || out_ready;
    bool steps, ends;
    walk_step(s, in, &steps, &ends);
    out->out_valid = s->has_step;
    out->in_ready[0] = !s->has_row || (ends && moves);
    out->in_ready[1] = s->has_row && s->left > 0 && moves;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_gqsa_walk_sim *s = state;
    const bool moves = !s->has_step || out_ready;
    struct sq_handshake out;
    bool steps, ends;
    comb(s, in, out_ready, &out);
    walk_step(s, in, &steps, &ends);
    if (moves) {
        s->has_step = steps;
        s->ends_row = ends;
        s->ends_all = ends && s->row_last;
        if (steps && s->left > 0) {
            s->left--;
            s->at++;
        }
        if (ends) {
            s->has_row = false;
            s->has_start = s->has_start && !s->row_last;
        }
    }
    if (!in[0].valid || !out.in_ready[0])
        return;
    if (!s->has_start) {
        s->has_start = !in[0].last;
        s->at = in[0].n;
    } else {
        s->has_row = true;
        s->row_last = in[0].last;
        s->left = in[0].n > s->at ? in[0].n - s->at : 0;
    }
}

void sq_gqsa_walk_show(const void *state, struct sq_offer *out)
{
    const struct sq_gqsa_walk_sim *s = state;
    out->last = s->ends_row;
    out->n = s->ends_all;
}

static const struct sq_timing timing = {sizeof(struct sq_gqsa_walk_sim), comb, clock};
