// SPDX-License-Identifier: Apache-2.0
// Predicted against measured: absolute errors, speedups of data types against each other, and how
// well their order is predicted.
#pragma once

#include "sim/gpu/sq_gpu_roofline.h"

// One measured row and its prediction; rows of the calibration set (where the machine was
// calibrated on this very file) and rows below min_m are not among them.
struct sq_gpu_point {
    struct sq_gpu_gemm gemm;
    double measured_s;
    struct sq_gpu_time predicted;
    double error;         // predicted / measured - 1
    double low_s, high_s; // of the measurement, 0: not given
    char name[32];        // of its kernel
    double roofline_s;    // by the baseline; 0 where it has no such kind or the row fixed it
};

// A ratio of two points of the same shape: 2:4 against dense of the same data type, INT8 and FP8
// against BF16 dense.
struct sq_gpu_speedup {
    size_t fast, slow; // points
    bool is_24;
    double measured, predicted;
};

#define SQ_GPU_SPEEDUPS_MAX 4000000

struct sq_gpu_comparison {
    size_t n, n_calibration, n_below; // points; rows left out
    struct sq_gpu_point *point;       // owned
    size_t n_speedups;
    struct sq_gpu_speedup *speedup; // owned
    double median_abs_error, mean_abs_error;
    double median_speedup_error;  // NaN without speedups, as all that follow
    double spearman, spearman_24; // of the speedups: all, 2:4 against dense alone
    double spearman_latency;
    // The same of the roofline (sq_gpu_roofline.h), fitted to one shape in ten of this very file, on
    // the rows that it has.
    size_t n_roofline;
    double roofline_error, roofline_speedup_error, roofline_spearman;
    size_t n_spread, n_inside; // points with an interval; predicted within it
    struct sq_gpu_lefts left;  // rows of kinds that the machine does not have
};

// Rows of kinds that the machine does not have are left aside, repeats too. A comparison without a
// single point is refused (SQ_ERR_UNSUPPORTED where all are of such kinds), or with more than
// SQ_GPU_SPEEDUPS_MAX speedups.
enum sq_status sq_gpu_compare(const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                              bool is_calibrated_on, uint64_t min_m, struct sq_gpu_comparison *c,
                              struct sq_error *err);
// Adds the points and speedups of another comparison to *all (zeroed at first) and recomputes its
// figures.
enum sq_status sq_gpu_comparison_add(struct sq_gpu_comparison *all,
                                     const struct sq_gpu_comparison *c, struct sq_error *err);
void sq_gpu_comparison_free(struct sq_gpu_comparison *c);

// Median of |values|, sorted in place; mean of the middle two for an even number. NaN for none.
double sq_median(double *values, size_t n);
// Rank correlation, ties by their mean rank. NaN for fewer than 2 values or a constant side.
double sq_spearman(const double *x, const double *y, size_t n);

// What decides the prediction, in words: "DRAM-bound", "launch cost is 40 %", "sustained rate", ...
void sq_gpu_reason(const struct sq_gpu_time *t, char text[64]);
