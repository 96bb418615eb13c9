// SPDX-License-Identifier: Apache-2.0
// From the integer sums of a scale group to outputs (SPEC A.7, R.1), one binary32 rounding (to
// nearest, ties to even, subnormals kept) an operation, in this order:
//
//   ONE     t = (float)P_lo * s_lo                                   Y = (Y + t) ... * s_a
//   TWO     t = (float)P_lo * s_lo + (float)P_hi * s_hi              Y = (Y + t) ... * s_a
//   SCALED  t = ((float)P_lo * s_lo + (float)P_hi * s_hi) * s_g      Y = (Y + t) ...
//   FLOAT   t = A * (s_lo * s_g)                                     Y = (Y + t) ...
//
// FLOAT: A is binary32, the sum of a pair of parts of block-scaled operands, s_lo and s_g are the
// scales above their blocks (SPEC Q.7); a scale that is not finite and positive counts as 0.
// ONE: formats with one accumulator. TWO: the operand with two scales is the weights. SCALED: it is
// the activations; s_lo, s_hi of the token, s_g of channel and group. Y starts at +0; an underflow
// below zero ends as +0 (SPEC 0.2).
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "models/number/sq_bits.h"

enum sq_combine_form {
    SQ_COMBINE_ONE = 0,
    SQ_COMBINE_TWO = 1,
    SQ_COMBINE_SCALED = 2,
    SQ_COMBINE_FLOAT = 3
};

// Register stages of the unit before its output register; is_cut: an operation takes several.
static inline unsigned sq_combine_stages(enum sq_combine_form form, bool is_cut)
{
    if (is_cut)
        return form == SQ_COMBINE_ONE ? 14 : form == SQ_COMBINE_FLOAT ? 12 : 18;
    return 3 + (form == SQ_COMBINE_FLOAT ? 0 : (unsigned)form);
}

// Beats that the queue behind it needs for an output in each cycle, where the unit does not stop: up to the last word.
static inline unsigned sq_combine_queue(enum sq_combine_form form, bool is_int8)
{
    return sq_combine_stages(form, true) + 4 + (is_int8 ? 3 : 0);
}

// Cycles from a beat of an output to the next one of the same.
static inline unsigned sq_combine_spacing(bool is_cut)
{
    return is_cut ? 4 : 1;
}

// fl(y + fl(a * fl(g_w * g_x))), where the product of the scales has the 24 bits of binary32 but an
// exponent of any size: it neither overflows nor underflows, whatever a brings.
static inline float sq_combine_add_scaled(float y, float a, float g_w, float g_x)
{
    int e;
    const double g = frexp((double)g_w * (double)g_x, &e); // exact
    return y + (float)((double)a * ldexp((double)(float)g, e));
}

static inline float sq_combine_float(float y, float a, float s_lo, float s_g)
{
    const bool are_scales = s_lo > 0 && s_g > 0 && isfinite(s_lo) && isfinite(s_g);
    return sq_combine_add_scaled(y, a, are_scales ? s_lo : 0.0f, are_scales ? s_g : 0.0f);
}

// Y after one group, whose sums are rounded to binary32: (float)P. s_hi, hi are not read by ONE and
// FLOAT, s_g by ONE and TWO; lo of FLOAT is A.
static inline float sq_combine_sums(enum sq_combine_form form, float y, float lo, float hi,
                                    float s_lo, float s_hi, float s_g)
{
    if (form == SQ_COMBINE_FLOAT)
        return sq_combine_float(y, lo, s_lo, s_g);
    const float t1 = lo * s_lo;
    if (form == SQ_COMBINE_ONE)
        return y + t1;
    const float t2 = hi * s_hi, t = t1 + t2;
    return y + (form == SQ_COMBINE_TWO ? t : t * s_g);
}

// A sum as it stands in 32 bits: an integer; of FLOAT the bits of A.
static inline float sq_combine_sum(enum sq_combine_form form, int32_t p)
{
    return form == SQ_COMBINE_FLOAT ? sq_float_of((uint32_t)p) : (float)p;
}

static inline float sq_combine_group(enum sq_combine_form form, float y, int32_t p_lo, int32_t p_hi,
                                     float s_lo, float s_hi, float s_g)
{
    return sq_combine_sums(form, y, sq_combine_sum(form, p_lo), sq_combine_sum(form, p_hi), s_lo,
                           s_hi, s_g);
}

// The output, after the last group. SCALED and FLOAT do not read s_a.
static inline float sq_combine_end(enum sq_combine_form form, float y, float s_a)
{
    return (form == SQ_COMBINE_SCALED || form == SQ_COMBINE_FLOAT ? y : y * s_a) + 0.0f;
}

// Bits of y; every NaN (infinity of an overflow minus infinity) is 7fc00000.
static inline uint32_t sq_combine_bits(float y)
{
    return y == y ? sq_bits_of(y) : 0x7fc00000u;
}

// The nearest bfloat16, ties to even, of the bits of y.
static inline uint16_t sq_combine_bf16(uint32_t bits)
{
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

// The same as a number.
static inline float sq_combine_round_bf16(float y)
{
    return sq_float_of((uint32_t)sq_combine_bf16(sq_combine_bits(y)) << 16);
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
    const float y = sq_float_of(bits);
    if (kind == SQ_OUTPUT_INT8)
        return y >= -127.0f ? (y <= 127.0f ? (int32_t)rintf(y) : 127) : y == y ? -127 : 127;
    return (int32_t)(kind == SQ_OUTPUT_BFLOAT16 ? sq_combine_bf16(bits) : bits);
}
