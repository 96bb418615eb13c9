// SPDX-License-Identifier: Apache-2.0
// The constants of a GPU from the calibration rows of a measurement: one shape in ten. Everything
// else of the file stays unseen.
#ifndef SQ_GPU_FIT_H
#define SQ_GPU_FIT_H

#include "sim/gpu/sq_gpu_records.h"

// Sets `sustained` of every kind from its largest calibration row (its ceiling), then the other
// constants by a random descent from where they are: launch, round, split, lone, L2 share, softness
// and bandwidth, DRAM bandwidth, and alone, area, round of every kind, these held near 0.8, 0.1, 1.
// Minimises the mean of |e| + e^2, e = log(predicted / measured), rows with M < 128 at 0.3. The
// best of three descents counts. Deterministic. *error receives the mean |e| of the calibration
// rows with M >= 128. SQ_ERR_RANGE without calibration rows of a kind of the machine.
enum sq_status sq_gpu_fit(const struct sq_gpu_records *g, uint64_t seed, unsigned steps,
                          struct sq_gpu *gpu, double *error, struct sq_error *err);

#endif
