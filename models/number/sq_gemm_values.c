// SPDX-License-Identifier: Apache-2.0
// Widens both operands to binary64 and multiplies them block by block (sq_gemm_values.h).
#include "models/number/sq_gemm_values.h"

#include "models/number/sq_dot.h"

// A block of outputs has as many sums as hide the latency of one addition.
enum { CHANNELS = SQ_DOT_COLUMNS, TOKENS = SQ_DOT_TOKENS };

static size_t whole_blocks(size_t m)
{
    return (m + TOKENS - 1) / TOKENS * TOKENS;
}

size_t sq_gemm_values_scratch(size_t m, size_t k)
{
    return (CHANNELS + whole_blocks(m)) * k * sizeof(double);
}

void sq_gemm_values(const float *w, size_t n, const float *x, size_t m, size_t k, float *y,
                    void *scratch)
{
    double *const ws = scratch, *const xs = ws + CHANNELS * k;
    for (size_t i = 0; i < whole_blocks(m) * k; i++)
        xs[i] = i < m * k ? (double)x[i] : 0;
    for (size_t c0 = 0; c0 < n; c0 += CHANNELS) {
        const size_t here = n - c0 < CHANNELS ? n - c0 : CHANNELS;
        for (size_t i = 0; i < k; i++)
            for (size_t c = 0; c < CHANNELS; c++)
                ws[i * CHANNELS + c] = c < here ? (double)w[(c0 + c) * k + i] : 0;
        for (size_t t = 0; t < m; t += TOKENS) {
            double sum[TOKENS][CHANNELS];
            sq_dot_tile(xs + t * k, k, ws, k, sum);
            for (size_t j = 0; j < TOKENS && t + j < m; j++)
                for (size_t c = 0; c < here; c++)
                    y[(t + j) * n + c0 + c] = (float)sum[j][c] + 0.0f;
        }
    }
}
