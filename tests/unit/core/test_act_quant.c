// SPDX-License-Identifier: Apache-2.0
// Dynamic activation SQ from INT8 codes (SPEC C.1, SEL_SRC = INT8). Judges: SPEC 0.4 (ii) and 0.3
// written out, in binary64, where code * mul / 2^shift is exact. Directed: V5 as INT8 codes.
// Sampled: banks of all widths, with ties and the code that is not one.
#include "tests/unit/fixture.h"

#include <math.h>

#include "models/core/sq_act_quant.h"
#include "models/output/sq_requant.h"

// x of V5 at s8 = s_hi = 8/127, rounded by hand; s_lo = 0.1.
SQ_TEST(v5)
{
    static const int8_t code[8] = {2, -127, 6, 11, -5, 95, -11, 3};
    static const int8_t want_lo[8] = {1, -8, 4, 7, -3, -8, -7, 2}, want_hi[2] = {-127, 95};
    static const int weight[8] = {1, 2, -3, 4, -5, 6, -7, 0};
    struct sq_act_quant q = {.low_bits = 4, .high_bits = 8};
    int8_t lo[8], hi[2];
    int p_lo = 0, p_hi = 0, high = 0;
    assert_true(sq_requant_choose(8.0 / 127 / 0.1, &q.mul, &q.shift));
    sq_act_quant_bank(&q, code, 8, 2, lo, hi);
    assert_memory_equal(lo, want_lo, sizeof lo);
    assert_memory_equal(hi, want_hi, sizeof hi);
    for (unsigned i = 0; i < 8; i++)
        if (lo[i] == -8)
            p_hi += hi[high++] * weight[i];
        else
            p_lo += lo[i] * weight[i];
    assert_int_equal(p_lo, 81);
    assert_int_equal(p_hi, 316);
}

// SPEC C.1; a code that 0.3 clamps away counts as what it clamps to.
static int magnitude(int8_t code, unsigned bits)
{
    const int most = (1 << (bits - 1)) - 1;
    return abs(code) < most ? abs(code) : most;
}

// The code that is none, -128, is no small one: it is kept before 126, and ties with 127.
SQ_TEST(no_code_ranks_high)
{
    static const int8_t code[4] = {126, -128, 3, -126}, tied[4] = {0, 127, -128, 5};
    static const int8_t want[4] = {7, -8, 3, -7};
    const struct sq_act_quant q = {.mul = 1, .shift = 0, .low_bits = 4, .high_bits = 8};
    int8_t lo[4], hi[1];
    sq_act_quant_bank(&q, code, 4, 1, lo, hi);
    assert_memory_equal(lo, want, sizeof lo);
    assert_int_equal(hi[0], -128);
    sq_act_quant_bank(&q, tied, 4, 1, lo, hi);
    assert_int_equal(lo[1], -8);
    assert_int_equal(hi[0], 127);
}

static bool is_masked(const int8_t *code, unsigned bank, unsigned k, unsigned bits, unsigned i)
{
    unsigned rank = 0;
    for (unsigned j = 0; j < bank; j++) {
        const int mi = magnitude(code[i], bits), mj = magnitude(code[j], bits);
        rank += mj > mi || (mj == mi && j < i);
    }
    return rank < k;
}

static int slow_low(int code, const struct sq_act_quant *q)
{
    const int qmax = (1 << (q->low_bits - 1)) - 1;
    const double x = nearbyint(ldexp((double)code * q->mul, -(int)q->shift)); // ties to even
    return x > qmax ? qmax : x < -qmax ? -qmax : (int)x;
}

SQ_TEST(equals_the_rules)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < 20000; n++) {
        const unsigned bank = 4u << sq_rng_below(&rng, 4), k = 1 + sq_rng_below(&rng, bank - 1);
        const bool has_ties = sq_rng_below(&rng, 2);
        struct sq_act_quant q = {.high_bits = sq_rng_below(&rng, 2) ? 8 : 4};
        int8_t code[32], lo[32], hi[32];
        unsigned high = 0;
        q.low_bits = 2 + sq_rng_below(&rng, q.high_bits == 8 ? 3 : 1);
        q.shift = sq_rng_below(&rng, has_ties ? 16 : 64);
        q.mul = (int16_t)(has_ties ? 1u << sq_rng_below(&rng, 15) : (uint32_t)sq_rng_next(&rng));
        for (unsigned i = 0; i < bank; i++)
            code[i] = (int8_t)sq_sign_extend(
                has_ties ? sq_rng_below(&rng, 5) - 2 : (uint32_t)sq_rng_next(&rng), q.high_bits);
        sq_act_quant_bank(&q, code, bank, k, lo, hi);
        for (unsigned i = 0; i < bank; i++) {
            const bool masked = is_masked(code, bank, k, q.high_bits, i);
            CHECK_EQ(lo[i], masked ? -(1 << (q.low_bits - 1)) : slow_low(code[i], &q),
                     "bank %u of %u, element %u\n", n, bank, i);
            if (masked)
                CHECK_EQ(hi[high++], code[i], "bank %u of %u, element %u\n", n, bank, i);
        }
        assert_int_equal(high, k);
    }
}
