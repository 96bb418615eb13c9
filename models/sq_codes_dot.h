// SPDX-License-Identifier: Apache-2.0
// The integer dot products behind sq_gemm_codes: a block of tokens times a block of channels.
// Internal to models/.
//
// Codes stand in words of 4 bytes: two codes of int16, or four of int8. A cell is a word of each
// channel, so a kernel multiplies a cell by a word of a token and never sums across channels.
#ifndef SQ_CODES_DOT_H
#define SQ_CODES_DOT_H

#include "models/sq_codes.h"
#include "models/sq_gemm_kernels.h"

enum { SQ_CODES_CHANNELS = SQ_GEMM_CODES_BLOCK, SQ_CODES_TOKENS = 8, SQ_CODES_WORD = 4 };

// sum[t][c] = sum over i < n of x[t][i] . cell[i][c] - bias[c]; x holds words, tokens are `stride`
// words apart. Codes of int8 are those of x plus 128, and bias is 128 times the sum of the cells'.
typedef void sq_codes_dot_fn(const void *x, size_t stride, const void *cell, size_t n,
                             const int32_t bias[SQ_CODES_CHANNELS],
                             int32_t sum[SQ_CODES_TOKENS][SQ_CODES_CHANNELS]);

struct sq_codes_dot {
    unsigned nbytes; // of a code, 1 or 2
    sq_codes_dot_fn *dot;
};

// Of a supported kernel; is_int8: all codes are -128..127.
struct sq_codes_dot sq_codes_dot_of(enum sq_gemm_kernel kernel, bool is_int8);

#endif
