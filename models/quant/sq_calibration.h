// SPDX-License-Identifier: Apache-2.0
// What the offline algorithms know of a linear layer's input: channel magnitudes and the Hessian
// H = (2/T) X^T X (SPEC B.2), and its factor U.
//
// Binary64, OpenBLAS and LAPACKE. Results do not depend on the number of threads (sq_blas.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// Sums over the tokens seen so far. Owns its buffers.
struct sq_calibration {
    size_t k, n_tokens;
    double *xtx;     // [k][k], lower triangle of sum x x^T; NULL where no Hessian was asked for
    float *abs_max;  // [k]
    double *abs_sum; // [k]
};

enum sq_status sq_calibration_init(struct sq_calibration *c, size_t k, bool has_hessian,
                                   struct sq_error *err);
// Adds x[m][k]. SQ_ERR_NON_FINITE names token (of this call) and channel; *c is then unchanged.
enum sq_status sq_calibration_add(struct sq_calibration *c, const float *x, size_t m,
                                  struct sq_error *err);
void sq_calibration_free(struct sq_calibration *c);

// H damped by lambda = percdamp * mean(diag H), and U, upper triangular, with H^-1 = U^T U (SPEC
// B.2, N.3, N.4). Owns its buffers.
struct sq_factor {
    size_t k;
    double *u;        // [k][k]
    double *inv_diag; // [k], [H^-1]_jj = sum_i U[i][j]^2
    uint8_t *is_dead; // [k], channels that were 0 in every token
    double percdamp;  // as used: ten times more after every failed attempt
    double lambda;
};

// For inputs divided by sigma[k] (NULL: as they are). percdamp in 0..1. Errors: SQ_ERR_RANGE for an
// empty calibration or percdamp; SQ_ERR_ARG without a Hessian; SQ_ERR_SINGULAR where H is still not
// positive definite after five retries.
enum sq_status sq_factor_init(struct sq_factor *f, const struct sq_calibration *c,
                              const float *sigma, double percdamp, struct sq_error *err);
void sq_factor_free(struct sq_factor *f);
