// SPDX-License-Identifier: Apache-2.0
// The bit-for-bit part of a measurement: the integer products, the encoders before them and the
// decode formats on one small layer of a real model, written as traces (sq_trace.h) and replayed
// by the golden model at once. `sqsim cosim` takes them through cycle model and RTL. Their producer
// is cuda, or emulator where the kernels ran there.
#pragma once

#include "gpu/sq_cuda.cuh"

constexpr const char *kSqGoldenTraces[] = {"sq_w", "sq_a_static", "sq_a_static_s4", "sq_a_dynamic",
                                           "w8a8", "w4a8",        "w4a4",           "w4a4_s4",
                                           "sp24", "gqsa",        "spqt",           "spqr"};
constexpr size_t kSqGoldenCount = sizeof kSqGoldenTraces / sizeof kSqGoldenTraces[0];

struct SqGoldenInfo {
    const char *model_dir; // Hugging Face layout; K of its first up_proj a multiple of 256
    const char *directory; // where the traces go; must exist, with a folder operand/ in it
    const char *device, *driver;
    uint64_t seed;
};

// *n_values: values that agreed. The first difference is SQ_ERR_DAMAGED with its place.
enum sq_status sq_golden_traces(const SqGoldenInfo *info, cudaStream_t stream, size_t *n_values,
                                struct sq_error *err);
