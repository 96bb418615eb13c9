// SPDX-License-Identifier: Apache-2.0
// sq_act_quantize, sq_combine (SPEC A.7), and the traps around them.
//
// Directed: the mask code taken for -8, an order of FP32 operations that shows; every largest magnitude of a token of
// bfloat16. Sampled: activations against the slow quantizer.
#include <math.h>

#include "models/core/sq_act_token.h"
#include "models/core/sq_gather.h"
#include "models/core/sq_mac.h"
#include "models/core/sq_slow.h"
#include "models/number/sq_bits.h"
#include "tests/unit/fixture.h"

static const int8_t act[8] = {3, -1, 2, 4, 1, -2, 5, -3};

static int32_t dot(const int8_t *code, const int8_t *x, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += code[i] * x[i];
    return sum;
}

// Naive hardware multiplies the mask code as -8. On the raw codes of V1 that gives 32; the gather
// unit's clean codes give 16; the difference is 8 times the activations at the masked places.
SQ_TEST(mask_code_multiplies_as_zero)
{
    const int8_t raw[8] = {1, -7, 0, 4, -8, 0, -2, -8}, hi[2] = {-127, 64};
    int8_t clean[8], gathered[2];
    assert_true(sq_gather_bank(raw, act, 8, 2, 4, clean, gathered));
    assert_int_equal(dot(raw, act, 8), 32);
    assert_int_equal(dot(clean, act, 8), 16);
    assert_int_equal(8 * (gathered[0] + gathered[1]), 16 - 32);
    assert_int_equal(dot(hi, gathered, 2), -319); // the compact high path: P_hi of V1
}

static float of_bf16(uint16_t x)
{
    return sq_float_of((uint32_t)x << 16);
}

// The largest magnitude, and elements of so many octaves below it that all codes come.
static void token_of_bfloat16(struct sq_rng *rng, uint32_t amax, unsigned bits)
{
    enum { K = 64 };
    const struct sq_act_token t = sq_act_token_of((uint16_t)amax, bits);
    const float scale = sq_scale_from_amax(of_bf16((uint16_t)amax), bits);
    const uint32_t word = sq_act_token_bits(&t);
    if (memcmp(&word, &scale, sizeof word) != 0)
        fail_msg("%u bits, amax %04x: scale %08x, want %a", bits, amax, word, (double)scale);
    for (unsigned i = 0; i < K; i++) {
        const uint32_t less = i ? sq_rng_below(rng, (3 + bits) * 128) : 0;
        const uint16_t x = (uint16_t)((amax > less ? amax - less : 0) | sq_rng_below(rng, 2) << 15);
        const int want = sq_quantize(of_bf16(x), scale, bits), got = sq_act_token_code(&t, x, bits);
        if (got != want)
            fail_msg("%u bits, amax %04x, x %04x: code %d, want %d", bits, amax, x, got, want);
    }
}

// The encoder in integers against that in binary32: every largest magnitude, every width of a code.
SQ_TEST(tokens_of_bfloat16)
{
    struct sq_rng rng = {fixture_seed()};
    for (uint32_t amax = 0; amax < 0x7f80; amax++)
        for (unsigned bits = 2; bits <= 8; bits++)
            token_of_bfloat16(&rng, amax, bits);
}

// (t1 + t2) first, then the sum over groups: other orders give other bits for these operands.
SQ_TEST(combine_rounds_in_the_normative_order)
{
    const int32_t p_lo[2] = {1, 1}, p_hi[2] = {1, -1};
    const float s_lo[2] = {0x1p24f, 1.0f}, s_hi[2] = {1.0f, 0x1p24f};
    // group 0: 2^24 + 1 -> 2^24; group 1: 1 - 2^24 exactly; the sum is 1. Flat order gives 0.
    assert_true(sq_combine(p_lo, p_hi, s_lo, s_hi, 2) == 1.0f);
    const float flat = ((0x1p24f + 1.0f) + 1.0f) - 0x1p24f;
    assert_true(flat == 0.0f);
    const int32_t large = 16777217; // above 2^24: the conversion itself rounds to even
    const int32_t nothing = 0;
    const float one = 1.0f;
    assert_true(sq_combine(&large, &nothing, &one, &one, 1) == 16777216.0f);
}

SQ_TEST(activations_equal_slow)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned round = 0; round < 400; round++) {
        const size_t m = 1 + sq_rng_below(&rng, 4), k_orig = 1 + sq_rng_below(&rng, 40);
        const size_t k = k_orig + sq_rng_below(&rng, 9);
        const unsigned bits = round % 2 ? 4 : 8;
        float *x = fixture_exact(m * k_orig * sizeof *x), *s_a = fixture_exact(m * sizeof *s_a);
        int8_t *codes = fixture_exact(m * k);
        random_weights(&rng, x, m * k_orig);
        if (round % 10 == 0)
            memset(x, 0, k_orig * sizeof *x); // a token of zeros: scale 1
        assert_ok(sq_act_quantize(x, m, k_orig, k, bits, codes, s_a, NULL));
        for (size_t t = 0; t < m; t++) {
            float amax = 0;
            for (size_t i = 0; i < k_orig; i++)
                amax = fmaxf(amax, fabsf(x[t * k_orig + i]));
            CHECK_EQ(sq_bits_of(s_a[t]), sq_bits_of(sq_slow_scale(amax, bits)), "%zu\n", t);
            for (size_t i = 0; i < k; i++)
                CHECK_EQ(codes[t * k + i],
                         i < k_orig ? sq_slow_quantize(x[t * k_orig + i], s_a[t], bits) : 0,
                         "token %zu element %zu of %zu\n", t, i, k_orig);
        }
    }
}

SQ_TEST(activation_refusals)
{
    float x[4] = {1, 2, 3, 4}, s_a[2];
    int8_t codes[8];
    struct sq_error err;
    assert_int_equal(sq_act_quantize(x, 2, 2, 4, 5, codes, s_a, &err), SQ_ERR_UNSUPPORTED);
    assert_int_equal(sq_act_quantize(x, 2, 2, 1, 8, codes, s_a, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_act_quantize(x, 0, 2, 2, 8, codes, s_a, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_act_quantize(x, 2, 0, 2, 8, codes, s_a, &err), SQ_ERR_SHAPE);
    const float bad[] = {NAN, -INFINITY, INFINITY};
    for (size_t i = 0; i < LEN(bad); i++) {
        x[3] = bad[i];
        assert_int_equal(sq_act_quantize(x, 2, 2, 4, 8, codes, s_a, &err), SQ_ERR_NON_FINITE);
    }
    assert_string_equal(err.text, "x[1][1] = inf, need a finite number");
}
