// SPDX-License-Identifier: Apache-2.0
// The inner loops of block-scaled products: a tile of SQ_BS_TOKENS tokens by SQ_BS_CHANNELS
// channels through a run of blocks (sq_bs_panel.h has the layout). Internal to models/.
//
// Each loop adds fl((float)P * fl(s_w * s_x)) of every block to A, in ascending order, as SPEC Q.7
// has it; where that product is exact it may be a fused one. Scales are in the planes times the
// unit of the elements.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/number/sq_gemm_kernels.h"
#include "models/scaled/sq_bs.h"

enum { SQ_BS_CHANNELS = SQ_BS_PANEL, SQ_BS_TOKENS = 6 };

// How a plane holds its elements.
enum sq_bs_form {
    SQ_BS_INT8,   // vpdpbusd
    SQ_BS_INT16,  // vpdpwssd, vpmaddwd, C
    SQ_BS_WIDE,   // binary64: E4M3, E5M2
    SQ_BS_SPARSE, // high elements of tokens, each with its place, beside low weights of INT8
    SQ_BS_GATHER, // high elements of weights, each with its place; all elements of a token
    SQ_BS_FORMS
};

// Half of 2^24: an integer below 2^22 added to its bits is the number added to it.
#define SQ_BS_MAGIC 12582912.0f
enum { SQ_BS_MAGIC_BITS = 0x4b400000 };

struct sq_bs_run {
    const uint8_t *w, *x;    // first block of the planes
    size_t w_block, x_block; // bytes from a block to the next
    size_t n_blocks;
    unsigned block;  // elements
    unsigned n_high; // SPARSE, GATHER: of a block
    float *a;        // [TOKENS][CHANNELS], added to
    float *a2;       // GATHER: high by high
};

typedef void sq_bs_dot_fn(const struct sq_bs_run *r);

// Gives the loop of a supported kernel for a form. is_rounded: P * s_w * s_x needs more than 24 bits.
// is_summed, GATHER: a2 holds integers, the sums of high by high elements without scales (plus 128
// times those of the weights).
sq_bs_dot_fn *sq_bs_dot_of(enum sq_gemm_kernel kernel, enum sq_bs_form form, bool is_rounded,
                           bool is_summed);
// Whether INT8, and whether SPARSE and GATHER are there.
bool sq_bs_has_int8(enum sq_gemm_kernel kernel);
bool sq_bs_has_gather(enum sq_gemm_kernel kernel);
