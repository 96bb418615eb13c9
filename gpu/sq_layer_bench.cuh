// SPDX-License-Identifier: Apache-2.0
// All kernels on one layer shape: operands made on the GPU, every kernel checked against the slow
// references (GPU.md 5.4), then, where asked for, timed against each other.
#ifndef SQ_LAYER_BENCH_CUH
#define SQ_LAYER_BENCH_CUH

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "gpu/sq_bench.cuh"

struct SqLayerShape {
    const char *model, *layer;
    int m, n, k;
};

struct SqBench {
    SqArena arena;
    cudaStream_t stream;
    struct sq_record_run run;
    int cc_major, cc_minor, n_sms;
    uint64_t seed;
    void *workspace; // of cuBLASLt
    size_t workspace_nbytes;
    int n_wrong; // kernels of ours that failed their check
    // Records of decode kernels, written at the end: their launch overhead is fitted over shapes.
    std::vector<struct sq_record> decode;
    // What was left out and why, said once at the end.
    std::map<std::string, std::string> skipped;
};

enum SqBenchWhat {
    SQ_BENCH_CHECK,  // correctness only
    SQ_BENCH_GEMM,   // products
    SQ_BENCH_ENCODE, // encoders, and products with them included
    SQ_BENCH_DECODE  // decode kernels, m <= 8
};

// Appends one JSON line per kernel to `out` (not for SQ_BENCH_CHECK; SQ_BENCH_DECODE appends to
// bench->decode). `out` NULL: checks only. *n_checks counts kernels that passed. A kernel that
// fails its check is not timed: one of ours is counted in n_wrong and printed, a library's is noted
// in `skipped`.
enum sq_status sq_bench_layer(SqBench *bench, const SqLayerShape *shape, SqBenchWhat what,
                              int samples, FILE *out, int *n_checks, struct sq_error *err);

// bench->decode: the fit single_us = t0 + bytes / rate of every kernel over its shapes (of three or
// more), then one line each to `out`; the list is empty afterwards.
enum sq_status sq_bench_write_decode(SqBench *bench, FILE *out, struct sq_error *err);

#endif
