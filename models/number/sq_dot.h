// SPDX-License-Identifier: Apache-2.0
// One row against SQ_DOT_CHANNELS columns in binary64, for products whose sums are exact in any
// order.
#pragma once

#include <stddef.h>

enum { SQ_DOT_CHANNELS = 8 }; // one vector of sums

// sum[c] = sum over i of x[i] w[i][c], i < len; x[len], w[len][SQ_DOT_CHANNELS].
void sq_dot(const double *x, const double *w, size_t len, double sum[SQ_DOT_CHANNELS]);

// SQ_DOT_TOKENS rows, `stride` apart, against SQ_DOT_COLUMNS columns: each sum by ascending i, each
// product and sum together rounded once, which is one rounding of the sum where products are exact.
enum { SQ_DOT_TOKENS = 4, SQ_DOT_COLUMNS = 16 };
void sq_dot_tile(const double *x, size_t stride, const double *w, size_t len,
                 double sum[SQ_DOT_TOKENS][SQ_DOT_COLUMNS]);
