// SPDX-License-Identifier: Apache-2.0
// Integer requantisation: an INT32 sum times a ratio of scales becomes a code again. The ratio is
// mul / 2^shift with a 16-bit integer, so that no float is needed; what it stands for is
// Qs(acc * s_a * s_w, s_out, bits) of SPEC 0.3, hence the same rounding (to nearest, ties to even:
// rne of SPEC 0.2) and the same range (-qmax..qmax, the mask code never).
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SQ_REQUANT_SHIFT_MAX = 63 };

// clamp(rne(acc * mul / 2^shift), -qmax, qmax), qmax = 2^(bits-1) - 1. Exact for all operands;
// shift 0..SQ_REQUANT_SHIFT_MAX, bits 2..8. A ratio of scales has mul > 0.
int8_t sq_requant(int32_t acc, int16_t mul, unsigned shift, unsigned bits);

// The mul (2^14..2^15-1) and shift nearest to a ratio; relative error at most 2^-15. False if the
// ratio is not in 2^-48 .. 2^14, which no shift reaches.
bool sq_requant_choose(double ratio, int16_t *mul, unsigned *shift);
