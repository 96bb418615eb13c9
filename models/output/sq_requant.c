// SPDX-License-Identifier: Apache-2.0
// Multiplies by the ratio, shifts with rounding and saturates; finds the ratio of two scales
// (sq_requant.h).
#include "models/output/sq_requant.h"

#include <assert.h>
#include <math.h>

// floor(x / 2^shift)
static int64_t shift_down(int64_t x, unsigned shift)
{
    return x >= 0 ? (int64_t)((uint64_t)x >> shift) : -1 - (int64_t)((uint64_t)(-1 - x) >> shift);
}

int8_t sq_requant(int32_t acc, int16_t mul, unsigned shift, unsigned bits)
{
    assert(shift <= SQ_REQUANT_SHIFT_MAX && bits >= 2 && bits <= 8);
    const int64_t product = (int64_t)acc * mul; // below 2^47 in magnitude
    const int64_t qmax = (1 << (bits - 1)) - 1;
    int64_t q = shift_down(product, shift);
    // What the floor left out, in 2^-shift: 0 .. 2^shift - 1.
    const uint64_t rest = (uint64_t)product - ((uint64_t)q << shift);
    const uint64_t half = shift > 0 ? UINT64_C(1) << (shift - 1) : UINT64_MAX;
    if (rest > half || (rest == half && (q & 1)))
        q++;
    return (int8_t)(q > qmax ? qmax : q < -qmax ? -qmax : q);
}

bool sq_requant_choose(double ratio, int16_t *mul, unsigned *shift)
{
    int exponent;
    if (!(ratio >= 0x1p-48 && ratio <= 0x1p14))
        return false;
    long m = lrint(frexp(ratio, &exponent) * 0x1p15);
    if (m == 0x8000) {
        m = 0x4000;
        exponent++;
    }
    *mul = (int16_t)m;
    *shift = (unsigned)(15 - exponent);
    return true;
}
