// SPDX-License-Identifier: Apache-2.0
// The small floating-point formats of SPEC A.9: E2M1 (FP4) and E4M3 (FP8, OCP "fn").
//
//   E2M1: sign in bit 3, magnitude codes 0..7 = 0, .5, 1, 1.5, 2, 3, 4, 6. 1000b (-0) is the mask
//         code; it is never the code of a value.
//   E4M3: sign, exponent (bias 7), 3 fraction bits; largest 448 (0x7e); 0x7f and 0xff are NaN.
#ifndef SQ_FP_H
#define SQ_FP_H

#include <stdint.h>

#define SQ_E2M1_MASK_CODE 0x8u
#define SQ_E2M1_MAX 6.0f
#define SQ_E4M3_MAX 448.0f

// Nearest, ties to the even code; beyond the largest magnitude saturates; zero is +0. x is finite.
uint8_t sq_e2m1_encode(float x);
uint8_t sq_e4m3_encode(float x);

// Exact. The mask code and -0 decode to 0; an E4M3 NaN code decodes to NaN.
float sq_e2m1_decode(uint8_t code);
float sq_e4m3_decode(uint8_t code);

// binary32 -> binary16 bit pattern, round to nearest even (SPEC N.1); values that round beyond
// 65504 give infinity (0x7c00), which the caller refuses.
uint16_t sq_f32_to_f16(float x);

#endif
