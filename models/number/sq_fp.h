// SPDX-License-Identifier: Apache-2.0
// The small floating-point formats of SPEC A.9 and Q.1, a sign above exponent and fraction each.
//
//          bits  bias  largest         no number
//   E2M1   4     1     6      (0x7)    none; magnitude codes 0..7 = 0, .5, 1, 1.5, 2, 3, 4, 6
//   E2M3   6     1     7.5    (0x1f)   none
//   E3M2   6     3     28     (0x1f)   none
//   E4M3   8     7     448    (0x7e)   0x7f, 0xff: NaN (OCP "fn")
//   E5M2   8     15    57344  (0x7b)   0x7c..0x7f, 0xfc..0xff: infinities, NaN
//   E8M0   8     127   2^127  (0xfe)   0xff: NaN; no sign, no fraction: 2^(code - 127)
//
// Conversion to a code saturates: it never writes a code that is no number.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SQ_E2M1_MASK_CODE 0x8u
#define SQ_E2M1_MAX 6.0f
#define SQ_E4M3_MAX 448.0f
#define SQ_E5M2_MAX 57344.0f
#define SQ_E8M0_BIAS 127
#define SQ_E8M0_NAN 0xff

enum sq_fp { SQ_FP_E2M1, SQ_FP_E2M3, SQ_FP_E3M2, SQ_FP_E4M3, SQ_FP_E5M2, SQ_FPS };

// Nearest, ties to the even code; beyond the largest magnitude saturates. A zero, and what rounds
// to it, keeps its sign (SPEC Q.1). x is finite.
uint8_t sq_fp_encode(enum sq_fp f, float x);
// Exact; -0 decodes to 0, what is no number to NaN or an infinity. Bits above the code are ignored.
float sq_fp_decode(enum sq_fp f, uint8_t code);
// Whether the whole byte is a code, and stands for a finite number.
bool sq_fp_is_number(enum sq_fp f, uint8_t code);

// The codes of the SQ-format (SPEC A.9): as sq_fp_encode, but zero is +0, since 1000b (-0) is the
// mask code of E2M1 and never the code of a value; and their values.
uint8_t sq_e2m1_encode(float x);
uint8_t sq_e4m3_encode(float x);
float sq_e2m1_decode(uint8_t code);
float sq_e4m3_decode(uint8_t code);

// 2^(code - 127), exact (code 0 is a subnormal binary32); NaN for 0xff.
float sq_e8m0_decode(uint8_t code);
// The code of 2^exponent, clamped to 2^-127..2^127.
uint8_t sq_e8m0_encode(int exponent);

// binary32 -> binary16 bit pattern, round to nearest even (SPEC N.1); values that round beyond
// 65504 give infinity (0x7c00), which the caller refuses.
uint16_t sq_f32_to_f16(float x);
