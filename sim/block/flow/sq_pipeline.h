// SPDX-License-Identifier: Apache-2.0
// Cycle models that several blocks share, and two of them in a row (sq_act_scale). They compute
// times and no values: those of the g-th beat that leaves come from the golden model.
//
//   PIPE    `depth` stages that move together, unless the last one holds a beat that is not taken
//           (rank TopK and 2:4: 2)
//   SERIAL  a beat occupies the block for `depth` cycles, is offered in the next one, and may be
//           replaced as it leaves (radix TopK: depth = magnitude bits)
//   ARRAY   `depth` stages (operands, then the sum) that move together (dense and 2:4: 2, mixed formats: 3);
//           the last beat of a group goes on to the output register, and everything stops if a tile that
//           is not taken is still in it. in_place: there is no output register, so no beat is added
//           while a tile is not taken
#pragma once

#include <stdbool.h>

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_stages.h"

#define SQ_PIPELINE_DEPTH_MAX 32u

enum sq_pipeline_kind { SQ_TIMING_PIPE, SQ_TIMING_SERIAL, SQ_TIMING_ARRAY };

struct sq_pipeline {
    enum sq_pipeline_kind kind;
    unsigned depth;
    uint32_t valid, last; // PIPE, ARRAY: a bit for each stage, the first in the lowest
    bool has_result;      // ARRAY
    bool in_place;
    bool is_busy;   // SERIAL
    unsigned step;  // SERIAL: cycles done
    bool held_last; // SERIAL: flag of the beat inside
};

struct sq_pipeline_out {
    bool in_ready, out_valid;
};

// depth 1..SQ_PIPELINE_DEPTH_MAX.
void sq_pipeline_init(struct sq_pipeline *s, enum sq_pipeline_kind kind, unsigned depth);
void sq_pipeline_clock_serial(struct sq_pipeline *s, bool in_valid, bool in_last, bool out_ready);

// Moves the bits of all stages one stage on; `in` enters the first.
static inline uint32_t sq_pipeline_moved(const struct sq_pipeline *s, uint32_t bits, bool in)
{
    return (bits << 1 | in) & UINT32_MAX >> (SQ_PIPELINE_DEPTH_MAX - s->depth);
}

// The bit of the last stage.
static inline bool sq_pipeline_end(const struct sq_pipeline *s, uint32_t bits)
{
    return bits >> (s->depth - 1) & 1;
}

// The flag of the beat that is, or will be, offered.
static inline bool sq_pipeline_last(const struct sq_pipeline *s)
{
    return s->kind == SQ_TIMING_SERIAL ? s->held_last : sq_pipeline_end(s, s->last);
}

// All stages move in this cycle (PIPE, ARRAY).
static inline bool sq_pipeline_advances(const struct sq_pipeline *s, bool out_ready)
{
    const bool is_held = s->kind == SQ_TIMING_ARRAY
                             ? s->has_result && sq_pipeline_end(s, s->valid) &&
                                   (s->in_place || sq_pipeline_end(s, s->last))
                             : sq_pipeline_end(s, s->valid);
    return !is_held || out_ready;
}

static inline void sq_pipeline_comb(const struct sq_pipeline *s, bool out_ready,
                                    struct sq_pipeline_out *out)
{
    if (s->kind == SQ_TIMING_SERIAL) {
        out->out_valid = s->is_busy && s->step == s->depth;
        out->in_ready = !s->is_busy || (out->out_valid && out_ready);
        return;
    }
    out->out_valid = s->kind == SQ_TIMING_ARRAY ? s->has_result : sq_pipeline_end(s, s->valid);
    out->in_ready = sq_pipeline_advances(s, out_ready);
}

static inline void sq_pipeline_clock(struct sq_pipeline *s, bool in_valid, bool in_last,
                                     bool out_ready)
{
    if (s->kind == SQ_TIMING_SERIAL) {
        sq_pipeline_clock_serial(s, in_valid, in_last, out_ready);
        return;
    }
    const bool moves = sq_pipeline_advances(s, out_ready);
    const bool ends = moves && sq_pipeline_end(s, s->valid & s->last);
    s->has_result = ends || (s->has_result && !out_ready);
    if (!moves)
        return;
    s->valid = sq_pipeline_moved(s, s->valid, in_valid);
    s->last = sq_pipeline_moved(s, s->last, in_last);
}

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
// What the front offers the back in this cycle.
static inline void sq_chain_between(const struct sq_chain *c, bool out_ready,
                                    struct sq_pipeline_out *front, struct sq_pipeline_out *back)
{
    sq_pipeline_comb(&c->back, out_ready, back);
    sq_pipeline_comb(&c->front, back->in_ready, front);
}

static inline void sq_chain_comb(const struct sq_chain *c, bool out_ready,
                                 struct sq_pipeline_out *out)
{
    struct sq_pipeline_out front, back;
    if (!c->has_front) {
        sq_pipeline_comb(&c->back, out_ready, out);
        return;
    }
    sq_chain_between(c, out_ready, &front, &back);
    *out = (struct sq_pipeline_out){front.in_ready, back.out_valid};
}

static inline void sq_chain_clock(struct sq_chain *c, bool in_valid, bool in_last, bool out_ready)
{
    struct sq_pipeline_out front, back;
    if (!c->has_front) {
        sq_pipeline_clock(&c->back, in_valid, in_last, out_ready);
        return;
    }
    sq_chain_between(c, out_ready, &front, &back);
    sq_pipeline_clock(&c->back, front.out_valid, sq_pipeline_last(&c->front), out_ready);
    sq_pipeline_clock(&c->front, in_valid, in_last, back.in_ready);
}

// The timing of a block whose state is a struct sq_chain; its init fills in `back`, and `front` where
// there is one.
extern const struct sq_timing sq_timing_chain;
