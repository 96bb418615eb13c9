// SPDX-License-Identifier: Apache-2.0
// Cycle claims about the blocks whose output beats are not one per input beat, as exact numbers.
// The RTL is held to the same models by co-simulation (tests/rtl/units.t), so each claim is one
// about both.
//
// Exhausted: every number of words a beat; every matrix of 3 rows of 4 groups.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sim/block/spqt/sq_spqt_idx_block.h"
#include "tests/test.h"

// A block at a point of these parameters, reset.
static void *start(const struct sq_block *block, const unsigned *value)
{
    void *state = calloc(1, block->timing->nbytes);
    assert_non_null(state);
    block->init(value, state);
    return state;
}

// SpQR: a beat per cycle, and the first of a tile leaves a cycle after its last one came.
SQ_TEST(spqr_takes_a_beat_per_cycle)
{
    for (unsigned beats = 1; beats <= 16; beats *= 2) {
        const struct sq_offer in[2] = {{.valid = true}};
        void *const s = start(&sq_spqr_dec_block, (unsigned[]){16 / beats}); // words a beat
        for (unsigned cycle = 0; cycle < 100; cycle++) {
            struct sq_handshake out;
            sq_spqr_dec_block.timing->comb(s, in, true, &out);
            assert_true(out.in_ready[0]);
            assert_true(out.out_valid == (cycle >= beats));
            sq_spqr_dec_block.timing->clock(s, in, true);
        }
        free(s);
    }
}

// SpQt: latency 3; a segment per cycle where it has no more than `lanes` indices, otherwise n of
// them take about n / lanes cycles: exactly as many cycles as full beats leave.
SQ_TEST(spqt_takes_what_its_lanes_carry)
{
    for (unsigned lanes = 1; lanes <= 16; lanes++)
        for (uint32_t n = 0; n <= 32; n++) {
            const struct sq_timing *const timing = sq_spqt_idx_block.timing;
            const struct sq_offer in[2] = {{.valid = true, .n = n}};
            struct sq_spqt_idx_sim *const s =
                start(&sq_spqt_idx_block, (unsigned[]){32, lanes, 0, 16});
            unsigned n_in = 0, n_out = 0;
            for (unsigned cycle = 0; cycle < 1000; cycle++) {
                struct sq_handshake out;
                timing->comb(s, in, true, &out);
                if (n >= lanes && cycle < 4)
                    assert_true(out.out_valid == (cycle == 3));
                n_in += out.in_ready[0];
                n_out += out.out_valid;
                timing->clock(s, in, true);
                assert_in_range(s->held, 0, lanes - 1 + n); // the places of the buffer
            }
            if (n <= lanes)
                assert_int_equal(n_in, 1000);
            else
                assert_int_equal(n_out, 997);
            assert_in_range((uint64_t)n_in * n, (uint64_t)n_out * lanes,
                            (uint64_t)n_out * lanes + 3 * n + lanes);
            free(s);
        }
}

// GQSA: a row costs max(1, groups) cycles; one cycle more for row_index[0] and one for each of the
// registers before and behind the walk.
SQ_TEST(walk_costs_a_cycle_per_group_or_empty_row)
{
    for (unsigned m = 0; m < 1u << 12; m++) {
        uint32_t offset[4] = {0};
        unsigned steps = 0, next = 0, n_out = 0, last_out = 0;
        for (unsigned r = 0; r < 3; r++) {
            const unsigned n = (unsigned)__builtin_popcount(m >> (4 * r) & 15);
            offset[r + 1] = offset[r] + n;
            steps += n > 0 ? n : 1;
        }
        const struct sq_timing *const timing = sq_gqsa_walk_block.timing;
        void *const s = start(&sq_gqsa_walk_block, (unsigned[]){16, 3, 8, 4});
        for (unsigned cycle = 0; cycle < 30; cycle++) {
            const struct sq_offer in[2] = {
                {.valid = next < 4, .last = next == 3, .n = next < 4 ? offset[next] : 0},
                {.valid = true}};
            struct sq_handshake out;
            timing->comb(s, in, true, &out);
            n_out += out.out_valid;
            last_out = out.out_valid ? cycle : last_out;
            next += in[0].valid && out.in_ready[0];
            timing->clock(s, in, true);
        }
        free(s);
        assert_int_equal(n_out, steps);
        assert_int_equal(last_out, steps + 2);
    }
}
