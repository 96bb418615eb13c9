// SPDX-License-Identifier: Apache-2.0
// Latency and throughput claims as exact cycles: the units of sq_pipeline.h (SPEC C.3, D.8), and
// on the core the boundary of SPEC D.2 and vector V13. The RTL is held to the same models by
// co-simulation (tests/rtl/units.t, cosim.t), so each claim is one about both.
//
// Exhausted: every magnitude width of the TopK units, both array depths, every legal pair of bank
// and sparsity with every ratio r = L/H in {1, 2, 4, 8, 16} that has whole steps.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/block/flow/sq_pipeline.h"
#include "tests/test.h"

// Cycle in which beat n is accepted and its result is first offered, with free streams; every
// `group`-th beat is the last of its group.
static void times(enum sq_pipeline_kind kind, unsigned depth, unsigned group, unsigned n,
                  unsigned *accepted, unsigned *offered)
{
    struct sq_pipeline s;
    unsigned n_in = 0, n_out = 0;
    sq_pipeline_init(&s, kind, depth);
    for (unsigned cycle = 0; n_out <= n / group; cycle++) {
        struct sq_pipeline_out out;
        const bool last = (n_in + 1) % group == 0;
        assert_true(cycle < 10000);
        sq_pipeline_comb(&s, true, &out);
        if (out.in_ready && n_in == n)
            *accepted = cycle;
        if (out.out_valid && n_out == n / group)
            *offered = cycle;
        sq_pipeline_clock(&s, true, last, true);
        n_in += out.in_ready;
        n_out += out.out_valid;
    }
}

static void claim(enum sq_pipeline_kind kind, unsigned depth, unsigned latency, unsigned interval)
{
    for (unsigned n = 0; n < 20; n++) {
        unsigned accepted = 0, offered = 0;
        times(kind, depth, 1, n, &accepted, &offered);
        assert_int_equal(accepted, n * interval);
        assert_int_equal(offered - accepted, latency);
    }
}

SQ_TEST(topk_rank_takes_a_bank_per_cycle_and_two_cycles)
{
    claim(SQ_TIMING_PIPE, 2, 2, 1);
}

SQ_TEST(topk_radix_takes_one_cycle_per_bit_and_one)
{
    for (unsigned bits = 1; bits <= 15; bits++)
        claim(SQ_TIMING_SERIAL, bits, bits + 1, bits + 1);
}

SQ_TEST(arrays_take_a_beat_per_cycle)
{
    for (unsigned depth = 2; depth <= 3; depth++) {
        claim(SQ_TIMING_ARRAY, depth, depth + 1, 1);
        for (unsigned group = 2; group < 9; group++) {
            unsigned accepted = 0, offered = 0;
            times(SQ_TIMING_ARRAY, depth, group, 3 * group - 1, &accepted, &offered);
            assert_int_equal(accepted, 3 * group - 1);
            assert_int_equal(offered - accepted, depth + 1);
        }
    }
}

// SPEC D.2: the high path is hidden iff s >= 1 - 1/r. Long jobs: the cycles per bank tell.
SQ_TEST(high_path_is_hidden_from_one_minus_one_over_r)
{
    unsigned n_hidden = 0, n_not = 0;
    for (unsigned bank = 8; bank <= 128; bank *= 2)
        for (unsigned shift = 1; shift <= 4; shift++)
            for (unsigned r = 1; r <= 16; r *= 2) {
                struct sq_core_config c = sq_core_config_default();
                c.bank = bank;
                c.high_per_bank = bank >> shift; // s = 1 - 2^-shift
                if (c.high_per_bank == 0 || r > bank)
                    continue;
                c.low_lanes = r;
                c.high_lanes = 1; // whole steps
                const struct sq_job job = {.group_banks = 1000, .groups = 1};
                const struct sq_rates free_streams = {1, 1, 1, 1};
                const uint64_t cycles = sq_core_run_fast(&c, &job, &free_streams).cycles;
                const uint64_t low = 1000u * bank / r, high = 1000u * c.high_per_bank;
                const bool is_hidden = 1u << shift >= r; // s >= 1 - 1/r
                assert_int_equal(is_hidden, high <= low);
                // Beyond the busier path only the fill of one bank and the pipelines remain.
                const uint64_t busy = is_hidden ? low : high;
                assert_in_range(cycles, busy, busy + bank / r + c.high_per_bank + 8);
                n_hidden += is_hidden;
                n_not += !is_hidden;
            }
    assert_true(n_hidden > 30 && n_not > 10);
}

// V13 on an array of 16 x 16 PEs with L = 16, H = 4: 4096 and 1024 MAC per cycle, M = 2048,
// N = K = 4096. The exact numbers of the vector ignore fills; ours may only add those.
SQ_TEST(v13)
{
    static const struct {
        unsigned k; // of a bank of 32
        uint64_t cycles;
    } want[] = {{16, 16777216}, {8, 8388608}, {4, 8388608}, {2, 8388608}};
    for (unsigned i = 0; i < 4; i++) {
        struct sq_core_config c = sq_core_config_default();
        c.rows = c.cols = 16;
        c.low_lanes = 16;
        c.high_lanes = 4;
        c.bank = 32;
        c.high_per_bank = want[i].k;
        const struct sq_job job = {.group_banks = 4096 / 32, .groups = 2048 / 16 * (4096 / 16)};
        const struct sq_rates free_streams = {1, 1, 1, 1};
        const uint64_t cycles = sq_core_run_fast(&c, &job, &free_streams).cycles;
        assert_in_range(cycles, want[i].cycles, want[i].cycles + 16);
    }
}
