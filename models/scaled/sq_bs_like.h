// SPDX-License-Identifier: Apache-2.0
// Weights in E2M1 encoded with the arithmetic of other programs, operation by operation (SPEC Q.10): which number
// is divided by which, where it is rounded, what a block of zeros gets. What is stored means what it means in sq_bs.h.
#pragma once

#include "models/scaled/sq_bs.h"

enum sq_bs_like {
    SQ_BS_LIKE_SPEC,     // SPEC Q.2, Q.3
    SQ_BS_LIKE_TE,       // TransformerEngine: NV and 46
    SQ_BS_LIKE_CT,       // compressed-tensors on a model in F32: NV, MX
    SQ_BS_LIKE_CT_BF16,  // the same on a model in BF16
    SQ_BS_LIKE_MODELOPT, // NV
    SQ_BS_LIKE_QUARK,    // MX, rule EVEN
    SQ_BS_LIKE_GGML,     // NV without a scale above the blocks, MX
    SQ_BS_LIKES
};
extern const char *const sq_bs_like_choice[]; // as options have them, then a NULL

// Whether the program has such blocks: SQ_ERR_UNSUPPORTED.
enum sq_status sq_bs_like_check(const struct sq_bs_format *f, enum sq_bs_like like,
                                struct sq_error *err);

// What all blocks of a tensor share.
struct sq_bs_like_tensor {
    enum sq_bs_like like;
    float amax;            // of the tensor
    float up, down, sixth; // TE, CT: 2688 / amax and its reciprocal; TE: up / 6
    float global;          // what is stored above the blocks; 1: none
};

// x[c->n][c->k_orig], finite; like is no SPEC, and sq_bs_like_check takes it. Sets c->global[0].
struct sq_bs_like_tensor sq_bs_like_begin(struct sq_bs *c, enum sq_bs_like like, const float *x);
// Scales and codes of a row x[k_orig]; rows in any order and thread.
void sq_bs_like_row(const struct sq_bs_like_tensor *t, struct sq_bs *c, size_t row, const float *x);
