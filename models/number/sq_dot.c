// SPDX-License-Identifier: Apache-2.0
// Sums products in binary64, in plain C or AVX-512 (sq_dot.h).
#include "models/number/sq_dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "models/number/sq_lanes.h"

enum { CHANNELS = SQ_DOT_CHANNELS };

SQ_LANES_BODY void dot_body(const double *x, const double *w, size_t len, double sum[CHANNELS])
{
    double s[CHANNELS] = {0};
    for (size_t i = 0; i < len; i++)
#pragma omp simd
        for (size_t c = 0; c < CHANNELS; c++)
            s[c] += x[i] * w[i * CHANNELS + c];
    for (size_t c = 0; c < CHANNELS; c++)
        sum[c] = s[c];
}

SQ_LANES_EACH(void, , dot, (const double *x, const double *w, size_t len, double sum[CHANNELS]), x,
              w, len, sum)

void sq_dot(const double *x, const double *w, size_t len, double sum[CHANNELS])
{
    SQ_LANES_BEST(dot)(x, w, len, sum);
}

// ---- tiles ----------------------------------------------------------------------------------

// 8 vectors of sums hide the latency of an addition.
enum { TOKENS = SQ_DOT_TOKENS, COLUMNS = SQ_DOT_COLUMNS };

static void tile_portable(const double *x, size_t stride, const double *w, size_t len,
                          double sum[TOKENS][COLUMNS])
{
    for (size_t t = 0; t < TOKENS; t++) {
        double s[COLUMNS] = {0};
        for (size_t i = 0; i < len; i++)
            for (size_t c = 0; c < COLUMNS; c++)
                s[c] += x[t * stride + i] * w[i * COLUMNS + c];
        for (size_t c = 0; c < COLUMNS; c++)
            sum[t][c] = s[c];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void tile_avx512(const double *x, size_t stride,
                                                           const double *w, size_t len,
                                                           double sum[TOKENS][COLUMNS])
{
    __m512d s[TOKENS][2];
#pragma GCC unroll 4
    for (size_t t = 0; t < TOKENS; t++)
        s[t][0] = s[t][1] = _mm512_setzero_pd();
    for (size_t i = 0; i < len; i++) {
        const __m512d w0 = _mm512_loadu_pd(w + i * COLUMNS);
        const __m512d w1 = _mm512_loadu_pd(w + i * COLUMNS + 8);
#pragma GCC unroll 4
        for (size_t t = 0; t < TOKENS; t++) {
            const __m512d a = _mm512_set1_pd(x[t * stride + i]);
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

#endif

void sq_dot_tile(const double *x, size_t stride, const double *w, size_t len,
                 double sum[TOKENS][COLUMNS])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        tile_avx512(x, stride, w, len, sum);
        return;
    }
#endif
    tile_portable(x, stride, w, len, sum);
}
