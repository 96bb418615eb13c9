// SPDX-License-Identifier: Apache-2.0
// Measured GEMM times: CSV with a header (gpu, sparsity, dtype_in, dtype_out, M, N, K, lat_us;
// where there p10_us, p90_us and kernel; more columns are not read), CSV of aiconfigurator's
// collectors, found by its column gemm_dtype (device, kernel_source, gemm_dtype, m, n, k, latency
// in ms), or JSON records, one per line, of schema_version 1:
//   {"schema_version":1,"source":"measured","device":{"name":"NVIDIA H200"},
//    "problem":{"M":..,"N":..,"K":..,"format":"dense"|"2:4"|"sp24","dtype_w":"s8"|"bf16"|"e4m3"..,
//               "dtype_out":"s32"|"f32"|"bf16"|"f16"},"timing":{"median_us":..}}
// A time is cold where timing.l2 is "cold_rotated". Where there, ceilings (copy_gbps, bf16_tflops,
// int8_tops, fp8_tflops, sp24_int8_tops), timing.t0_fit_us, timing.p10_us, timing.p90_us and
// kernel.name are read too.
#pragma once

#include <stddef.h>

#include "sim/gpu/sq_gpu.h"
#include "sim/gpu/sq_gpu_shape.h"

// Rows that a reader or a comparison leaves aside, counted by reason, each with its first line.
enum { SQ_GPU_LEFT_MAX = 24 };
struct sq_gpu_left {
    char reason[96]; // may hold text of the file: quote it
    size_t n;
    unsigned line; // of the first, 0: unknown
};
struct sq_gpu_lefts {
    size_t n, more; // reasons; rows whose reason found no room
    struct sq_gpu_left item[SQ_GPU_LEFT_MAX];
};
// One row more of this reason.
__attribute__((format(printf, 3, 4))) void sq_gpu_leave(struct sq_gpu_lefts *left, unsigned line,
                                                        const char *format, ...);

// What the run that made a record measured of its GPU; 0: not there.
struct sq_gpu_ceilings {
    double copy_bytes_per_s, launch_s;
    double ops_per_s[SQ_GPU_N_DTYPES][2]; // dense, 2:4
};

struct sq_gpu_record {
    struct sq_gpu_gemm gemm;
    double seconds;
    double low_s, high_s; // tenth and ninetieth percentile of its samples, 0: not there
    char name[32];        // of its kernel, as the file has it, "": none
    unsigned line;        // of the file
    struct sq_gpu_ceilings ceilings;
    bool is_repeat; // another of its shape and kind is faster: not compared, not fitted
    // Row of the calibration set: the shape's number, in the order in which shapes (M, N, K) appear
    // in the file, is 3 modulo 10. One shape in ten, with all its data types, so that ratios of
    // data types stay comparable.
    bool is_calibration;
};

// A measured product of a kernel that sq_gpu.h does not model by data types: its format, operand
// types and sparsity as the record has them.
struct sq_gpu_format_record {
    char format[16], dtype_a[16], dtype_w[16];
    double sparsity, seconds;
    uint64_t m, n, k;
};

struct sq_gpu_records {
    size_t n;
    struct sq_gpu_record *r; // owned
    size_t n_formats;
    struct sq_gpu_format_record *format; // owned; those of other_kind that have a format and a time
    // Rows left aside, by reason: another device, a kind of kernel (any whose kernel.impl is not
    // cublaslt or cusparselt, except format sq_a_static of bf16+e4m3) or data type that sq_gpu.h
    // does not model, a source other than "measured" (published and projected times never mix with
    // measured ones), a record without a time (skipped measurement).
    size_t other_device, other_kind, other_source, no_time;
    struct sq_gpu_lefts
        left; // the last but other devices and sources, and repeats, with their reasons
    // Indices of r and of format by shape; owned.
    struct sq_gpu_place *place, *format_place;
};

// What a time of aiconfigurator holds is a matter of its collectors: bfloat16 and the plugins of
// TensorRT (trt_flow: int8_wo, int4_wo, sq) are the kernel alone; fp8, fp8_block and nvfp4 are the
// layer of a framework, which quantizes the activations, in a CUDA graph; but fp8_block of vLLM
// (vllm_default, DeepGemmFp8BlockScaledMMKernel) is called without one. Plugins run one call at a
// time (is_alone), cold.
//
// Rows whose device holds `device` (case and blanks do not count). Refused with the line: missing
// columns or fields, sizes outside 1..2^24, times that are no positive number of at most 1e9 us
// (nan, - and nothing are no time: left aside);
// and more than SQ_GPU_OF_SHAPE_MAX records of one shape, no row left.
#define SQ_GPU_OF_SHAPE_MAX 1024
enum sq_status sq_gpu_records_read(const char *path, const char *device, struct sq_gpu_records *g,
                                   struct sq_error *err);
enum sq_status sq_gpu_records_parse(const char *text, size_t nbytes, const char *what,
                                    const char *device, struct sq_gpu_records *g,
                                    struct sq_error *err);
// What a reader does at the end: places by shape, calibration rows, repeats. SQ_ERR_RANGE as above.
enum sq_status sq_gpu_records_number(struct sq_gpu_records *g, struct sq_error *err);
void sq_gpu_records_free(struct sq_gpu_records *g);
