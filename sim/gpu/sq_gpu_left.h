// SPDX-License-Identifier: Apache-2.0
// Rows that a reader or a comparison leaves aside, counted by reason, each with its first line.
#ifndef SQ_GPU_LEFT_H
#define SQ_GPU_LEFT_H

#include <stddef.h>

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

#endif
