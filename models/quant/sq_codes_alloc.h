// SPDX-License-Identifier: Apache-2.0
// Buffers for struct sq_codes, and what is encoded through them.
#pragma once

#include "models/number/sq_codes.h"

// The caller has set grid, n, k, k_orig, group, and bank and high_per_bank for mixed grids; the
// pointers are set here, to zeros. Refuses shapes that do not divide (SQ_ERR_SHAPE), grids
// (SQ_ERR_UNSUPPORTED) and lack of memory. Free with sq_codes_free; free of zeros is harmless.
enum sq_status sq_codes_alloc(struct sq_codes *c, struct sq_error *err);
void sq_codes_free(struct sq_codes *c);

// Round to nearest with importance = magnitude (SPEC A.6, B.3 reading C3): w[n][k_orig] row-major
// into the buffers of *m, whose format, n, k, k_orig and pointers the caller has set. Padding is
// never chosen as high while a real element of the bank is left (A.8). Refuses non-finite input
// and shapes that A.8 forbids; on failure the buffers hold nothing of use.
enum sq_status sq_encode_rtn(const float *w, struct sq_matrix *m, struct sq_error *err);
