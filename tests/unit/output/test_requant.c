// SPDX-License-Identifier: Apache-2.0
// What the requantizer behind the arrays does. Exhausted: every INT8 code from every tie. Sampled: the rest, against
// binary64.
#include <math.h>

#include "models/output/sq_requant.h"
#include "tests/unit/fixture.h"

// rne in binary64, exact for these operands.
static int slow_requant(int32_t acc, int16_t mul, unsigned shift, unsigned bits)
{
    const double qmax = (1 << (bits - 1)) - 1;
    const double q = nearbyint(ldexp((double)acc * mul, -(int)shift));
    return (int)(q > qmax ? qmax : q < -qmax ? -qmax : q);
}

SQ_TEST(requant_is_rne_and_clamps)
{
    struct sq_rng rng = {fixture_seed()};
    static const int32_t acc[] = {INT32_MIN, INT32_MAX, -1, 0, 1, -128, 127};
    static const int16_t mul[] = {INT16_MIN, INT16_MAX, -1, 0, 1};
    for (unsigned bits = 2; bits <= 8; bits++) {
        for (unsigned shift = 0; shift <= SQ_REQUANT_SHIFT_MAX; shift++)
            for (unsigned a = 0; a < LEN(acc); a++)
                for (unsigned m = 0; m < LEN(mul); m++)
                    CHECK_EQ(sq_requant(acc[a], mul[m], shift, bits),
                             slow_requant(acc[a], mul[m], shift, bits), "%d * %d >> %u\n", acc[a],
                             mul[m], shift);
        // Every tie and its neighbours, in units of a quarter.
        for (int32_t x = -1100; x <= 1100; x++)
            CHECK_EQ(sq_requant(x, 1, 2, bits), slow_requant(x, 1, 2, bits), "%d / 4\n", x);
        for (unsigned n = 0; n < 20000; n++) {
            const int32_t x = (int32_t)((uint32_t)sq_rng_next(&rng) >> sq_rng_below(&rng, 32));
            const int16_t f = (int16_t)sq_rng_next(&rng);
            const unsigned shift = sq_rng_below(&rng, 64);
            CHECK_EQ(sq_requant(x, f, shift, bits), slow_requant(x, f, shift, bits),
                     "%d * %d >> %u\n", x, f, shift);
        }
    }
    assert_int_equal(sq_requant(-128, 1, 0, 8), -127); // the mask code never
}

SQ_TEST(ratios_become_multipliers)
{
    struct sq_rng rng = {fixture_seed()};
    int16_t mul;
    unsigned shift;
    for (unsigned n = 0; n < 20000; n++) {
        const double ratio = ldexp(1 + sq_rng_unit(&rng), (int)sq_rng_below(&rng, 62) - 48);
        assert_true(sq_requant_choose(ratio, &mul, &shift));
        assert_in_range(mul, 0x4000, 0x7fff);
        assert_true(fabs(ldexp(mul, -(int)shift) / ratio - 1) <= 0x1p-15);
    }
    // 0.5 - 2^-20 rounds up to the next power of two.
    assert_true(sq_requant_choose(0.5 - 0x1p-20, &mul, &shift));
    assert_true(mul == 0x4000 && shift == 15);
    assert_true(sq_requant_choose(0x1p14, &mul, &shift) && shift == 0 && mul == 0x4000);
    assert_true(sq_requant_choose(0x1p-48, &mul, &shift) && shift == 62);
    assert_false(sq_requant_choose(0x1.1p14, &mul, &shift));
    assert_false(sq_requant_choose(0x1p-49, &mul, &shift));
    assert_false(sq_requant_choose(0, &mul, &shift) || sq_requant_choose(NAN, &mul, &shift));
}
