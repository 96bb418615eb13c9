// SPDX-License-Identifier: Apache-2.0
// Whole layers through the encoder on several threads, and what the encoding costs in accuracy.
#pragma once

#include "sim/format/file/sq_operand_file.h"

// work() on 0..n-1 in pieces of `length`, by `jobs` threads, 0: all. The error, behind "WHAT from FIRST: ", is that of the
// first piece that failed, so that it does not depend on timing.
typedef enum sq_status sq_piece_work(void *context, size_t first, size_t n, struct sq_error *err);
enum sq_status sq_each_piece(size_t n, size_t length, unsigned jobs, const char *what,
                             sq_piece_work *work, void *context, struct sq_error *err);

// w[n][k_orig] -> *o, allocated for it (sq_operand_alloc), round to nearest (sq_encode_rtn, sq_codes_alloc.h). `jobs`
// threads, 0: all; the bytes do not depend on it.
enum sq_status sq_operand_encode(struct sq_operand *o, const float *w, unsigned jobs,
                                 struct sq_error *err);

// Weight SQNR (SPEC J.2): sums of w^2 and (w - w^)^2 in FP64, ascending index.
struct sq_sqnr {
    double signal, noise;
};

// 10 log10(signal / noise): +infinity for an exact encoding, NaN where the signal is zero (SPEC J
// refuses to name a number there).
double sq_sqnr_db(const struct sq_sqnr *s);
// sqrt(noise / signal), of outputs the relative error (SPEC J.1); NaN where the signal is zero.
double sq_sqnr_relative(const struct sq_sqnr *s);
