// SPDX-License-Identifier: Apache-2.0
// SmoothQuant (SPEC B.1): sigma[k] moves magnitude from activations to weights, X W^T unchanged.
#pragma once

#include <stddef.h>

// wx[k] = max(wx[k], max_n |w[n][k]|): call for every layer that shares the input, wx starting at
// 0.
void sq_smooth_weights(const float *w, size_t n, size_t k, float *wx);

// sigma[k] = max(ax[k]^alpha / max(wx[k], 1e-5)^(1-alpha), 1e-5), ax the largest |activation|;
// alpha in 0..1. alpha = 0 still moves magnitude: pass no sigma at all to leave a layer as it is.
void sq_smooth_sigma(const float *ax, const float *wx, size_t k, double alpha, float *sigma);

// w[n][k] *= sigma[k], or x[m][k] /= sigma[k].
void sq_smooth_apply_weights(float *w, size_t n, size_t k, const float *sigma);
void sq_smooth_apply_act(const float *x, size_t m, size_t k, const float *sigma, float *out);
