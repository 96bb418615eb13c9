// SPDX-License-Identifier: Apache-2.0
// Cycle claims about the blocks of sq_flow_sim.h as exact numbers. The RTL is held to the same
// models by co-simulation (tests/rtl/units.t), so each claim is one about both.
//
// Exhausted: every number of words a beat; every matrix of 3 rows of 4 groups; both TopK units with
// 1 to 16 passes over tiles of 1 to 8 banks, on either side of the boundary of SPEC C.4.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/block/sq_flow_sim.h"

enum { MAG_W = 8, ARRAY_DEPTH = 3 }; // of split codes on activations

// SpQR: a beat per cycle, and the first of a tile leaves a cycle after its last one came.
static void spqr_takes_a_beat_per_cycle(void **state)
{
    (void)state;
    for (unsigned beats = 1; beats <= 16; beats *= 2) {
        const struct sq_flow_beat in[2] = {{.valid = true}};
        struct sq_flow_sim s;
        sq_flow_sim_init(&s, SQ_FLOW_TILE, beats);
        for (unsigned cycle = 0; cycle < 100; cycle++) {
            struct sq_flow_out out;
            sq_flow_comb(&s, in, true, &out);
            assert_true(out.in_ready[0]);
            assert_true(out.out_valid == (cycle >= beats));
            sq_flow_clock(&s, in, true);
        }
    }
}

// SpQt: latency 3; a segment per cycle where it has no more than `lanes` indices, otherwise n of
// them take about n / lanes cycles: exactly as many cycles as full beats leave.
static void spqt_takes_what_its_lanes_carry(void **state)
{
    (void)state;
    for (unsigned lanes = 1; lanes <= 16; lanes++)
        for (uint32_t n = 0; n <= 32; n++) {
            const struct sq_flow_beat in[2] = {{.valid = true, .n = n}};
            struct sq_flow_sim s;
            unsigned n_in = 0, n_out = 0;
            sq_flow_sim_init(&s, SQ_FLOW_PACK, lanes);
            for (unsigned cycle = 0; cycle < 1000; cycle++) {
                struct sq_flow_out out;
                sq_flow_comb(&s, in, true, &out);
                if (n >= lanes && cycle < 4)
                    assert_true(out.out_valid == (cycle == 3));
                n_in += out.in_ready[0];
                n_out += out.out_valid;
                sq_flow_clock(&s, in, true);
                assert_in_range(s.held, 0, lanes - 1 + n); // the places of the buffer
            }
            if (n <= lanes)
                assert_int_equal(n_in, 1000);
            else
                assert_int_equal(n_out, 997);
            assert_in_range((uint64_t)n_in * n, (uint64_t)n_out * lanes,
                            (uint64_t)n_out * lanes + 3 * n + lanes);
        }
}

// GQSA: a row costs max(1, groups) cycles; one cycle more for row_index[0] and one for each of the
// registers before and behind the walk.
static void walk_costs_a_cycle_per_group_or_empty_row(void **state)
{
    (void)state;
    for (unsigned m = 0; m < 1u << 12; m++) {
        uint32_t offset[4] = {0};
        unsigned steps = 0, next = 0, n_out = 0, last_out = 0;
        for (unsigned r = 0; r < 3; r++) {
            const unsigned n = (unsigned)__builtin_popcount(m >> (4 * r) & 15);
            offset[r + 1] = offset[r] + n;
            steps += n > 0 ? n : 1;
        }
        struct sq_flow_sim s;
        sq_flow_sim_init(&s, SQ_FLOW_WALK, 0);
        for (unsigned cycle = 0; cycle < 30; cycle++) {
            const struct sq_flow_beat in[2] = {
                {.valid = next < 4, .last = next == 3, .n = next < 4 ? offset[next] : 0},
                {.valid = true}};
            struct sq_flow_out out;
            sq_flow_comb(&s, in, true, &out);
            n_out += out.out_valid;
            last_out = out.out_valid ? cycle : last_out;
            next += in[0].valid && out.in_ready[0];
            sq_flow_clock(&s, in, true);
        }
        assert_int_equal(n_out, steps);
        assert_int_equal(last_out, steps + 2);
    }
}

// Cycles in which the array waits for masks, over `tiles` tiles of n banks used `passes` times
// each, from the first bank on that it is given; all else is free.
static unsigned waits_for_masks(enum sq_stream_kind kind, unsigned depth, unsigned tiles,
                                uint32_t banks, uint32_t passes)
{
    struct sq_flow_sim s;
    unsigned waits = 0, given = 0, taken = 0;
    sq_flow_sim_init(&s, SQ_FLOW_STORE, 0);
    sq_flow_store_units(&s, kind, depth, ARRAY_DEPTH);
    for (unsigned cycle = 0; given < tiles * banks * passes; cycle++) {
        const struct sq_flow_beat in[2] = {
            {.valid = true, .last = (taken + 1) % banks == 0, .n = passes}, {.valid = true}};
        struct sq_flow_out out;
        sq_flow_comb(&s, in, true, &out);
        const enum sq_flow_wait wait = sq_flow_store_wait(&s, in, true);
        assert_true(wait != SQ_FLOW_WAIT_OTHER);
        waits += wait == SQ_FLOW_WAIT_MASK && given > 0;
        given += wait == SQ_FLOW_BUSY;
        taken += out.in_ready[0];
        sq_flow_clock(&s, in, true);
        assert_true(cycle < 1000000);
    }
    return waits;
}

// SPEC C.4: the mask unit makes a bank every II cycles (rank 1, radix 9); it is hidden iff a bank
// is used at least II times.
static void masks_are_hidden_from_the_interval_of_their_unit(void **state)
{
    (void)state;
    for (uint32_t banks = 1; banks <= 8; banks++)
        for (uint32_t passes = 1; passes <= 16; passes++) {
            const unsigned rank = waits_for_masks(SQ_STREAM_PIPE, 2, 50, banks, passes);
            const unsigned radix = waits_for_masks(SQ_STREAM_SERIAL, MAG_W, 50, banks, passes);
            assert_int_equal(rank, 0);
            assert_true((radix == 0) == (passes >= MAG_W + 1));
            // Below it, what is missing per tile; the last tiles were ahead by a few cycles.
            if (passes < MAG_W + 1)
                assert_in_range(radix, 47 * banks * (MAG_W + 1 - passes),
                                50 * banks * (MAG_W + 1 - passes));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spqr_takes_a_beat_per_cycle),
        cmocka_unit_test(spqt_takes_what_its_lanes_carry),
        cmocka_unit_test(walk_costs_a_cycle_per_group_or_empty_row),
        cmocka_unit_test(masks_are_hidden_from_the_interval_of_their_unit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
