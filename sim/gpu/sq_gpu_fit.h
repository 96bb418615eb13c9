// SPDX-License-Identifier: Apache-2.0
// The constants of a GPU, or the law of all GPUs, from the calibration rows of measurements: one shape
// in ten. Everything else of the files stays unseen. Deterministic; no rows are drawn, no seed.
//
// What is made small is the mean of |log(predicted / measured)|, beyond 0.5 only its logarithm, so
// that a wrong row pulls little; and, weakly, the distance from the start, which decides what the
// rows do not tell.
#pragma once

#include "sim/gpu/sq_gpu_law.h"
#include "sim/gpu/sq_gpu_records.h"

// Fits sustained, launch, dram and tail of every kind that has a calibration row, from the values
// that the machine has; other kinds stay as they are. *error receives the mean |predicted / measured
// - 1| of the calibration rows with M >= 128. SQ_ERR_RANGE without a calibration row.
enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, struct sq_gpu *gpu, double *error,
                          struct sq_error *err);

// Fits a law to n files, gpu[i] the machine of records g[i]; every kind of every file counts alike.
// Files with skip[i] are left out. Starts from round numbers, not from sq_gpu_law.
enum sq_status sq_gpu_law_fit(const struct sq_gpu gpu[], const struct sq_gpu_records g[],
                              const bool skip[], size_t n, struct sq_gpu_law *law,
                              struct sq_error *err);

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
