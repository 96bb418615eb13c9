// SPDX-License-Identifier: Apache-2.0
// The integer dot products behind sq_gemm_codes: a tile of tokens times a block of channels.
// Internal to models/.
//
// Codes stand in words of 4 bytes: two codes of int16, or four of int8. A cell is a word of each
// channel, so a kernel multiplies a cell by a word of a token and never sums across channels. The
// same cells are what AMX reads as the rows of a tile.
#pragma once

#include "models/number/sq_codes.h"
#include "models/number/sq_gemm_kernels.h"

enum {
    SQ_CODES_CHANNELS = SQ_GEMM_CODES_BLOCK,
    SQ_CODES_TOKENS_MAX = 32, // of a tile, any kernel
    SQ_CODES_WORD = 4,
    SQ_CODES_STEP = 64, // bytes of a row of a tile of AMX
};

// Rows of x are zeros up to a whole tile of tokens. Codes of x are moved up by the kernel's offset,
// and start is minus the offset times the sum of the cells'.
struct sq_codes_tile {
    const void *x;        // of the first token
    size_t stride;        // bytes from one token to the next
    unsigned n_tokens;    // 1..tokens of the kernel; the sums of others are of no meaning
    const void *cell;     // 64-byte aligned
    size_t n;             // words of a token
    const int32_t *start; // [SQ_CODES_CHANNELS]
};

// sum[t][c] = start[c] + sum over i < n of x[t][i] . cell[i][c].
typedef void sq_codes_dot_fn(const struct sq_codes_tile *tile,
                             int32_t sum[SQ_CODES_TOKENS_MAX][SQ_CODES_CHANNELS]);

struct sq_codes_dot {
    enum sq_gemm_kernel kernel;
    unsigned nbytes;   // of a code, 1 or 2
    unsigned n_tokens; // of a tile
    int offset;        // 128 where codes of x have no sign
    sq_codes_dot_fn *dot;
};

// Gives the loop of a supported kernel, or of the next one below it that can multiply these codes.
// is_int8: all codes are -128..127; is_stepped: every n is a multiple of SQ_CODES_STEP / SQ_CODES_WORD.
struct sq_codes_dot sq_codes_dot_of(enum sq_gemm_kernel kernel, bool is_int8, bool is_stepped);

// Around the calls of d->dot in one thread: AMX is told the shape of its tiles, and lets go of
// them.
void sq_codes_dot_begin(const struct sq_codes_dot *d);
void sq_codes_dot_end(const struct sq_codes_dot *d);
