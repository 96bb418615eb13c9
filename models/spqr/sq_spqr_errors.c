// SPDX-License-Identifier: Apache-2.0
// The n + 1 sums stand side by side, each adds its own terms in order, one left out as +0: vectors
// give the bits of single sums.
#include "models/spqr/sq_spqr_errors.h"

#include <math.h>
#include <stdbool.h>

#include "models/number/sq_lanes.h"

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

SQ_LANES_EACH(void, , errors, (const double *v, const double *u, size_t n, double error[SUMS]), v,
              u, n, error)

void sq_spqr_errors(const double *v, const double *u, size_t n, double error[SQ_SPQR_ERRORS])
{
    SQ_LANES_BEST(errors)(v, u, n, error);
}
