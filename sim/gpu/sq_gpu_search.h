// SPDX-License-Identifier: Apache-2.0
// Searches a few constants: moves one at a time, up or down, until the cost falls no more. Deterministic.
#pragma once

enum { SQ_GPU_CONSTANTS_MAX = 10 };

struct sq_gpu_search {
    unsigned n;                         // constants, 1..SQ_GPU_CONSTANTS_MAX
    double start[SQ_GPU_CONSTANTS_MAX]; // logarithms, or exponents as they are
    double (*cost)(const struct sq_gpu_search *s, const double x[]);
    const void *of; // data for `cost`
};

// x[n] receives constants whose cost no step of .003 lowers; returns their cost.
double sq_gpu_search(const struct sq_gpu_search *s, double x[]);

// Squared distance from the start.
double sq_gpu_search_distance(const struct sq_gpu_search *s, const double x[]);

// |log(predicted / measured)|, beyond 0.5 only its logarithm, so that a wrong row pulls little.
double sq_gpu_loss(double log_error);
