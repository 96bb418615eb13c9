// SPDX-License-Identifier: Apache-2.0
// The inner kernels of sq_gemm_codes and sq_gemm_sq_w, selectable for tests and benchmarks;
// everybody else takes the fastest one the processor has. All give identical integers, hence
// identical bits of Y. Internal to models/ and tests/.
#pragma once

#include "models/core/sq_mac.h"

enum sq_gemm_kernel {
    SQ_GEMM_AUTO = 0,     // the last supported one of this list
    SQ_GEMM_PORTABLE = 1, // C only
    SQ_GEMM_AVX2 = 2,     // int16 pairs, vpmaddwd
    SQ_GEMM_VNNI = 3,     // AVX-512 VNNI, vpdpbusd on activations + 128
    SQ_GEMM_AMX = 4,      // tiles of int8; what does not fit them as SQ_GEMM_VNNI
    SQ_GEMM_N_KERNELS = 5,
};

const char *sq_gemm_kernel_name(enum sq_gemm_kernel kernel);

// Whether this build, this processor and the system can run it.
bool sq_gemm_kernel_is_supported(enum sq_gemm_kernel kernel);

// sq_gemm_sq_w with a given, supported kernel.
void sq_gemm_sq_w_with(enum sq_gemm_kernel kernel, const struct sq_matrix *w, const int8_t *act,
                       const float *s_a, size_t m, size_t n0, size_t n1, float *y, int32_t *p_lo,
                       int32_t *p_hi, void *scratch);
