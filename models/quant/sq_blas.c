// SPDX-License-Identifier: Apache-2.0
// Runs each BLAS call on one thread over blocks of a fixed size (sq_blas.h).
#include "models/quant/sq_blas.h"

#include <cblas.h>
#include <stdbool.h>
#include <stdlib.h>

#include "models/number/sq_bits.h"

// A product of a block packs its rows of both sides first: a smaller part of its time the larger the
// block is. There must be blocks for many threads.
enum { BLOCK_M = 512, BLOCK_N = 768 };

// n in equal blocks of BLOCK_N at most.
static size_t columns(size_t n)
{
    const size_t blocks = (n + BLOCK_N - 1) / BLOCK_N;
    return blocks ? ((n + blocks - 1) / blocks + 15) / 16 * 16 : 1;
}

void sq_blas_serial(void)
{
    openblas_set_num_threads(1);
}

void sq_blas_xwt(const float *x, const float *w, size_t m, size_t n, size_t k, float *y)
{
    const size_t block_n = columns(n);
    sq_blas_serial();
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (size_t i = 0; i < m; i += BLOCK_M)
        for (size_t j = 0; j < n; j += block_n)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)sq_min_size(BLOCK_M, m - i),
                        (int)sq_min_size(block_n, n - j), (int)k, 1.0f, x + i * k, (int)k,
                        w + j * k, (int)k, 0.0f, y + i * n + j, (int)n);
}

static double *widen(const float *x, size_t n)
{
    double *wide = malloc(n * sizeof *wide);
    for (size_t i = 0; wide && i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}

enum sq_status sq_blas_xwt_f64(const float *x, const float *w, size_t m, size_t n, size_t k,
                               double *y, struct sq_error *err)
{
    SQ_FREED double *wx = widen(x, m * k), *ww = widen(w, n * k);
    const size_t block_n = columns(n);
    sq_blas_serial();
    if (wx && ww) {
#pragma omp parallel for collapse(2) schedule(dynamic)
        for (size_t i = 0; i < m; i += BLOCK_M)
            for (size_t j = 0; j < n; j += block_n)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans,
                            (int)sq_min_size(BLOCK_M, m - i), (int)sq_min_size(block_n, n - j),
                            (int)k, 1, wx + i * k, (int)k, ww + j * k, (int)k, 0, y + i * n + j,
                            (int)n);
    }
    const bool is_done = wx && ww;
    return SQ_HAVE(is_done, err, "a reference of %zu x %zu", m, n);
}
