// SPDX-License-Identifier: Apache-2.0
// One law for all GPUs: the constants of sq_gpu.h from a data sheet. Eight numbers, fitted to one
// shape in ten of the measured times of six GPUs (traces/gpu_measured; sqsim compare --cross fits them
// again), and tried on GPUs that were left out of the fit.
//
//   sustained = share x (W / T)^per_watt x (W / 400)^watts, at most 1
//
// W is the power limit of the board, T the nominal rate of the kind in 10^12 operations per second
// (BF16, FP8, 2:4 ...: each its own). A GPU at its limit lowers its clock, the more the more
// operations it could do for each watt: FP8 keeps a smaller share of its rate than BF16, 2:4 a smaller
// one than dense. `watts` stands for newer GPUs: they have larger limits, and do more with a watt.
// The other constants are the same for all kinds of all GPUs.
#ifndef SQ_GPU_LAW_H
#define SQ_GPU_LAW_H

#include "sim/gpu/sq_gpu.h"

struct sq_gpu_law {
    double share, per_watt, watts;
    double launch_s, alone; // seconds; of a call timed alone, times so many
    double dram;            // share of the peak
    double tail, knee;
};

extern const struct sq_gpu_law sq_gpu_law; // the one that machine files start from

// Gives every kind of the GPU the constants of a law, whatever it had; the DRAM too.
void sq_gpu_law_apply(const struct sq_gpu_law *law, struct sq_gpu *gpu);

#endif
