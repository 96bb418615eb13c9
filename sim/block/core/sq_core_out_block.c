// SPDX-License-Identifier: Apache-2.0
// sq_core_out: the core with its output stage, the engine of SQ on weights. Jobs and operands are those of
// sq_core; a group is a job, whose scale groups make one or several tiles of outputs. IsFp = 1: codes of
// floating point (SPEC A.9), which are drawn as the integers of sq_core and then renamed.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_fp.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/block/core/sq_core_out.block.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/output/sq_output_sim.h"

// Parameters: those of the core, those of the stage, where the counters start, what the codes are.

static struct sq_output_config config_of(const unsigned *v)
{
    return sq_output_config(v[ROWS], v[COLS], v + LANES);
}

// ---- what is wrong --------------------------------------------------------------------------

// The codes of a stream that no mask code is among: where they stand in a record, in how many steps a
// bank of `len` of each line comes. Lanes beyond the bank carry noise.
struct codes {
    size_t at, lines, lanes, len;
    unsigned steps, width;
    bool is_fp; // E4M3
};

static struct codes codes_of(const unsigned *v, unsigned stream)
{
    struct sq_core_config g;
    sq_core_get(v, &g);
    const size_t low = 2 + (size_t)g.rows * g.low_lanes;
    if (stream == ACT)
        return (struct codes){2,          g.rows,  g.low_lanes, g.bank, sq_core_low_steps(&g),
                              g.act_bits, v[IS_FP]};
    return (struct codes){low + (size_t)g.cols * g.low_lanes,
                          g.cols,
                          g.high_lanes,
                          g.high_per_bank,
                          sq_core_high_steps(&g),
                          g.high_bits,
                          v[IS_FP]};
}

// The codes of no value (SPEC 0.3, A.9): -0 and the two NaN of E4M3; the lowest integer.
static const int32_t no_e4m3[3] = {INT8_MIN, INT8_MAX, -1};

static bool is_illegal(const struct codes *k, int32_t code)
{
    if (!k->is_fp)
        return code == sq_mask_code(k->width);
    return code == no_e4m3[0] || code == no_e4m3[1] || code == no_e4m3[2];
}

// Code i of line `line` in step number `step` of the stream; NULL: noise.
static int32_t *code_in(const struct codes *k, int32_t *record, uint64_t step, size_t line,
                        size_t i)
{
    return step % k->steps * k->lanes + i < k->len ? record + k->at + line * k->lanes + i : NULL;
}

// Codes of no value in a step become the next legal ones: the next integer; 0 or 448 of the same sign.
static void heal(const struct codes *k, int32_t *record, uint64_t step)
{
    for (size_t i = 0; i < k->lines * k->lanes; i++) {
        int32_t *const code = code_in(k, record, step, i / k->lanes, i % k->lanes);
        if (code && is_illegal(k, *code))
            *code = !k->is_fp ? *code + 1 : *code == no_e4m3[0] ? 0 : *code - 1;
    }
}

static bool has_illegal(const struct codes *k, const int32_t *record, uint64_t step)
{
    for (size_t i = 0; i < k->lines * k->lanes; i++)
        if (step % k->steps * k->lanes + i % k->lanes < k->len && is_illegal(k, record[k->at + i]))
            return true;
    return false;
}

// Whether one of the two streams has an illegal code in the banks of scale group g.
static bool group_has_illegal(const unsigned *v, const struct sq_group *in, unsigned stream,
                              uint32_t g)
{
    const struct codes k = codes_of(v, stream);
    const uint64_t n = (uint64_t)(uint32_t)in->record[0] * k.steps, wrap = in->wrap[stream];
    bool any = false;
    for (uint64_t i = 0; i < n && (wrap == 0 || i < wrap); i++) {
        const uint64_t step = g * n + i;
        any =
            any || has_illegal(&k, in->record + (wrap ? step % wrap : step) * record_len(v), step);
    }
    return any;
}

// ---- cases ----------------------------------------------------------------------------------

enum sq_status sq_core_out_case(struct sq_case *c, const struct sq_case *core, uint32_t groups,
                                struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const struct sq_output_config config = config_of(v);
    const int32_t *job = core->beats;
    memcpy(c->stall, core->stall, sizeof c->stall);
    memcpy(c->stall_seed, core->stall_seed, sizeof c->stall_seed);
    memcpy(c->wrap, core->wrap, sizeof c->wrap);
    c->n_groups = core->n_groups;
    c->n_beats = core->n_beats;
    SQ_TRY(sq_case_alloc(c, err));
    for (size_t i = 0; i < c->n_beats; i++)
        memcpy(c->beats + i * record_len(v), core->beats + i * at_last(v),
               at_last(v) * sizeof *c->beats);
    for (size_t g = 0; g < c->n_groups; job += sq_case_records(core, g++) * at_last(v)) {
        const size_t tiles = ((uint32_t)job[1] + groups - 1) / groups;
        const size_t outputs = tiles * config.rows * config.cols / config.port_len;
        memcpy(c->len[g], core->len[g], sizeof c->len[g]);
        c->len[g][SCALE] = (uint32_t)job[1];
        c->max_outputs = outputs > c->max_outputs ? outputs : c->max_outputs;
    }
    return SQ_OK;
}

// A job without its scales, as the core has it, and the sums of one of its scale groups and of the
// outputs so far.
struct sums {
    struct sq_group job;
    int32_t *beats;
    double *exact; // IsFp: both planes
    float *p;      // both planes, rounded
    struct sq_engine_sums of;
};

static uint32_t stored(const struct sq_group *in, unsigned stream)
{
    const uint32_t len = in->len[stream], wrap = in->wrap[stream];
    return wrap > 0 && len > wrap ? wrap : len;
}

static void free_sums(const struct sums *s)
{
    free(s->beats);
    free(s->exact);
    free(s->p);
    sq_engine_sums_free(&s->of);
}

static struct sums alloc_sums(const unsigned *v, const struct sq_group *in)
{
    const struct sq_output_config c = config_of(v);
    const size_t pes = (size_t)c.rows * c.cols;
    const size_t lo = stored(in, LO), hi = stored(in, HI), n = lo > hi ? lo : hi;
    const struct sums s = {.beats = malloc(n * at_last(v) * sizeof *s.beats),
                           .exact = malloc(2 * pes * sizeof *s.exact),
                           .p = malloc(2 * pes * sizeof *s.p),
                           .of = sq_engine_sums(&c),
                           .job = {.len = in->len, .wrap = in->wrap}};
    if (!s.beats || !s.exact || !s.p) {
        free_sums(&s);
        abort();
    }
    for (size_t i = 0; i < n; i++)
        memcpy(s.beats + i * at_last(v), in->record + i * record_len(v),
               at_last(v) * sizeof *s.beats);
    return s;
}

// Whether a mask of the scale group is malformed.
static bool sum_group(const unsigned *v, struct sums *s, uint32_t g)
{
    const size_t pes = (size_t)v[ROWS] * v[COLS];
    s->job.record = s->beats;
    s->job.from = g;
    if (v[IS_FP]) {
        const bool is_malformed = sq_core_golden_fp(v, &s->job, g, s->exact, s->exact + pes) != 0;
        for (size_t i = 0; i < 2 * pes; i++)
            s->p[i] = (float)s->exact[i];
        return is_malformed;
    }
    memset(s->of.tile, 0, (2 * pes + 1) * sizeof *s->of.tile);
    (void)sq_core_block.golden(v, &s->job, s->of.tile);
    for (size_t i = 0; i < 2 * pes; i++)
        s->p[i] = sq_combine_sum(SQ_COMBINE_TWO, s->of.tile[i]);
    return s->of.tile[2 * pes];
}

// Scales of the job at `record`; tiles of outputs are of one or several scale groups.
static void draw_scales(const struct sq_case *c, size_t job, struct sq_rng *rng,
                        enum sq_stimulus kind, int32_t *record)
{
    const unsigned *const v = c->point->value;
    const struct sq_output_config config = config_of(v);
    const size_t pes = (size_t)config.rows * config.cols;
    const struct sq_group in = {.record = record, .len = c->len[job], .wrap = c->wrap};
    struct sums s = alloc_sums(v, &in);
    for (uint32_t g = 0; g < in.len[SCALE]; g++) {
        int32_t *const scale = record + g * record_len(v) + at_last(v);
        const bool is_last = g + 1 == in.len[SCALE] || sq_rng_below(rng, 4) == 0;
        const uint32_t without = sq_rng_below(rng, 4); // a plane, so that the other one shows whole
        sq_output_draw_scale(&config, rng, kind, is_last, scale);
        if (without < 2)
            sq_output_drop_plane(&config, without, scale);
        (void)sum_group(v, &s, g);
        sq_output_aim_sums(&config, rng, s.p, s.p + pes, s.of.y, scale);
        sq_output_add_sums(&config, s.p, s.p + pes, scale, s.of.y);
        if (is_last)
            memset(s.of.y, 0, pes * sizeof *s.of.y);
    }
    free_sums(&s);
}

// ---- codes of floating point ----------------------------------------------------------------

// The code with the sign and the magnitude of an integer, of E2M1 or E4M3: the largest is +-448, the lowest
// integer, the mask code of E2M1, is -448 of E4M3, or one of no value.
static int32_t fp_code(int32_t code, unsigned width, bool has_illegal, struct sq_rng *rng)
{
    const int32_t sign = sq_mask_code(width);
    if (width == 8 && code == sign)
        return has_illegal ? no_e4m3[sq_rng_below(rng, SQ_LEN(no_e4m3))] : -2;
    if (width == 8 && (code == INT8_MAX || code == -INT8_MAX))
        return code < 0 ? -2 : INT8_MAX - 1;
    return code < 0 && code != sign ? sign - code : code;
}

// The codes of a case of integers; one case in four has codes of no value.
static void rename_codes(struct sq_case *c, struct sq_rng *rng)
{
    const unsigned *const v = c->point->value;
    const bool has_illegal = sq_rng_below(rng, 4) == 0;
    const struct codes act = codes_of(v, ACT), high = codes_of(v, HI);
    const size_t low = act.at + act.lines * act.lanes; // the low codes lie between
    struct sq_core_config g;
    sq_core_get(v, &g);
    for (size_t i = 0; i < c->n_beats; i++)
        for (size_t j = act.at; j < at_last(v); j++) {
            int32_t *const code = c->beats + i * record_len(v) + j;
            *code =
                fp_code(*code, j >= low && j < high.at ? g.low_bits : act.width, has_illegal, rng);
        }
}

// Case *core as one of the block, without scales; frees it. is_integer: of codes that are to be renamed.
static enum sq_status take_core(struct sq_case *c, struct sq_case *core, bool is_integer,
                                struct sq_rng *rng, struct sq_error *err)
{
    const enum sq_status status = sq_core_out_case(c, core, 1, err);
    sq_case_free(core);
    if (status == SQ_OK && is_integer && c->point->value[IS_FP])
        rename_codes(c, rng);
    return status;
}

// Codes: +-448, +-6, the smallest of E4M3 and of E2M1.
enum { TOP = 0x7e, NEG_TOP = TOP - 128, LOW_TOP = 7, LOW_NEG_TOP = LOW_TOP - 8 };
enum { ONE = 1, NEG_ONE = ONE - 128, LOW_NEG_ONE = ONE - 8 };

// Scale groups of `each` banks in turn, as many as the sums are exact for; at most `most`.
static struct sq_job exact_job(const struct sq_core_config *g, uint32_t each, uint32_t most)
{
    const uint32_t banks = SQ_CORE_FP_HIGH_MAX / g->high_per_bank / each * each;
    return (struct sq_job){banks < most ? banks : most / each * each, 1};
}

// Both sums at both ends of their range, the high ones as far as they are exact; the same with the smallest
// codes; and sums of which only the smallest products are left.
static enum sq_status draw_fp_sums(struct sq_case *core, struct sq_error *err)
{
    enum { EACH = 3, JOBS = 6 }; // banks of a job
    static const int code[JOBS][EACH][3] = {
        {{TOP, LOW_TOP, TOP}, {TOP, LOW_TOP, TOP}, {NEG_TOP, LOW_NEG_TOP, NEG_TOP}},
        {{NEG_TOP, LOW_TOP, TOP}, {TOP, LOW_NEG_TOP, NEG_TOP}, {NEG_TOP, LOW_TOP, TOP}},
        {{ONE, ONE, ONE}, {NEG_ONE, LOW_NEG_ONE, NEG_ONE}, {ONE, ONE, ONE}},
        {{NEG_ONE, ONE, ONE}, {ONE, LOW_NEG_ONE, NEG_ONE}, {NEG_ONE, ONE, ONE}},
        {{TOP, LOW_TOP, TOP}, {TOP, LOW_NEG_TOP, NEG_TOP}, {ONE, ONE, ONE}},
        {{TOP, LOW_NEG_TOP, NEG_TOP}, {TOP, LOW_TOP, TOP}, {NEG_ONE, ONE, ONE}},
    };
    struct sq_job job[JOBS];
    struct sq_core_config g;
    struct sq_core_stimulus s;
    sq_core_get(core->point->value, &g);
    SQ_TRY(sq_core_alloc_banks(&g, JOBS * EACH, &s, err));
    for (size_t j = 0; j < JOBS; j++) {
        const bool is_largest = j < 2; // of the others a few are as good
        job[j] = exact_job(&g, is_largest ? 1 : EACH, is_largest ? SQ_CORE_FP_HIGH_MAX : EACH);
        for (size_t i = 0; i < EACH; i++)
            sq_core_put_bank(&g, &s, j * EACH + i, code[j][i][0], code[j][i][1], code[j][i][2]);
    }
    return sq_core_take(core, job, JOBS, &s, EACH, err);
}

// Sums of every size: groups of up to 2^12 banks of the same products, as long as the sum is exact; the last
// ones as long as a group can be, of low products alone.
static enum sq_status draw_fp_sizes(struct sq_case *core, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    enum { JOBS = 12, BITS = 12 };
    struct sq_job job[JOBS];
    struct sq_core_config g;
    struct sq_core_stimulus s;
    sq_core_get(core->point->value, &g);
    SQ_TRY(sq_core_alloc_banks(&g, JOBS, &s, err));
    for (size_t j = 0; j < JOBS; j++) {
        const int act = 1 + (int)sq_rng_below(rng, TOP), lo = 1 + (int)sq_rng_below(rng, LOW_TOP);
        const int hi = 1 + (int)sq_rng_below(rng, TOP);
        job[j] = exact_job(&g, 1, 1 + sq_rng_below(rng, UINT32_C(2) << sq_rng_below(rng, BITS)));
        sq_core_put_bank(&g, &s, j, act - (sq_rng_below(rng, 2) ? 128 : 0),
                         lo - (sq_rng_below(rng, 2) ? 8 : 0),
                         hi - (sq_rng_below(rng, 2) ? 128 : 0));
    }
    if (number == 0) {
        job[JOBS - 1] = (struct sq_job){SQ_JOB_GROUP_BANKS_MAX, 1};
        sq_core_put_bank(&g, &s, JOBS - 1, TOP, LOW_NEG_TOP, 0);
    }
    return sq_core_take(core, job, JOBS, &s, 1, err);
}

// ---- cases ----------------------------------------------------------------------------------

// A case of the core, which is freed, with scales for each job, of one of the first n_kinds kinds.
static enum sq_status draw_out(struct sq_case *c, struct sq_case *core, bool is_integer,
                               uint32_t n_kinds, struct sq_rng *rng, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    SQ_TRY(take_core(c, core, is_integer, rng, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; record += sq_case_records(c, g++) * record_len(v))
        draw_scales(c, g, rng, (enum sq_stimulus)sq_rng_below(rng, n_kinds), record);
    return SQ_OK;
}

// ---- jobs with nothing wrong, and one thing -------------------------------------------------

// Codes and scales as encoders write them, in all jobs of the case, but for those that do not count; what
// there is of masks stays.
static void clean(struct sq_case *c, struct sq_rng *rng)
{
    const unsigned *const v = c->point->value;
    const struct sq_output_config config = config_of(v);
    int32_t *record = c->beats;
    for (size_t g = 0; g < c->n_groups; record += sq_case_records(c, g++) * record_len(v)) {
        for (unsigned stream = ACT; stream <= HI; stream += HI - ACT) {
            const struct codes k = codes_of(v, stream);
            for (uint32_t i = 0; i < c->len[g][stream]; i++)
                heal(&k, record + i * record_len(v), i);
        }
        for (uint32_t i = 0; i < c->len[g][SCALE]; i++) {
            int32_t *const scale = record + i * record_len(v) + at_last(v);
            sq_output_draw_scale(&config, rng, SQ_STIMULUS_UNIFORM, scale[0], scale);
            if (!scale[0] && config.form != SQ_COMBINE_SCALED) // nobody reads the rows' yet
                scale[1 + 2 * config.cols + sq_rng_below(rng, config.rows)] =
                    (int32_t)sq_rng_next(rng);
        }
    }
}

enum wrong { WRONG_MASK, WRONG_ACT, WRONG_HIGH, WRONG_SCALE, N_WRONG };

// One thing wrong in scale group `group` of the job at `record`: a mask code too many or too few, a code
// of no value, a scale that is no positive number.
static void spoil(const unsigned *v, struct sq_rng *rng, enum wrong kind, uint32_t group,
                  int32_t *record)
{
    static const int32_t wrong_scale[4] = {0, INT32_MIN | 0x3f800000, 0x7f800000, 0x7fc00000};
    const struct sq_output_config c = config_of(v);
    struct sq_core_config g;
    sq_core_get(v, &g);
    if (kind == WRONG_SCALE) {
        int32_t *const scale = record + group * record_len(v) + at_last(v);
        const size_t n = scale[0] && sq_rng_below(rng, 2) ? c.rows : 2 * c.cols;
        scale[1 + (n == c.rows ? 2 * c.cols : 0) + sq_rng_below(rng, (uint32_t)n)] =
            wrong_scale[sq_rng_below(rng, 4)];
        return;
    }
    struct codes k = codes_of(v, kind == WRONG_HIGH ? HI : ACT);
    if (kind == WRONG_MASK) {
        k.at += k.lines * k.lanes; // the low codes
        k.lines = g.cols;
        k.width = g.low_bits;
    }
    const uint32_t banks = (uint32_t)record[0];
    const size_t i = sq_rng_below(rng, (uint32_t)k.len),
                 line = sq_rng_below(rng, (uint32_t)k.lines);
    const uint64_t step =
        ((uint64_t)group * banks + sq_rng_below(rng, banks)) * k.steps + i / k.lanes;
    int32_t *const code = code_in(&k, record + step * record_len(v), step, line, i % k.lanes);
    assert(code);
    if (kind == WRONG_MASK)
        *code = *code == sq_mask_code(k.width) ? 0 : sq_mask_code(k.width);
    else
        *code = k.is_fp ? no_e4m3[sq_rng_below(rng, SQ_LEN(no_e4m3))] : sq_mask_code(k.width);
}

// Every kind alone in each scale group of a job of four, whose outputs are of two of them; behind each job
// one without any.
static enum sq_status draw_errors(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { BANKS = 2, GROUPS = 4, OF = 2, TIMES = 2, JOBS = 2 * TIMES * N_WRONG * GROUPS };
    const unsigned *const v = c->point->value;
    struct sq_job job[JOBS];
    struct sq_core_config g;
    struct sq_core_stimulus s;
    struct sq_case core = *c;
    core.block = &sq_core_block;
    sq_core_get(v, &g);
    SQ_TRY(sq_core_draw_banks(&g, (uint64_t)JOBS * GROUPS * BANKS, rng, &s, err));
    for (size_t i = 0; i < JOBS; i++)
        job[i] = (struct sq_job){BANKS, GROUPS};
    SQ_TRY(sq_core_take(&core, job, JOBS, &s, 0, err));
    SQ_TRY(take_core(c, &core, true, rng, err));
    int32_t *record = c->beats;
    for (size_t i = 0; i < JOBS * sq_case_records(c, 0); i++) // records are as many in each job
        record[i * record_len(v) + at_last(v)] = i % sq_case_records(c, 0) % OF == OF - 1;
    clean(c, rng);
    for (uint32_t i = 0; i < JOBS; i++, record += sq_case_records(c, 0) * record_len(v))
        if (i % 2 == 0)
            spoil(v, rng, (enum wrong)(i / 2 / GROUPS % N_WRONG), i / 2 % GROUPS, record);
    return SQ_OK;
}

enum { LONG_ONE_IN = 16, LONG_STALL = 400, CLEAN_ONE_IN = 2, WRONG_ONE_IN = 2 };

static void draw_wrong(struct sq_case *c, struct sq_rng *rng)
{
    const unsigned *const v = c->point->value;
    int32_t *record = c->beats;
    clean(c, rng);
    for (size_t g = 0; g < c->n_groups; record += sq_case_records(c, g++) * record_len(v))
        if (sq_rng_below(rng, WRONG_ONE_IN) == 0)
            spoil(v, rng, (enum wrong)sq_rng_below(rng, N_WRONG),
                  sq_rng_below(rng, c->len[g][SCALE]), record);
}

// A case of the core that runs to its end.
static enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    struct sq_case core;
    do {
        core = *c;
        core.block = &sq_core_block;
        SQ_TRY(sq_core_block.draw_case(&core, rng, err));
        if (core.max_cycles > 0)
            sq_case_free(&core);
    } while (core.max_cycles > 0);
    SQ_TRY(draw_out(c, &core, true, SQ_STIMULUS_RANDOM, rng, err));
    if (sq_rng_below(rng, CLEAN_ONE_IN) == 0)
        draw_wrong(c, rng);
    c->stall[SCALE] = c->stall[sq_rng_below(rng, 2) ? LO : ACT];
    c->stall_seed[SCALE] = c->seed * 4 + 7;
    if (sq_rng_below(rng, LONG_ONE_IN) == 0) // so long that the core has to wait for its last tile
        c->stall[SQ_SINK] = (struct sq_stall){SQ_STALL_RANDOM, LONG_STALL};
    return SQ_OK;
}

static enum sq_status draw_uniform(struct sq_case *c, size_t n_groups, struct sq_rng *rng,
                                   struct sq_error *err)
{
    struct sq_case core = *c;
    core.block = &sq_core_block;
    SQ_TRY(sq_core_block.draw_uniform(&core, n_groups, rng, err));
    return draw_out(c, &core, true, SQ_STIMULUS_UNIFORM + 1, rng, err);
}

// The core's sums at both ends of their range, and of every size, which binary32 has to round: with
// scales as encoders write them, so that no output is infinite. Then many tiles while one side is
// long in coming, banks of a wrong number of mask codes, and every kind of error alone.
enum { SUMS = 1, SIZES = 8, TILES = SUMS + SIZES, MASKS = TILES + 3, ERRORS };
enum { STAGE_CYCLES = 64 };

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    struct sq_case core = *c;
    core.block = &sq_core_block;
    if (number == ERRORS)
        return draw_errors(c, rng, err);
    if (number >= MASKS) {
        SQ_TRY(sq_core_draw_directed(&core, SQ_CORE_N_DIRECTED - 1, rng, err));
        c->reset_every = core.reset_every + STAGE_CYCLES;
    } else if (number >= TILES) {
        SQ_TRY(sq_core_draw_tiles(&core, rng, err));
        core.stall[(const unsigned[]){SQ_SINK, ACT, HI}[number - TILES]] =
            (struct sq_stall){SQ_STALL_INTERVAL, LONG_STALL};
    } else if (c->point->value[IS_FP]) {
        SQ_TRY(number < SUMS ? draw_fp_sums(&core, err)
                             : draw_fp_sizes(&core, number - SUMS, rng, err));
    } else {
        SQ_TRY(sq_core_draw_directed(&core, number >= SUMS, rng, err));
    }
    const bool is_integer = number >= TILES;
    return draw_out(c, &core, is_integer, SQ_STIMULUS_UNIFORM + 1, rng, err);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct sq_output_config c = config_of(v);
    const size_t pes = (size_t)c.rows * c.cols;
    struct sums s = alloc_sums(v, in);
    size_t n_out = 0;
    int32_t error = 0;
    for (uint32_t g = 0; g < in->len[SCALE]; g++) {
        const int32_t *const scale = in->record + g * record_len(v) + at_last(v);
        error |= sum_group(v, &s, g) << SQ_SCALED_ERROR_MASK;
        sq_output_add_sums(&c, s.p, s.p + pes, scale, s.of.y);
        error |= (group_has_illegal(v, in, ACT, g) || group_has_illegal(v, in, HI, g))
                 << SQ_SCALED_ERROR_CODE;
        error |= sq_engine_wrong_scale(&c, scale + 1, scale[0]) << SQ_SCALED_ERROR_SCALE;
        if (scale[0])
            n_out += sq_engine_end(&c, scale, s.of.y, g + 1 == in->len[SCALE], error,
                                   out + n_out * (c.port_len + SQ_ENGINE_WORD_FIELDS));
    }
    free_sums(&s);
    return n_out;
}

// ---- time -----------------------------------------------------------------------------------

struct state {
    struct sq_core_sim core;
    struct sq_output_sim output;
};

static void init(const unsigned *v, void *state)
{
    const struct sq_output_config c = config_of(v);
    struct state *const s = state;
    sq_core_block.init(v, &s->core);
    sq_output_init(&s->output, &c);
}

// What the core offers the stage; what the stage answers.
static struct sq_output_in between(const struct state *s, const struct sq_offer *in, bool out_ready,
                                   struct sq_output_out *out)
{
    struct sq_handshake core;
    sq_core_block.timing->comb(&s->core, in, false, &core); // valid does not depend on ready
    const struct sq_output_in stage = {.tile_valid = core.out_valid,
                                       .scale_valid = in[SCALE].valid,
                                       .scale_last = in[SCALE].last,
                                       .out_ready = out_ready};
    sq_output_comb(&s->output, &stage, out);
    return stage;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    struct sq_output_out stage;
    (void)between(s, in, out_ready, &stage);
    sq_core_block.timing->comb(&s->core, in, stage.tile_ready, out);
    out->in_ready[SCALE] = stage.scale_ready;
    out->out_valid = stage.out_valid;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    struct sq_output_out out;
    const struct sq_output_in stage = between(s, in, out_ready, &out);
    sq_core_block.timing->clock(&s->core, in, out.tile_ready);
    sq_output_clock(&s->output, &stage);
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

// Causes of the core; blocked_output is what it waits for the stage.
static void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *to)
{
    const struct sq_core_stats *const stats = &((const struct state *)state)->core.stats;
    (void)due;
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        to[i] = (int32_t)(v[COUNT_START] + stats->low[i]);
        to[SQ_N_CAUSES + i] = (int32_t)(v[COUNT_START] + stats->high[i]);
    }
}

// ---- points of one's own --------------------------------------------------------------------

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    struct sq_core_config core;
    if (!(given >> SQ_CORE_HIGH_LANES & 1) && v[SQ_CORE_HIGH_LANES] > v[SQ_CORE_BANK_LEN])
        v[SQ_CORE_HIGH_LANES] = v[SQ_CORE_BANK_LEN];
    sq_core_get(v, &core);
    SQ_TRY(sq_core_config_check(&core, err));
    if (v[IS_FP] && (core.act_bits != 8 || core.high_bits != 8 || core.low_bits != 4))
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "ActW = %u, HighW = %u, LowW = %u, need 8, 8, 4 with IsFp = 1",
                       core.act_bits, core.high_bits, core.low_bits);
    return sq_output_settle(v[ROWS], v[COLS], v + LANES, old + LANES, given >> LANES, err);
}
