// SPDX-License-Identifier: Apache-2.0
// The fast engine equals the stepping engine in every counter, and both obey the ladder and the
// accounting. State space: lanes, bank, k, group length, groups, four stream rates. Sampled at
// random, 10,000 configurations, with small values preferred (where the events are); directed: jobs
// of one group, one bank, long groups (G = K) and many groups.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "tests/unit/fixture.h"

static struct sq_core_config random_config(struct sq_rng *r)
{
    struct sq_core_config c = sq_core_config_default();
    c.bank = 4u << sq_rng_below(r, 6);
    do
        c.high_per_bank = c.bank >> (1 + sq_rng_below(r, 4));
    while (c.high_per_bank == 0);
    c.low_lanes = 1 + sq_rng_below(r, sq_rng_below(r, 2) ? 16 : 128);
    c.high_lanes = 1 + sq_rng_below(r, c.bank < 64 ? c.bank : 64);
    return c;
}

// Mostly 1, sometimes a small number, rarely a large one.
static uint32_t random_rate(struct sq_rng *r)
{
    switch (sq_rng_below(r, 4)) {
    case 0:
        return 1 + sq_rng_below(r, 5);
    case 1:
        return 1 + sq_rng_below(r, 60);
    default:
        return 1;
    }
}

static void check(const struct sq_core_config *c, const struct sq_job *job,
                  const struct sq_rates *rates)
{
    const struct sq_core_stats a = sq_core_run_step(c, job, rates);
    const struct sq_core_stats b = sq_core_run_fast(c, job, rates);
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("seed %llu: L=%u H=%u b=%u k=%u banks=%u groups=%u rates %u %u %u %u: "
                 "stepping %llu cycles, fast %llu",
                 (unsigned long long)fixture_seed(), c->low_lanes, c->high_lanes, c->bank,
                 c->high_per_bank, job->group_banks, job->groups, rates->act, rates->lo, rates->hi,
                 rates->out, (unsigned long long)a.cycles, (unsigned long long)b.cycles);
    assert_true(a.cycles >= sq_job_bound(c, job));
    assert_int_equal(sq_causes_sum(a.low), a.cycles);
    assert_int_equal(sq_causes_sum(a.high), a.cycles);
    assert_int_equal(a.low[SQ_CAUSE_BUSY], sq_job_low_beats(c, job));
    assert_int_equal(a.high[SQ_CAUSE_BUSY], sq_job_high_beats(c, job));
}

SQ_TEST(test_random)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned checked = 0; checked < fixture_cases(10000);) {
        const struct sq_core_config c = random_config(&r);
        const struct sq_job job = {.group_banks =
                                       1 + sq_rng_below(&r, sq_rng_below(&r, 8) ? 8 : 400),
                                   .groups = 1 + sq_rng_below(&r, sq_rng_below(&r, 8) ? 12 : 300)};
        const struct sq_rates rates = {random_rate(&r), random_rate(&r), random_rate(&r),
                                       random_rate(&r)};
        if (sq_job_bound(&c, &job) > 50000)
            continue; // stepping it would take too long
        check(&c, &job, &rates);
        checked++;
    }
}

SQ_TEST(test_directed)
{
    static const struct sq_job jobs[] = {{1, 1}, {1, 2}, {2, 1}, {1, 5000}, {5000, 1}, {3000, 3}};
    static const struct sq_rates rates[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 3, 1, 1},
                                            {1, 1, 5, 1}, {1, 1, 1, 9}, {7, 5, 3, 11}};
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (unsigned j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            const struct sq_core_config c = random_config(&r);
            check(&c, &jobs[i], &rates[j]);
        }
}

// With free streams a group takes exactly the slower path times its banks, plus a constant for the
// fill and drain of the job, for every shape: no hidden bubbles.
SQ_TEST(test_full_throughput)
{
    struct sq_rng r = {fixture_seed()};
    const struct sq_rates rates = {1, 1, 1, 1};
    for (unsigned i = 0; i < fixture_cases(2000); i++) {
        const struct sq_core_config c = random_config(&r);
        const uint32_t banks = 1 + sq_rng_below(&r, 6);
        const struct sq_job job_a = {banks, 20}, job_b = {banks, 70};
        const uint64_t a = sq_core_run_fast(&c, &job_a, &rates).cycles;
        const uint64_t b = sq_core_run_fast(&c, &job_b, &rates).cycles;
        assert_int_equal(b - a, sq_job_bound(&c, &job_b) - sq_job_bound(&c, &job_a));
    }
}
