// SPDX-License-Identifier: Apache-2.0
// A kernel trace (sq_replay.h) through cycle model and RTL: the operands that the kernel coded go
// into every block that takes them, in place of random ones; what the block delivers by its golden
// model must be what the kernel computed, and the RTL is compared with golden and cycle model in
// lock step, streams free.
//
//   sq_w            core
//   sq_a static     array_static           dynamic: topk, array (compact)
//   dense           array (dense)
//   sp24            meta24, array (2:4)
//   gqsa            gqsa_walk, array (dense, a row's groups one after the other)
//   spqt            spqt_idx
//   spqr            spqr_dec
#ifndef SQ_REPLAY_COSIM_H
#define SQ_REPLAY_COSIM_H

#include "sim/cosim/sq_layer_cosim.h"
#include "sim/format/sq_replay.h"

struct sq_replay_options {
    struct sq_core_config config;    // of the core, but for what the trace's format says
    unsigned array_rows, array_cols; // of the arrays
    bool netlist;
    uint64_t seed; // of lanes and registers without a value
    const char *home;
};

struct sq_replay_outcome {
    const char *block;      // of the block
    char shape[64];         // of the block: its parameters that the trace or the options chose
    uint64_t beats, cycles; // compared; cycles of the RTL, equal to the model's
    uint64_t values;        // outputs of the kernel compared with the block's
    uint64_t value_mismatches, cycle_mismatches;
    // The first difference of RTL and models, shrunk; kind NONE if there is none.
    struct sq_result result;
    uint32_t failing_tile;
    struct sq_point point;
    struct sq_case stream; // what went in; of the core, where it failed
    // The first output of the kernel that the block does not give.
    char difference[160]; // "": none
};

// How many blocks a trace goes through, at least one.
size_t sq_replay_n_blocks(const struct sq_replay *r);

// Block `index` of them; sq_replay_values has passed. *out is zeroed here and not moved afterwards
// (out->stream points into it); free it even after a failure. SQ_ERR_RANGE and SQ_ERR_SHAPE for a
// trace that is too large for the block, and what sq_rtl_load says.
enum sq_status sq_replay_cosim(struct sq_replay *r, size_t index, const struct sq_replay_options *o,
                               struct sq_replay_outcome *out, struct sq_error *err);
void sq_replay_outcome_free(struct sq_replay_outcome *out);

#endif
