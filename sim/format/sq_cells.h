// SPDX-License-Identifier: Apache-2.0
// INT8 weights in the layout that the fast products read (models/number/sq_codes.h), made once per layer,
// and their product with INT8 activations that have one scale per token. Encoded layers of several
// formats (the `state` of sq_format_values.h) hold one.
#pragma once

#include "models/number/sq_codes.h"

// Cells of the weights of *g on all threads, *cells = NULL where it needs none; the caller frees
// them. g->x is read for its grid alone.
enum sq_status sq_cells_new(const struct sq_gemm_codes *g, void **cells, struct sq_error *err);

// Weights w, rows of which `row` takes out of `from`, and their cells.
struct sq_cells {
    struct sq_codes w; // without codes
    sq_gemm_row_fn *row;
    const void *from;
    void *cells;
};

// c->cells of the other members.
enum sq_status sq_cells_init(struct sq_cells *c, struct sq_error *err);
// y[m][w.n] of x[m][k_orig], quantized to act_bits a token (sq_act_quantize).
enum sq_status sq_cells_apply(const struct sq_cells *c, const float *x, size_t m, size_t k_orig,
                              unsigned act_bits, float *y, struct sq_error *err);
