// SPDX-License-Identifier: Apache-2.0
// The product of values in binary32, where one operand of a layer is encoded and the other is not:
// what the encoded one stands for enters as values.
#pragma once

#include <stddef.h>

// Y[m][n] = X[m][k] W[n][k]^T: the sum of exact products in binary64 by ascending k, rounded once;
// -0 becomes 0. A product of two binary32 is exact in binary64, so that fused and separate
// operations give the same bits. Scratch: sq_gemm_values_scratch bytes, 64-byte aligned.
size_t sq_gemm_values_scratch(size_t m, size_t k);
void sq_gemm_values(const float *w, size_t n, const float *x, size_t m, size_t k, float *y,
                    void *scratch);
