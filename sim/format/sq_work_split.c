// SPDX-License-Identifier: Apache-2.0
// Shares groups out to workers by each rule, and finds the slowest worker (sq_work_split.h).
#include "sim/format/sq_work_split.h"

#include <stdlib.h>

#include "sim/io/sq_checked.h"

const char *sq_work_split_name(enum sq_work_split_kind kind)
{
    static const char *const name[SQ_WORK_SPLITS] = {"slice_k", "slice_k_dynamic", "stream_k"};
    return (unsigned)kind < SQ_WORK_SPLITS ? name[kind] : "unknown";
}

// floor(p * total / workers) without overflow.
static uint64_t begin_of(uint64_t p, uint64_t total, uint64_t workers)
{
    return total / workers * p + total % workers * p / workers;
}

static size_t least_loaded(const uint64_t *load, size_t workers)
{
    size_t at = 0;
    for (size_t i = 1; i < workers; i++)
        if (load[i] < load[at])
            at = i;
    return at;
}

// Tiles in order, each to one worker.
static void slice(const uint32_t *nnz, size_t n_rows, size_t workers, size_t tile_rows,
                  bool is_dynamic, uint64_t *load)
{
    for (size_t row = 0, tile = 0; row < n_rows; tile++) {
        uint64_t work = 0;
        const size_t end = n_rows - row < tile_rows ? n_rows : row + tile_rows;
        for (; row < end; row++)
            work += nnz[row];
        load[is_dynamic ? least_loaded(load, workers) : tile % workers] += work;
    }
}

enum sq_status sq_work_split(enum sq_work_split_kind kind, const uint32_t *nnz, size_t n_rows,
                             size_t workers, size_t tile_rows, struct sq_work_split *s,
                             uint64_t *load, struct sq_error *err)
{
    *s = (struct sq_work_split){0};
    SQ_FAIL_IF((unsigned)kind >= SQ_WORK_SPLITS || workers < 1 || tile_rows < 1, err, SQ_ERR_RANGE,
               "schedule %u, %zu workers, %zu rows a tile, need 1 or more", (unsigned)kind, workers,
               tile_rows);
    SQ_FREED uint64_t *of = calloc(workers, sizeof *of);
    SQ_NEED(of, err, "%zu workers", workers);
    for (size_t row = 0; row < n_rows; row++)
        s->total += nnz[row];
    s->ideal = (s->total + workers - 1) / workers;
    if (kind != SQ_STREAM_K)
        slice(nnz, n_rows, workers, tile_rows, kind == SQ_SLICE_K_DYNAMIC, of);
    for (size_t i = 0; i < workers; i++) {
        if (kind == SQ_STREAM_K)
            of[i] = begin_of(i + 1, s->total, workers) - begin_of(i, s->total, workers);
        s->makespan = of[i] > s->makespan ? of[i] : s->makespan;
        if (load)
            load[i] = of[i];
    }
    return SQ_OK;
}

uint64_t sq_work_split_columns(const uint32_t *idx, size_t n_idx, size_t k, size_t workers,
                               bool is_static)
{
    const size_t n = is_static ? k : n_idx;
    uint64_t most = 0;
    size_t at = 0;
    for (size_t p = 0; p < workers; p++) {
        const size_t end = (size_t)((uint64_t)(p + 1) * n / workers), first = at;
        if (is_static)
            while (at < n_idx && idx[at] < end)
                at++;
        else
            at = end;
        most = at - first > most ? at - first : most;
    }
    return most;
}
