// SPDX-License-Identifier: Apache-2.0
// sq_engine_core_act: jobs of tiles of tokens through sq_core_act and its output stage. A group is a job;
// what the core computes and when, and what the stage does, is said by their own blocks.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "sim/block/core/sq_core_act_sim.h"
#include "sim/block/core/sq_engine_core_act.block.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/flow/sq_line.h"
#include "sim/block/output/sq_output_sim.h"

enum { BANKS, GROUPS, PASSES, TILES, SUMS, JOB_FIELDS }; // of a job
enum { CORE_HEAD = 2, CORE_PARAMS = LANES };

// A record: the job, activations of a bank, weights of a step, scales. In one of core_act stand, in place
// of the job, `last` and `passes`, then the same operands, then its job.
struct parts {
    const unsigned *v;
    unsigned core[CORE_PARAMS]; // parameters of core_act, whose rows are channels
    struct sq_output_config c;
    struct sq_ports ports; // of core_act
    unsigned low_steps;
    size_t weight, scale, len, core_len; // where weights and scales stand; of a record
};

static struct parts parts_of(const unsigned *v)
{
    struct parts s = {.v = v, .c = sq_output_config(v[ROWS], v[COLS], v + LANES)};
    memcpy(s.core, v, sizeof s.core);
    s.core[ROWS] = v[COLS];
    s.core[COLS] = v[ROWS];
    s.ports = sq_ports_of(&sq_core_act_block, s.core);
    s.low_steps = (v[BANK_LEN] + v[LOW_LANES] - 1) / v[LOW_LANES];
    s.weight = JOB_FIELDS + 2 * (size_t)v[ROWS] + (size_t)v[ROWS] * v[BANK_LEN];
    s.scale = s.weight + (size_t)v[COLS] * v[LOW_LANES];
    s.len = s.scale + sq_output_scale_len(&s.c) - 1;
    s.core_len = sq_field_offset(s.ports.in, s.ports.n_in);
    return s;
}

// ---- values ---------------------------------------------------------------------------------

static uint32_t field(const int32_t *job, unsigned f)
{
    return (uint32_t)job[f];
}

static uint32_t tile_banks(const int32_t *job)
{
    return field(job, BANKS) * field(job, GROUPS);
}

// Sums of all scale groups by core_act: [sums][2][channels][tokens], to be freed.
static int32_t *sums_of(const struct parts *s, const int32_t *record, const uint32_t *len)
{
    const uint32_t n = len[ACT] > len[WEIGHT] ? len[ACT] : len[WEIGHT];
    const uint32_t core_len[SQ_STREAMS_MAX] = {len[ACT], len[WEIGHT], 1};
    const size_t tile = (size_t)s->c.rows * s->c.cols;
    SQ_FREED int32_t *const beats = calloc((size_t)n * s->core_len, sizeof *beats);
    int32_t *const sums = calloc(field(record, SUMS) * 2 * tile, sizeof *sums);
    assert(beats && sums);
    for (uint32_t i = 0; i < n; i++) {
        int32_t *const to = beats + i * s->core_len;
        to[0] = i < len[ACT] && (i + 1) % tile_banks(record) == 0;
        to[1] = record[PASSES];
        memcpy(to + CORE_HEAD, record + i * s->len + JOB_FIELDS,
               (s->scale - JOB_FIELDS) * sizeof *to);
    }
    beats[s->core_len - 2] = record[BANKS];
    beats[s->core_len - 1] = record[SUMS];
    const struct sq_group group = {
        .record = beats, .len = core_len, .wrap = (const uint32_t[SQ_STREAMS_MAX]){0}};
    const uint64_t n_sums = sq_core_act_block.golden(s->core, &group, sums);
    assert(n_sums == field(record, SUMS));
    (void)n_sums;
    return sums;
}

// A plane of a tile as the stage has it: a row is a token.
static void turn(const struct parts *s, const int32_t *from, int32_t *to)
{
    for (size_t r = 0; r < s->c.rows; r++)
        for (size_t c = 0; c < s->c.cols; c++)
            to[r * s->c.cols + c] = from[c * s->c.rows + r];
}

// Code i of line `line` in step `step` of the weights; -1: beyond the bank.
static size_t weight_at(const struct parts *s, uint32_t step, size_t line, size_t i)
{
    const size_t lanes = s->v[LOW_LANES];
    return step % s->low_steps * lanes + i < s->v[BANK_LEN] ? s->weight + line * lanes + i
                                                            : SIZE_MAX;
}

static bool has_wrong_act(const struct parts *s, const int32_t *record)
{
    for (size_t i = 0; i < (size_t)s->v[ROWS] * s->v[BANK_LEN]; i++)
        if (record[s->weight - 1 - i] == sq_mask_code(s->v[HIGH_W]))
            return true;
    return false;
}

static bool has_wrong_weight(const struct parts *s, const int32_t *record, uint32_t step)
{
    const size_t lanes = s->v[LOW_LANES];
    for (size_t i = 0; i < s->v[COLS] * lanes; i++) {
        const size_t at = weight_at(s, step, i / lanes, i % lanes);
        if (at != SIZE_MAX && record[at] == sq_mask_code(s->v[WEIGHT_W]))
            return true;
    }
    return false;
}

// What is wrong in scale group g of the job at `record`, and in the activations that begin with it.
static int32_t error_of(const struct parts *s, const int32_t *record, uint32_t g)
{
    const uint32_t groups = field(record, GROUPS), banks = tile_banks(record);
    const uint32_t of_tile = groups * field(record, PASSES),
                   steps = field(record, BANKS) * s->low_steps;
    bool wrong = false;
    for (uint32_t i = 0; g % of_tile == 0 && i < banks; i++)
        wrong = wrong || has_wrong_act(s, record + (g / of_tile * banks + i) * s->len);
    for (uint32_t i = g * steps; i < (g + 1) * steps; i++)
        wrong = wrong || has_wrong_weight(s, record + i * s->len, i);
    return wrong << SQ_SCALED_ERROR_CODE |
           sq_engine_wrong_scale(&s->c, record + g * s->len + s->scale, (g + 1) % groups == 0)
               << SQ_SCALED_ERROR_SCALE;
}

static void take_sums(const struct parts *s, const int32_t *sums, uint32_t g, int32_t *tile)
{
    const size_t pes = (size_t)s->c.rows * s->c.cols;
    turn(s, sums + g * 2 * pes, tile);
    turn(s, sums + (g * 2 + 1) * pes, tile + pes);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct parts s = parts_of(v);
    const uint32_t groups = field(in->record, GROUPS), sums = field(in->record, SUMS);
    const size_t pes = (size_t)s.c.rows * s.c.cols;
    SQ_FREED int32_t *const all = sums_of(&s, in->record, in->len);
    SQ_CLOSED(sq_engine_sums_free) const struct sq_engine_sums w = sq_engine_sums(&s.c);
    uint64_t words = 0;
    int32_t error = 0;
    for (uint32_t g = 0; g < sums; g++) {
        take_sums(&s, all, g, w.tile);
        w.scale[0] = (g + 1) % groups == 0;
        memcpy(w.scale + 1, in->record + g * s.len + s.scale, (s.len - s.scale) * sizeof *w.scale);
        error |= error_of(&s, in->record, g);
        sq_output_add(&s.c, w.tile, w.tile + pes, w.scale, w.y);
        if (w.scale[0])
            words += sq_engine_end(&s.c, w.scale, w.y, g + 1 == sums, error,
                                   out + words * (s.c.port_len + SQ_ENGINE_WORD_FIELDS));
    }
    return words;
}

// ---- cases ----------------------------------------------------------------------------------

static void put_job(const struct parts *s, const uint32_t n[SUMS], int32_t *record, uint32_t *len)
{
    for (unsigned i = 0; i < SUMS; i++)
        record[i] = (int32_t)n[i];
    record[SUMS] = (int32_t)(n[GROUPS] * n[PASSES] * n[TILES]);
    len[JOB] = 1;
    len[ACT] = n[TILES] * n[GROUPS] * n[BANKS];
    len[SCALE] = (uint32_t)record[SUMS];
    len[WEIGHT] = len[SCALE] * n[BANKS] * s->low_steps;
}

// Operands and scales of the job at `record`; is_plain: scales as encoders write them, none that an
// output is aimed at with.
static void draw_operands(const struct parts *s, struct sq_rng *rng, enum sq_stimulus kind,
                          bool is_plain, int32_t *record, const uint32_t *len)
{
    for (uint32_t i = 0; i < len[ACT];
         i++) // they stand in core_act behind its head, here behind the job
        sq_core_act_draw_bank(s->core, rng, kind, record + i * s->len + JOB_FIELDS - CORE_HEAD);
    for (uint32_t i = 0; i < len[WEIGHT]; i++) {
        int32_t *const step = record + i * s->len;
        sq_draw_codes(rng, s->v[WEIGHT_W], kind, s->scale - s->weight, step + s->weight);
        for (size_t at = s->weight; at < s->scale; at++) { // lanes beyond the bank carry noise
            const size_t lane = at - s->weight, lanes = s->v[LOW_LANES];
            if (weight_at(s, i, lane / lanes, lane % lanes) == SIZE_MAX)
                step[at] = sq_draw_bits(rng, s->v[WEIGHT_W], false);
        }
    }
    const size_t pes = (size_t)s->c.rows * s->c.cols;
    SQ_FREED int32_t *const all = sums_of(s, record, len);
    SQ_CLOSED(sq_engine_sums_free) const struct sq_engine_sums w = sq_engine_sums(&s->c);
    for (uint32_t g = 0; g < len[SCALE]; g++) {
        take_sums(s, all, g, w.tile);
        sq_output_draw_scale(&s->c, rng, kind, (g + 1) % field(record, GROUPS) == 0, w.scale);
        if (!is_plain)
            sq_output_aim_scale(&s->c, rng, w.tile, w.tile + pes, w.y, w.scale);
        sq_output_add(&s->c, w.tile, w.tile + pes, w.scale, w.y);
        if (w.scale[0])
            memset(w.y, 0, pes * sizeof *w.y);
        memcpy(record + g * s->len + s->scale, w.scale + 1, (s->len - s->scale) * sizeof *record);
    }
}

enum wrong { WRONG_ACT, WRONG_WEIGHT, WRONG_SCALE, N_WRONG };

// One thing wrong: a code of a bank or of a step, or a scale that is no positive number, each in the
// n-th part of eight of its stream.
static void spoil(const struct parts *s, struct sq_rng *rng, enum wrong kind, uint32_t n,
                  int32_t *record, const uint32_t *len)
{
    static const int32_t wrong_scale[4] = {0, INT32_MIN | 0x3f800000, 0x7f800000, 0x7fc00000};
    const unsigned stream = kind == WRONG_ACT ? ACT : kind == WRONG_WEIGHT ? WEIGHT : SCALE;
    const uint32_t i = (uint32_t)((uint64_t)len[stream] * n / 8);
    int32_t *const at = record + i * s->len;
    if (kind == WRONG_ACT) {
        at[s->weight - 1 - sq_rng_below(rng, s->v[ROWS] * s->v[BANK_LEN])] =
            sq_mask_code(s->v[HIGH_W]);
        return;
    }
    if (kind == WRONG_WEIGHT) {
        size_t lane = SIZE_MAX;
        while (lane == SIZE_MAX)
            lane =
                weight_at(s, i, sq_rng_below(rng, s->v[COLS]), sq_rng_below(rng, s->v[LOW_LANES]));
        at[lane] = sq_mask_code(s->v[WEIGHT_W]);
        return;
    }
    const bool has_row = s->c.form == SQ_COMBINE_SCALED || (i + 1) % field(record, GROUPS) == 0;
    const bool is_row = has_row && sq_rng_below(rng, 2);
    const uint32_t lines = s->c.form == SQ_COMBINE_SCALED ? 2 * s->c.rows : s->c.rows;
    at[s->scale + (is_row ? 2 * s->c.cols + sq_rng_below(rng, lines)
                          : sq_rng_below(rng, s->c.cols))] = wrong_scale[sq_rng_below(rng, 4)];
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const struct parts s = parts_of(v);
    const uint32_t limit = (1u << v[PASS_W]) - 1, most = limit < PASSES_MAX ? limit : PASSES_MAX;
    uint32_t n[SUMS] = {1 + sq_rng_below(rng, v[TILE_BANKS]), 1, 1 + sq_rng_below(rng, most),
                        1 + sq_rng_below(rng, TILES_MAX)};
    const bool has_one = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 4);
    (void)number;
    n[GROUPS] += sq_rng_below(rng, v[TILE_BANKS] / n[BANKS]);
    put_job(&s, n, record, len);
    draw_operands(&s, rng, has_one ? SQ_STIMULUS_UNIFORM : kind, has_one, record, len);
    if (has_one)
        spoil(&s, rng, (enum wrong)sq_rng_below(rng, N_WRONG), sq_rng_below(rng, 8), record, len);
}

// Jobs of plain operands, n_jobs of them.
static enum sq_status draw_jobs(struct sq_case *c, const struct parts *s, const uint32_t (*n)[SUMS],
                                size_t n_jobs, struct sq_rng *rng, struct sq_error *err)
{
    c->n_groups = n_jobs;
    for (size_t i = 0; i < n_jobs; i++) {
        const size_t outputs = (size_t)n[i][PASSES] * n[i][TILES];
        const size_t words = outputs * s->c.rows * s->c.cols / s->c.port_len;
        c->n_beats += outputs * n[i][GROUPS] * n[i][BANKS] * s->low_steps;
        c->max_outputs = words > c->max_outputs ? words : c->max_outputs;
    }
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t i = 0; i < n_jobs; record += sq_case_records(c, i++) * s->len) {
        put_job(s, n[i], record, c->len[i]);
        draw_operands(s, rng, SQ_STIMULUS_UNIFORM, true, record, c->len[i]);
    }
    return SQ_OK;
}

// Every kind of error alone, in each eighth of a job; behind each job one without any.
static enum sq_status draw_errors(struct sq_case *c, const struct parts *s, struct sq_rng *rng,
                                  struct sq_error *err)
{
    enum { PARTS = 8, JOBS = 2 * N_WRONG * PARTS };
    uint32_t n[JOBS][SUMS];
    for (size_t i = 0; i < JOBS; i++) {
        const uint32_t most = s->v[TILE_BANKS], groups = most < 2 ? 1 : 2;
        const uint32_t job[SUMS] = {most / groups < 2 ? 1 : 2, groups, 2, 2};
        memcpy(n[i], job, sizeof job);
    }
    SQ_TRY(draw_jobs(c, s, (const uint32_t(*)[SUMS])n, JOBS, rng, err));
    int32_t *record = c->beats;
    for (uint32_t i = 0; i < JOBS; record += sq_case_records(c, i++) * s->len)
        if (i % 2 == 0)
            spoil(s, rng, (enum wrong)(i / 2 / PARTS), i / 2 % PARTS, record, c->len[i]);
    return SQ_OK;
}

// As many passes as a job can say, more tiles than one byte counts, where a tile is a single bank more sums
// than two bytes count; jobs of one bank between them, and more of those in a row than wait in the engine.
static enum sq_status draw_counts(struct sq_case *c, const struct parts *s, struct sq_rng *rng,
                                  struct sq_error *err)
{
    enum { LARGE = 5, JOBS = 2 * LARGE + 8 };
    const uint32_t most = (1u << s->v[PASS_W]) - 1, banks = s->v[TILE_BANKS];
    const uint32_t large[LARGE][SUMS] = {{1, 1, most, 1},
                                         {1, 1, 1, 300},
                                         {banks, 1, 1, 2},
                                         {1, banks, 1, 2},
                                         {1, 1, most, banks == 1 ? (1u << 16) / most + 1 : 2}};
    const uint32_t small[SUMS] = {1, 1, 1, 1};
    uint32_t n[JOBS][SUMS];
    for (size_t i = 0; i < JOBS; i++)
        memcpy(n[i], i % 2 == 0 && i / 2 < LARGE ? large[i / 2] : small, sizeof n[i]);
    return draw_jobs(c, s, (const uint32_t(*)[SUMS])n, JOBS, rng, err);
}

// Errors while all is free, and while scales are long in coming, so that tiles of sums wait.
enum { SLOW = 1, COUNTS, SLOW_CYCLES = 40 };

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const struct parts s = parts_of(c->point->value);
    if (number == SLOW)
        c->stall[SCALE] = (struct sq_stall){SQ_STALL_INTERVAL, SLOW_CYCLES};
    return number < COUNTS ? draw_errors(c, &s, rng, err) : draw_counts(c, &s, rng, err);
}

// Half as many tiles, or one less; of one tile so with its passes, its scale groups, its banks.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const struct parts s = parts_of(v);
    uint32_t n[SUMS];
    unsigned level = SUMS;
    for (unsigned i = 0; i < SUMS; i++)
        n[i] = field(record, i);
    while (level > 0 && n[level - 1] == 1)
        level--;
    if (way > 1 || level == 0)
        return false;
    n[level - 1] = way == 0 ? n[level - 1] / 2 : n[level - 1] - 1;
    put_job(&s, n, record, len);
    return true;
}

// ---- time -----------------------------------------------------------------------------------

struct state {
    struct sq_line line;
    struct sq_core_act_sim core;
    struct sq_output_sim output;
    struct sq_engine_count in, scale;      // banks of activations, scales
    struct sq_engine_jobs core_jobs, next; // jobs on their way to the core, to the scales
    uint32_t passes;                       // of the job at the activations
};
enum { LINE_JOB = 2, LINE_SCALE }; // streams of the line; 0 and 1: activations, weights

static void init(const unsigned *v, void *state)
{
    const struct parts p = parts_of(v);
    struct state *const s = state;
    sq_core_act_block.init(p.core, &s->core);
    sq_output_init(&s->output, &p.c);
    SQ_LINE_ADD(s, core, sq_core_act_block.timing, NULL, 0, 1, LINE_JOB);
    SQ_LINE_ADD(s, output, sq_output_block.timing, NULL, SQ_LINE_FRONT, LINE_SCALE);
}

// What the core and the stage are offered. Weights do not wait for a job.
static void between(const struct state *s, const struct sq_offer *in,
                    struct sq_offer line[SQ_STREAMS_MAX])
{
    memset(line, 0, SQ_STREAMS_MAX * sizeof *line);
    line[0].valid = s->in.is_busy && in[ACT].valid;
    line[0].last = sq_engine_count_last(&s->in, 1);
    line[0].n = s->passes;
    line[1].valid = in[WEIGHT].valid;
    line[LINE_JOB].valid = s->core_jobs.n > 0;
    line[LINE_JOB].job = (struct sq_job){s->core_jobs.job[0][0], s->core_jobs.job[0][1]};
    line[LINE_SCALE].valid = s->scale.is_busy && in[SCALE].valid;
    line[LINE_SCALE].last = sq_engine_count_last(&s->scale, 0);
}

static bool takes_job(const struct state *s, const struct sq_offer *act, bool is_taken)
{
    return sq_engine_count_ready(&s->in, act->valid && is_taken) &&
           s->core_jobs.n < SQ_ENGINE_JOBS && s->next.n < SQ_ENGINE_JOBS;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake h;
    between(s, in, line);
    sq_line_comb(&s->line, line, out_ready, &h);
    out->in_ready[JOB] = takes_job(s, &line[0], h.in_ready[0]);
    out->in_ready[ACT] = s->in.is_busy && h.in_ready[0];
    out->in_ready[WEIGHT] = h.in_ready[1];
    out->in_ready[SCALE] = s->scale.is_busy && h.in_ready[LINE_SCALE];
    out->out_valid = h.out_valid;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake h;
    between(s, in, line);
    sq_line_comb(&s->line, line, out_ready, &h);
    const bool scale_step = line[LINE_SCALE].valid && h.in_ready[LINE_SCALE];
    const bool passes = s->next.n > 0 && sq_engine_count_ready(&s->scale, scale_step);
    const bool core_takes = s->core_jobs.n > 0 && h.in_ready[LINE_JOB];
    const int32_t *const job =
        in[JOB].valid && takes_job(s, &line[0], h.in_ready[0]) ? in[JOB].beat : NULL;
    uint32_t act_job[3] = {0}, core_job[3] = {0}, scale_job[3] = {0};
    if (job) {
        memcpy(act_job, (uint32_t[]){field(job, BANKS), field(job, GROUPS), field(job, TILES)},
               sizeof act_job);
        memcpy(scale_job, (uint32_t[]){field(job, GROUPS), field(job, PASSES), field(job, TILES)},
               sizeof scale_job);
        core_job[0] = field(job, BANKS);
        core_job[1] = field(job, SUMS);
        s->passes = field(job, PASSES);
    }
    sq_engine_count_clock(&s->scale, passes ? s->next.job[0] : NULL, scale_step);
    sq_engine_jobs_clock(&s->next, job ? scale_job : NULL, passes);
    sq_engine_jobs_clock(&s->core_jobs, job ? core_job : NULL, core_takes);
    sq_engine_count_clock(&s->in, job ? act_job : NULL, line[0].valid && h.in_ready[0]);
    sq_line_clock(&s->line, line, out_ready);
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};
