// SPDX-License-Identifier: Apache-2.0
// Which groups the walker of GQSA (sq_gqsa_walk) must visit, and in which cycles. The RTL is held to the same models
// by co-simulation (tests/rtl/units.t). Exhausted: every matrix of 3 rows of 4 groups. Directed: V8's matrix.
#include "models/gqsa/sq_gqsa_walk.h"
#include "tests/unit/block_state.h"
#include "tests/unit/fixture.h"

SQ_TEST(walk_of_the_worked_matrix)
{
    // SPEC F.4: rows {1}, {0, 1}, {}, {0}
    static const uint32_t row_index[5] = {0, 1, 3, 3, 4};
    static const uint16_t groups[4] = {1, 0, 1, 0};
    static const struct sq_gqsa_step want[5] = {
        {.row = 0, .at = 0, .group = 1, .first = true, .last = true},
        {.row = 1, .at = 1, .group = 0, .first = true},
        {.row = 1, .at = 2, .group = 1, .last = true},
        {.row = 2, .at = 3, .first = true, .last = true, .empty = true},
        {.row = 3, .at = 3, .group = 0, .first = true, .last = true, .end = true},
    };
    struct sq_gqsa_step step[8];
    assert_int_equal(sq_gqsa_walk(row_index, 4, groups, 2, step), 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(step[i].row, want[i].row);
        assert_int_equal(step[i].at, want[i].at);
        assert_int_equal(step[i].group, want[i].group);
        assert_true(step[i].first == want[i].first && step[i].last == want[i].last);
        assert_true(step[i].empty == want[i].empty && step[i].end == want[i].end);
        assert_int_equal(step[i].error, 0);
    }
}

SQ_TEST(refused_matrices)
{
    struct sq_gqsa_step step[8];
    // {1, 1}: equal groups. SPEC M.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){0, 2}, 1, (uint16_t[]){1, 1}, 2, step), 2);
    assert_int_equal(step[0].error, 0);
    assert_int_equal(step[1].error, SQ_GQSA_ORDER);
    // Ascending is asked for inside a row only.
    sq_gqsa_walk((uint32_t[]){0, 1, 2}, 2, (uint16_t[]){1, 1}, 2, step);
    assert_int_equal(step[1].error, 0);
    // Out of range, and descending as well.
    sq_gqsa_walk((uint32_t[]){0, 2}, 1, (uint16_t[]){2, 1}, 2, step);
    assert_int_equal(step[0].error, SQ_GQSA_RANGE);
    assert_int_equal(step[1].error, SQ_GQSA_ORDER);
    // A decreasing offset; the row behind it goes on where the one before ended.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){0, 2, 1, 3}, 3, (uint16_t[]){0, 1, 0}, 2, step), 4);
    assert_true(step[2].empty && step[2].error == SQ_GQSA_OFFSET);
    assert_true(step[3].at == 2 && step[3].group == 0 && step[3].error == 0 && step[3].end);
    // row_index[0] not 0.
    assert_int_equal(sq_gqsa_walk((uint32_t[]){1, 2, 2}, 2, (uint16_t[]){0}, 2, step), 2);
    assert_int_equal(step[0].error, SQ_GQSA_OFFSET);
    assert_int_equal(step[0].at, 1);
    assert_int_equal(step[1].error, 0);
}

SQ_TEST(every_matrix_of_3_rows_of_4_groups)
{
    for (unsigned m = 0; m < 1u << 12; m++) {
        uint32_t row_index[4] = {0};
        uint16_t groups[12];
        struct sq_gqsa_step step[16];
        uint32_t at = 0;
        for (unsigned r = 0; r < 3; r++) {
            for (unsigned g = 0; g < 4; g++)
                if (m >> (4 * r + g) & 1)
                    groups[at++] = (uint16_t)g;
            row_index[r + 1] = at;
        }
        const size_t n = sq_gqsa_walk(row_index, 3, groups, 4, step);
        unsigned seen = 0, empty = 0;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(step[i].error, 0);
            empty += step[i].empty;
            if (!step[i].empty)
                seen |= 1u << (4 * step[i].row + step[i].group);
            assert_true(step[i].end == (i + 1 == n));
        }
        assert_int_equal(seen, m);
        assert_int_equal(n, at + empty);
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
        assert_int_equal(n_out, steps);
        assert_int_equal(last_out, steps + 2);
    }
}
