// SPDX-License-Identifier: Apache-2.0
// Weights into GQSA (SPEC F.2, F.3, F.7): which groups are kept, and what their codes become. F.7
// (b) and (c) stand in for the paper's training and are called "lite".
#pragma once

#include "models/gqsa/sq_gqsa.h"
#include "models/quant/sq_calibration.h"

// score[n][K/G]: mean over G of (w * weight_of[k])^2, padding columns 0. weight_of as
// sq_score_weights makes it (readings C0..C3 of SPEC B.3), or channel norms.
void sq_gqsa_saliency(const float *w, size_t n, size_t k_orig, unsigned group,
                      const float *weight_of, double *score);

// How many of so many groups that compete are pruned, whatever their scores are.
size_t sq_gqsa_n_pruned(size_t n_groups, double sparsity);
// is_kept[n][columns] 0 or 1: the round(sparsity * n * columns) lowest scores of the matrix are
// pruned, or, balanced, round(sparsity * columns) in every row. Ties: the lower index is pruned
// first. sparsity 0..1 (SQ_ERR_RANGE), scores no NaN (SQ_ERR_NON_FINITE). Allocates
// (SQ_ERR_MEMORY).
enum sq_status sq_gqsa_prune(const double *score, size_t n, size_t columns, double sparsity,
                             bool is_row_balanced, uint8_t *is_kept, struct sq_error *err);

// How many groups is_kept keeps, which m->nnz and the buffers must be made for.
size_t sq_gqsa_count(const uint8_t *is_kept, size_t n, size_t columns);
// row_index and groups of *m from is_kept.
void sq_gqsa_set_groups(struct sq_gqsa *m, const uint8_t *is_kept);

enum sq_gqsa_method {
    SQ_GQSA_RTN,        // F.7 (a): round what is left
    SQ_GQSA_SEQUENTIAL, // pruning and rounding compensated column by column, scales from the
                        // current weights at the start of a group (SPEC K19)
    SQ_GQSA_LITE,       // F.7 (b), (c): survivors refitted, rounded, scales and zeros refitted
};

// w[n][k_orig] into *m, whose shape, buffers, row_index and groups are set. `factor` for
// SEQUENTIAL; both for LITE (SQ_ERR_ARG where missing). SQ_ERR_NON_FINITE, SQ_ERR_OVERFLOW,
// SQ_ERR_MEMORY.
enum sq_status sq_gqsa_encode(struct sq_gqsa *m, const float *w, enum sq_gqsa_method method,
                              const struct sq_calibration *calibration,
                              const struct sq_factor *factor, struct sq_error *err);

// ---- steps of "lite" (sq_gqsa_refit.c), one row each ------------------------------------------

// The damped Hessian of SPEC B.2, h[k][k], both triangles.
void sq_gqsa_hessian(const struct sq_calibration *c, const struct sq_factor *f, double *h);

// F.7 (b): w[k] (dead channels 0) to its survivors: w_S = H_SS^-1 H_S,: w, zero elsewhere. keep[k]
// 0 or 1; scratch: k * k + 2 k doubles. False where H_SS is not positive definite; w is then
// unchanged.
bool sq_gqsa_survivors(const double *h, size_t k, const uint8_t *keep, double *w, double *scratch);

// F.7 (c): scales and zeros of row `row` by least squares on (W^ - W) H (W^ - W)^T with codes
// fixed: scale and real zero together, zero rounded to 4 bits, then the scales once more; kept only
// where the row's error falls. w[k_orig]: the weights before pruning. Returns the error of the row
// as it then is. SQ_ERR_MEMORY.
enum sq_status sq_gqsa_refit_row(struct sq_gqsa *m, size_t row, const double *h, const double *w,
                                 double *error, struct sq_error *err);
