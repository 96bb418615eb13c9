// SPDX-License-Identifier: Apache-2.0
// Measured GEMM times: CSV with a header (gpu, sparsity, dtype_in, dtype_out, M, N, K, lat_us; more
// columns are not read), or JSON records, one per line, of schema_version 1:
//   {"schema_version":1,"source":"measured","device":{"name":"NVIDIA H200"},
//    "problem":{"M":..,"N":..,"K":..,"format":"dense"|"2:4"|"sp24","dtype_w":"s8"|"bf16"|"e4m3"..,
//               "dtype_out":"s32"|"f32"|"bf16"|"f16"},"timing":{"median_us":..}}
#ifndef SQ_GPU_RECORDS_H
#define SQ_GPU_RECORDS_H

#include <stddef.h>

#include "sq_gpu.h"

struct sq_gpu_record {
    struct sq_gpu_gemm gemm;
    double seconds;
    // Row of the calibration set: the shape's number, in the order in which shapes (M, N, K) appear
    // in the file, is 3 modulo 10. One shape in ten, with all its data types, so that ratios of
    // data types stay comparable.
    bool is_calibration;
};

struct sq_gpu_records {
    size_t n;
    struct sq_gpu_record *r; // owned
    // Rows left aside, by reason: another device, a kind of kernel (any whose kernel.impl is not
    // cublaslt or cusparselt) or data type that sq_gpu.h does not model, a source other than
    // "measured" (published and projected times never mix with measured ones), a record without a
    // time (skipped measurement).
    size_t other_device, other_kind, other_source, no_time;
};

// Rows whose device holds `device` (case and blanks do not count). Refused with the line: missing
// columns or fields, sizes outside 1..2^24, times that are no positive number of at most 1e9 us, no
// row left.
enum sq_status sq_gpu_records_read(const char *path, const char *device, struct sq_gpu_records *g,
                                   struct sq_error *err);
enum sq_status sq_gpu_records_parse(const char *text, size_t nbytes, const char *what,
                                    const char *device, struct sq_gpu_records *g,
                                    struct sq_error *err);
void sq_gpu_records_free(struct sq_gpu_records *g);

#endif
