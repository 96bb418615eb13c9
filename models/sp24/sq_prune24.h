// SPDX-License-Identifier: Apache-2.0
// 2:4 pruning and rounding (SPEC E.6, E.7): which two of every four weights go, and what the others
// become: codes of 4 to 8 bits, or binary16.
//
//   criterion, per row and aligned group of four; the two smallest go, ties: the lower index first
//     magnitude  |w|
//     wanda      |w| * ||X_k||_2
//     sparsegpt  w^2 / U_kk^2 on the weights as they are when the group is reached
//   joint    false: prune, then round what is left on its scale. SparseGPT prunes
//   with
//            compensation in FP64 first, the other two just drop.
//            true: one pass of E.7: prune, quantize, and compensate both errors in later columns.
//            With magnitude or Wanda the pattern is chosen beforehand from the dense weights.
//   none     the weights are 2:4 already: anything else is refused; never joint
//
// The scale of a row is max |w| / qmax(bits) of the dense row, before pruning (E.7); that of a group the
// same of the weights that the criterion would keep in it, as they are when the group is reached.
#pragma once

#include "models/quant/sq_gptq.h"
#include "models/sp24/sq_sp24.h"

struct sq_prune24 {
    enum sq_prune criterion;
    bool is_joint;
    unsigned block; // of the column loop, a multiple of 4; 0: 128
};

// is_kept[4] of one group of four by score (>= 0): two ones.
void sq_prune24_group(const double score[4], uint8_t is_kept[4]);

// What of the inputs is needed: `norm`[k] for Wanda, `factor` for SparseGPT and for joint; either
// may be NULL otherwise (SQ_ERR_ARG where it is missing).
bool sq_prune24_needs_norm(const struct sq_prune24 *o);
bool sq_prune24_needs_factor(const struct sq_prune24 *o);

// w[n][k_orig] into *m, whose shape and buffers are set. codes: scratch of n * k_orig. *sum_e2,
// where not NULL, receives sum e^2 of the column loop, NaN where none ran. SQ_ERR_SHAPE,
// SQ_ERR_NON_FINITE, SQ_ERR_MEMORY.
enum sq_status sq_prune24_encode(struct sq_sp24 *m, const float *w,
                                 const struct sq_prune24 *options, const double *norm,
                                 const struct sq_factor *factor, int8_t *codes, double *sum_e2,
                                 struct sq_error *err);

// A dense row in INT8 on the same scale: what a layer that stays dense is made of. Returns the
// scale.
float sq_dense8_encode_row(const float *w, size_t k, int8_t *codes);
