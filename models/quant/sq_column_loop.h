// SPDX-License-Identifier: Apache-2.0
// The loop of GPTQ and SparseGPT (SPEC B.4, E.7): columns from left to right, each gets its final
// value, and its error is compensated in the columns still to come:
//
//   e = (w[j] - value) / U[j][j];   w[t] -= e * U[j][t], t >= j
//
// Updates beyond a block of columns are gathered and applied as one matrix product. What a column's
// value is belongs to the caller: a code, a pruned zero, anything that depends on this row alone.
// Rows are independent given U: threads share out tiles of rows, and results depend neither on the
// number of threads nor, but for roundings, on the block.
#pragma once

#include "models/quant/sq_calibration.h"

#define SQ_COLUMN_BLOCK 128u // columns of a block by default

// w[k]: the row at this moment: columns before the current one are done, the current one and those
// after it are compensated. `scratch`: scratch_nbytes that stay the row's own from its first column
// to its last, zeros before a thread's first rows. Between two columns of a row come others' ones.
struct sq_column_loop {
    const struct sq_factor *factor;
    size_t n, block; // rows; columns of a block, >= 1
    // Before the first column of a row: w[k] as loaded, dead channels 0 (SPEC B.2). May be NULL.
    void (*begin_row)(void *context, size_t row, const double *w, void *scratch);
    // Final value of column j. It may look at the whole block that j lies in, and beyond it at
    // weights that lack the updates of this block.
    double (*column)(void *context, size_t row, size_t j, const double *w, void *scratch);
    void *context;
    size_t scratch_nbytes;
};

// All rows of w[n][k], finite. *sum_e2, where not NULL, receives sum e^2 = tr(D H D^T), D = W - W^
// (SPEC J.3). SQ_ERR_NON_FINITE with the place; SQ_ERR_MEMORY.
enum sq_status sq_column_loop_run(const struct sq_column_loop *l, const float *w, double *sum_e2,
                                  struct sq_error *err);
