// SPDX-License-Identifier: Apache-2.0
// Cycle models that several blocks share, and two of them in a row (sq_act_scale). They compute
// times and no values: those of the g-th beat that leaves come from the golden model.
//
//   PIPE    `depth` stages that move together, unless the last one holds a beat that is not taken
//           (rank TopK and 2:4: 2)
//   SERIAL  a beat occupies the block for `depth` cycles, is offered in the next one, and may be
//           replaced as it leaves (radix TopK: depth = magnitude bits)
//   ARRAY   `depth` stages (operands, then the sum) that move together; the last beat of a group
//           goes on to the output register, and everything stops while it would have to go there
//           and finds a tile that is not taken (dense and 2:4: 2, mixed formats: 3)
#ifndef SQ_PIPELINE_H
#define SQ_PIPELINE_H

#include <stdbool.h>

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_stages.h"

#define SQ_PIPELINE_DEPTH_MAX 32u

enum sq_pipeline_kind { SQ_TIMING_PIPE, SQ_TIMING_SERIAL, SQ_TIMING_ARRAY };

struct sq_pipeline {
    enum sq_pipeline_kind kind;
    unsigned depth;
    bool valid[SQ_PIPELINE_DEPTH_MAX], last[SQ_PIPELINE_DEPTH_MAX]; // PIPE, ARRAY: stage by stage
    bool has_result;                                                // ARRAY
    bool is_busy;                                                   // SERIAL
    unsigned step;                                                  // SERIAL: cycles done
    bool held_last; // SERIAL: flag of the beat inside
};

struct sq_pipeline_out {
    bool in_ready, out_valid;
};

// depth 1..SQ_PIPELINE_DEPTH_MAX.
void sq_pipeline_init(struct sq_pipeline *s, enum sq_pipeline_kind kind, unsigned depth);
void sq_pipeline_comb(const struct sq_pipeline *s, bool out_ready, struct sq_pipeline_out *out);
void sq_pipeline_clock(struct sq_pipeline *s, bool in_valid, bool in_last, bool out_ready);

// A TopK unit: the rank architecture (models/core/sq_topk.h) takes a bank per cycle and two cycles, the
// radix one a cycle per bit of a magnitude and one.
void sq_topk_pipeline(struct sq_pipeline *s, unsigned arch, unsigned magnitude_bits);
// The tree takes a bank per cycle and k cycles.
void sq_topk_tree_pipeline(struct sq_pipeline *s, unsigned k);

// `front`, PIPE or SERIAL, feeds `back`, ARRAY.
struct sq_chain {
    struct sq_pipeline front, back;
    bool has_front; // otherwise back alone
};
void sq_chain_comb(const struct sq_chain *c, bool out_ready, struct sq_pipeline_out *out);
void sq_chain_clock(struct sq_chain *c, bool in_valid, bool in_last, bool out_ready);

// The timing of a block whose state is a struct sq_chain; its init fills in `back`, and `front` where
// there is one.
extern const struct sq_timing sq_timing_chain;

#endif
