// SPDX-License-Identifier: Apache-2.0
// The floating-point products behind sq_gemm_codes (SPEC A.9). Internal to models/.
#pragma once

#include "models/number/sq_codes.h"

// Weights fp, activations fp8; as sq_gemm_codes.
size_t sq_gemm_fp_scratch(const struct sq_gemm_codes *g);
void sq_gemm_fp(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch);
