// SPDX-License-Identifier: Apache-2.0
// Banks narrower than the low lanes stand side by side in a core (sq_core_join_banks). Exhausted:
// every bank, k and scale group of a format, low lanes 1..128, whole rows of 1..40 banks: the
// joined bank fits into the lanes and divides the scale group, nothing wider that is legal does,
// and no GEMM takes longer than bank by bank; a machine's core has the same one. Sampled, 300 drawn
// jobs: sums of joined banks are those of the banks they hold. RTL of joined banks:
// test_machine_rtl.c, tests/rtl/layers.t.
#include <string.h>

#include "sim/block/core/sq_core_block.h"
#include "sim/block/core/sq_core_run.h"
#include "tests/unit/fixture.h"

#include "sim/format/core/sq_grid_recipe.h"
#include "tests/sim/random_recipe.h"

static struct sq_core_config core_of(const struct sq_format *f, unsigned low_lanes)
{
    struct sq_core_config c = sq_core_config_default();
    c.bank = f->bank;
    c.high_per_bank = f->high_per_bank;
    c.low_lanes = low_lanes;
    return c;
}

static uint64_t cycles_of(const struct sq_core_config *c, const struct sq_format *f, size_t k)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_job job;
    assert_ok(sq_gemm_job(c, f, 40, 70, k, &job, NULL));
    const struct sq_core_stats s = sq_core_run_fast(c, &job, &free_streams);
    assert_int_equal(sq_causes_sum(s.low), s.cycles);
    assert_int_equal(sq_causes_sum(s.high), s.cycles);
    assert_true(sq_job_bound(c, &job) <= s.cycles);
    assert_true(sq_utilisation_low(c, 40, 70, k, s.cycles) <= 1);
    assert_true(sq_utilisation_high(c, 40, 70, k, s.cycles) <= 1);
    return s.cycles;
}

static void check(const struct sq_format *f, unsigned low_lanes, size_t k)
{
    const struct sq_core_config one = core_of(f, low_lanes), all = sq_gemm_core(&one, f, k);
    const size_t group = sq_group_len(f, k);
    const unsigned wider = 2 * all.bank;
    assert_ok(sq_core_config_check(&all, NULL));
    assert_int_equal(all.bank % f->bank, 0);
    assert_int_equal(all.high_per_bank * f->bank, all.bank * f->high_per_bank);
    assert_true(all.bank == f->bank || all.bank <= low_lanes);
    assert_int_equal(group % all.bank, 0);
    assert_true(wider > low_lanes || wider > SQ_BANK_MAX || group % wider > 0);
    assert_true(cycles_of(&all, f, k) <= cycles_of(&one, f, k));
}

// Calls visit for every legal format of 8/4 bits.
static void each_format(void (*visit)(const struct sq_format *f))
{
    static const unsigned group[] = {0, 32, 64, 128};
    for (unsigned bank = SQ_BANK_MIN; bank <= SQ_BANK_MAX; bank *= 2)
        for (unsigned k = 1; k <= bank / 2; k *= 2)
            for (unsigned g = 0; g < LEN(group); g++) {
                const struct sq_format f = {8, 4, bank, k, group[g]};
                if (sq_format_check(&f, NULL) == SQ_OK)
                    visit(&f);
            }
}

static void visit_lanes(const struct sq_format *f)
{
    for (unsigned lanes = 1; lanes <= 128; lanes++)
        check(f, lanes, sq_k_padded(f, 5 * 128));
    for (unsigned banks = 1; f->group == 0 && banks <= 40; banks++)
        check(f, 64, (size_t)banks * f->bank);
}

SQ_TEST(test_core)
{
    each_format(visit_lanes);
}

static void visit_machine(const struct sq_format *f)
{
    struct sq_recipe r = default_of(&sq_format_sq_w);
    r.bank = f->bank;
    r.high_per_bank = f->high_per_bank;
    r.group = f->group;
    for (unsigned lanes = 4; lanes <= 128; lanes++) {
        const struct sq_core_config has = core_of(f, lanes);
        struct sq_demand demand;
        sq_demand_of(&r, &has, 64, 5 * 128, 0, &demand);
        const struct sq_cost_unit u = demand.cost;
        const struct sq_core_config alone = sq_gemm_core(&has, f, 5 * 128);
        assert_int_equal(u.unit.core.bank, alone.bank);
        assert_int_equal(u.unit.core.high_per_bank, alone.high_per_bank);
        assert_int_equal(u.span, alone.bank);
    }
}

SQ_TEST(test_machine)
{
    each_format(visit_machine);
}

// One PE, whose operands are the same bytes however wide a bank is.
SQ_TEST(test_sums)
{
    struct sq_rng r = {fixture_seed()};
    unsigned joined = 0;
    for (unsigned i = 0; i < 300; i++) {
        struct sq_format f = {8, 4, 4u << sq_rng_below(&r, 4), 0, 128};
        struct sq_core_stimulus s;
        f.high_per_bank = f.bank >> (1 + sq_rng_below(&r, 2));
        struct sq_core_config one = core_of(&f, 1 + sq_rng_below(&r, 128));
        one.rows = one.cols = 1;
        const struct sq_core_config all = sq_gemm_core(&one, &f, 128);
        const unsigned banks = all.bank / one.bank;
        assert_ok(sq_core_draw(&one, &r, &s, NULL));
        const struct sq_core_operands narrow = {s.n_banks, s.act, s.lo, s.hi};
        const struct sq_core_operands wide = {s.n_banks / banks, s.act, s.lo, s.hi};
        for (uint64_t b = 0; b<wide.n_banks; b++, joined += banks> 1) {
            int32_t want[2], got[2];
            if (sq_core_golden_tile(&one, &narrow, b * banks, banks, &want[0], &want[1]))
                continue; // a mask that is none
            assert_int_equal(sq_core_golden_tile(&all, &wide, b, 1, &got[0], &got[1]), 0);
            assert_memory_equal(got, want, sizeof got);
        }
        sq_core_stimulus_free(&s);
    }
    assert_true(joined > 1000);
}
