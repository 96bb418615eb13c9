// SPDX-License-Identifier: Apache-2.0
// Scores each channel by its mean activation times its mean weight and marks the best of a bank
// (sq_algorithm2.h).
#include "models/quant/sq_algorithm2.h"

#include <math.h>
#include <stdlib.h>

#include "models/number/sq_codes.h"

void sq_mean_act(const double *abs_sum, size_t n_tokens, const float *sigma, size_t k, float *abar)
{
    for (size_t i = 0; i < k; i++)
        abar[i] = (float)(abs_sum[i] / (double)n_tokens / (sigma ? (double)sigma[i] : 1));
}

void sq_mean_weight(const float *w, size_t n, size_t k, float *wbar)
{
    enum { COLUMNS = 64 }; // side by side, each summed down its rows
    for (size_t begin = 0; begin < k; begin += COLUMNS) {
        const size_t here = k - begin < COLUMNS ? k - begin : COLUMNS;
        double sum[COLUMNS] = {0};
        for (size_t row = 0; row < n; row++)
#pragma omp simd
            for (size_t i = 0; i < here; i++)
                sum[i] += fabs((double)w[row * k + begin + i]);
        for (size_t i = 0; i < here; i++)
            wbar[begin + i] = (float)(sum[i] / (double)n);
    }
}

enum sq_status sq_static_mask(const float *abar, const float *wbar, size_t k_orig, size_t k,
                              unsigned bank, unsigned high_per_bank, uint8_t *mask,
                              struct sq_error *err)
{
    SQ_FREED float *score = malloc(k_orig * sizeof *score);
    SQ_NEED(score, err, "%zu channels", k_orig);
    for (size_t i = 0; i < k_orig; i++)
        score[i] = wbar ? abar[i] * wbar[i] : abar[i];
    sq_mask_row(score, k, k_orig, bank, high_per_bank, mask);
    return SQ_OK;
}

size_t sq_static_order(const uint8_t *mask, size_t k, uint32_t *perm_hi, uint32_t *perm_lo)
{
    size_t n_hi = 0, n_lo = 0;
    for (size_t i = 0; i < k; i++)
        if (mask[i])
            perm_hi[n_hi++] = (uint32_t)i;
        else
            perm_lo[n_lo++] = (uint32_t)i;
    return n_hi;
}

double sq_mask_recall(const uint8_t *mask, const uint8_t *is_high, size_t m, size_t k)
{
    size_t both = 0, high = 0;
    for (size_t t = 0; t < m; t++)
        for (size_t i = 0; i < k; i++) {
            both += mask[i] && is_high[t * k + i];
            high += is_high[t * k + i];
        }
    return (double)both / (double)high; // every bank has the same number of high elements
}
