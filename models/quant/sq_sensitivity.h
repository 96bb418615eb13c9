// SPDX-License-Identifier: Apache-2.0
// What an error in the weights does to a layer's output under calibration, and the layers that
// should therefore stay as they are (selective sparsity).
#pragma once

#include "models/quant/sq_calibration.h"

// norm[k] = ||X_k||_2 of every channel. SQ_ERR_ARG without a Hessian.
enum sq_status sq_channel_norms(const struct sq_calibration *c, double *norm, struct sq_error *err);

// *sum = |X D^T|_F^2 over the calibration tokens, D = d[n][k]: with D = W - W^ the squared output
// error, with D = W the squared output. SQ_ERR_ARG without a Hessian; SQ_ERR_MEMORY.
enum sq_status sq_output_energy(const struct sq_calibration *c, const float *d, size_t n,
                                double *sum, struct sq_error *err);

// The round(fraction * n) layers with the largest error: is_dense 1; ties: the lower index.
// fraction in 0..1 (SQ_ERR_RANGE), errors no NaN (SQ_ERR_NON_FINITE).
enum sq_status sq_sensitive_layers(const double *error, size_t n, double fraction,
                                   uint8_t *is_dense, struct sq_error *err);
