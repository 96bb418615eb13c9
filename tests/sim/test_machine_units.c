// SPDX-License-Identifier: Apache-2.0
// The unit of a machine is the engine of the format: a random machine and GEMM are planned, and the job
// of a core goes through the cycle model of the engine that takes the format's layers on the RTL
// (cosim --layers; held to the RTL in every cycle), all its streams free. The engine takes its job in one
// cycle, which a machine charges as filling; the last word must leave in the cycle in which sq_unit_run
// says that the job ends.
// Where engines stand side by side (gqsa, spqt, spqr), the test runs the one that has most to do, with what the plan says of
// it; behind it its share of the port. That this one is the slowest of them all is a test of its own.
// Sampled: for each format 100 machines (rows and columns 1..8, lanes, port) x recipes (bank, sparsity,
// scale group, element, both sides or activations alone) x GEMMs with ragged edges. The queue and the
// combine units are those that the machine's stage has.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/scaled/sq_bs_format.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_work.h"
#include "tests/sim/random_recipe.h"
#include "tests/unit/fixture.h"

enum { JOBS = 100, PATIENCE = 10000000 };

// ---- the engine -----------------------------------------------------------------------------

static void set(const struct sq_block *block, unsigned *value, const char *name, unsigned v)
{
    const size_t at = sq_param_find(block, name);
    if (at == SQ_PARAMS_MAX)
        fail_msg("no parameter %s of %s", name, block->name);
    value[at] = v;
}

// The output stage of the machine, as an engine has it. Words of the port are of whole outputs.
static void set_output(const struct sq_block *block, const struct sq_unit_output *o, uint32_t words,
                       unsigned rows, unsigned cols, unsigned *value)
{
    set(block, value, "Rows", rows);
    set(block, value, "Cols", cols);
    set(block, value, "Lanes", o->lanes);
    set(block, value, "OutKind", SQ_OUTPUT_BFLOAT16);
    set(block, value, "PortLen", o->lanes / words);
    set(block, value, "Depth", o->depth);
    set(block, value, "Hold", o->hold);
}

// All its streams free but the first, which brings one job; `scale` of them ends every `last`-th beat.
struct engine {
    const struct sq_block *block;
    unsigned value[SQ_PARAMS_MAX];
    struct sq_offer job;
    int32_t fields[5]; // of a job that is more than an offer says
    unsigned scale;
    uint32_t last;  // 0: no stream says so
    uint64_t words; // that leave
};

// Cycles up to and with the last word.
static uint64_t run(const struct engine *e)
{
    const struct sq_timing *const timing = e->block->timing;
    void *const state = fixture_zeros(1, timing->nbytes);
    uint64_t scales = 0, words = 0, cycles = 0;
    bool has_job = true;
    assert_non_null(state);
    e->block->init(e->value, state);
    for (; words < e->words; cycles++) {
        struct sq_offer in[SQ_STREAMS_MAX] = {{.valid = false}};
        struct sq_handshake h = {.out_valid = false};
        assert_true(cycles < PATIENCE);
        if (has_job)
            in[0] = e->job;
        in[0].beat = e->fields;
        for (unsigned s = 1; s < SQ_STREAMS_MAX; s++)
            in[s].valid = true;
        in[e->scale].last = e->last > 0 && (scales + 1) % e->last == 0;
        timing->comb(state, in, true, &h);
        has_job = has_job && !h.in_ready[0];
        scales += h.in_ready[e->scale];
        words += h.out_valid;
        timing->clock(state, in, true);
    }
    return cycles;
}

// ---- the formats ----------------------------------------------------------------------------

static struct sq_offer job_of(const struct sq_unit_job *j)
{
    return (struct sq_offer){.valid = true,
                             .n = j->beats,
                             .job = {.group_banks = j->flushes, .groups = j->tiles * j->passes}};
}

enum { ONE_SIDE = 1, OTHER, SCALE, CORE_SCALE = 4 }; // streams

static void make_array(const struct sq_recipe *r, const struct sq_mapping *p, struct engine *e)
{
    const bool is_static = r->format == &sq_format_sq_a_static;
    const struct sq_unit_job *const j = &p->step[SQ_STEP_CLASSES - 1].job;
    e->block = is_static ? &sq_engine_static_block : &sq_engine_array_block;
    memcpy(e->value, e->block->points[0].value, sizeof e->value);
    if (!is_static)
        set(e->block, e->value, "Layout",
            r->format == &sq_format_dense ? SQ_ARRAY_DENSE : SQ_ARRAY_SP24);
    e->job = job_of(j);
    e->scale = SCALE;
}

static void make_core(const struct sq_recipe *r, const struct sq_mapping *p, struct engine *e)
{
    const struct sq_unit_job *const j = &p->step[SQ_STEP_CLASSES - 1].job;
    const struct sq_point core = sq_core_point(&p->cost.unit.core);
    (void)r;
    e->block = &sq_core_out_block;
    memcpy(e->value, e->block->points[0].value, sizeof e->value);
    for (size_t i = 0; sq_core_block.param[i] && strcmp(sq_core_block.param[i], "CountStart"); i++)
        set(e->block, e->value, sq_core_block.param[i], core.value[i]);
    e->job = (struct sq_offer){
        .valid = true,
        .job = {.group_banks = j->beats, .groups = j->tiles * j->passes * j->flushes}};
    e->scale = CORE_SCALE;
    e->last = j->flushes;
}

static void make_core_act(const struct sq_recipe *r, const struct sq_mapping *p, struct engine *e)
{
    const struct sq_unit_job *const j = &p->step[SQ_STEP_CLASSES - 1].job;
    const struct sq_core_config *const core = &p->cost.unit.core;
    const int32_t fields[5] = {(int32_t)j->beats, (int32_t)j->flushes, (int32_t)j->passes,
                               (int32_t)j->tiles, (int32_t)(j->tiles * j->passes * j->flushes)};
    (void)r;
    e->block = &sq_engine_core_act_block;
    memcpy(e->value, e->block->points[0].value, sizeof e->value);
    set(e->block, e->value, "LowLanes", core->low_lanes);
    set(e->block, e->value, "HighLanes", core->high_lanes);
    set(e->block, e->value, "BankLen", core->bank);
    set(e->block, e->value, "HighPerBank", core->high_per_bank);
    set(e->block, e->value, "HighW", core->high_bits);
    set(e->block, e->value, "Topk", p->cost.unit.topk);
    set(e->block, e->value, "PassW", 16);
    memcpy(e->fields, fields, sizeof fields);
    e->job = (struct sq_offer){.valid = true};
    e->scale = SCALE;
}

static void make_scaled(const struct sq_recipe *r, const struct sq_mapping *p, struct engine *e)
{
    const struct sq_bs_format f = sq_bs_of(r);
    e->block = &sq_engine_scaled_block;
    memcpy(e->value, e->block->points[0].value, sizeof e->value);
    set(e->block, e->value, "BankLen", f.block);
    set(e->block, e->value, "HighPerBank", sq_bs_high_bits(&f) ? f.high_per_block : 0);
    set(e->block, e->value, "High", sq_bs_engine_high(&f));
    set(e->block, e->value, "WeightHigh", r->operand != SQ_OPERAND_ACT);
    e->job = job_of(&p->step[SQ_STEP_CLASSES - 1].job);
    e->scale = SCALE;
}

// ---- engines side by side -------------------------------------------------------------------

// Jobs one after the other; what an engine is offered is told by how much of each stream it has taken.
struct side {
    const struct sq_block *block;
    unsigned value[SQ_PARAMS_MAX];
    const struct sq_unit_job *job;
    struct sq_tile_list list;
    uint32_t taken[SQ_STREAMS_MAX]; // of the job at hand; jobs: of all
    uint32_t at, end[16];           // row offsets: before the rows of a tile; of those rows
    int32_t x[SQ_UNIT_BEAT_MAX];    // of the activations, where their values count
    struct sq_rng rng;
};

static uint32_t work(const struct side *s, uint32_t i)
{
    return s->list.n ? s->list.tile[i % s->list.n].work : s->job->beats;
}

static void job_of_side(const struct side *s, uint32_t groups, uint32_t n, struct sq_offer *o)
{
    o->valid = s->taken[0] < s->job->tiles;
    o->job = (struct sq_job){.group_banks = s->job->loads, .groups = groups};
    o->n = n;
}

enum { SIDES_MAX = 16 };
static struct {
    const char *format;
    void (*offer)(struct side *s, struct sq_offer in[SQ_STREAMS_MAX]);
    unsigned outputs; // beats of a tile
} sides[SIDES_MAX];
static size_t n_sides;

// A format whose engines stand side by side: in a part of its room, behind offer_FORMAT.
#define SIDE(format_, outputs_)                                                                    \
    SQ_AT_START(side_of_##format_)                                                                 \
    {                                                                                              \
        assert(n_sides < SIDES_MAX);                                                               \
        sides[n_sides].format = #format_, sides[n_sides].outputs = outputs_;                       \
        sides[n_sides++].offer = offer_##format_;                                                  \
    }
#include SQ_PARTS

// Cycles up to and with the last word.
static uint64_t run_side(struct side *s, size_t row)
{
    const struct sq_timing *const timing = s->block->timing;
    void *const state = fixture_zeros(1, timing->nbytes);
    uint64_t left = (uint64_t)s->job->tiles * s->job->passes * sides[row].outputs;
    uint64_t cycles = 0, waiting = 0, word = 0;
    assert_non_null(state);
    s->block->init(s->value, state);
    s->end[0] = UINT32_MAX;
    for (; left > 0; cycles++) {
        struct sq_offer in[SQ_STREAMS_MAX] = {{.valid = false}};
        struct sq_handshake h = {.out_valid = false};
        assert_true(cycles < PATIENCE);
        for (unsigned i = 1; i < SQ_STREAMS_MAX; i++)
            in[i].valid = true;
        sides[row].offer(s, in);
        timing->comb(state, in, true, &h);
        timing->clock(state, in, true);
        for (unsigned i = 0; i < SQ_STREAMS_MAX; i++)
            s->taken[i] += in[i].valid && h.in_ready[i];
        if (in[0].valid && h.in_ready[0])
            memset(s->taken + 1, 0, sizeof s->taken - sizeof *s->taken);
        if (h.in_ready[3] && s->taken[3] > 1 && (s->taken[3] - 1) % 16 == 0) { // of spqr
            s->at = s->end[15];
            s->end[0] = UINT32_MAX;
        }
        waiting += h.out_valid;
        if (waiting > 0 && ++word >= s->job->words) {
            word = 0;
            waiting--;
            left--;
        }
    }
    return cycles;
}

static struct side side_of(const struct sq_unit_engine *engine, const struct sq_unit_job *job,
                           struct sq_tile_list list)
{
    struct side s = {.block = engine->block, .job = job, .list = list, .rng = {1}};
    const struct sq_point *p = s.block->points;
    while (engine->point && strcmp(p->name, engine->point) != 0)
        p++;
    memcpy(s.value, p->value, sizeof s.value);
    if (engine->widest)
        set(s.block, s.value, engine->widest, engine->widest_value);
    return s;
}

// ---- the test -------------------------------------------------------------------------------

static struct sq_machine small_machine(struct sq_rng *r)
{
    struct sq_machine m = {.name = "random", .clock_hz = 1e9, .cores = between(r, 1, 2)};
    m.core = sq_core_config_default();
    m.core.rows = between(r, 1, 8);
    m.core.cols = between(r, 1, 8);
    m.core.low_lanes = between(r, 1, 32);
    m.core.high_lanes = between(r, 1, 8);
    m.port_nbits = 16u << sq_rng_below(r, 7);
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 20;
    m.dram_bytes_per_s = 1e9 * between(r, 1, 100);
    m.burst_nbytes = 64;
    sq_machine_derive(&m);
    return m;
}

// False where the machine's port does not take words of whole outputs.
static bool check(struct sq_rng *r, const struct sq_format_ops *f,
                  void (*make)(const struct sq_recipe *, const struct sq_mapping *,
                               struct engine *))
{
    const struct sq_machine m = small_machine(r);
    const struct sq_recipe s = random_recipe_of(r, f);
    const struct sq_gemm g = {between(r, 1, 40), between(r, 1, 60),
                              between(r, 1, sq_rng_below(r, 3) ? 300 : 3000)};
    struct engine e = {.block = NULL};
    struct sq_mapping p;
    if (sq_mapping_make(&m, &s, &g, &p, NULL) != SQ_OK)
        return false;
    const struct sq_unit_job *const j = &p.step[SQ_STEP_CLASSES - 1].job;
    const struct sq_unit_output *const o = &p.cost.unit.output;
    if (o->lanes % j->words != 0)
        return false;
    make(&s, &p, &e);
    set_output(e.block, o, j->words, m.core.rows, m.core.cols, e.value);
    e.words = (uint64_t)j->tiles * j->passes * (o->pes / o->lanes) * j->words;
    const uint64_t engine = run(&e), unit = 1 + sq_unit_run_fast(&p.cost.unit, j, NULL).cycles;
    CHECK_EQ(
        engine, unit,
        "%s on %ux%u, %u x %u tiles of %u x %u, lanes %u, words %u, pairs %u, hold %u: the engine, "
        "the machine\n",
        f->name, m.core.rows, m.core.cols, j->tiles, j->passes, j->flushes, j->beats, o->lanes,
        j->words, o->pairs, o->hold);
    return true;
}

// False where the machine has no multipliers for one engine, or the job is a long one.
static bool check_side(struct sq_rng *r, const struct sq_format_ops *f, size_t row)
{
    enum { MOST = 200000 };
    const struct sq_machine m = small_machine(r);
    const struct sq_recipe s = random_recipe_of(r, f);
    const struct sq_gemm g = {between(r, 1, 40), between(r, 1, sq_rng_below(r, 3) ? 60 : 1000),
                              between(r, 1, sq_rng_below(r, 3) ? 300 : 3000)};
    struct sq_mapping p;
    if (sq_mapping_make(&m, &s, &g, &p, NULL) != SQ_OK)
        return false;
    const struct sq_unit_job *const j = &p.step[SQ_STEP_CLASSES - 1].job;
    const struct sq_tile_list list = sq_mapping_list(&p, SQ_STEP_CLASSES - 1);
    const uint64_t unit = 1 + sq_unit_run_fast(&p.cost.unit, j, &list).cycles;
    if (unit > MOST)
        return false;
    assert_string_equal(strrchr(sq_unit_name(&p.cost.unit), '_') + 1, f->name);
    assert_true(p.cost.rows * p.cost.abreast >= 1 && list.n >= 1);
    struct side side = side_of(p.cost.unit.engine, j, list);
    CHECK_EQ(run_side(&side, row), unit,
             "%s on %ux%u, %u x %u tiles of %u beats, words %u: the engine, the machine\n", f->name,
             m.core.rows, m.core.cols, j->tiles, j->passes, j->loads, j->words);
    return true;
}

// Engines with channels of their own, all of whose tiles are counted: each goes through its model, and the
// slowest takes what the unit takes. Where the tiles are more than the entries, or the work is shared out
// evenly, none of the entries is more than the largest, nor the mean less than all have.
SQ_TEST(test_slowest)
{
    struct sq_rng r;
    for (unsigned i = 0; i < 100 * n_sides; i++) {
        const size_t row = i / 100;
        if (i % 100 == 0)
            r = (struct sq_rng){
                fixture_seed()}; // the cases of a format do not depend on the others
        struct sq_cost_counts c = {.n = between(&r, 1, SQ_TILES_DRAWN)};
        struct sq_demand d;
        struct sq_tile_work tile[SQ_TILES_DRAWN];
        double kept[SQ_TILES_DRAWN];
        struct sq_recipe s = default_of(sq_format_find(sides[row].format));
        const struct sq_machine m = small_machine(&r);
        uint64_t slowest = 0, idle = 0, slack = 0;
        set_option(&s, "schedule", 1); // gqsa: each has its own
        sq_demand_of(&s, &m.core, between(&r, 1, 8), 256, m.burst_nbytes, &d);
        const struct sq_cost_unit u = d.cost;
        if (u.engines == 0)
            continue;
        c.all = c.n;
        c.repeats = 2;
        for (uint32_t t = 0; t < c.n; t++)
            for (unsigned e = 0; e < sq_cost_counted(&u); e++)
                c.count[t][e] = sq_rng_below(&r, 2) ? sq_rng_below(&r, 17) : 0;
        sq_work_tiles(&d, 256, &c, tile, kept);
        const bool is_of_tokens = u.is_of_tokens;
        const struct sq_unit_job j = {.tiles = is_of_tokens ? c.n : (uint32_t)c.repeats,
                                      .passes = is_of_tokens ? 2 : c.n,
                                      .flushes = 1,
                                      .loads = 256 / u.load};
        for (unsigned e = 0; e < sq_cost_counted(&u); e++) {
            struct sq_tile_work own[SQ_TILES_DRAWN] = {{0, 0}};
            for (uint32_t t = 0; t < c.n; t++)
                own[t].work = c.count[t][e];
            struct side side = side_of(u.unit.engine, &j, (struct sq_tile_list){c.n, own});
            const uint64_t cycles = run_side(&side, row);
            slowest = cycles > slowest ? cycles : slowest;
        }
        const struct sq_tile_list list = {c.n, tile};
        const uint64_t unit = 1 + sq_unit_run_fast(&u.unit, &j, &list).cycles;
        // The search for columns takes a cycle more or less by where they are.
        slack = is_of_tokens ? c.n : 0;
        CHECK_EQ(unit <= slowest && unit + slack >= slowest, 1,
                 "case %u, %s: %llu, the slowest of %u %llu\n", i, sides[row].format,
                 (unsigned long long)unit, sq_cost_counted(&u), (unsigned long long)slowest);
        for (uint32_t t = 0; t < c.n; t++)
            idle += tile[t].idle;
        if (sq_cost_counted(&u) == 1)
            assert_int_equal(idle, 0);
    }
}

SQ_TEST(test_units)
{
    static const struct {
        const char *format;
        void (*make)(const struct sq_recipe *, const struct sq_mapping *, struct engine *);
    } rows[] = {
        {"dense", make_array},           {"sp24", make_array}, {"sq_a_static", make_array},
        {"sq_a_dynamic", make_core_act}, {"sq_w", make_core},
    };
    unsigned n_formats = 0;
    for (unsigned f = 0; f < sq_n_formats(); f++) {
        struct sq_rng r = {fixture_seed()};
        void (*make)(const struct sq_recipe *, const struct sq_mapping *, struct engine *) = NULL;
        for (size_t i = 0; i < LEN(rows); i++)
            if (strcmp(sq_formats[f]->name, rows[i].format) == 0)
                make = rows[i].make;
        size_t side = 0;
        while (side < n_sides && strcmp(sq_formats[f]->name, sides[side].format) != 0)
            side++;
        if (sq_formats[f]->cost == &sq_bs_timed)
            make = make_scaled;
        assert_true(make || side < n_sides);
        for (unsigned jobs = 0; jobs < JOBS;)
            jobs += make ? check(&r, sq_formats[f], make) : check_side(&r, sq_formats[f], side);
        n_formats++;
    }
    fprintf(stderr, "# %u formats, %d jobs each: machine = engine\n", n_formats, JOBS);
    assert_int_equal(n_formats, sq_n_formats());
}
