// SPDX-License-Identifier: Apache-2.0
// What leaves an engine, in worked numbers: ties, ends and signs of the three kinds of outputs, and in which order the
// combine forms round (models/output/sq_combine.h, SPEC A.7, R.1, 0.2). Model and RTL are held to each other
// elsewhere; these are numbers by hand.
#include <math.h>

#include "models/number/sq_bits.h"
#include "models/output/sq_combine.h"
#include "tests/test.h"
#include "tests/unit/fixture.h"

SQ_TEST(bfloat16_rounds_to_even)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } worked[] = {
        {0x3f800000, 0x3f80}, {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80}, // a tie, down to even
        {0x3f808001, 0x3f81}, {0x3f817fff, 0x3f81}, {0x3f818000, 0x3f82}, // a tie, up to even
        {0xbf808000, 0xbf80}, {0xbf818000, 0xbf82}, {0x00008000, 0x0000}, // subnormal ones
        {0x00008001, 0x0001}, {0x00018000, 0x0002}, {0x007f8000, 0x0080}, // the smallest normal one
        {0x3fffc000, 0x4000}, {0x7f7f7fff, 0x7f7f}, {0x7f7f8000, 0x7f80}, // too large
        {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7fc00000, 0x7fc0},
    };
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++)
        CHECK_EQ(sq_combine_out(SQ_OUTPUT_BFLOAT16, worked[i].from) & 0xffff, worked[i].to,
                 "%08x\n", (unsigned)worked[i].from);
}

SQ_TEST(int8_rounds_to_even_and_saturates)
{
    static const struct {
        float from;
        int32_t to;
    } worked[] = {
        {0.5f, 0},       {0.50000006f, 1},   {1.5f, 2},        {2.5f, 2},
        {-0.5f, 0},      {-0.50000006f, -1}, {-1.5f, -2},      {-2.5f, -2},
        {3.5f, 4},       {125.5f, 126},      {126.5f, 126},    {126.50001f, 127},
        {127.0f, 127},   {127.5f, 127},      {128.0f, 127},    {1e30f, 127},
        {-126.5f, -126}, {-127.0f, -127},    {-127.5f, -127},  {-128.0f, -127},
        {-1e30f, -127},  {1e-40f, 0},        {HUGE_VALF, 127}, {-HUGE_VALF, -127},
    };
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++)
        CHECK_EQ(sq_combine_out(SQ_OUTPUT_INT8, sq_bits_of(worked[i].from)), worked[i].to, "%g\n",
                 (double)worked[i].from);
    assert_int_equal(sq_combine_out(SQ_OUTPUT_INT8, 0x7fc00000), 127);
}

// No output is -0, and every NaN is the same.
SQ_TEST(zeros_and_nans_have_one_code)
{
    assert_int_equal(sq_combine_bits(sq_combine_end(SQ_COMBINE_ONE, -1e-30f, 1e-30f)), 0);
    assert_int_equal(sq_combine_bits(sq_combine_end(SQ_COMBINE_TWO, -1e-30f, 1e-30f)), 0);
    assert_int_equal(sq_combine_bits(sq_combine_end(SQ_COMBINE_SCALED, -0.0f, 1)), 0);
    assert_int_equal(sq_combine_bits(sq_combine_end(SQ_COMBINE_FLOAT, -0.0f, 1)), 0);
    assert_int_equal(sq_combine_bits(HUGE_VALF - HUGE_VALF), 0x7fc00000);
    assert_int_equal(sq_combine_bits(-(HUGE_VALF - HUGE_VALF)), 0x7fc00000);
}

// Steps of 2^-24 beside 1: two of them added first are a step of the sum, one after the other they are lost.
SQ_TEST(parts_are_added_before_the_sum)
{
    const float half = 0x1p-24f, ulp = 0x1p-23f;
    assert_true(sq_combine_group(SQ_COMBINE_ONE, 1, 1, 0, half, 0, 0) == 1);
    assert_true(sq_combine_group(SQ_COMBINE_TWO, 1, 1, 1, half, half, 0) == 1 + ulp);
    assert_true(sq_combine_group(SQ_COMBINE_SCALED, 1, 1, 1, 0.5f, 0.5f, ulp) == 1 + ulp);
    // (2^24 + 1) has no binary32: the integer is rounded, then multiplied.
    assert_true(sq_combine_group(SQ_COMBINE_ONE, 0, 0x1000001, 0, 3, 0, 0) == 0x1p24f * 3);
    assert_true(sq_combine_group(SQ_COMBINE_ONE, 0, 0x1000003, 0, 1, 0, 0) == 0x1000004);
}

// The product of two scales has the digits of binary32, but any exponent.
SQ_TEST(scales_neither_overflow_nor_underflow)
{
    const int32_t large = (int32_t)sq_bits_of(0x1p100f), small = (int32_t)sq_bits_of(0x1p-100f);
    assert_true(sq_combine_group(SQ_COMBINE_FLOAT, 0, small, 0, 0x1p100f, 0, 0x1p100f) == 0x1p100f);
    assert_true(sq_combine_group(SQ_COMBINE_FLOAT, 0, large, 0, 0x1p-100f, 0, 0x1p-100f) ==
                0x1p-100f);
    // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, a tie that goes to the even 1 + 2^-11.
    assert_true(sq_combine_group(SQ_COMBINE_FLOAT, 0, (int32_t)sq_bits_of(1), 0, 1 + 0x1p-12f, 0,
                                 1 + 0x1p-12f) == 1 + 0x1p-11f);
    // What is no scale counts as 0.
    assert_true(sq_combine_group(SQ_COMBINE_FLOAT, 2, (int32_t)sq_bits_of(1), 0, -1, 0, 1) == 2);
    assert_true(sq_combine_group(SQ_COMBINE_FLOAT, 2, (int32_t)sq_bits_of(1), 0, HUGE_VALF, 0, 1) ==
                2);
}
