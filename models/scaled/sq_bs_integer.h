// SPDX-License-Identifier: Apache-2.0
// Squared errors of the candidates of a block in integers, as an encoder in hardware compares them (SPEC
// Q.5d): rtl/scaled/sq_block_error.sv. Internal to the files of kinds.
//
// Magnitudes count in units of the last of the 8 bits of the largest one, whose exponent is e:
//
//   q = floor(|x| / 2^(e - 7))                                   0..255
//   S = significand of the scale << up, up held to 0..10         the step in the same units
//   error = least |2 q - v S| of all values v of the element, in halves; held to 127
//
// The scale above the blocks is 2^above.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "models/number/sq_bits.h"

#define INLINE static inline __attribute__((always_inline, unused))

enum { SQ_BS_ERROR_BITS = 8, SQ_BS_ERROR_UP = 10, SQ_BS_ERROR_MOST = 127 };

// What an element may stand for.
enum sq_bs_values { SQ_BS_OF_E2M1, SQ_BS_OF_INT4 };

// As binary32 has it, of subnormal numbers 1.
INLINE int32_t sq_bs_exponent_of(float x)
{
    const int32_t e = (int32_t)(sq_bits_of(x) >> 23 & 0xff);
    return e > 1 ? e : 1;
}

INLINE int32_t sq_bs_error_units(float x, int32_t e)
{
    const uint32_t bits = sq_bits_of(x), leading = (bits >> 23 & 0xff) > 0;
    const uint32_t sig = (bits & 0x7fffff) | leading << 23;
    const uint32_t down = (uint32_t)(24 - SQ_BS_ERROR_BITS + e - sq_bs_exponent_of(x));
    return (int32_t)(sig >> (down < 31 ? down : 31));
}

// The step that the code of an E4M3 scale stands for; the sign of the code does not count.
INLINE int32_t sq_bs_error_step(int32_t scale, int32_t e, int32_t above)
{
    const int32_t code = scale & 0x7f, exponent = code > 7 ? code >> 3 : 1;
    const int32_t sig = code > 7 ? 8 | (code & 7) : code; // sig * 2^(exponent - 10)
    const int32_t up = exponent - 10 + above - (e - 127 - (SQ_BS_ERROR_BITS - 1));
    return sig << (up < 0 ? 0 : up > SQ_BS_ERROR_UP ? SQ_BS_ERROR_UP : up);
}

INLINE int32_t sq_bs_error_nearer(int32_t least, int32_t q, int32_t v, int32_t step)
{
    const int32_t d = 2 * q - v * step, m = d < 0 ? -d : d;
    return m < least ? m : least;
}

INLINE int32_t sq_bs_error_held(int32_t least)
{
    return least > SQ_BS_ERROR_MOST ? SQ_BS_ERROR_MOST : least;
}

INLINE int32_t sq_bs_error_of(enum sq_bs_values of, int32_t q, int32_t step)
{
    static const int8_t e2m1[] = {1, 2, 3, 4, 6, 8, 12};
    int32_t least = 2 * q;
    for (int32_t i = 0; i < 7; i++)
        least = sq_bs_error_nearer(least, q, of == SQ_BS_OF_INT4 ? 2 * (i + 1) : e2m1[i], step);
    return sq_bs_error_held(least);
}
