// SPDX-License-Identifier: Apache-2.0
// Jobs of machines on verilated RTL: random small machines and GEMMs are planned, and the job of
// their core goes through the block that the unit stands for, beat by beat in lock step with its
// cycle model. The last output must leave in the cycle in which sq_unit_run_fast says it does.
// Sampled: 78 jobs, six machines and GEMMs for each of thirteen points of blocks. Then the bank sweep of
// activation SQ: every bank, sparsity and mask of sim/sweeps/act_banks.yaml, on PEs of its machine
// and on narrow ones that take less than a bank a cycle; of these 126, six here, those of
// a bank with SQ_BANKS=16, all with SQ_BANKS=all (`make banks-rtl`).
#include "models/core/sq_topk.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/scaled/sq_bs_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/sweep/sq_sweep.h"
#include "tests/sim/block_fixture.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"

// Cores of this size behind a DRAM of any speed, buffers that hold what tests have.
static struct sq_machine small_machine(struct sq_rng *r, const struct sq_core_config *core)
{
    struct sq_machine m = {.name = "random", .clock_hz = 1e9, .cores = 1 + sq_rng_below(r, 2)};
    m.core = *core;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 20;
    m.dram_bytes_per_s = 1e9 * (1 + sq_rng_below(r, 100));
    m.burst_nbytes = 64;
    sq_machine_derive(&m);
    return m;
}

// False where no Verilator is.
static bool load_rtl(struct sq_rtl *rtl, const struct sq_block *block, const struct sq_point *point)
{
    const struct sq_rtl_point at = {.block = block, .point = point};
    struct sq_error err = {.text = ""};
    const char *home = getenv("SQSIM_HOME");
    bool built;
    const enum sq_status status = sq_rtl_load(rtl, &at, home ? home : ".", &built, &err);
    if (status == SQ_ERR_TOOL)
        return false;
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
    return true;
}

enum { MACHINES = 6 };

// A point of a block, and the multipliers of a machine that makes a unit of just that size of it.
static const struct {
    const char *block, *point;
    const char *format;
    unsigned kind, own, bank, k, depth, passes;         // own: TopK; of sq_b 1, split codes
    unsigned low_lanes, high_lanes, low_bits, act_bits; // of the machine; high bits 8
    unsigned exact; // stages that the engine has more: it sums in binary32, the block exactly
} rows[] = {
    {"core", "", "sq_w", SQ_UNIT_CORE, 0, 8, 2, 9, 8, 4, 1, 4, 8, 0},
    {"core", "", "sq_w", SQ_UNIT_CORE, 0, 4, 1, 9, 8, 8, 1, 4, 8, 0}, // two banks in a beat
    {"core_act", "rank", "sq_a_dynamic", SQ_UNIT_CORE_ACT, 1, 8, 2, 3, 12, 4, 1, 4, 4, 0},
    {"core_act", "radix", "sq_a_dynamic", SQ_UNIT_CORE_ACT, 0, 8, 2, 4, 12, 1, 1, 4, 4, 0},
    {"core_act", "few", "sq_a_dynamic", SQ_UNIT_CORE_ACT, 0, 8, 2, 2, 3, 4, 1, 4, 4, 0},
    {"array_static", "b8", "sq_a_static", SQ_UNIT_ARRAY, 0, 8, 2, 12, 8, 8, 1, 4, 4, 0},
    {"array", "int4x8", "dense", SQ_UNIT_ARRAY, 0, 8, 0, 12, 8, 6, 1, 4, 8, 0},
    {"array", "sp24", "sp24", SQ_UNIT_ARRAY, 0, 16, 0, 12, 8, 14, 1, 4, 8, 0},
    {"array_scaled", "nvfp4", "nvfp4", SQ_UNIT_ARRAY, 0, 16, 0, 12, 8, 14, 1, 4, 4, 0},
    {"array_scaled", "mxfp4", "mxfp4", SQ_UNIT_ARRAY, 0, 32, 0, 12, 8, 14, 1, 4, 8, 0},
    {"array_scaled", "nvint4", "nvint4", SQ_UNIT_ARRAY, 0, 16, 0, 12, 8, 14, 1, 4, 4, 0},
    {"array_scaled", "split", "sq_b", SQ_UNIT_ARRAY, 1, 16, 2, 12, 8, 19, 1, 4, 4, 0},
    {"array_scaled", "own_b16", "sq_b", SQ_UNIT_ARRAY, 0, 16, 2, 12, 8, 24, 1, 4, 4, 1},
};

// The unit and the job of a core of a random machine.
static void plan(struct sq_rng *r, size_t row, unsigned tile_rows, unsigned tile_cols,
                 struct sq_unit *unit, struct sq_unit_job *job)
{
    const struct sq_core_config core = {tile_rows,
                                        tile_cols,
                                        rows[row].low_lanes,
                                        rows[row].high_lanes,
                                        rows[row].act_bits,
                                        8,
                                        rows[row].low_bits,
                                        0,
                                        0,
                                        SQ_GATHER_CROSSBAR};
    const struct sq_machine m = small_machine(r, &core);
    struct sq_mapping p;
    struct sq_recipe s;
    assert_ok(sq_format_recipe(sq_format_find(rows[row].format), SQ_IN_RUN, NULL, &s, NULL));
    s.group = 0;
    if (rows[row].k > 0) {
        s.bank = rows[row].bank;
        s.high_per_bank = rows[row].k;
        if (s.format == &sq_format_sq_a_dynamic)
            sq_grid_set(&s)->topk = rows[row].own;
        if (s.format == &sq_format_sq_b)
            sq_bs_set(&s)->is_split = rows[row].own;
    } else if (s.format == &sq_format_dense) {
        sq_grid_set(&s)->weight.low_bits = 4;
    }
    const struct sq_gemm g = {1 + sq_rng_below(r, 4 * tile_rows),
                              1 + sq_rng_below(r, rows[row].passes * tile_cols),
                              rows[row].bank * (1 + sq_rng_below(r, rows[row].depth))};
    assert_ok(sq_mapping_make(&m, &s, &g, &p, NULL));
    *unit = p.cost.unit;
    memset(&unit->output, 0, sizeof unit->output); // the block alone
    unit->stages -= rows[row].exact;
    *job = p.step[SQ_STEP_CLASSES - 1].job;
}

// ---- the job as beats -----------------------------------------------------------------------

static size_t offset_of(const struct sq_ports *p, const char *field)
{
    for (size_t f = 0; f < p->n_in; f++)
        if (strcmp(p->in[f].name, field) == 0)
            return sq_field_offset(p->in, f);
    fail_msg("no field %s", field);
    return 0;
}

// Tiles of tokens as the first stream gives them, the last beat with its passes.
static void put_tiles(const struct sq_ports *p, const struct sq_unit_job *job, uint32_t tiles,
                      uint32_t beats, int32_t *record)
{
    const size_t len = sq_field_offset(p->in, p->n_in);
    for (uint32_t i = beats; i <= tiles * beats; i += beats) {
        record[(i - 1) * len + offset_of(p, "last")] = 1;
        record[(i - 1) * len + offset_of(p, "passes")] = (int32_t)job->passes;
    }
}

static void alloc(struct sq_case *c, size_t n_groups, size_t n_beats, size_t outputs)
{
    c->n_groups = n_groups;
    c->n_beats = n_beats;
    c->max_outputs = outputs;
    assert_ok(sq_case_alloc(c, NULL));
}

static void core_beats(const struct sq_unit *unit, const struct sq_unit_job *j, struct sq_case *c)
{
    const struct sq_core_config *core = &unit->core;
    const struct sq_job job = {j->beats, j->tiles * j->passes * j->flushes};
    const size_t n = (size_t)job.group_banks * job.groups;
    int8_t *const act = calloc(n * core->bank * core->rows, 1);
    int8_t *const lo = calloc(n * core->bank * core->cols, 1);
    int8_t *const hi = calloc(n * core->bank * core->cols, 1);
    assert_true(act && lo && hi);
    const struct sq_core_operands o = {n, act, lo, hi};
    assert_ok(sq_core_case(c, &job, &o, 1, NULL));
    free(act);
    free(lo);
    free(hi);
}

static void make_case(const struct sq_unit *unit, const struct sq_unit_job *j, struct sq_case *c)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    const uint32_t all = j->tiles * j->passes, beats = j->beats * j->flushes;
    for (unsigned i = 0; i < SQ_SIDES; i++)
        c->stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
    switch (unit->kind) {
    case SQ_UNIT_CORE:
        core_beats(unit, j, c);
        return;
    case SQ_UNIT_CORE_ACT: {
        const uint32_t steps = all * beats * sq_core_low_steps(&unit->core);
        const uint32_t in = j->tiles * beats;
        alloc(c, 1, steps > in ? steps : in, all * j->flushes);
        put_tiles(&p, j, j->tiles, beats, c->beats);
        memcpy(c->len[0], (uint32_t[]){in, steps, 1}, 3 * sizeof(uint32_t));
        c->beats[offset_of(&p, "group_banks")] = (int32_t)j->beats;
        c->beats[offset_of(&p, "groups")] = (int32_t)(all * j->flushes);
        return;
    }
    default: // the last beat of each scale group says so
        alloc(c, all * j->flushes, (size_t)all * beats, 1);
        for (uint32_t g = 0; g < all * j->flushes; g++) {
            c->len[g][0] = j->beats;
            c->beats[((size_t)(g + 1) * j->beats - 1) * len] = 1;
        }
    }
}

// ---- the test -------------------------------------------------------------------------------

static unsigned jobs, skipped;

static void check_job(const struct sq_block *block, const struct sq_point *point,
                      const struct sq_rtl *rtl, const struct sq_unit *unit,
                      const struct sq_unit_job *job, uint64_t seed)
{
    struct sq_case c = {.block = block, .point = point, .seed = seed};
    struct sq_result result;
    make_case(unit, job, &c);
    assert_ok(sq_lockstep_run(&c, rtl->api, NULL, &result, NULL));
    CHECK_EQ(result.mismatch.kind, SQ_MISMATCH_NONE, "%s: %s\n", block->name, result.mismatch.what);
    // A core takes its job in the first cycle; sq_core_act takes activations with it, its engine after it.
    const bool is_core = unit->kind == SQ_UNIT_CORE;
    const uint64_t model = sq_unit_run_fast(unit, job, NULL).cycles + is_core;
    CHECK_EQ(result.end, model, "%s %s, %u x %u tiles of %u x %u: the RTL, the machine\n",
             block->name, point->name, job->tiles, job->passes, job->flushes, job->beats);
    sq_case_free(&c);
    jobs++;
}

static void run_jobs(struct sq_rng *r, size_t row)
{
    const struct sq_block *const block = block_named(rows[row].block);
    struct sq_rtl rtl = {.api = NULL};
    struct sq_point point;
    if (rows[row].kind != SQ_UNIT_CORE)
        point = *point_named(block, rows[row].point);
    for (unsigned i = 0; i < MACHINES; i++) {
        struct sq_unit unit;
        struct sq_unit_job job;
        if (rows[row].kind == SQ_UNIT_CORE)
            plan(r, row, 1, 2, &unit, &job);
        else // core_act has channels in its rows
            plan(r, row, point.value[rows[row].kind == SQ_UNIT_CORE_ACT],
                 point.value[rows[row].kind != SQ_UNIT_CORE_ACT], &unit, &job);
        assert_int_equal(unit.kind, rows[row].kind);
        if (unit.kind == SQ_UNIT_CORE)
            point = sq_core_point(&unit.core);
        if (!rtl.api && !load_rtl(&rtl, block, &point)) {
            skipped++;
            return;
        }
        check_job(block, &point, &rtl, &unit, &job, i);
    }
    sq_rtl_unload(&rtl);
}

SQ_TEST(test_jobs)
{
    struct sq_rng r = {fixture_seed()};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        if (!sq_is_without(rows[row].format))
            run_jobs(&r, row);
    if (skipped > 0)
        printf("# skipped: %u blocks, no Verilator here\n", skipped);
    else
        assert_true(jobs >= 50);
}

// ---- the bank sweep -------------------------------------------------------------------------

enum { SWEEP_K = 256, SWEEP_JOBS = 3 };

// L and H of a PE: 0, those of the sweep's machine, whose beats hold several narrow banks; 2 and 1,
// of which the narrowest bank needs a whole beat or more.
static const unsigned sweep_lanes[][2] = {{0, 0}, {2, 1}};

static void set_param(const struct sq_block *block, struct sq_point *point, const char *name,
                      unsigned value)
{
    for (size_t i = 0; block->param[i]; i++)
        if (strcmp(block->param[i], name) == 0) {
            point->value[i] = value;
            return;
        }
    fail_msg("no parameter %s of %s", name, block->name);
}

// One PE of the unit, as its block takes it.
static struct sq_point act_point(const struct sq_block *block, const struct sq_recipe *s,
                                 const struct sq_cost_unit *u)
{
    const struct sq_core_config *core = &u->unit.core;
    const bool is_core = u->unit.kind == SQ_UNIT_CORE_ACT;
    const unsigned banks = u->span_beats == 1 ? u->span / s->bank : 1; // else a part of one
    struct sq_point p = *point_named(block, is_core ? "rank" : "b8");
    p.name = "banks";
    set_param(block, &p, "Rows", 1);
    set_param(block, &p, "Cols", 1);
    set_param(block, &p, "WeightW", sq_grid_recipe(s)->weight.low_bits);
    set_param(block, &p, "LowW", s->act.low_bits);
    set_param(block, &p, "HighW", s->act.high_bits);
    set_param(block, &p, "BankLen", is_core ? core->bank : (u->low_lanes + u->high_lanes) / banks);
    set_param(block, &p, "HighPerBank", is_core ? core->high_per_bank : u->high_lanes / banks);
    if (!is_core) {
        set_param(block, &p, "Banks", banks);
        return p;
    }
    set_param(block, &p, "LowLanes", core->low_lanes);
    set_param(block, &p, "HighLanes", core->high_lanes);
    set_param(block, &p, "Topk", u->unit.topk);
    set_param(block, &p, "Depth", SWEEP_K / core->bank);
    return p;
}

// A few GEMMs of a point of the sweep on one PE.
static void run_point(struct sq_rng *r, const struct sq_sweep_point *at, const unsigned lanes[2])
{
    const bool is_static = at->recipe.format == &sq_format_sq_a_static;
    const struct sq_block *const block = is_static ? &sq_array_static_block : &sq_core_act_block;
    struct sq_core_config core = at->machine.core;
    struct sq_rtl rtl = {.api = NULL};
    struct sq_point point;
    core.rows = core.cols = 1;
    core.low_lanes = lanes[0] ? lanes[0] : core.low_lanes;
    core.high_lanes = lanes[1] ? lanes[1] : core.high_lanes;
    for (unsigned i = 0; i < SWEEP_JOBS; i++) {
        const struct sq_machine m = small_machine(r, &core);
        const struct sq_gemm g = {1 + sq_rng_below(r, 4), 1 + sq_rng_below(r, 12),
                                  SWEEP_K / (1 + sq_rng_below(r, 2))};
        struct sq_mapping p;
        assert_ok(sq_mapping_make(&m, &at->recipe, &g, &p, NULL));
        assert_int_equal(p.cost.unit.kind, is_static ? SQ_UNIT_ARRAY : SQ_UNIT_CORE_ACT);
        memset(&p.cost.unit.output, 0, sizeof p.cost.unit.output); // the block alone
        const struct sq_unit_job job = p.step[SQ_STEP_CLASSES - 1].job;
        point = act_point(block, &at->recipe, &p.cost);
        if (!rtl.api && !load_rtl(&rtl, block, &point)) {
            skipped++;
            return;
        }
        check_job(block, &point, &rtl, &p.cost.unit, &job, i);
    }
    sq_rtl_unload(&rtl);
}

// Whether `make test` takes it: three quarters low, the narrowest bank on narrow PEs and b = 32 on
// the machine's own. (Verilator needs minutes for a rank unit of 128.)
static bool is_quick(const struct sq_sweep_point *at, bool is_narrow)
{
    return at->recipe.high_per_bank * 4 == at->recipe.bank &&
           at->recipe.bank == (is_narrow ? SQ_BANK_MIN : 32);
}

SQ_TEST(test_bank_sweep)
{
    const char *const which = getenv("SQ_BANKS");
    const bool is_all = which && strcmp(which, "all") == 0;
    const unsigned long bank = which ? strtoul(which, NULL, 10) : 0;
    struct sq_rng r = {fixture_seed()};
    struct sq_sweep_grid s;
    struct sq_error err = {.text = ""};
    const char *home = getenv("SQSIM_HOME");
    unsigned points = 0;
    jobs = skipped = 0;
    CHECK_EQ(sq_sweep_grid_load(&s, "sim/sweeps/act_banks.yaml", home ? home : ".", &err), SQ_OK,
             "%s\n", err.text);
    for (size_t i = 0; i < s.n_points; i++) {
        struct sq_sweep_point at;
        sq_sweep_grid_point(&s, i, &at);
        for (unsigned narrow = 0; narrow < LEN(sweep_lanes); narrow++)
            if (is_all || at.recipe.bank == bank || (!which && is_quick(&at, narrow))) {
                run_point(&r, &at, sweep_lanes[narrow]);
                points++;
            }
    }
    sq_sweep_grid_free(&s);
    if (skipped > 0)
        printf("# skipped: %u points, no Verilator here\n", skipped);
    else
        fprintf(stderr, "# %u points of the bank sweep, %u jobs: machine = RTL\n", points, jobs);
    assert_true(is_all ? points == 2 * s.n_points : which ? points > 0 : points == 6);
}
