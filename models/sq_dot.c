// SPDX-License-Identifier: Apache-2.0
#include "models/sq_dot.h"

enum { CHANNELS = SQ_DOT_CHANNELS };

static inline __attribute__((always_inline)) void dot_body(const double *x, const double *w,
                                                           size_t len, double sum[CHANNELS])
{
    double s[CHANNELS] = {0};
    for (size_t i = 0; i < len; i++)
#pragma omp simd
        for (size_t c = 0; c < CHANNELS; c++)
            s[c] += x[i] * w[i * CHANNELS + c];
    for (size_t c = 0; c < CHANNELS; c++)
        sum[c] = s[c];
}

#if defined(__x86_64__)
__attribute__((target("avx512f,prefer-vector-width=512"))) static void
dot_avx512(const double *x, const double *w, size_t len, double sum[CHANNELS])
{
    dot_body(x, w, len, sum);
}
#endif

void sq_dot(const double *x, const double *w, size_t len, double sum[CHANNELS])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        dot_avx512(x, w, len, sum);
        return;
    }
#endif
    dot_body(x, w, len, sum);
}
