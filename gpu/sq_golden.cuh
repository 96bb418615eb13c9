// SPDX-License-Identifier: Apache-2.0
// The bit-for-bit part of a measurement: every encoder and every integer kernel on one small layer
// of a real model, written as traces (producer = cuda) and replayed by the golden model at once.
#ifndef SQ_GOLDEN_CUH
#define SQ_GOLDEN_CUH

#include "sq_cuda.cuh"

struct SqGoldenInfo {
    const char *model_dir; // Hugging Face layout; K of its first up_proj a multiple of 128
    const char *directory; // where the traces go; must exist, with a folder operand/ in it
    const char *device, *driver;
    uint64_t seed;
};

// *n_values: values that agreed. The first difference is SQ_ERR_DAMAGED with its place.
enum sq_status sq_golden_traces(const SqGoldenInfo *info, cudaStream_t stream, size_t *n_values,
                                struct sq_error *err);

#endif
