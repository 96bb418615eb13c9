// SPDX-License-Identifier: Apache-2.0
// A search for a few constants, one at a time, up or down, until the error shrinks no more. Deterministic.
#pragma once

enum { SQ_GPU_CONSTANTS_MAX = 10 };

struct sq_gpu_search {
    unsigned n;                         // constants, 1..SQ_GPU_CONSTANTS_MAX
    double start[SQ_GPU_CONSTANTS_MAX]; // logarithms, or exponents as they are
    double (*cost)(const struct sq_gpu_search *s, const double x[]);
    const void *of; // what `cost` looks at
};

// x[n] receives constants whose cost no step of .003 lowers; returns their cost.
double sq_gpu_search(const struct sq_gpu_search *s, double x[]);

// Sum of the squares of the way from the start.
double sq_gpu_search_far(const struct sq_gpu_search *s, const double x[]);

// |log(predicted / measured)|, beyond 0.5 only its logarithm, so that a wrong row pulls little.
double sq_gpu_loss(double log_error);
