// SPDX-License-Identifier: Apache-2.0
// Activation SQ on sq_core with a dynamic mask: when the MACs wait for masks (SPEC C.4), as exact
// cycle numbers of the cycle model, and the same numbers from the verilated RTL; vector V5 through
// the RTL.
//
// Exhausted: both TopK units, 30 pairs of low and high steps, tiles of 1 to 5 banks, 1 to 9 passes:
// both sides of the boundary of C.4 and the boundary itself. Sampled: on the RTL two points, each
// side of the boundary.
#include "models/core/sq_topk.h"
#include "models/output/sq_requant.h"
#include "sim/block/core/sq_core_act_sim.h"
#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"
#include "tests/unit/fixture.h"

enum { MAG_W = 7, TILES = 20 }; // of INT8 codes; of a job

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

// Cycles per mask.
static unsigned interval(bool is_radix)
{
    return is_radix ? MAG_W + 1 : 1;
}

// Cycle in which the core is first offered a code: a tile of masks, the stages behind them.
static uint64_t fill(bool is_radix, unsigned banks)
{
    return interval(is_radix) * banks + (is_radix ? 4 : 5);
}

// TILES tiles of `banks` banks, each used `passes` times, one job, all streams free.
struct load {
    struct sq_core_config config;
    bool is_radix;
    uint32_t banks, passes;
};

static struct sq_job job_of(const struct load *l)
{
    return (struct sq_job){l->banks, TILES * l->passes};
}

// Cycles to the last tile of sums, and those in which the low path waited for codes.
static uint64_t run(const struct load *l, uint64_t *waits)
{
    struct sq_core_act_sim s;
    uint32_t taken = 0, tiles = 0;
    uint64_t cycle = 0;
    bool has_job = true;
    sq_core_act_init(&s, &l->config, l->is_radix ? SQ_TIMING_SERIAL : SQ_TIMING_PIPE,
                     l->is_radix ? MAG_W : 2);
    for (; tiles < TILES * l->passes; cycle++) {
        const struct sq_core_act_in in = {.act_valid = taken < TILES * l->banks,
                                          .act_last = (taken + 1) % l->banks == 0,
                                          .act_passes = l->passes,
                                          .weight_valid = true,
                                          .job_valid = has_job,
                                          .job = job_of(l),
                                          .out_ready = true};
        struct sq_core_act_out out;
        sq_core_act_comb(&s, &in, &out);
        taken += in.act_valid && out.act_ready;
        tiles += out.out_valid;
        has_job = has_job && !out.job_ready;
        sq_core_act_clock(&s, &in);
        assert_true(cycle < 1000000);
    }
    *waits = s.core.stats.low[SQ_CAUSE_WAIT_WEIGHT];
    return cycle;
}

// The same job on sq_core alone, codes free from cycle `from` on.
static uint64_t run_core(const struct load *l, uint64_t from, uint64_t *waits)
{
    struct sq_core_sim s;
    uint32_t tiles = 0;
    uint64_t cycle = 0;
    bool has_job = true;
    sq_core_reset(&s, &l->config);
    for (; tiles < TILES * l->passes; cycle++) {
        const struct sq_core_in in = {.job_valid = has_job,
                                      .job = job_of(l),
                                      .act_valid = true,
                                      .lo_valid = cycle >= from,
                                      .hi_valid = cycle >= from,
                                      .out_ready = true};
        struct sq_core_out out;
        sq_core_comb(&s, &in, &out);
        tiles += out.out_valid;
        has_job = has_job && !out.job_ready;
        sq_core_clock(&s, &in);
    }
    *waits = s.stats.low[SQ_CAUSE_WAIT_WEIGHT];
    return cycle;
}

static struct sq_core_config config_of(unsigned low_lanes, unsigned high_lanes)
{
    return (struct sq_core_config){.rows = 1,
                                   .cols = 1,
                                   .low_lanes = low_lanes,
                                   .high_lanes = high_lanes,
                                   .act_bits = 4,
                                   .high_bits = 8,
                                   .low_bits = 4,
                                   .bank = 16,
                                   .high_per_bank = 8};
}

// One load against SPEC C.4: with passes * cycles per bank >= the interval of the mask unit, the
// time is that of the core with codes ready, after the first tile; below, what is missing per bank
// is waited for.
static void check_load(const struct load *l)
{
    const unsigned low = sq_core_low_steps(&l->config), high = sq_core_high_steps(&l->config);
    const unsigned steps = larger(low, high);
    const bool is_hidden = l->passes * steps >= interval(l->is_radix);
    uint64_t waits, core_waits;
    const uint64_t cycles = run(l, &waits);
    const uint64_t ready = run_core(l, fill(l->is_radix, l->banks), &core_waits);
    const uint64_t free = run_core(l, 0, &(uint64_t){0});
    if (is_hidden) {
        CHECK_EQ(cycles, ready, "radix %d, %u steps, %u banks, %u passes\n", l->is_radix, steps,
                 l->banks, l->passes);
        if (low >= high) // otherwise it may wait where it would wait for the high path anyway
            CHECK_EQ(waits, core_waits, "radix %d, %u steps\n", l->is_radix, steps);
        assert_in_range(ready - free, fill(l->is_radix, l->banks) - 2,
                        fill(l->is_radix, l->banks)); // job and weights come meanwhile
        return;
    }
    const uint64_t missing = l->banks * (interval(l->is_radix) - l->passes * steps);
    assert_true(waits > core_waits);
    assert_in_range(cycles - ready, (TILES - 3) * missing, TILES * missing);
}

SQ_TEST(masks_are_hidden_from_the_bound_on)
{
    static const unsigned low_lanes[] = {16, 8, 6, 4, 2, 1}, high_lanes[] = {8, 4, 3, 2, 1};
    for (unsigned i = 0; i < LEN(low_lanes) * LEN(high_lanes); i++)
        for (unsigned n = 0; n < 2 * 5 * 9; n++) {
            const struct load l = {
                .config = config_of(low_lanes[i % LEN(low_lanes)], high_lanes[i / LEN(low_lanes)]),
                .is_radix = n % 2,
                .banks = 1 + n / 2 % 5,
                .passes = 1 + n / 10};
            check_load(&l);
        }
}

// ---- the RTL --------------------------------------------------------------------------------

// rows, cols, L, H, b, k, bits of weights, low codes, codes, multipliers, TopK, log gather, banks
// of a tile, bits of passes
static const struct sq_point radix = {
    "c4", false, {1, 1, 4, 1, 8, 2, 4, 4, 8, 16, SQ_TOPK_RADIX, 0, 3, 4}};
static const struct sq_point rank = {
    "c4_rank", false, {1, 1, 4, 1, 8, 2, 4, 4, 8, 16, SQ_TOPK_RANK, 0, 3, 4}};

enum { BANK = 8, LOW_STEPS = 2 }; // of both

static const int8_t v5_code[BANK] = {2, -127, 6, 11, -5, 95, -11, 3}; // at 8/127
static const int8_t v5_weight[BANK] = {1, 2, -3, 4, -5, 6, -7, 0};

// A job over `tiles` tiles of `banks` banks used `passes` times; every bank is V5.
static void fill_case(struct sq_case *c, unsigned tiles, unsigned banks, unsigned passes)
{
    int16_t mul;
    unsigned shift;
    const uint32_t steps = tiles * banks * passes * LOW_STEPS;
    c->n_groups = 1;
    c->n_beats = larger(steps, tiles * banks);
    c->max_outputs = (size_t)tiles * passes;
    assert_ok(sq_case_alloc(c, NULL));
    const struct sq_ports s = sq_ports_of(c->block, c->point->value);
    assert_true(sq_requant_choose(8.0 / 127 / 0.1, &mul, &shift)); // s_lo = 0.1
    const size_t len = sq_field_offset(s.in, s.n_in);
    for (uint32_t j = 0; j < tiles * banks; j++) {
        int32_t *const r = c->beats + j * len;
        r[0] = (j + 1) % banks == 0;
        r[1] = (int32_t)passes;
        r[2] = mul;
        r[3] = (int32_t)shift;
        for (unsigned i = 0; i < BANK; i++)
            r[4 + i] = v5_code[i];
    }
    for (uint32_t j = 0; j < steps; j++)
        for (unsigned i = 0; i < BANK / LOW_STEPS; i++)
            c->beats[j * len + 4 + BANK + i] = v5_weight[j % LOW_STEPS * (BANK / LOW_STEPS) + i];
    c->beats[4 + BANK + BANK / LOW_STEPS] = (int32_t)banks;
    c->beats[4 + BANK + BANK / LOW_STEPS + 1] = (int32_t)(tiles * passes);
    c->len[0][0] = tiles * banks;
    c->len[0][1] = steps;
    c->len[0][2] = 1;
}

// False: no Verilator here.
static bool load_rtl(const struct sq_point *point, struct sq_rtl *rtl)
{
    const struct sq_rtl_point p = {.block = &sq_core_act_block, .point = point};
    struct sq_error err = {.text = ""};
    const char *home = getenv("SQSIM_HOME");
    bool built;
    const enum sq_status status = sq_rtl_load(rtl, &p, home ? home : ".", &built, &err);
    if (status == SQ_ERR_TOOL) {
        printf("# skipped: %s\n", err.text);
        return false;
    }
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
    return true;
}

static uint64_t run_rtl(const struct sq_case *c, const struct sq_rtl *rtl)
{
    struct sq_result r;
    assert_ok(sq_lockstep_run(c, rtl->api, NULL, &r, NULL));
    CHECK_EQ(r.mismatch.kind, SQ_MISMATCH_NONE, "%s: %s\n", c->point->name, r.mismatch.what);
    return r.end;
}

static struct sq_case free_case(const struct sq_point *point)
{
    return (struct sq_case){.block = &sq_core_act_block,
                            .point = point,
                            .stall_seed = {1, 2, 3, 4, 5},
                            .seed = fixture_seed()};
}

// Two steps a bank: four passes hide the radix unit, three do not; one hides the rank unit.
SQ_TEST(the_rtl_waits_below_the_bound_only)
{
    struct sq_rtl rtl;
    for (unsigned i = 0; i < 2; i++) {
        const struct sq_point *const point = i == 0 ? &radix : &rank;
        if (!load_rtl(point, &rtl))
            return;
        for (uint32_t passes = 1; passes <= 5; passes++) {
            struct load l = {.is_radix = i == 0, .banks = 3, .passes = passes};
            struct sq_case c = free_case(point);
            uint64_t waits;
            l.config = config_of(4, 1);
            l.config.bank = BANK;
            l.config.high_per_bank = 2;
            fill_case(&c, TILES, l.banks, passes);
            const uint64_t cycles = run_rtl(&c, &rtl);
            CHECK_EQ(cycles, run(&l, &waits), "%s: %u passes\n", point->name, passes);
            const uint64_t ready = run_core(&l, fill(l.is_radix, l.banks), &waits);
            CHECK_EQ(cycles == ready, i == 1 || passes >= 4, "%s: %u passes\n", point->name,
                     passes);
            sq_case_free(&c);
        }
        sq_rtl_unload(&rtl);
    }
}

// V5 as INT8 codes: the sums are those of SPEC, and the RTL delivers them under every pair of
// stalls.
SQ_TEST(v5)
{
    struct sq_rtl rtl;
    for (unsigned i = 0; i < 2; i++) {
        struct sq_case c = free_case(i == 0 ? &radix : &rank);
        int32_t sums[2] = {0};
        fill_case(&c, 1, 1, 1);
        const struct sq_group in = {.record = c.beats, .len = c.len[0], .wrap = c.wrap};
        assert_int_equal(sq_core_act_block.golden(c.point->value, &in, sums), 1);
        assert_int_equal(sums[0], 81);
        assert_int_equal(sums[1], 316);
        sq_case_free(&c);
        if (!load_rtl(c.point, &rtl))
            return;
        fill_case(&c, 4, 2, 3);
        for (unsigned a = 0; a < SQ_N_STALL_KINDS; a++)
            for (unsigned b = 0; b < SQ_N_STALL_KINDS; b++) {
                c.stall[0] = (struct sq_stall){(enum sq_stall_kind)a, 3};
                c.stall[SQ_SINK] = (struct sq_stall){(enum sq_stall_kind)b, 2};
                c.stall[1] = (struct sq_stall){(enum sq_stall_kind)b, 3};
                (void)run_rtl(&c, &rtl);
            }
        sq_case_free(&c);
        sq_rtl_unload(&rtl);
    }
}
