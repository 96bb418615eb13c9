// SPDX-License-Identifier: Apache-2.0
// Rounds binary32 to the small floats, to nearest with ties to even, and decodes them (sq_fp.h).
#include "models/number/sq_fp.h"
#include "models/number/sq_bits.h"

#include <math.h>

// What a format is: the exponent, with this bias, stands above `fraction` bits; `last` is the
// magnitude code of the largest value.
static const struct {
    uint8_t bits, fraction, bias, last;
} table[SQ_FPS] = {
    [SQ_FP_E2M1] = {4, 1, 1, 0x7},  [SQ_FP_E2M3] = {6, 3, 1, 0x1f},  [SQ_FP_E3M2] = {6, 2, 3, 0x1f},
    [SQ_FP_E4M3] = {8, 3, 7, 0x7e}, [SQ_FP_E5M2] = {8, 2, 15, 0x7b},
};

// Magnitude code of |x|: nearest, ties to even. Rounding the binary32 pattern at the fraction
// carries into the exponent where it must; below the smallest normal, 2^(1-bias), codes are
// multiples of the step 2^(1-bias-fraction).
static uint8_t encode_magnitude(enum sq_fp f, float x)
{
    const unsigned fraction = table[f].fraction, drop = 23 - fraction;
    const int bias = table[f].bias;
    const float magnitude = fabsf(x);
    if (magnitude < ldexpf(1, 1 - bias))
        return (uint8_t)rintf(ldexpf(magnitude, bias - 1 + (int)fraction));
    uint32_t bits = sq_bits_of(magnitude);
    bits += (UINT32_C(1) << (drop - 1)) - 1 + (bits >> drop & 1u);
    const uint32_t code = (bits >> drop) - ((uint32_t)(127 - bias) << fraction);
    return code > table[f].last ? table[f].last : (uint8_t)code;
}

static uint8_t sign_of(enum sq_fp f)
{
    return (uint8_t)(1u << (table[f].bits - 1));
}

uint8_t sq_fp_encode(enum sq_fp f, float x)
{
    return encode_magnitude(f, x) | (signbit(x) ? sign_of(f) : 0);
}

bool sq_fp_is_number(enum sq_fp f, uint8_t code)
{
    return (code & (sign_of(f) - 1u)) <= table[f].last && code < 2u * sign_of(f);
}

float sq_fp_decode(enum sq_fp f, uint8_t code)
{
    const unsigned fraction = table[f].fraction, magnitude = code & (sign_of(f) - 1u);
    const unsigned exponent = magnitude >> fraction, low = magnitude & ((1u << fraction) - 1);
    if (magnitude > table[f].last) // E5M2 has infinities: exponent all ones, fraction 0
        return f == SQ_FP_E5M2 && low == 0 ? (code & sign_of(f) ? -INFINITY : INFINITY) : NAN;
    const unsigned significand = exponent ? (1u << fraction) + low : low;
    const float m =
        ldexpf((float)significand, (int)(exponent ? exponent : 1) - table[f].bias - (int)fraction);
    return (code & sign_of(f)) && m > 0 ? -m : m;
}

// ---- the codes of the SQ-format: -0 is no value -------------------------------------------------

// A code of zero loses its sign.
static uint8_t encode_unsigned_zero(enum sq_fp f, float x)
{
    const uint8_t code = encode_magnitude(f, x);
    return code && x < 0 ? code | sign_of(f) : code;
}

float sq_e2m1_decode(uint8_t code)
{
    return sq_fp_decode(SQ_FP_E2M1, code & 15u);
}

float sq_e4m3_decode(uint8_t code)
{
    return sq_fp_decode(SQ_FP_E4M3, code);
}

uint8_t sq_e2m1_encode(float x)
{
    return encode_unsigned_zero(SQ_FP_E2M1, x);
}

uint8_t sq_e4m3_encode(float x)
{
    return encode_unsigned_zero(SQ_FP_E4M3, x);
}

float sq_e8m0_decode(uint8_t code)
{
    return code == SQ_E8M0_NAN ? NAN : ldexpf(1, (int)code - SQ_E8M0_BIAS);
}

uint8_t sq_e8m0_encode(int exponent)
{
    const int code = exponent + SQ_E8M0_BIAS;
    return (uint8_t)(code < 0 ? 0 : code > SQ_E8M0_NAN - 1 ? SQ_E8M0_NAN - 1 : code);
}

uint16_t sq_f32_to_f16(float x)
{
    const uint32_t bits = sq_bits_of(x);
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
