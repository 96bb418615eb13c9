// SPDX-License-Identifier: Apache-2.0
#include "models/sq_fp.h"

#include <math.h>
#include <string.h>

// Magnitude code of |x|: exponent with this bias above `fraction` bits, nearest, ties to even.
// Rounding the binary32 pattern at the fraction carries into the exponent where it must; below the
// smallest normal, 2^(1-bias), codes are multiples of the step 2^(1-bias-fraction).
static uint8_t encode(float x, unsigned fraction, int bias, uint8_t last)
{
    const float magnitude = fabsf(x);
    if (magnitude < ldexpf(1, 1 - bias))
        return (uint8_t)rintf(ldexpf(magnitude, bias - 1 + (int)fraction));
    uint32_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    const unsigned drop = 23 - fraction;
    bits += (UINT32_C(1) << (drop - 1)) - 1 + (bits >> drop & 1u);
    const uint32_t code = (bits >> drop) - ((uint32_t)(127 - bias) << fraction);
    return code > last ? last : (uint8_t)code;
}

float sq_e2m1_decode(uint8_t code)
{
    static const float magnitude[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float m = magnitude[code & 7u];
    return (code & 8u) && m > 0 ? -m : m;
}

float sq_e4m3_decode(uint8_t code)
{
    const unsigned exponent = (code >> 3) & 15u, fraction = code & 7u;
    if ((code & 0x7fu) == 0x7fu)
        return NAN;
    const float m =
        exponent ? ldexpf((float)(8 + fraction), (int)exponent - 10) : ldexpf((float)fraction, -9);
    return (code & 0x80u) && m > 0 ? -m : m;
}

uint8_t sq_e2m1_encode(float x)
{
    const uint8_t code = encode(x, 1, 1, 7);
    return code && x < 0 ? code | 8u : code;
}

uint8_t sq_e4m3_encode(float x)
{
    const uint8_t code = encode(x, 3, 7, 0x7e);
    return code && x < 0 ? code | 0x80u : code;
}

uint16_t sq_f32_to_f16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    const int exponent = (int)((bits >> 23) & 255u) - 127;
    const uint32_t fraction = bits & 0x7fffffu;
    if (exponent == 128)
        return (uint16_t)(sign | 0x7c00u | (fraction ? 0x200u : 0));
    if (exponent < -25)
        return sign;
    const uint32_t v =
        exponent >= -14 ? (uint32_t)(exponent + 15) << 23 | fraction : fraction | 0x800000u;
    const unsigned shift = exponent >= -14 ? 13 : 13 + (unsigned)(-14 - exponent);
    const uint32_t rest = v & ((UINT32_C(1) << shift) - 1), half = UINT32_C(1) << (shift - 1);
    uint32_t r = v >> shift;
    if (rest > half || (rest == half && r % 2 == 1))
        r++;
    return (uint16_t)(sign | (r > 0x7c00u ? 0x7c00u : r));
}
