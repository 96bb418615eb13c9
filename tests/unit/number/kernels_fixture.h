// SPDX-License-Identifier: Apache-2.0
// Weights that enter sq_gemm_codes row by row, by every kernel of this processor.
#pragma once

#include "models/number/sq_codes.h"
#include "models/number/sq_gemm_kernels.h"
#include "tests/unit/fixture.h"

// y[m][w->n], and where p is not NULL the integers of one group, are what every kernel gives for
// act[m][w->k].
static inline void every_kernel_gives(const struct sq_codes *w, sq_gemm_row_fn *row,
                                      const void *from, const int8_t *act, float *s_a, size_t m,
                                      const float *y, const int32_t *p)
{
    const struct sq_codes x = sq_gemm_act_codes(s_a, m, w->k);
    float *again = fixture_exact(m * w->n * sizeof *again);
    int32_t *sums = fixture_exact(m * w->n * sizeof *sums);
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        const struct sq_gemm_codes g = {.x = &x,
                                        .w = w,
                                        .act = act,
                                        .row = row,
                                        .from = from,
                                        .y = again,
                                        .p_lo = p ? sums : NULL,
                                        .kernel = kernel};
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            continue;
        void *scratch = fixture_alloc(sq_gemm_codes_scratch(&g));
        memset(again, 0xa5, m * w->n * sizeof *again);
        sq_gemm_codes(&g, 0, m, scratch);
        CHECK_EQ(memcmp(again, y, m * w->n * sizeof *y), 0, "%s: y\n",
                 sq_gemm_kernel_name((enum sq_gemm_kernel)kernel));
        if (p)
            CHECK_EQ(memcmp(sums, p, m * w->n * sizeof *p), 0, "%s: p\n",
                     sq_gemm_kernel_name((enum sq_gemm_kernel)kernel));
    }
}
