// SPDX-License-Identifier: Apache-2.0
// All kernels on one layer shape: operands made on the GPU, every kernel checked against the slow
// references (gpu/README.md, "Tolerances"), then, where asked for, timed against each other.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "gpu/measure/sq_bench.cuh"

struct SqLayerShape {
    const char *model, *layer;
    int m, n, k;
};

struct SqBench {
    SqArena arena;
    cudaStream_t stream;
    struct sq_record_run run;
    int cc_major, n_sms;
    uint64_t seed;
    void *workspace; // of cuBLASLt
    size_t workspace_nbytes;
    bool is_golden; // the golden model agreed with the traces of this run
    bool is_more;   // shapes of which records are stored are left out
    // Kernels of ours that are checked and timed: those of this family, NULL: all.
    const char *family;
    int n_wrong; // kernels of ours that failed their check
    // Records of decode kernels once more: their launch overhead is fitted over shapes at the end.
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

// decode, imma, sp24, wgmma; encode: all others.
const char *sq_family_of(const char *kernel);

// Appends one JSON line per kernel to `out` (not for SQ_BENCH_CHECK), each flushed; SQ_BENCH_DECODE
// also appends to bench->decode. `out` NULL: checks only. *n_checks counts kernels that passed. A
// kernel that fails its check is not timed: one of ours is counted in n_wrong and printed, a
// library's is noted in `skipped`.
enum sq_status sq_bench_layer(SqBench *bench, const SqLayerShape *shape, SqBenchWhat what,
                              int samples, FILE *out, int *n_checks, struct sq_error *err);

// Fills the ceilings of bench->run from products of size^3 on random data: BF16, FP8, INT8, and 2:4
// INT8 executed. 0 where no library has one, with the reason in `skipped`.
enum sq_status sq_measure_peaks(SqBench *bench, int size, int samples, struct sq_error *err);

// bench->decode: the fit single_us = t0 + bytes / rate of every kernel over its shapes (of three or
// more), then one line each to `out`; the list is empty afterwards.
enum sq_status sq_bench_write_decode(SqBench *bench, FILE *out, struct sq_error *err);
