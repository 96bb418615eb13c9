// SPDX-License-Identifier: Apache-2.0
// Grids and small floats (sq_grid, sq_fp): SPEC 0.3, A.3, A.9, N.1, and split codes.
//
// Exhausted: all 16 E2M1 and 256 E4M3 codes and every tie between neighbours; all 65536 binary16
// patterns and the ties between them; every split code of every bit pair. Sampled: scales, with
// the nearest-value property of every grid as judge.
#include <math.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"
#include "models/number/sq_grid.h"
#include "tests/unit/fixture.h"

// ---- small floats ---------------------------------------------------------------------------

// Every code decodes to itself; ties between neighbours go to the even code; the far end saturates.
static void check_codec(uint8_t (*encode)(float), float (*decode)(uint8_t), unsigned last,
                        unsigned sign)
{
    for (unsigned code = 0; code <= last; code++) {
        const float v = decode((uint8_t)code);
        CHECK_EQ(encode(v), code, "value %g\n", (double)v);
        CHECK_EQ(encode(-v), code ? code | sign : 0, "value %g\n", (double)-v);
        assert_true(decode((uint8_t)(code | sign)) == -v);
        if (code == last)
            break;
        const float next = decode((uint8_t)(code + 1)), tie = (v + next) / 2;
        assert_true(next > v);
        CHECK_EQ(encode(tie), code + code % 2, "tie %g\n", (double)tie);
        CHECK_EQ(encode(nextafterf(tie, 0)), code, "below tie %g\n", (double)tie);
        CHECK_EQ(encode(nextafterf(tie, INFINITY)), code + 1, "above tie %g\n", (double)tie);
    }
    CHECK_EQ(encode(1e30f), last, "saturation\n");
    CHECK_EQ(encode(-1e30f), last | sign, "saturation\n");
    CHECK_EQ(encode(-1e-30f), 0, "a negative zero is the mask code\n");
}

SQ_TEST(small_floats)
{
    check_codec(sq_e2m1_encode, sq_e2m1_decode, 7, 8);
    check_codec(sq_e4m3_encode, sq_e4m3_decode, 0x7e, 0x80);
    static const float e2m1[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
    for (unsigned i = 0; i < 8; i++)
        assert_true(sq_e2m1_decode((uint8_t)i) == e2m1[i]);
    assert_true(sq_e4m3_decode(0x7e) == 448 && isnan(sq_e4m3_decode(0x7f)));
    assert_true(sq_e4m3_decode(1) == 0x1p-9f && sq_e4m3_decode(8) == 0x1p-6f);
    assert_true(sq_e4m3_decode(0x38) == 1 && isnan(sq_e4m3_decode(0xff)));
}

__extension__ typedef _Float16 f16; // the compiler's own conversion is the judge

SQ_TEST(binary16)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        f16 f;
        const uint16_t bits = (uint16_t)h;
        memcpy(&f, &bits, sizeof f);
        const float v = (float)f;
        const float above = sq_float_of(sq_bits_of(v) + 1);
        CHECK_EQ(sq_f32_to_f16(v), h, "pattern\n");
        CHECK_EQ(sq_f32_to_f16(-v), h | 0x8000u, "pattern\n");
        CHECK_EQ(sq_f32_to_f16(above), h, "just above\n");
        if (h + 1 == 0x7c00)
            break;
        f16 g;
        const uint16_t up = (uint16_t)(h + 1);
        memcpy(&g, &up, sizeof g);
        const float tie = (v + (float)g) / 2; // exact in binary32
        CHECK_EQ(sq_f32_to_f16(tie), h + h % 2, "tie\n");
        CHECK_EQ(sq_f32_to_f16(nextafterf(tie, INFINITY)), h + 1, "above the tie\n");
    }
    CHECK_EQ(sq_f32_to_f16(65519.996f), 0x7bff, "largest\n");
    CHECK_EQ(sq_f32_to_f16(65520), 0x7c00, "overflow\n");
    CHECK_EQ(sq_f32_to_f16(0x1p-40f), 0, "underflow\n");
}

// V3, with the scales the vector states.
SQ_TEST(fp_vector_v3)
{
    const struct sq_grid g = {SQ_GRID_FP, 8, 4};
    const float w[8] = {.5f, -3, .25f, 1.5f, -448, 0, -6, 224};
    const uint8_t mask[8] = {0, 0, 0, 0, 1, 0, 0, 1};
    const uint8_t want[8] = {1, 0xd, 0, 3, 0xfe, 0, 0xf, 0x76};
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(sq_grid_code(&g, w[i], mask[i], 1, 1), want[i], "element %u\n", i);
    float s_lo, s_hi;
    sq_grid_scales(&g, 6, 448, &s_lo, &s_hi);
    assert_true(s_lo == 1 && s_hi == 1);
}

// ---- grids ----------------------------------------------------------------------------------

static const struct sq_grid mixed[] = {
    {SQ_GRID_OWN, 8, 4},    {SQ_GRID_OWN, 8, 3},   {SQ_GRID_OWN, 8, 2},   {SQ_GRID_OWN, 4, 2},
    {SQ_GRID_TIED, 8, 4},   {SQ_GRID_TIED, 8, 3},  {SQ_GRID_TIED, 8, 2},  {SQ_GRID_TIED, 4, 3},
    {SQ_GRID_SPLIT, 8, 4},  {SQ_GRID_SPLIT, 8, 3}, {SQ_GRID_SPLIT, 8, 2}, {SQ_GRID_SPLIT, 4, 2},
    {SQ_GRID_SPLIT, 12, 4}, {SQ_GRID_SHIFT, 8, 4}, {SQ_GRID_SHIFT, 8, 3}, {SQ_GRID_SHIFT, 4, 2},
    {SQ_GRID_FP, 8, 4},
};

// No part of own, tied and fp clips at its own scales, and an element is off by at most half a step
// (fp: half the widest step, 1/3 of the magnitude). Split clips its high part only.
SQ_TEST(codes_are_near)
{
    struct sq_rng r = {fixture_seed()};
    for (size_t i = 0; i < LEN(mixed); i++)
        for (unsigned round = 0; round < 2000; round++) {
            const struct sq_grid *g = &mixed[i];
            const float amax[2] = {(float)sq_rng_unit(&r), 20 * (float)sq_rng_unit(&r)};
            float s[2];
            sq_grid_scales(g, amax[0], amax[1], &s[0], &s[1]);
            const bool is_high = round % 2;
            const float x = amax[is_high] * (round < 4 ? 1.0f : 2 * (float)sq_rng_unit(&r) - 1);
            const int16_t code = sq_grid_code(g, x, is_high, s[0], s[1]);
            const float got = sq_grid_value(g, code, is_high, s[0], s[1]);
            const float step = g->kind == SQ_GRID_FP ? 2 * fabsf(x) / 3 + s[is_high] : s[is_high];
            const bool may_clip = g->kind == SQ_GRID_SPLIT && is_high;
            if (!(fabsf(got - x) <= 0.5001f * step || (may_clip && fabsf(got) < fabsf(x))))
                fail_msg("seed %llu grid %zu: %g -> %d -> %g, step %g",
                         (unsigned long long)fixture_seed(), i, (double)x, code, (double)got,
                         (double)step);
        }
}

// sq_grid_codes is sq_grid_code, also at ties, far outside the range and across its chunks.
SQ_TEST(vectors_equal_single_codes)
{
    enum { COUNT = 600 };
    struct sq_rng r = {fixture_seed()};
    static const struct sq_grid dense[] = {
        {SQ_GRID_DENSE, 0, 4}, {SQ_GRID_DENSE, 0, 8}, {SQ_GRID_FP8, 0, 8}};
    for (size_t i = 0; i < LEN(mixed) + LEN(dense); i++) {
        const struct sq_grid *g = i < LEN(mixed) ? &mixed[i] : &dense[i - LEN(mixed)];
        float x[COUNT], s_lo = 0.37f, s_hi = 0.011f;
        uint8_t is_high[COUNT];
        int16_t code[COUNT];
        if (i % 2)
            s_lo = 0.5f, s_hi = 0.25f; // ties
        for (unsigned j = 0; j < COUNT; j++) {
            is_high[j] = i < LEN(mixed) && sq_rng_below(&r, 3) == 0;
            x[j] = 0.125f * (float)((int)sq_rng_below(&r, 401) - 200);
            if (j % 50 == 7)
                x[j] *= 1e20f;
        }
        sq_grid_codes(g, x, i < LEN(mixed) ? is_high : NULL, COUNT, s_lo, s_hi, code);
        for (unsigned j = 0; j < COUNT; j++)
            CHECK_EQ(code[j], sq_grid_code(g, x[j], is_high[j], s_lo, s_hi), "grid %zu x %g\n", i,
                     (double)x[j]);
    }
}

SQ_TEST(tied_scales_merge)
{
    const struct sq_grid g = {SQ_GRID_TIED, 8, 4};
    float lo, hi;
    sq_grid_scales(&g, 7, 127, &lo, &hi); // the high part needs s_hi = 1
    assert_true(lo == 16 && hi == 1);
    sq_grid_scales(&g, 7, 14, &lo, &hi); // here the low part decides... 14/127*16 = 1.76 > 1
    assert_true(hi * 16 == lo && lo == 14.0f / 127 * 16);
    sq_grid_scales(&g, 14, 7, &lo, &hi);
    assert_true(lo == 2 && hi == 0.125f);
    assert_int_equal(sq_grid_merged(&g, -7, false), -112);
    assert_int_equal(sq_grid_merged(&g, -127, true), -127);
    assert_true(sq_grid_single_scale(&g, lo, hi) == hi);
    sq_grid_scales(&g, 0, 0, &lo, &hi);
    assert_true(lo == 1 && hi == 0.0625f);
}

// SPEC A.11: code 16 H + L, L in -8..7, reaching -136..119.
SQ_TEST(split_codes_split)
{
    static const int reach[][4] = {{8, 4, -136, 119}, {12, 4, -2056, 2039}, {8, 3, -132, 123},
                                   {8, 2, -130, 125}, {4, 2, -10, 5},       {4, 3, -12, 3}};
    for (size_t i = 0; i < LEN(reach); i++) {
        const unsigned high = (unsigned)reach[i][0], low = (unsigned)reach[i][1];
        const struct sq_grid g = {SQ_GRID_SPLIT, high, low};
        assert_int_equal(sq_grid_code(&g, -1e6f, true, 1, 1), reach[i][2]);
        assert_int_equal(sq_grid_code(&g, 1e6f, true, 1, 1), reach[i][3]);
        assert_int_equal(sq_grid_code(&g, 1e6f, false, 1, 1), (1 << (low - 1)) - 1);
        const int half = 1 << (low - 1), upper = 1 << (high - low - 1);
        for (int code = reach[i][2]; code <= reach[i][3]; code++) {
            const int l = sq_split_lower(&g, (int16_t)code), h = sq_split_upper(&g, (int16_t)code);
            CHECK_EQ(h * 2 * half + l, code, "low %u\n", low);
            assert_true(l >= -half && l < half && h >= -upper && h < upper);
        }
    }
    const struct sq_grid g = {SQ_GRID_SPLIT, 8, 4};
    float lo, hi;
    sq_grid_scales(&g, 0, 119, &lo, &hi);
    assert_true(lo == 1 && hi == 1);
    sq_grid_scales(&g, 7, 1000, &lo, &hi);
    assert_true(lo == 1);
}

// s_hi = 2^e s_lo, the smallest at which the high part does not clip.
SQ_TEST(shifted_scales)
{
    const struct sq_grid g = {SQ_GRID_SHIFT, 8, 4};
    static const float want[][4] = {
        // amax_lo, amax_hi, s_lo, s_hi
        {7, 127, 1, 1},
        {7, 127.5f, 1, 2},
        {7, 254, 1, 2},
        {7, 63.5f, 1, 0.5f},
        {7, 8, 1, 0.125f},
        {14, 1000, 2, 8},
        {0, 127, 1, 1},
        {7, 127e6f, 1e6f / 32768, 1e6f},
        {7, 0, 1, 0x1p-15f},
        {0, 0, 1, 1},
        {7, 127 * 0x1p15f, 1, 0x1p15f},
    };
    for (size_t i = 0; i < LEN(want); i++) {
        float lo, hi;
        sq_grid_scales(&g, want[i][0], want[i][1], &lo, &hi);
        if (lo != want[i][2] || hi != want[i][3])
            fail_msg("case %zu: %g, %g", i, (double)lo, (double)hi);
        assert_true(ldexpf(lo, sq_grid_shift(lo, hi)) == hi);
        assert_true(abs(sq_grid_shift(lo, hi)) <= SQ_SHIFT_MAX);
    }
}

SQ_TEST(grid_refusals)
{
    static const struct sq_grid bad[] = {
        {SQ_GRID_DENSE, 0, 1}, {SQ_GRID_DENSE, 0, 9}, {SQ_GRID_DENSE, 8, 4}, {SQ_GRID_OWN, 8, 8},
        {SQ_GRID_OWN, 4, 4},   {SQ_GRID_TIED, 6, 4},  {SQ_GRID_SPLIT, 8, 1}, {SQ_GRID_SPLIT, 12, 3},
        {SQ_GRID_OWN, 12, 4},  {SQ_GRID_FP, 8, 3},    {SQ_GRID_FP8, 8, 8},
    };
    static const struct sq_grid good[] = {
        {SQ_GRID_DENSE, 0, 2}, {SQ_GRID_DENSE, 0, 8}, {SQ_GRID_FP8, 0, 8}};
    for (size_t i = 0; i < LEN(bad); i++)
        assert_int_equal(sq_grid_check(&bad[i], NULL), SQ_ERR_UNSUPPORTED);
    for (size_t i = 0; i < LEN(good); i++)
        assert_ok(sq_grid_check(&good[i], NULL));
    for (size_t i = 0; i < LEN(mixed); i++)
        assert_ok(sq_grid_check(&mixed[i], NULL));
}
