// SPDX-License-Identifier: Apache-2.0
// How the kept groups of a GQSA matrix are shared out to workers, and how long the slowest takes
// (SPEC F.8). Work is counted in groups: multiply by the cycles of a group.
//
//   slice-K   a tile of rows belongs to one worker: tile i to worker i mod P, or, dynamic, to the
//             worker that is free first
//   Stream-K  worker p takes groups [floor(pT/P), floor((p+1)T/P)) of the row-major list, whatever
//             rows they belong to; a row that several workers share is summed afterwards in the
//             order of the workers
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

enum sq_work_split_kind { SQ_SLICE_K, SQ_SLICE_K_DYNAMIC, SQ_STREAM_K, SQ_WORK_SPLITS };
const char *
sq_work_split_name(enum sq_work_split_kind kind); // "slice_k", "slice_k_dynamic", "stream_k"

struct sq_work_split {
    uint64_t total;    // groups of the matrix: the sum of all loads
    uint64_t makespan; // the largest load
    uint64_t ideal;    // ceil(total / workers)
};

// nnz[n_rows]: kept groups of each row. workers >= 1, tile_rows >= 1 (ignored by Stream-K):
// SQ_ERR_RANGE. load[workers], where not NULL, receives the groups of each. SQ_ERR_MEMORY.
enum sq_status sq_work_split(enum sq_work_split_kind kind, const uint32_t *nnz, size_t n_rows,
                             size_t workers, size_t tile_rows, struct sq_work_split *s,
                             uint64_t *load, struct sq_error *err);

// SpQt (SPEC G.7): columns of the busiest of `workers` >= 1 when n_idx ascending columns of k are
// shared out, in equal shares or, is_static, by fixed slices of K.
uint64_t sq_work_split_columns(const uint32_t *idx, size_t n_idx, size_t k, size_t workers,
                               bool is_static);
