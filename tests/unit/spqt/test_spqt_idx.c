// SPDX-License-Identifier: Apache-2.0
// Which columns the index unit of SpQt (sq_spqt_idx) must find, and in which cycles. The RTL is held to the same
// models by co-simulation (tests/rtl/units.t).
//
// Exhausted: all INT8 codes and all FP16 patterns against the comparison of the numbers; every mask of 16 columns
// with segments of 4 and beats of 1 to 7. Sampled: the rest, against the format's own model (sq_spqt.h).
// Directed: V10.
#include <math.h>

#include "models/number/sq_half.h"
#include "models/spqt/sq_spqt.h"
#include "models/spqt/sq_spqt_idx.h"
#include "sim/block/spqt/sq_spqt_idx_block.h"
#include "tests/unit/block_state.h"
#include "tests/unit/fixture.h"

SQ_TEST(v10)
{
    static const float x[8] = {.1f, -.9f, 0, .5f, -.5f, .02f, 1.2f, -.3f};
    const unsigned theta = sq_f32_to_f16(.3f);
    uint8_t mask[8];
    uint32_t idx[8];
    struct sq_spqt_beat beat[4];
    for (unsigned i = 0; i < 8; i++)
        mask[i] = sq_spqt_keep_fp16(sq_f32_to_f16(x[i]), theta);
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 0, 1, 1, 0, 1, 1}), 8);
    assert_int_equal(sq_spqt_collect(mask, 8, idx), 5);
    assert_memory_equal(idx, ((uint32_t[]){1, 3, 4, 6, 7}), 20);
    assert_int_equal(sq_spqt_pack(mask, 1, 8, 4, beat), 2);
    assert_int_equal(beat[0].n, 4);
    assert_false(beat[0].last);
    assert_int_equal(beat[1].n, 1);
    assert_int_equal(beat[1].index[0], 7);
    assert_int_equal(beat[1].total, 5);
    assert_true(beat[1].last);
}

SQ_TEST(magnitudes_compare_as_numbers)
{
    for (int x = -127; x <= 127; x++)
        for (unsigned theta = 0; theta <= 128; theta++)
            assert_int_equal(sq_spqt_keep_int8((int8_t)x, theta), abs(x) >= (int)theta);
    static const uint16_t thetas[] = {0, 1, 0x03ff, 0x0400, 0x34cd, 0x3c00, 0x7bff};
    for (unsigned t = 0; t < LEN(thetas); t++)
        for (unsigned x = 0; x <= 0xffff; x++)
            if (sq_spqt_is_legal_fp16((uint16_t)x))
                CHECK_EQ(sq_spqt_keep_fp16((uint16_t)x, thetas[t]),
                         fabsf(sq_half_to_float((uint16_t)x)) >= sq_half_to_float(thetas[t]),
                         "x %04x theta %04x\n", x, thetas[t]);
    assert_false(sq_spqt_is_legal_int8(-128));
    assert_false(sq_spqt_is_legal_fp16(0x7c00) || sq_spqt_is_legal_fp16(0xfe01));
}

// The beats of a mask hold its indices in order; all but the last are full.
static void check_beats(const uint8_t *mask, size_t segments, size_t width, size_t lanes)
{
    uint32_t idx[16];
    struct sq_spqt_beat beat[20];
    const size_t n_idx = sq_spqt_collect(mask, segments * width, idx);
    const size_t n = sq_spqt_pack(mask, segments, width, lanes, beat);
    size_t at = 0;
    for (size_t b = 0; b < n; b++) {
        assert_true(beat[b].last == (b + 1 == n));
        assert_true(beat[b].last || beat[b].n == lanes);
        for (size_t i = 0; i < beat[b].n; i++)
            assert_int_equal(beat[b].index[i], idx[at++]);
        for (size_t i = beat[b].n; i < lanes; i++)
            assert_int_equal(beat[b].index[i], 0);
        assert_int_equal(beat[b].total, at);
    }
    assert_int_equal(at, n_idx);
    // An empty last beat only where the others had left before the last segment came.
    assert_true(beat[n - 1].n > 0 || n == 1 || n_idx == 0 ||
                idx[n_idx - 1] < (segments - 1) * width);
    // And one that became full before it had left as well.
    assert_true(beat[n - 1].n < lanes || idx[n_idx - 1] >= (segments - 1) * width);
}

SQ_TEST(every_mask_of_16_columns)
{
    uint8_t mask[16];
    for (unsigned m = 0; m < 1u << 16; m++) {
        for (unsigned i = 0; i < 16; i++)
            mask[i] = m >> i & 1;
        check_beats(mask, 4, 4, 1 + m % 7);
        check_beats(mask, 2, 8, 3);
    }
}

SQ_TEST(spqt_columns_of_the_format)
{
    struct sq_rng rng = {fixture_seed()};
    enum { K = 2048 };
    static float x[K];
    static uint8_t mask[K];
    static uint32_t got[K], want[K];
    for (unsigned n = 0; n < 50; n++) {
        const float theta = sq_half_to_float((uint16_t)sq_rng_below(&rng, 0x3c00));
        for (unsigned i = 0; i < K; i++) {
            const uint16_t half = (uint16_t)(sq_rng_next(&rng) & 0xbbff); // |x| < 1
            x[i] = sq_half_to_float(half);
            mask[i] = sq_spqt_keep_fp16(half, sq_f32_to_f16(theta));
        }
        const size_t n_got = sq_spqt_collect(mask, K, got);
        assert_int_equal(n_got, sq_spqt_active(x, K, theta, 1024, want));
        assert_memory_equal(got, want, n_got * sizeof *got);
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
        }
}
