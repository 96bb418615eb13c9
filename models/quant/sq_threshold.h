// SPDX-License-Identifier: Apache-2.0
// Thresholds of SpQt (SPEC G.2): theta(p) is the p-quantile of |x| over a calibration set, one per
// input tensor, hence shared by q, k, v and by gate, up; or one p per matrix, chosen greedily
// (TEAL).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// Counts of |x| in bins of equal width inside each power of two: 2^10 a binade, so that a bin is
// 0.1 % wide. The counts do not depend on the order of the values. Owns its buffer.
struct sq_histogram {
    uint64_t n;
    uint64_t *count; // [SQ_HISTOGRAM_BINS]
};
#define SQ_HISTOGRAM_BINS (255u << 10)

enum sq_status sq_histogram_init(struct sq_histogram *h, struct sq_error *err);
void sq_histogram_free(struct sq_histogram *h);
// SQ_ERR_NON_FINITE names the position.
enum sq_status sq_histogram_add(struct sq_histogram *h, const float *x, size_t n,
                                struct sq_error *err);

// theta with a fraction p of the values below it, interpolated inside its bin; 0 for p = 0, so that
// nothing is skipped. p in 0..1 (below 1): SQ_ERR_RANGE; SQ_ERR_RANGE for an empty histogram.
enum sq_status sq_threshold(const struct sq_histogram *h, double p, float *theta,
                            struct sq_error *err);

// Error of a block's output with sparsity[n] of its matrices.
typedef enum sq_status sq_scan_error_of(void *context, const double *sparsity, double *error,
                                        struct sq_error *err);

// sparsity[n] of n matrices with weight_count[n] weights: from 0, each step raises the sparsity of
// the one matrix whose raise leaves the least error (ties: the first), by as much as makes `step`
// of all weights, until the mean over all weights reaches `target`. No matrix passes `limit`; the
// last step is shortened. target in 0..limit, limit below 1, step in (0, 1]: SQ_ERR_RANGE. Errors
// of `error_of` are passed on. n <= SQ_SCAN_MATRICES.
#define SQ_SCAN_MATRICES 16u
enum sq_status sq_sparsity_scan(const double *weight_count, size_t n, double target, double step,
                                double limit, sq_scan_error_of *error_of, void *context,
                                double *sparsity, struct sq_error *err);
