// SPDX-License-Identifier: Apache-2.0
// Codes of the scales of blocks and their values, for loops: without branches and tables. Internal to models/.
#pragma once

#include <math.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_integer.h"

// What the code of a block's scale stands for. The code is 8 bits of the first four; with is_sign_grid the
// uppermost bit is the grid, and of E4M3 alone it is free for that. The others are IEEE 754 and bfloat16, of
// either sign, without infinities and NaN.
//   E4M3   as in sq_fp.h, without a sign: 2^-9 .. 448, 0x7f is no number
//   E8M0   2^(code - 127), 0xff is no number
//   UE5M3  5 exponent bits, bias 15, 3 fraction bits, subnormals: 2^-17 .. 114688, 0xff is no number
//   E6M2   6 exponent bits, bias 48, 2 fraction bits, no subnormals and no zero: 2^-48 .. 1.5 * 2^15,
//          0xff is no number
enum sq_bs_scale_type {
    SQ_BS_SCALE_E4M3,
    SQ_BS_SCALE_E8M0,
    SQ_BS_SCALE_UE5M3,
    SQ_BS_SCALE_E6M2,
    SQ_BS_SCALE_F16,
    SQ_BS_SCALE_BF16,
    SQ_BS_SCALE_F32,
    SQ_BS_SCALE_TYPES
};

INLINE bool sq_bs_scale_is_float(enum sq_bs_scale_type type)
{
    return type >= SQ_BS_SCALE_F16;
}

// The largest magnitude of x[n]; 0 of none.
INLINE float sq_bs_amax(const float *x, size_t n)
{
    float amax = 0;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    return amax;
}

// Magnitude code of m >= 0 (sq_fp_encode), without branches.
INLINE int32_t sq_bs_magnitude_code(float m, unsigned fraction, int bias, int32_t last)
{
    const float least = bias == 1 ? 1.0f : bias == 3 ? 0x1p-2f : bias == 7 ? 0x1p-6f : 0x1p-14f;
    const float steps = (float)(1 << fraction) / least; // a step below the normal numbers
    const unsigned drop = 23 - fraction;
    const int32_t below = (int32_t)rintf((m < least ? m : least) * steps);
    const uint32_t bits = sq_bits_of(m);
    const uint32_t rounded = bits + (UINT32_C(1) << (drop - 1)) - 1 + (bits >> drop & 1u);
    const int32_t above = (int32_t)(rounded >> drop) - ((127 - bias) << fraction);
    return m < least ? below : above > last ? last : above;
}

// The scale of x >= 0 as E4M3, and its value: a normal number's bits, or multiples of 2^-9.
INLINE int32_t sq_bs_e4m3_code(float x)
{
    return sq_bs_magnitude_code(x, 3, 7, 0x7e);
}

INLINE float sq_bs_e4m3_value(int32_t code)
{
    const uint32_t bits = ((uint32_t)code << 20) + (UINT32_C(120) << 23);
    return code < 8 ? (float)code * 0x1p-9f : sq_float_of(bits);
}

// The value of a scale as E8M0: a normal number's bits, or 2^-127.
INLINE float sq_bs_e8m0_value(int32_t code)
{
    return sq_float_of(code > 0 ? (uint32_t)code << 23 : UINT32_C(1) << 22);
}

// The nearest code of F16, BF16 and F32, ties to even, held to the largest; and its value.
INLINE uint32_t sq_bs_float_code(enum sq_bs_scale_type type, float x)
{
    const uint32_t bits = sq_bits_of(x), m = bits & 0x7fffffffu;
    const uint32_t bf16 = (m + 0x7fff + (m >> 16 & 1)) >> 16;
    return type == SQ_BS_SCALE_F16
               ? (uint32_t)sq_bs_magnitude_code(sq_float_of(m), 10, 15, 0x7bff) | bits >> 31 << 15
           : type == SQ_BS_SCALE_BF16 ? (bf16 < 0x7f7f ? bf16 : 0x7f7f) | bits >> 31 << 15
                                      : (m < 0x7f7fffffu ? m : 0x7f7fffffu) | bits >> 31 << 31;
}

INLINE float sq_bs_float_value(enum sq_bs_scale_type type, uint32_t code)
{
    const uint32_t m = code & 0x7fff, sign = code >> 15 << 31;
    const uint32_t f16 =
        m < 0x400 ? sq_bits_of((float)m * 0x1p-24f) : (m << 13) + (UINT32_C(112) << 23);
    return sq_float_of(type == SQ_BS_SCALE_F16    ? f16 | sign
                       : type == SQ_BS_SCALE_BF16 ? code << 16
                                                  : code);
}

// The same of the other types.
INLINE int32_t sq_bs_scale_code(enum sq_bs_scale_type type, float x)
{
    const uint32_t bits = sq_bits_of(x),
                   rounded = bits + (UINT32_C(1) << 20) - 1 + (bits >> 21 & 1);
    const int32_t e6m2 = (int32_t)(rounded >> 21) - ((127 - 48) << 2);
    return type == SQ_BS_SCALE_UE5M3  ? sq_bs_magnitude_code(x, 3, 15, 0xfe)
           : type == SQ_BS_SCALE_E4M3 ? sq_bs_e4m3_code(x)
           : e6m2 < 0                 ? 0
           : e6m2 > 0xfe              ? 0xfe
                                      : e6m2;
}

INLINE float sq_bs_scale_value(enum sq_bs_scale_type type, int32_t code)
{
    const uint32_t ue5m3 = ((uint32_t)code << 20) + (UINT32_C(112) << 23);
    const uint32_t e6m2 = ((uint32_t)code << 21) + (UINT32_C(79) << 23);
    const float v = sq_float_of(type == SQ_BS_SCALE_UE5M3 ? ue5m3 : e6m2);
    return type == SQ_BS_SCALE_E4M3                ? sq_bs_e4m3_value(code)
           : type == SQ_BS_SCALE_E8M0              ? sq_bs_e8m0_value(code)
           : type == SQ_BS_SCALE_UE5M3 && code < 8 ? (float)code * 0x1p-17f
                                                   : v;
}
