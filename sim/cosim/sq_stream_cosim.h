// SPDX-License-Identifier: Apache-2.0
// Lock-step co-simulation of the blocks of sq_stream_block.h, as sq_core_cosim.h: handshakes of
// every cycle against the cycle model, every beat that leaves against the golden model. Cases come
// by number and seed; a failing one is shrunk.
#ifndef SQ_STREAM_COSIM_H
#define SQ_STREAM_COSIM_H

#include "sim/block/sq_stream_block.h"
#include "sim/cosim/sq_core_cosim.h"
#include "sim/cosim/sq_rtl_build.h"

struct sq_stream_case {
    const struct sq_stream_block *block;
    const struct sq_stream_point *point;
    struct sq_stall stall[2];     // source, sink
    struct sq_stall second_stall; // flow: of the second input stream
    struct sq_stall third_stall;  // and of the third
    uint64_t seed;
    size_t n_groups;     // output beats
    uint32_t *group_len; // input beats of each, 1 unless ARRAY; owned
    size_t n_beats;
    int32_t *beats;     // [n_beats][fields]; owned
    size_t max_outputs; // flow: of one group, where given operands pass the block's limits
    // flow: beats of each stream in a group of group_len records; owned
    uint32_t (*flow_len)[SQ_FLOW_STREAMS];
};

// Buffers for c->n_groups groups of together c->n_beats input beats or records of c->block at
// c->point, all zero: drawn below, or filled by a caller who has operands. SQ_ERR_MEMORY.
enum sq_status sq_stream_case_alloc(struct sq_stream_case *c, struct sq_error *err);

// Case `number` of a seed; `is_all` asks for the case that holds every input beat there is, where
// the point has one (n_all > 0). SQ_ERR_MEMORY.
enum sq_status sq_stream_case(const struct sq_stream_block *block,
                              const struct sq_stream_point *point, uint64_t seed, uint64_t number,
                              bool is_all, struct sq_stream_case *c, struct sq_error *err);
void sq_stream_case_free(struct sq_stream_case *c);

// Runs one case from reset; arguments and result as sq_core_cosim_run. Of a wrong value, `row` is
// the field and `col` the element.
enum sq_status sq_stream_cosim_run(const struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                   const char *fst_path, uint64_t fst_from,
                                   struct sq_core_cosim_result *result, struct sq_error *err);

// Fewer groups, fewer beats, free streams, as long as it still fails.
enum sq_status sq_stream_shrink(struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                struct sq_core_cosim_result *result, struct sq_error *err);

// A campaign over points of one block: case i runs on point i modulo the points, the first one of
// each point is the exhaustive one where there is one. Deterministic at any number of threads.
struct sq_stream_campaign {
    const struct sq_stream_block *block;
    const struct sq_stream_point *const *points;
    size_t n_points;
    uint64_t cases, seed;
    bool netlist;
    const char *coverage; // NULL, or an existing directory: <point>.dat there (sq_rtl.h)
    unsigned jobs;
    const char *home;
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
};

struct sq_stream_outcome {
    uint64_t cases, cycles, beats, value_mismatches, cycle_mismatches;
    bool is_exhausted; // every input beat was run
    // The first failing case, shrunk; mismatch.kind NONE if there is none.
    uint64_t failing_case;
    struct sq_stream_case failing;
    struct sq_core_cosim_result result;
};

// out[n_points], zeroed here; free each `failing` even after a failure.
enum sq_status sq_stream_campaign_run(const struct sq_stream_campaign *campaign,
                                      struct sq_stream_outcome *out, struct sq_error *err);

// Runs a case with tracing: wave.fst and wave.gtkw in `dir` (made if missing).
enum sq_status sq_stream_dump(const struct sq_stream_case *c, bool netlist,
                              const struct sq_core_cosim_result *result, const char *home,
                              const char *dir, struct sq_error *err);

#endif
