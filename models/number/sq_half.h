// SPDX-License-Identifier: Apache-2.0
// binary16 arithmetic on values held in binary32. Internal to models/.
//
// A sum, difference or product of two binary16 values, computed in binary32 and then rounded to
// binary16, is the correctly rounded one: 24 >= 2 * 11 + 2 bits make the double rounding harmless.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"
#include "models/sq_status.h"

static inline bool sq_half_is_finite(uint16_t h)
{
    return (h & 0x7c00u) != 0x7c00u;
}

// Exact for every pattern.
static inline float sq_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    const uint32_t bits = sign | (magnitude << 13);
    if (magnitude >= 0x7c00u) // infinity, NaN
        return sq_float_of(bits | 0x7f800000u);
    return sq_float_of(bits) * 0x1p112f; // moves the exponent's bias; subnormals become normal
}

// The nearest binary16, as binary32; infinity beyond 65504.
static inline float sq_half_round(float x)
{
    return sq_half_to_float(sq_f32_to_f16(x));
}

// sq_half_round of n numbers, in vectors where the processor has them.
void sq_half_round_all(const float *x, size_t n, float *out);

// x[n_tokens][k_orig] rounded to binary16, zeros behind: out[n_tokens][k]. SQ_ERR_OVERFLOW names token
// and channel.
enum sq_status sq_half_load(const float *x, size_t n_tokens, size_t k_orig, size_t k, float *out,
                            struct sq_error *err);
