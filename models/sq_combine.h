// SPDX-License-Identifier: Apache-2.0
// From the integer sums of a scale group to outputs (SPEC A.7, R.1), one binary32 rounding (to
// nearest, ties to even, subnormals kept) an operation, in this order:
//
//   ONE     t = (float)P_lo * s_lo                                   Y = (Y + t) ... * s_a
//   TWO     t = (float)P_lo * s_lo + (float)P_hi * s_hi              Y = (Y + t) ... * s_a
//   SCALED  t = ((float)P_lo * s_lo + (float)P_hi * s_hi) * s_g      Y = (Y + t) ...
//
// ONE: formats with one accumulator. TWO: the operand with two scales is the weights. SCALED: it is
// the activations; s_lo, s_hi of the token, s_g of channel and group. Y starts at +0; an underflow
// below zero ends as +0 (SPEC 0.2).
#ifndef SQ_COMBINE_H
#define SQ_COMBINE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum sq_combine_form { SQ_COMBINE_ONE = 0, SQ_COMBINE_TWO = 1, SQ_COMBINE_SCALED = 2 };

// Y after one group. s_hi, p_hi are not read by ONE, s_g by ONE and TWO.
static inline float sq_combine_group(enum sq_combine_form form, float y, int32_t p_lo, int32_t p_hi,
                                     float s_lo, float s_hi, float s_g)
{
    const float t1 = (float)p_lo * s_lo;
    if (form == SQ_COMBINE_ONE)
        return y + t1;
    const float t2 = (float)p_hi * s_hi, t = t1 + t2;
    return y + (form == SQ_COMBINE_TWO ? t : t * s_g);
}

// The output, after the last group. SCALED does not read s_a.
static inline float sq_combine_end(enum sq_combine_form form, float y, float s_a)
{
    return (form == SQ_COMBINE_SCALED ? y : y * s_a) + 0.0f;
}

// Bits of y; every NaN (infinity of an overflow minus infinity) is 7fc00000.
static inline uint32_t sq_combine_bits(float y)
{
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    return y == y ? bits : 0x7fc00000u;
}

// The nearest bfloat16, ties to even, of the bits of y.
static inline uint16_t sq_combine_bf16(uint32_t bits)
{
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// What leaves: the low 32, 16 or 8 bits of sq_combine_out.
enum sq_output_kind { SQ_OUTPUT_BINARY32 = 0, SQ_OUTPUT_BFLOAT16 = 1, SQ_OUTPUT_INT8 = 2 };

static inline unsigned sq_output_bits(enum sq_output_kind kind)
{
    return kind == SQ_OUTPUT_INT8 ? 8 : kind == SQ_OUTPUT_BFLOAT16 ? 16 : 32;
}

// An output from the bits of y. INT8: the nearest integer, ties to even, of -127..127 (the step of
// the codes is taken into the scales); NaN gives 127.
static inline int32_t sq_combine_out(enum sq_output_kind kind, uint32_t bits)
{
    float y;
    memcpy(&y, &bits, sizeof y);
    if (kind == SQ_OUTPUT_INT8)
        return y >= -127.0f ? (y <= 127.0f ? (int32_t)rintf(y) : 127) : y == y ? -127 : 127;
    return (int32_t)(kind == SQ_OUTPUT_BFLOAT16 ? sq_combine_bf16(bits) : bits);
}

#endif
