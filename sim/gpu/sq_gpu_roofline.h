// SPDX-License-Identifier: Apache-2.0
// The baseline that a model of a GPU has to beat: three constants for each kind,
//
//   t0 + max(multiply-accumulates / rate, bytes / bandwidth)
//
// of which the bytes are operands and outputs once. It knows no tiles, waves, caches or splits.
#pragma once

#include "sim/gpu/sq_gpu_records.h"

struct sq_gpu_roof {
    double t0_s, macs_per_s, bytes_per_s; // t0_s = 0: no row fixed it
};
struct sq_gpu_roofline {
    struct sq_gpu_roof roof[SQ_GPU_N_DTYPES][2]; // dense, 2:4
};

// Fits every kind that has at least three calibration rows with M >= min_m (512 of them, evenly,
// where there are more), by the least mean of |predicted / measured - 1|: searches from eight
// starts, each by steps that shrink. Deterministic.
void sq_gpu_roofline_fit(const struct sq_gpu_records *g, uint64_t min_m,
                         struct sq_gpu_roofline *roofline);

// 0 for a kind that was not fitted, and for an SQ split.
double sq_gpu_roofline_seconds(const struct sq_gpu_roofline *roofline, const struct sq_gpu_gemm *g);
