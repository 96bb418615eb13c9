// SPDX-License-Identifier: Apache-2.0
// A real GPU as a machine: how long its vendor's libraries take for one GEMM, from the figures of a
// data sheet and a few constants (sim/machines/h200.yaml and others).
//
// Y[M][N] = X[M][K] W[N][K]^T, W dense or 2:4:
//
//   launch + (compute^knee + dram^knee)^(1 / knee) [+ quantize]
//
//   launch   seconds before the first and after the last product. A call that is timed alone, not
//            in a row of calls, takes `alone` times as many: nothing hides its start
//   compute  K x (M N / SMs + tail) products at the sustained rate of an SM. `tail` is in outputs:
//            so many more than its share the busiest SM computes, because tiles come whole
//   dram     operands and outputs once, at a share of the DRAM's peak
//   quantize a launch, and `quantize` times as long as the bytes of that kernel take at the DRAM's
//            rate: it reads activations for their scale before it reads them again
//   knee     where compute and DRAM are nearly equal, they hide each other only in part
//
// sq_gpu_law.h gives the constants of every GPU from its data sheet; a machine file may hold others,
// which were measured, published or fitted to measured times (sq_gpu_fit.h).
//
// Static activation SQ (SPEC D.4) in one kernel: K is split, the high part multiplied in one data
// type and the low part in another; the change costs nothing.
//
// A time may hold more than its GEMM (enum sq_gpu_timed): the activations, 16 bits each, are read,
// quantized and written by a kernel of their own. Weights of 8 and 4 bits beside activations of 16 (W8A16, W4A16) are widened
// in front of the tensor core: they are multiplied as 16 bits, the bytes are the stored ones.
//
// Left out, since none of them brought a GPU that was not fitted nearer (README.md has the
// figures): tiles and waves, splits of K, the L2, clocks that fall with a call's length. Left out
// too: libraries that have no fast kernel for a kind, temperature, host time.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "models/sq_status.h"

enum sq_gpu_dtype {
    SQ_GPU_INT8,
    SQ_GPU_BF16,
    SQ_GPU_FP8, // one scale a tensor
    SQ_GPU_INT4,
    SQ_GPU_FP8B,  // FP8, a scale for 128 activations and for 128 x 128 weights
    SQ_GPU_NVFP4, // a scale of 8 bits for every 16 elements
    SQ_GPU_W8A16, // weights are stored in 8 or 4 bits and multiplied as 16
    SQ_GPU_W4A16,
    SQ_GPU_N_DTYPES
};
// "INT8", "BF16", "FP8", "INT4", "FP8B", "NVFP4", "W8A16", "W4A16"
const char *sq_gpu_dtype_name(enum sq_gpu_dtype dtype);

// What a measured time holds.
enum sq_gpu_timed {
    SQ_GPU_TIMED_KERNEL,     // the kernel of the GEMM alone
    SQ_GPU_TIMED_QUANTIZING, // and the kernel that quantizes its activations
    SQ_GPU_TIMED_CALL,       // both, called by a framework: host time may be in it, and is no part
                             // of the model
    SQ_GPU_N_TIMED
};
const char *sq_gpu_timed_name(enum sq_gpu_timed timed); // "kernel", "quantizing", "call"

// Where a constant comes from.
enum sq_gpu_source {
    SQ_GPU_EXPECTED,  // from the data sheet, by the law of all GPUs
    SQ_GPU_PUBLISHED, // derived from figures that others printed
    SQ_GPU_FITTED,    // to measured times (sq_gpu_fit.h)
    SQ_GPU_MEASURED,  // read on such a GPU
    SQ_GPU_N_SOURCES
};
const char *sq_gpu_source_name(enum sq_gpu_source source); // "expected", ...

// One data type, dense or 2:4; INT4, FP8B, W8A16 and W4A16 dense only; INT4 on GPUs that multiply
// it (before Hopper).
struct sq_gpu_kind {
    enum sq_gpu_dtype dtype;
    bool is_sparse;
    double macs;      // nominal multiply-accumulates per clock and SM (2:4: dense equivalent)
    double sustained; // share of them that a large GEMM keeps
    double launch_s;  //
    double dram;      // share of the DRAM's peak
    double tail;      // outputs that the busiest SM computes beyond its share
    enum sq_gpu_source source; // of the four constants
};

enum { SQ_GPU_MAX_KINDS = 2 * SQ_GPU_N_DTYPES };

struct sq_gpu {
    char name[64];
    char device[64]; // what records call it
    char
        calibration[64]; // file whose calibration rows (sq_gpu_is_calibration) fixed the constants,
                         // "" = none
    unsigned sms;
    double clock_hz;
    double watts;            // power limit of the board
    double dram_peak;        // bytes per second of the data sheet
    double dram_bytes_per_s; // sustained by streams
    enum sq_gpu_source dram_source;
    double alone, knee, quantize; // of all kinds
    unsigned n_kinds;
    struct sq_gpu_kind kind[SQ_GPU_MAX_KINDS];
};

struct sq_gpu_gemm {
    uint64_t m, n, k; // 1..2^24
    enum sq_gpu_dtype dtype;
    bool is_sparse;
    unsigned out_nbytes; // of an output element, 1..4
    bool is_cold;        // no operand is in the L2: kept apart from those that are, timed alike
    bool is_alone;       // one call by itself is timed, not one in a row of calls
    bool is_gemv;        // by a kernel that has no tiles: without the tail
    // Static activation SQ: this share of K, 0..1, is multiplied in low_dtype; dense only.
    double low_share;
    enum sq_gpu_dtype low_dtype;
    double weight_bits; // stored bits per weight, scales and indices included; 0: as multiplied
    enum sq_gpu_timed timed;
};

// Weights of 4 bits that are widened and multiplied as INT8 (W4A8): no tensor core takes both.
bool sq_gpu_is_w4a8(const struct sq_gpu_gemm *gemm);

// Whether two GEMM of one shape form a speedup: 2:4 against dense of the same data type, or INT8,
// FP8, INT4, any other type or an SQ split against BF16, all dense.
bool sq_gpu_is_speedup(const struct sq_gpu_gemm *fast, const struct sq_gpu_gemm *slow);

// What a prediction consists of.
struct sq_gpu_time {
    double seconds;
    double launch_s, compute_s, dram_s;
    double tail_s;     // of compute_s
    double quantize_s; // of the kernel before it, 0: none is timed
};

// Reads sim/machines/NAME.yaml of a GPU. Refusals as for sq_machine_load.
enum sq_status sq_gpu_load(const char *path, struct sq_gpu *gpu, struct sq_error *err);
// The same on text; `what` names it.
enum sq_status sq_gpu_parse(const char *text, size_t nbytes, const char *what, struct sq_gpu *gpu,
                            struct sq_error *err);
// Writes such a file, constants to four digits.
void sq_gpu_write(const struct sq_gpu *gpu, const char *comment, FILE *out);

// NULL where the machine has no such kind.
const struct sq_gpu_kind *sq_gpu_find_kind(const struct sq_gpu *gpu, enum sq_gpu_dtype dtype,
                                           bool is_sparse);

// Sustained operations per second of a large GEMM, two a multiply-accumulate (2:4: dense
// equivalent).
double sq_gpu_ops_per_s(const struct sq_gpu *gpu, const struct sq_gpu_kind *kind);

// Bytes of its operands and outputs, each once.
double sq_gpu_gemm_nbytes(const struct sq_gpu_gemm *gemm);

// SQ_ERR_UNSUPPORTED for a kind the machine does not have, SQ_ERR_RANGE for sizes.
enum sq_status sq_gpu_time_gemm(const struct sq_gpu *gpu, const struct sq_gpu_gemm *gemm,
                                struct sq_gpu_time *time, struct sq_error *err);
