// SPDX-License-Identifier: Apache-2.0
// Computes sigma, multiplies weights by it and divides activations by it (sq_smooth.h).
#include "models/quant/sq_smooth.h"

#include <math.h>

void sq_smooth_weights(const float *w, size_t n, size_t k, float *wx)
{
    for (size_t i = 0; i < n; i++)
#pragma omp simd
        for (size_t j = 0; j < k; j++) {
            const float magnitude = fabsf(w[i * k + j]);
            wx[j] = magnitude > wx[j] ? magnitude : wx[j];
        }
}

void sq_smooth_sigma(const float *ax, const float *wx, size_t k, double alpha, float *sigma)
{
    const double floor = 1e-5;
    for (size_t j = 0; j < k; j++) {
        const double w = fmax((double)wx[j], floor);
        sigma[j] = (float)fmax(pow((double)ax[j], alpha) / pow(w, 1 - alpha), floor);
    }
}

void sq_smooth_apply_weights(float *w, size_t n, size_t k, const float *sigma)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            w[i * k + j] *= sigma[j];
}

void sq_smooth_apply_act(const float *x, size_t m, size_t k, const float *sigma, float *out)
{
#pragma omp parallel for
    for (size_t t = 0; t < m; t++)
        for (size_t j = 0; j < k; j++)
            out[t * k + j] = x[t * k + j] / sigma[j];
}
