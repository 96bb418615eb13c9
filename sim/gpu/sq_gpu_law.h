// SPDX-License-Identifier: Apache-2.0
// One law for all GPUs: the constants of sq_gpu.h from a data sheet. Ten numbers, fitted to one
// shape in ten of the measured times of six GPUs (traces/gpu_measured; sqsim compare --cross fits them
// again), and tried on GPUs that were left out of the fit.
//
//   sustained = share x (W / T)^per_watt x (W / 400)^watts, at most 1
//   tail      = that of 2048 multiply-accumulates a clock and SM x (macs / 2048)^0.5
//
// W is the power limit of the board, T the nominal rate of the kind in 10^12 operations per second
// (BF16, FP8, 2:4 ...: each its own; of 2:4 times `sparse`). A GPU at its limit lowers its clock, the
// more the more operations it could do for each watt: FP8 keeps a smaller share of its rate than BF16.
// A dense-equivalent operation of 2:4 needs less energy than one of dense: half of the products are
// not made, but activations and sums move as before. `watts` stands for newer GPUs: they have larger
// limits, and do more with a watt. A faster tensor core needs a larger tile to be fed, since operands
// grow with the edge of a tile and products with its area: more outputs come late with the last one.
// The other constants are the same for all kinds of all GPUs.
#pragma once

#include "sim/gpu/sq_gpu.h"

struct sq_gpu_law {
    double share, per_watt, watts;
    double sparse;          // energy of a dense-equivalent operation of 2:4, of dense 1
    double launch_s, alone; // seconds; of a call timed alone, times so many
    double dram;            // share of the peak
    double quantize;        // times that a kernel that quantizes takes its bytes' time
    double tail, knee;      // tail: of 2048 multiply-accumulates a clock and SM
};

extern const struct sq_gpu_law sq_gpu_law; // the one that machine files start from

// Gives every kind of the GPU the constants of a law, whatever it had; the DRAM too.
void sq_gpu_law_apply(const struct sq_gpu_law *law, struct sq_gpu *gpu);
