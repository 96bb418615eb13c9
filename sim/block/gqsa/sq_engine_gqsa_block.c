// SPDX-License-Identifier: Apache-2.0
// sq_engine_gqsa: jobs of stored groups through the walker, the array and the scale. What each of them
// computes and when is said by their own blocks and models.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/gqsa/sq_gqsa_walk.h"
#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_line.h"
#include "sim/block/gqsa/sq_gqsa_chip.h"
#include "sim/block/gqsa/sq_gqsa_walk_sim.h"
#include "sim/block/output/sq_combine_draw.h"

#include "sim/block/gqsa/sq_engine_gqsa.block.h"

enum { GROUPS, OFFSETS, S_A }; // of a job, then the scales of the tokens
enum { INDEX, CODE };          // of a kept group, then its codes, zero, scale
enum { WALK_AT, WALK_LIMIT, WALK_LAST, WALK_INDEX, WALK_FIELDS }; // of a record of gqsa_walk

// ---- values ---------------------------------------------------------------------------------

// The steps of a job whose matrix has n_rows rows; *n of them, to be freed.
static struct sq_gqsa_step *walk(const unsigned *v, const int32_t *record, size_t n_rows,
                                 uint32_t n_kept, size_t *n)
{
    SQ_FREED uint32_t *const at = malloc((n_rows + 1) * sizeof *at);
    SQ_FREED uint16_t *const index = calloc(n_kept + 1, sizeof *index);
    struct sq_gqsa_step *const step = malloc((n_rows + n_kept) * sizeof *step);
    assert(at && index && step);
    for (size_t i = 0; i <= n_rows; i++)
        at[i] = (uint32_t)record[i * record_len(v) + at_at(v)];
    for (uint32_t i = 0; i < n_kept; i++)
        index[i] = (uint16_t)record[i * record_len(v) + at_index(v) + INDEX];
    *n = sq_gqsa_walk(at, n_rows, index, (uint32_t)record[GROUPS], step);
    return step;
}

// What is wrong in a job before its rows are walked.
static int32_t job_errors(const unsigned *v, const int32_t *record)
{
    int32_t error = 0;
    for (unsigned r = 0; r < v[ROWS]; r++)
        error |= !sq_engine_is_scale(record[S_A + r]) << SQ_SCALED_ERROR_SCALE;
    for (size_t g = 0; g < (size_t)record[GROUPS]; g++)
        for (size_t i = 0; i < (size_t)v[ROWS] * v[GROUP_LEN]; i++)
            error |= (record[g * record_len(v) + at_code(v) + i] == sq_mask_code(8))
                     << SQ_SCALED_ERROR_CODE;
    return error;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const size_t n_rows = (size_t)record[OFFSETS] - 1;
    const uint32_t groups = (uint32_t)record[GROUPS];
    size_t n;
    SQ_FREED struct sq_gqsa_step *const step = walk(v, record, n_rows, in->len[KEPT], &n);
    SQ_FREED float *const y = calloc(v[ROWS], sizeof *y);
    int32_t error = job_errors(v, record);
    const int32_t *kept = record;
    assert(y);
    for (const struct sq_gqsa_step *s = step; s < step + n; s++) {
        const int32_t *const act = record + s->group * record_len(v) + at_code(v);
        error |= (s->error != 0) << SQ_ENGINE_ERROR_INDEX;
        if (!s->empty) {
            error |= !sq_gqsa_chip_is_scale(kept[at_scale(v)]) << SQ_SCALED_ERROR_SCALE;
            for (unsigned r = 0; r < v[ROWS]; r++)
                y[r] = sq_gqsa_chip_add(v[GROUP_LEN], y[r], kept + at_index(v),
                                        s->group < groups ? act + r * v[GROUP_LEN] : NULL);
            kept += record_len(v);
        }
        if (!s->last)
            continue;
        for (unsigned r = 0; r < v[ROWS]; r++) {
            const float end = sq_combine_end(SQ_COMBINE_ONE, y[r], sq_word_float(record[S_A + r]));
            *out++ = (int32_t)sq_combine_bits(end);
            y[r] = 0.0f;
        }
        *out++ = s->end;
        *out++ = error;
    }
    return n_rows;
}

// ---- cases ----------------------------------------------------------------------------------

// The matrix is one of gqsa_walk, drawn until it has rows from its first offset on.
static void draw_matrix(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                        int32_t *record, uint32_t *len)
{
    const unsigned walk_v[4] = {v[GROUP_LEN], v[GROUP_W], v[AT_W], 16};
    int32_t matrix[(WALK_GROUPS + 1) * WALK_FIELDS];
    uint32_t n[SQ_STREAMS_MAX];
    do {
        memset(matrix, 0, sizeof matrix);
        memset(n, 0, sizeof n);
        sq_gqsa_walk_block.draw_group(walk_v, rng, kind, 0, matrix, n);
    } while (matrix[WALK_LAST]);
    assert(n[0] <= WALK_OFFSETS && n[1] <= WALK_GROUPS);
    record[GROUPS] = matrix[WALK_LIMIT];
    record[OFFSETS] = (int32_t)n[0];
    for (uint32_t i = 0; i < n[0]; i++)
        record[i * record_len(v) + at_at(v)] = matrix[i * WALK_FIELDS + WALK_AT];
    for (uint32_t i = 0; i < n[1]; i++)
        record[i * record_len(v) + at_index(v) + INDEX] = matrix[i * WALK_FIELDS + WALK_INDEX];
    len[JOB] = 1;
    len[ACT] = (uint32_t)matrix[WALK_LIMIT];
    len[OFFSET] = n[0];
    len[KEPT] = n[1];
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    (void)number;
    draw_matrix(v, rng, kind, record, len);
    for (unsigned r = 0; r < v[ROWS]; r++)
        record[S_A + r] = sq_combine_draw_scale(rng, kind, false, true);
    for (uint32_t i = 0; i < len[ACT]; i++)
        sq_gqsa_chip_draw_act(at_at(v) - at_code(v), rng, kind,
                              record + i * record_len(v) + at_code(v));
    for (uint32_t i = 0; i < len[KEPT]; i++)
        sq_gqsa_chip_draw_kept(v[GROUP_LEN], rng, kind, record + i * record_len(v) + at_index(v));
}

// ---- errors, each alone -----------------------------------------------------------------------

enum {
    WRONG_ACT,
    WRONG_S_A,
    WRONG_SCALE,
    WRONG_START,
    WRONG_FALL,
    WRONG_RANGE,
    WRONG_ORDER,
    WRONGS
};
enum { WRONG_ROWS = 4, WRONG_GROUPS = 6, WRONG_KEPT = 6, TIMES = 3 };

// A matrix of rows of 2, 0, 3 and 1 groups.
static void put_matrix(const unsigned *v, struct sq_rng *rng, int32_t *record, uint32_t *len)
{
    static const int32_t at[WRONG_ROWS + 1] = {0, 2, 2, 5, 6},
                                         index[WRONG_KEPT] = {1, 3, 0, 2, 5, 4};
    record[GROUPS] = WRONG_GROUPS;
    record[OFFSETS] = WRONG_ROWS + 1;
    for (unsigned r = 0; r < v[ROWS]; r++)
        record[S_A + r] = sq_combine_draw_scale(rng, SQ_STIMULUS_UNIFORM, false, true);
    for (size_t i = 0; i < WRONG_GROUPS; i++)
        sq_gqsa_chip_draw_act(at_at(v) - at_code(v), rng, SQ_STIMULUS_UNIFORM,
                              record + i * record_len(v) + at_code(v));
    for (size_t i = 0; i <= WRONG_ROWS; i++)
        record[i * record_len(v) + at_at(v)] = at[i];
    for (size_t i = 0; i < WRONG_KEPT; i++) {
        sq_gqsa_chip_draw_kept(v[GROUP_LEN], rng, SQ_STIMULUS_UNIFORM,
                               record + i * record_len(v) + at_index(v));
        record[i * record_len(v) + at_index(v) + INDEX] = index[i];
    }
    len[JOB] = 1;
    len[ACT] = WRONG_GROUPS;
    len[OFFSET] = WRONG_ROWS + 1;
    len[KEPT] = WRONG_KEPT;
}

// time: of a group of activations the last code, the first one, then any.
static void spoil(const unsigned *v, struct sq_rng *rng, unsigned wrong, unsigned time,
                  int32_t *record)
{
    const uint32_t codes = v[ROWS] * v[GROUP_LEN], any = sq_rng_below(rng, codes);
    static const int32_t half[4] = {0, 0x8000 | 15 << 10, 0x7c00, 0x7e00};
    static const int32_t single[4] = {0, INT32_MIN | 0x3f800000, 0x7f800000, 0x7fc00000};
    const unsigned one = sq_rng_below(rng, 4), kept = sq_rng_below(rng, WRONG_KEPT);
    if (wrong == WRONG_ACT)
        record[sq_rng_below(rng, WRONG_GROUPS) * record_len(v) + at_code(v) +
               (time == 0   ? codes - 1
                : time == 1 ? 0
                            : any)] = sq_mask_code(8);
    else if (wrong == WRONG_S_A)
        record[S_A + sq_rng_below(rng, v[ROWS])] = single[one];
    else if (wrong == WRONG_SCALE)
        record[kept * record_len(v) + at_scale(v)] = half[one];
    else if (wrong == WRONG_START)
        for (size_t i = 0; i <= WRONG_ROWS; i++)
            record[i * record_len(v) + at_at(v)] += 1;
    else if (wrong == WRONG_FALL) // the row without groups
        record[2 * record_len(v) + at_at(v)] = 1;
    else if (wrong == WRONG_RANGE) // of a row's last group
        record[(size_t)(const int[]){1, 4, 5}[sq_rng_below(rng, 3)] * record_len(v) + at_index(v) +
               INDEX] = WRONG_GROUPS + (int32_t)sq_rng_below(rng, 2);
    else // of the row of three, one that is repeated
        record[3 * record_len(v) + at_index(v) + INDEX] = 0;
}

// Each kind of error alone in a job, a right one behind it.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    (void)number;
    SQ_TRY(sq_case_room(c, 2 * TIMES * WRONGS, WRONG_GROUPS, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const record = c->beats + g * WRONG_GROUPS * record_len(v);
        put_matrix(v, rng, record, c->len[g]);
        if (g % 2 == 0)
            spoil(v, rng, (unsigned)(g / 2 % WRONGS), (unsigned)(g / 2 / WRONGS), record);
    }
    return SQ_OK;
}

// Half as many rows, or one less, with the groups that are walked in them.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const uint32_t n_rows = len[OFFSET] - 1, left = way == 0 ? n_rows / 2 : n_rows - 1;
    size_t n, kept = 0;
    if (way > 1 || left == 0)
        return false;
    struct sq_gqsa_step *const step = walk(v, record, left, len[KEPT], &n);
    for (size_t i = 0; i < n; i++)
        kept += !step[i].empty;
    free(step);
    record[OFFSETS] = (int32_t)left + 1;
    len[OFFSET] = left + 1;
    len[KEPT] = (uint32_t)kept;
    return true;
}

// ---- time -----------------------------------------------------------------------------------

// The array, every beat of which is a tile, and what stands beside it: whether the steps inside end
// their row and the matrix.
enum { INSIDE_MAX = 8 };
struct sums {
    struct sq_chain array;
    unsigned n;
    bool ends_row[INSIDE_MAX], ends_all[INSIDE_MAX];
};

static struct sq_offer tile_of(const struct sq_offer *in)
{
    struct sq_offer o = *in;
    o.last = true;
    return o;
}

static void sums_comb(const void *state, const struct sq_offer *in, bool out_ready,
                      struct sq_handshake *out)
{
    const struct sums *const s = state;
    const struct sq_offer tile = tile_of(in);
    sq_array_block.timing->comb(&s->array, &tile, out_ready, out);
}

static void sums_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sums *const s = state;
    const struct sq_offer tile = tile_of(in);
    struct sq_handshake h = {.out_valid = false};
    sums_comb(s, in, out_ready, &h);
    if (h.out_valid && out_ready) {
        s->n--;
        memmove(s->ends_row, s->ends_row + 1, s->n * sizeof *s->ends_row);
        memmove(s->ends_all, s->ends_all + 1, s->n * sizeof *s->ends_all);
    }
    if (in->valid && h.in_ready[0]) {
        assert(s->n < INSIDE_MAX);
        s->ends_row[s->n] = in->last;
        s->ends_all[s->n++] = in->n;
    }
    sq_array_block.timing->clock(&s->array, &tile, out_ready);
}

static void sums_show(const void *state, struct sq_offer *out)
{
    const struct sums *const s = state;
    out->last = s->ends_row[0];
    out->n = s->ends_all[0];
}

static const struct sq_timing sums_timing = {sizeof(struct sums), sums_comb, sums_clock};

struct state {
    struct sq_line line;
    struct sq_gqsa_walk_sim walk;
    struct sums sums;
    struct sq_chain scale;
    bool is_loading, is_walking;
    uint32_t acts, offsets; // to come
};
enum { WALK_PART, SUMS_PART, SCALE_PART };

static void init(const unsigned *v, void *state)
{
    const unsigned scale_v[2] = {v[ROWS]};
    struct state *const s = state;
    sq_gqsa_walk_block.init(v, &s->walk);
    sq_pipeline_init(&s->sums.array.back, SQ_TIMING_ARRAY, SQ_ARRAY_STAGES_PLAIN);
    sq_gqsa_scale_block.init(scale_v, &s->scale);
    SQ_LINE_ADD(s, walk, sq_gqsa_walk_block.timing, sq_gqsa_walk_show, OFFSET, KEPT);
    SQ_LINE_ADD(s, sums, &sums_timing, sums_show, SQ_LINE_FRONT + WALK_PART);
    SQ_LINE_ADD(s, scale, sq_gqsa_scale_block.timing, NULL, SQ_LINE_FRONT + SUMS_PART);
}

static bool takes_offsets(const struct state *s)
{
    return s->is_walking && s->offsets > 0;
}

// What the walker is offered.
static void between(const struct state *s, const struct sq_offer *in,
                    struct sq_offer line[SQ_STREAMS_MAX])
{
    memcpy(line, in, SQ_STREAMS_MAX * sizeof *line);
    line[OFFSET].valid = in[OFFSET].valid && takes_offsets(s);
    line[OFFSET].last = s->offsets == 1;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    between(s, in, line);
    sq_line_comb(&s->line, line, out_ready, out);
    out->in_ready[JOB] = !s->is_loading && !s->is_walking;
    out->in_ready[ACT] = s->is_loading;
    out->in_ready[OFFSET] = out->in_ready[OFFSET] && takes_offsets(s);
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake h;
    between(s, in, line);
    comb(s, in, out_ready, &h);
    const struct sq_line_seen sums = sq_line_see(&s->line, line, out_ready, SUMS_PART);
    sq_line_clock(&s->line, line, out_ready);
    s->offsets -= in[OFFSET].valid && h.in_ready[OFFSET];
    if (sums.out.valid && sums.ready && sums.out.n)
        s->is_walking = false;
    if (in[ACT].valid && s->is_loading && --s->acts == 0) {
        s->is_loading = false;
        s->is_walking = true;
    }
    if (in[JOB].valid && h.in_ready[JOB]) {
        s->is_loading = true;
        s->acts = in[JOB].job.group_banks;
        s->offsets = in[JOB].job.groups;
    }
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

enum sq_cause sq_engine_gqsa_cause(const void *state, const struct sq_offer *in, bool out_ready)
{
    const struct state *const s = state;
    struct sq_handshake h;
    comb(s, in, out_ready, &h);
    if (s->is_loading || (!s->is_walking && in[JOB].valid))
        return SQ_CAUSE_FILLING;
    if (!s->is_walking || (!s->walk.has_row && !takes_offsets(s)))
        return SQ_CAUSE_DRAINING;
    if (!s->walk.has_row || (s->walk.left == 0 && h.in_ready[OFFSET]))
        return SQ_CAUSE_WAIT_INDEX;
    if (s->walk.left > 0 && h.in_ready[KEPT])
        return in[KEPT].valid ? SQ_CAUSE_BUSY : SQ_CAUSE_WAIT_WEIGHT;
    const struct sq_line_seen step = sq_line_see(&s->line, in, out_ready, WALK_PART);
    return step.out.valid && !step.ready ? SQ_CAUSE_BLOCKED_OUTPUT : SQ_CAUSE_WAIT_INDEX;
}
