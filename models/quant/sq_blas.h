// SPDX-License-Identifier: Apache-2.0
// OpenBLAS so that results do not depend on the number of threads.
//
// A threaded BLAS call splits its work, and therefore its roundings, by the thread count. Here
// every BLAS or LAPACK call runs on one thread, on a block whose size is a constant, and OpenMP
// threads share out the blocks. The same input gives the same bits at any OMP_NUM_THREADS.
#pragma once

#include <stddef.h>

#include "models/sq_status.h"

// One thread per BLAS call from here on. Every function below calls it; code that calls cblas_ or
// LAPACKE_ itself calls it first. The setting belongs to the process.
void sq_blas_serial(void);

// y[m][n] = x[m][k] w[n][k]^T, binary32; x, y row-major without gaps.
void sq_blas_xwt(const float *x, const float *w, size_t m, size_t n, size_t k, float *y);

// The same in binary64, sums and result: the reference of SPEC J.1. SQ_ERR_MEMORY.
enum sq_status sq_blas_xwt_f64(const float *x, const float *w, size_t m, size_t n, size_t k,
                               double *y, struct sq_error *err);
