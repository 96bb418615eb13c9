// SPDX-License-Identifier: Apache-2.0
// Buffers for struct sq_codes.
#pragma once

#include "models/number/sq_codes.h"

// The caller has set grid, n, k, k_orig, group, and bank and high_per_bank for mixed grids; the
// pointers are set here, to zeros. Refuses shapes that do not divide (SQ_ERR_SHAPE), grids
// (SQ_ERR_UNSUPPORTED) and lack of memory. Free with sq_codes_free; free of zeros is harmless.
enum sq_status sq_codes_alloc(struct sq_codes *c, struct sq_error *err);
void sq_codes_free(struct sq_codes *c);
