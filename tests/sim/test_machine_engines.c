// SPDX-License-Identifier: Apache-2.0
// A GEMM on a machine: the event engine equals the stepping engine in every counter; the counters
// close; the closed-form bound stays below; the traffic is what SPEC D.9 counts. State space:
// machine (cores, array, lanes, three buffers, DRAM rate, latency, burst) x format (all; group or
// row, layout, schedule) x M, N, K. Sampled at random, 1,500 cases with small machines, where the
// events are; directed: traffic with everything in the buffers, memory-bound and compute-bound
// limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/sq_format.h"
#include "models/sq_rng.h"
#include "sim/block/sq_core_run.h"
#include "sim/machine/sq_machine_run.h"
#include "tests/sim/random_recipe.h"

static uint64_t test_seed(void)
{
    const char *text = getenv("SQ_SEED");
    return text ? strtoull(text, NULL, 0) : 1;
}

static uint32_t between(struct sq_rng *r, uint32_t low, uint32_t high)
{
    return low + sq_rng_below(r, high - low + 1);
}

static struct sq_machine small_machine(struct sq_rng *r)
{
    struct sq_machine m = {.name = "random", .clock_hz = 1e9};
    m.core = sq_core_config_default();
    m.core.rows = between(r, 1, 8);
    m.core.cols = between(r, 1, 8);
    m.core.low_lanes = between(r, 1, 32);
    m.core.high_lanes = between(r, 1, 8);
    m.cores = sq_rng_below(r, 2) ? 1 : between(r, 1, 8);
    m.act_nbytes = UINT64_C(64) << sq_rng_below(r, 10);
    m.weight_nbytes = UINT64_C(256) << sq_rng_below(r, 10);
    m.out_nbytes = UINT64_C(512) << sq_rng_below(r, 8);
    m.dram_bytes_per_s = 1e6 * between(r, 50, sq_rng_below(r, 2) ? 2000 : 300000);
    m.burst_nbytes = 16u << sq_rng_below(r, 4);
    m.dram_latency = sq_rng_below(r, 3) ? sq_rng_below(r, 50) : sq_rng_below(r, 3000);
    sq_machine_derive(&m);
    return m;
}

static void check(const struct sq_machine *m, const struct sq_plan *p, unsigned index)
{
    const struct sq_machine_stats a = sq_machine_run_step(m, p);
    const struct sq_machine_stats b = sq_machine_run_fast(m, p);
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("seed %llu case %u: M=%llu N=%llu K=%llu, %u x %u x %u cores, blocks %llu x %llu "
                 "x %llu: stepping %llu cycles, fast %llu",
                 (unsigned long long)test_seed(), index, (unsigned long long)p->gemm.m,
                 (unsigned long long)p->gemm.n, (unsigned long long)p->gemm.k, p->cores_m,
                 p->cores_n, p->cores_k, (unsigned long long)p->count_m,
                 (unsigned long long)p->count_n, (unsigned long long)p->count_k,
                 (unsigned long long)a.cycles, (unsigned long long)b.cycles);
    uint64_t compute, dram, nbytes = 0;
    assert_true(a.cycles >= sq_plan_bound(p, &compute, &dram));
    assert_int_equal(sq_causes_sum(a.low) + a.index + a.memory, a.cycles);
    assert_int_equal(sq_causes_sum(a.high) + a.index + a.memory, a.cycles);
    assert_int_equal(a.index, p->index_cycles);
    assert_int_equal(a.dram_busy, dram);
    assert_true(a.dram_busy <= a.cycles && a.memory < a.cycles);
    assert_true(sq_plan_use_low(m, p, (double)a.cycles) <= 1);
    assert_true(sq_plan_use_high(m, p, (double)a.cycles) <= 1);
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        nbytes += a.nbytes[i];
    // No byte faster than the DRAM: burst_num/burst_den cycles per burst.
    assert_true((double)a.dram_busy * (double)p->step[0].nbytes[0] >= 0 &&
                (double)a.dram_busy * (double)m->burst_den * (double)m->burst_nbytes >=
                    (double)nbytes * (double)m->burst_num * (1 - 1e-9));
    // Every output leaves once; every operand is read at least once.
    assert_int_equal(a.nbytes[SQ_STREAM_OUT], 2 * p->gemm.m * p->gemm.n);
    assert_true(a.nbytes[SQ_STREAM_ACT] >= p->gemm.m * p->gemm.k / 2);
}

static void test_random(void **state)
{
    (void)state;
    struct sq_rng r = {test_seed()};
    unsigned refused = 0;
    for (unsigned checked = 0; checked < 1500;) {
        const struct sq_machine m = small_machine(&r);
        const struct sq_recipe s = random_recipe(&r);
        const uint32_t most = sq_rng_below(&r, 4) ? 40 : 400;
        const struct sq_gemm g = {between(&r, 1, most), between(&r, 1, most),
                                  between(&r, 1, sq_rng_below(&r, 4) ? 300 : 3000)};
        struct sq_plan p;
        struct sq_error err;
        if (sq_plan_make(&m, &s, &g, &p, &err) != SQ_OK) {
            assert_non_null(strstr(err.text, "does not hold one tile"));
            refused++;
            continue;
        }
        uint64_t compute, dram;
        if (sq_plan_bound(&p, &compute, &dram) > 400000)
            continue; // stepping it would take too long
        check(&m, &p, checked++);
    }
    assert_true(refused > 0);
}

// Buffers that hold everything: every operand crosses the DRAM once, in the bytes of SPEC D.9.
static void test_traffic(void **state)
{
    (void)state;
    struct sq_rng r = {test_seed()};
    struct sq_machine m = small_machine(&r);
    m.core = sq_core_config_default();
    m.cores = 1;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 30;
    const struct sq_recipe s = default_of(&sq_format_sq_w);
    struct sq_recipe w4 = default_of(&sq_format_dense);
    w4.weight.low_bits = 4;
    const struct sq_gemm g = {96, 160, 1024};
    struct sq_plan p;
    uint64_t n[SQ_N_STREAMS], dram;
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    sq_plan_traffic(&p, n, &dram);
    assert_int_equal(n[SQ_STREAM_LO] + n[SQ_STREAM_HI], g.n * g.k * 6 / 8);
    assert_int_equal(n[SQ_STREAM_SCALE], 8 * g.n * g.k / 128);
    assert_int_equal(n[SQ_STREAM_ACT], g.m * g.k);
    assert_int_equal(n[SQ_STREAM_ACT_SCALE], 4 * g.m);
    assert_int_equal(n[SQ_STREAM_OUT], 2 * g.m * g.n);
    assert_int_equal(n[SQ_STREAM_PARTIAL], 0);
    assert_int_equal(sq_plan_make(&m, &w4, &g, &p, NULL), SQ_OK);
    sq_plan_traffic(&p, n, &dram);
    assert_int_equal(n[SQ_STREAM_LO], g.n * g.k / 2);
    assert_int_equal(n[SQ_STREAM_HI], 0);
    assert_int_equal(n[SQ_STREAM_SCALE], 4 * g.n * g.k / 128);
}

// SpQt, one token, half of the columns, bursts of 64 bytes (tests/unit/test_machine, by hand): 7/12
// of the superblocks, rows rounded up to 256; row by row all of them.
static void test_spqt_traffic(void **state)
{
    (void)state;
    struct sq_rng r = {test_seed()};
    struct sq_machine m = small_machine(&r);
    m.core = sq_core_config_default();
    m.cores = 1;
    m.burst_nbytes = 64;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 30;
    struct sq_recipe s = default_of(&sq_format_spqt);
    struct sq_gemm g = {1, 512, 3072};
    struct sq_plan p;
    uint64_t n[SQ_N_STREAMS], dram;
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    sq_plan_traffic(&p, n, &dram);
    assert_int_equal(n[SQ_STREAM_LO], g.n * g.k / 2 * 7 / 12);
    assert_int_equal(n[SQ_STREAM_SCALE], g.n * g.k / 16 * 7 / 12);
    g.n = 257;
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    sq_plan_traffic(&p, n, &dram);
    assert_int_equal(n[SQ_STREAM_LO], 512 * g.k / 2 * 7 / 12);
    s.layout = SQ_SPQT_ROW;
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    sq_plan_traffic(&p, n, &dram);
    assert_int_equal(n[SQ_STREAM_LO], g.n * g.k / 2);
    assert_int_equal(n[SQ_STREAM_SCALE], g.n * g.k / 16);
}

// A DRAM far too slow: time = bytes / rate; far too fast: time = the core's.
static void test_limits(void **state)
{
    (void)state;
    struct sq_rng r = {test_seed()};
    struct sq_machine m = small_machine(&r);
    m.core = sq_core_config_default();
    m.cores = 1;
    m.act_nbytes = m.weight_nbytes = m.out_nbytes = 1 << 18;
    m.burst_nbytes = 64;
    m.dram_latency = 0;
    const struct sq_recipe s = default_of(&sq_format_sq_w);
    const struct sq_gemm g = {256, 1024, 2048};
    struct sq_plan p;
    uint64_t compute, dram;
    m.dram_bytes_per_s = 1e8;
    sq_machine_derive(&m);
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    struct sq_machine_stats slow = sq_machine_run_fast(&m, &p);
    (void)sq_plan_bound(&p, &compute, &dram);
    assert_true((double)slow.cycles < 1.01 * (double)dram);
    m.dram_bytes_per_s = 1e13;
    sq_machine_derive(&m);
    assert_int_equal(sq_plan_make(&m, &s, &g, &p, NULL), SQ_OK);
    struct sq_machine_stats fast = sq_machine_run_fast(&m, &p);
    (void)sq_plan_bound(&p, &compute, &dram);
    assert_int_equal(compute, g.m / 32 * (g.n / 32) * (g.k / 16));
    assert_true((double)fast.cycles < 1.01 * (double)compute);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_spqt_traffic),
        cmocka_unit_test(test_limits),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
