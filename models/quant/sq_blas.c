// SPDX-License-Identifier: Apache-2.0
#include "sq_blas.h"

#include <cblas.h>

enum { BLOCK_M = 256, BLOCK_N = 256 };

void sq_blas_serial(void)
{
    openblas_set_num_threads(1);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

void sq_blas_xwt(const float *x, const float *w, size_t m, size_t n, size_t k, float *y)
{
    sq_blas_serial();
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (size_t i = 0; i < m; i += BLOCK_M)
        for (size_t j = 0; j < n; j += BLOCK_N)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)min_size(BLOCK_M, m - i),
                        (int)min_size(BLOCK_N, n - j), (int)k, 1.0f, x + i * k, (int)k, w + j * k,
                        (int)k, 0.0f, y + i * n + j, (int)n);
}
