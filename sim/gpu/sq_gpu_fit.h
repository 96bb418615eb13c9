// SPDX-License-Identifier: Apache-2.0
// The constants of a GPU from the calibration rows of a measurement: one shape in ten. Everything
// else of the file stays unseen.
#ifndef SQ_GPU_FIT_H
#define SQ_GPU_FIT_H

#include "sim/gpu/sq_gpu_records.h"

// Fits launch, round, split, lone, L2 share, softness and bandwidth, DRAM bandwidth, boost, and
// sustained, alone, area, round, boost, few of every kind that has a calibration row; other kinds
// stay as they are. Four times simulated annealing of `steps` from usual values (the bandwidths:
// powers of two near the machine's), the best counts. Minimises the mean of |e| + e^2,
// e = log(predicted / measured), rows with M < 128 at 0.3, less where samples spread, and of
// speedups' errors; beyond e = 0.3 only the logarithm, so that a wrong row pulls little; every
// constant but the bandwidths is held near its usual value, `sustained` near the best rate that two
// rows come to within 20 %. Deterministic. *error receives the mean |e| of the calibration rows
// with M >= 128. SQ_ERR_RANGE without a calibration row.
enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, uint64_t seed, unsigned steps,
                          struct sq_gpu *gpu, double *error, struct sq_error *err);

// Calibration rows that the fitted machine is far from, by more than half a unit of log(predicted /
// measured) and six times the median: mistakes of the file, or a kernel that the model has not.
enum { SQ_GPU_OUTLIERS_MAX = 32 };
struct sq_gpu_outlier {
    const struct sq_gpu_record *record;
    double fitted_s;
};
// Returns how many, at most SQ_GPU_OUTLIERS_MAX.
size_t sq_gpu_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                       struct sq_gpu_outlier out[SQ_GPU_OUTLIERS_MAX]);

#endif
