// SPDX-License-Identifier: Apache-2.0
// The table of formats for `sqsim compare --joined`: which formats of the accelerator stand beside
// which products of a GPU, and what their papers say. CSV with the columns
//   name         for people
//   m_min, m_max tokens that count, 1..2^24
//   format, base options as `sqsim run` takes them ("--format dense --weight-bits 8"); both empty: the
//                accelerator has no such format
//   kernel, base_kernel   what multiplies them on a GPU (sq_gpu_kernel_parse); both empty: what their
//                tables in sim/format say
//   workload     a table of traces/workloads, where nothing was measured
//   paper, source, note   its speedup (empty: none), where it stands, why it may differ
// Program code.
#ifndef SQ_COMPARE_FORMATS_H
#define SQ_COMPARE_FORMATS_H

#include "sim/gpu/sq_gpu_joined.h"

struct sq_compare_format {
    struct sq_gpu_joined_row row; // its workload is owned
    char name[64], source[96], note[160];
    double paper; // 0: none
};

enum { SQ_COMPARE_FORMATS_MAX = 256 };
struct sq_compare_formats {
    size_t n;
    struct sq_compare_format *item; // owned
};

// Refusals name line, column and value. Free it in any case; *formats is zeroed.
enum sq_status sq_compare_formats_read(const char *path, struct sq_compare_formats *formats,
                                       struct sq_error *err);
void sq_compare_formats_free(struct sq_compare_formats *formats);

#endif
