// SPDX-License-Identifier: Apache-2.0
// The n + 1 sums stand side by side, each adds its own terms in order, one left out as +0: vectors
// give the bits of single sums.
#include "models/spqr/sq_spqr_errors.h"

#include <math.h>
#include <stdbool.h>

enum { SUMS = SQ_SPQR_ERRORS };

static inline __attribute__((always_inline)) void errors_body(const double *v, const double *u,
                                                              size_t n, double error[SUMS])
{
    double min[SUMS], max[SUMS], s[SUMS], z[SUMS], sum[SUMS] = {0};
    for (unsigned l = 0; l < SUMS; l++) {
        min[l] = INFINITY;
        max[l] = -INFINITY;
    }
    for (size_t j = 0; j < n; j++)
#pragma omp simd
        for (unsigned l = 0; l < SUMS; l++) {
            min[l] = l == j ? min[l] : sq_spqr_least(min[l], v[j]);
            max[l] = l == j ? max[l] : sq_spqr_most(max[l], v[j]);
        }
#pragma omp simd
    for (unsigned l = 0; l < SUMS; l++) {
        const bool is_close = max[l] - min[l] <= sq_spqr_most(fabs(min[l]), fabs(max[l])) / 1024;
        min[l] = is_close ? sq_spqr_least(min[l], 0) : min[l];
        max[l] = is_close ? sq_spqr_most(max[l], 0) : max[l];
        s[l] = (max[l] - min[l]) / SQ_SPQR_TOP;
        z[l] = -min[l] / (s[l] > 0 ? s[l] : 1);
    }
    for (size_t j = 0; j < n; j++)
#pragma omp simd
        for (unsigned l = 0; l < SUMS; l++) {
            const double step = s[l] > 0 ? s[l] : 1;
            const double e =
                (s[l] * (sq_spqr_rounded_code(v[j] / step + z[l]) - z[l]) - v[j]) / u[j];
            const double square = e * e;
            sum[l] += l == j ? 0 : square;
        }
    for (unsigned l = 0; l < SUMS; l++)
        error[l] = s[l] > 0 ? sum[l] : 0;
}

typedef void errors_fn(const double *v, const double *u, size_t n, double error[SUMS]);

static void errors_portable(const double *v, const double *u, size_t n, double error[SUMS])
{
    errors_body(v, u, n, error);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void errors_avx2(const double *v, const double *u, size_t n,
                                                        double error[SUMS])
{
    errors_body(v, u, n, error);
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) static void
errors_avx512(const double *v, const double *u, size_t n, double error[SUMS])
{
    errors_body(v, u, n, error);
}

static errors_fn *select_errors(void)
{
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? errors_avx512
           : __builtin_cpu_supports("avx2")                                         ? errors_avx2
                                            : errors_portable;
}
#else
static errors_fn *select_errors(void)
{
    return errors_portable;
}
#endif

void sq_spqr_errors(const double *v, const double *u, size_t n, double error[SQ_SPQR_ERRORS])
{
    select_errors()(v, u, n, error);
}
