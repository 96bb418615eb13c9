// SPDX-License-Identifier: Apache-2.0
#include "models/sq_gemm_values.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Of a block: as many sums as hide the latency of one addition.
enum { CHANNELS = 16, TOKENS = 4 };

// sum[t][c] over i of x[t * k + i] * w[i * CHANNELS + c], ascending.
typedef void dot_fn(const double *x, const double *w, size_t k, double sum[TOKENS][CHANNELS]);

static void dot_portable(const double *x, const double *w, size_t k, double sum[TOKENS][CHANNELS])
{
    for (size_t t = 0; t < TOKENS; t++) {
        double s[CHANNELS] = {0};
        for (size_t i = 0; i < k; i++)
            for (size_t c = 0; c < CHANNELS; c++)
                s[c] += x[t * k + i] * w[i * CHANNELS + c];
        for (size_t c = 0; c < CHANNELS; c++)
            sum[t][c] = s[c];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void dot_avx512(const double *x, const double *w,
                                                          size_t k, double sum[TOKENS][CHANNELS])
{
    __m512d s[TOKENS][2];
#pragma GCC unroll 4
    for (size_t t = 0; t < TOKENS; t++)
        s[t][0] = s[t][1] = _mm512_setzero_pd();
    for (size_t i = 0; i < k; i++) {
        const __m512d w0 = _mm512_load_pd(w + i * CHANNELS);
        const __m512d w1 = _mm512_load_pd(w + i * CHANNELS + 8);
#pragma GCC unroll 4
        for (size_t t = 0; t < TOKENS; t++) {
            const __m512d a = _mm512_set1_pd(x[t * k + i]);
            s[t][0] = _mm512_fmadd_pd(a, w0, s[t][0]);
            s[t][1] = _mm512_fmadd_pd(a, w1, s[t][1]);
        }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < TOKENS; t++) {
        _mm512_storeu_pd(sum[t], s[t][0]);
        _mm512_storeu_pd(sum[t] + 8, s[t][1]);
    }
}

static dot_fn *select_dot(void)
{
    return __builtin_cpu_supports("avx512f") ? dot_avx512 : dot_portable;
}
#else
static dot_fn *select_dot(void)
{
    return dot_portable;
}
#endif

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
    dot_fn *const dot = select_dot();
    for (size_t i = 0; i < whole_blocks(m) * k; i++)
        xs[i] = i < m * k ? (double)x[i] : 0;
    for (size_t c0 = 0; c0 < n; c0 += CHANNELS) {
        const size_t here = n - c0 < CHANNELS ? n - c0 : CHANNELS;
        for (size_t i = 0; i < k; i++)
            for (size_t c = 0; c < CHANNELS; c++)
                ws[i * CHANNELS + c] = c < here ? (double)w[(c0 + c) * k + i] : 0;
        for (size_t t = 0; t < m; t += TOKENS) {
            double sum[TOKENS][CHANNELS];
            dot(xs + t * k, ws, k, sum);
            for (size_t j = 0; j < TOKENS && t + j < m; j++)
                for (size_t c = 0; c < here; c++)
                    y[(t + j) * n + c0 + c] = (float)sum[j][c] + 0.0f;
        }
    }
}
