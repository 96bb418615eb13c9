// SPDX-License-Identifier: Apache-2.0
// A real GPU as a machine: how long its vendor libraries take for one GEMM, from the machine's
// ceilings and a few constants (sim/machines/a100_pcie_80g.yaml and others).
//
// Y[M][N] = X[M][K] W[N][K]^T, W dense or 2:4. The library tries many kernels and the best counts,
// so the model does the same: the minimum over tile shapes and splits of K of
//
//   launch + max(compute, power, L2, DRAM) [+ split, when K is split]
//
//   compute  every SM gets at most ceil(tiles / SMs) tiles (wave quantisation), two at a time; a
//            tile alone on an SM reaches `alone` of its rate; every round of tiles costs `round`
//            seconds for its first loads and its last stores. The rate of tiles below 256x128, or
//            of a single round, is at most `few` of the full one: kernels of full rate want two
//            large tiles on every SM
//   power    all work at the sustained rate, however it is spread: a GPU at its power limit makes
//   up
//            for idle SMs by its clock. Tiles run at `boost` times the sustained rate, and calls
//            too as long as they are short beside `boost_s`, before the limit acts
//   L2       (tile rows + tile columns) x K of every tile, and the partial sums of a split
//   DRAM     operands and outputs once, as far as they exceed the L2 (calls repeat on the same
//            buffers), all of them where the call is cold; where a machine says panels: reread, a
//            2:4 weight that exceeds it is read again for every panel of tokens (as many panels
//            together as fill the SMs): before Hopper cuSPARSELt walks along the output channels
//            first
//
// Up to SQ_GPU_GEMV_TOKENS there is one more kernel, without tiles, that only waits for memory:
// launch + max(L2, DRAM), every operand once. For 2:4 no library has it.
//
// Static activation SQ (SPEC D.4) in one kernel: K is split, the high part multiplied in one data
// type and the low part in another, in every tile one after the other; the change costs nothing.
//
// A time may hold more than its GEMM (enum sq_gpu_timed): the activations, 16 bits each, are read,
// quantized and written by a kernel of their own, which costs their bytes at the bandwidth of the
// DRAM and one launch. Weights of 8 and 4 bits beside activations of 16 (W8A16, W4A16) are widened
// in front of the tensor core: the rate is a kind of its own, the bytes are the stored ones.
//
// Left out: temperature, and clocks of their own for every kind; the libraries' choice among
// kernels where it is not the fastest, kernel families (one rate per data type), Stream-K,
// instruction issue, DRAM refresh and channel conflicts, host time, and 8 < M < 128 beyond the
// launch cost.
#ifndef SQ_GPU_H
#define SQ_GPU_H

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

// Where a ceiling comes from.
enum sq_gpu_source {
    SQ_GPU_MEASURED,  // read on such a GPU
    SQ_GPU_FITTED,    // to measured times (sq_gpu_fit.h)
    SQ_GPU_PUBLISHED, // derived from figures that others printed
    SQ_GPU_EXPECTED,  // a guess, until it is measured
    SQ_GPU_N_SOURCES
};
const char *sq_gpu_source_name(enum sq_gpu_source source); // "measured", ...

// One data type, dense or 2:4; INT4, FP8B, W8A16 and W4A16 dense only; INT4 on GPUs that multiply
// it (before Hopper).
struct sq_gpu_kind {
    enum sq_gpu_dtype dtype;
    bool is_sparse;
    double macs;      // nominal multiply-accumulates per clock and SM (2:4: dense equivalent)
    double sustained; // share of it that a large GEMM keeps
    double alone;     // share of an SM's rate that one 256x128 tile reaches alone
    double area;      // small tiles: rate x (area / 256 / 128)^area
    double round;     // rounds cost `round` times the machine's
    double boost;     // rate of tiles and of short calls over the sustained, 1 = none
    double few;       // share of the rate with less than two large tiles on every SM, 1 = all
    unsigned splits;  // K is split into at most so many parts
    enum sq_gpu_source source; // of `sustained`
};

enum { SQ_GPU_MAX_KINDS = 2 * SQ_GPU_N_DTYPES, SQ_GPU_GEMV_TOKENS = 8 };

struct sq_gpu {
    char name[64];
    char device[64]; // what records call it
    char
        calibration[64]; // file whose calibration rows (sq_gpu_is_calibration) fixed the constants,
                         // "" = none
    unsigned sms;
    double clock_hz;
    double l2_nbytes;
    double l2_usable;        // share of the L2 that keeps repeated operands
    double l2_soft;          // over that size, the hit rate falls to 0 within this share
    double l2_bytes_per_s;   //
    double dram_bytes_per_s; // sustained by streams
    double dram_peak;        // of the data sheet, 0: not given
    enum sq_gpu_source dram_source;
    double launch_s, round_s, split_s;
    double boost_s;  // a call of this length loses half of its boost
    bool rereads_24; // panels: reread, or once
    double lone;     // a tile alone: alone x (area / 256 / 128)^lone
    unsigned n_kinds;
    struct sq_gpu_kind kind[SQ_GPU_MAX_KINDS];
};

struct sq_gpu_gemm {
    uint64_t m, n, k; // 1..2^24
    enum sq_gpu_dtype dtype;
    bool is_sparse;
    unsigned out_nbytes; // of an output element, 1..4
    bool is_cold;        // no operand is in the L2
    // Static activation SQ: this share of K, 0..1, is multiplied in low_dtype; dense only.
    double low_share;
    enum sq_gpu_dtype low_dtype;
    double weight_bits; // stored bits per weight, scales and indices included; 0: as multiplied
    enum sq_gpu_timed timed;
    unsigned copies; // so many weights take turns, and the L2 has to keep all of them; 0: one
};

// Weights of 4 bits that are widened and multiplied as INT8 (W4A8): no tensor core takes both.
bool sq_gpu_is_w4a8(const struct sq_gpu_gemm *gemm);

// Whether two GEMM of one shape form a speedup: 2:4 against dense of the same data type, or INT8,
// FP8, INT4, any other type or an SQ split against BF16, all dense.
bool sq_gpu_is_speedup(const struct sq_gpu_gemm *fast, const struct sq_gpu_gemm *slow);

// What decided a prediction.
struct sq_gpu_time {
    double seconds;
    double compute_s, l2_s, dram_s; // of the best kernel
    double quantize_s;              // of the kernel before it, 0: none is timed
    unsigned tile_m, tile_n, split; // tile_m = 0: the kernel without tiles
    uint64_t rounds;                // tiles of the busiest SM
    double fill;                    // tiles / (SMs x rounds), 0..1
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

#endif
