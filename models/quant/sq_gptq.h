// SPDX-License-Identifier: Apache-2.0
// GPTQ on any grid, and on a mixed grid SQ Algorithm 1 (SPEC B.3, B.4).
#pragma once

#include "models/number/sq_codes.h"
#include "models/quant/sq_calibration.h"

// Importance of a weight, the readings of SPEC B.3.
enum sq_score {
    SQ_SCORE_C0, // w^2 / U_jj^2: the default
    SQ_SCORE_C1, // w^2 / ([H^-1]_jj)^2
    SQ_SCORE_C2, // w^2 / [H^-1]_jj
    SQ_SCORE_C3, // w^2: the control
    SQ_SCORES
};

// Which weights are pruned, of the formats that prune: the smallest |w|, |w| ||X||_2 or w^2 / U_jj^2.
enum sq_prune {
    SQ_PRUNE_MAGNITUDE,
    SQ_PRUNE_WANDA,
    SQ_PRUNE_SPARSEGPT,
    SQ_PRUNE_NONE, // they have been pruned before
    SQ_PRUNES
};

// weight_of[f->k]: the importance of w in column j is (|w| * weight_of[j])^2.
void sq_score_weights(const struct sq_factor *f, enum sq_score score, float *weight_of);

struct sq_gptq {
    enum sq_score score; // mixed grids
    bool is_lazy;        // a bank's mask from the compensated weights when the bank is reached; the
                         // scales of a longer group from a provisional mask (SPEC B.3, K4)
    unsigned block;      // columns whose updates are gathered; changes roundings only. A multiple
                         // of the scale group or a divisor of it; 0: 128
};

// *c has shape, grid and buffers set and receives masks, scales and codes of w[n][k_orig], the
// weights after smoothing. `f` is the factor of the inputs after the same smoothing, k = k_orig.
// *sum_e2, where not NULL, receives sum e^2, which equals tr(D H D^T), D = W - W^ (SPEC J.3).
// SQ_ERR_NON_FINITE for w; SQ_ERR_ARG for a block that does not fit the group.
enum sq_status sq_gptq_encode(struct sq_codes *c, const float *w, const struct sq_factor *f,
                              const struct sq_gptq *options, double *sum_e2, struct sq_error *err);
