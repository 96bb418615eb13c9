// SPDX-License-Identifier: Apache-2.0
// Cycle models of the blocks whose output beats are not one per input beat: what leaves, and when,
// depends on how many beats came, on what they hold, or on further input streams. When, not what.
//
//   TILE   sq_spqr_dec: `depth` beats are collected, then leave one by one, each as soon as it may;
//          the next tile follows into the places that become free
//   PACK   sq_spqt_idx: two stages (thresholds, ranks), each moves where the next one is free, then
//          a buffer that gives `depth` indices a beat and takes a segment when fewer than `depth`
//          stay
//   WALK   sq_gqsa_walk: one row at a time, a step per group, one step for a row without groups; an
//          output register
//   STORE  sq_act_store: two tiles, each given `passes` times. sq_array_s: a mask unit and a stage
//          in front of it, an array behind, whose second operand is the second input stream
//   CORE   sq_core_a (sq_core_a_sim.h): weights are the second input stream, jobs the third
#ifndef SQ_FLOW_SIM_H
#define SQ_FLOW_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/sq_core_a_sim.h"
#include "sim/block/sq_store_sim.h"

enum sq_flow_kind { SQ_FLOW_TILE, SQ_FLOW_PACK, SQ_FLOW_WALK, SQ_FLOW_STORE, SQ_FLOW_CORE };
enum { SQ_FLOW_STREAMS = 3 }; // input streams, at most

// What is offered on an input stream in this cycle, as far as time depends on it.
struct sq_flow_beat {
    bool valid;
    bool last;  // PACK: end of the vector; WALK: of the matrix; STORE, CORE: of the tile
    uint32_t n; // PACK: indices of the segment; stream 0 of WALK: row_index, of STORE and CORE:
                // passes
    struct sq_job job; // stream 2 of CORE
};

struct sq_flow_out {
    bool in_ready[SQ_FLOW_STREAMS], out_valid;
};

struct sq_flow_segment {
    bool valid, last;
    uint32_t n;
};

struct sq_flow_sim {
    enum sq_flow_kind kind;
    unsigned depth;
    bool is_reading;                 // TILE: a whole tile is inside
    unsigned write, read;            // TILE: beats of the tile arriving, leaving
    struct sq_flow_segment stage[2]; // PACK
    uint32_t held;                   // PACK: indices in the buffer
    bool held_last;                  // PACK: the end of the vector is in it
    bool has_start, has_row;         // WALK: row_index[0] was read; a row is being walked
    bool row_last;                   // WALK: it is the last one
    uint32_t at, left;               // WALK: groups walked; groups left in the row
    bool has_step;                   // WALK: the output register
    struct sq_store_sim store;       // STORE
    bool has_units;                  // STORE: sq_array_s
    struct sq_mask_sim mask;         // in front of it
    struct sq_stream_sim array;      // behind it
    struct sq_core_a_sim core_a;     // CORE
};

enum sq_flow_wait {
    SQ_FLOW_BUSY,       // the store gave a beat
    SQ_FLOW_WAIT_MASK,  // there is none to give: the array waits for masks
    SQ_FLOW_WAIT_OTHER, // no weights, or the array or the sink does not take it
};

// depth: TILE beats of a tile, PACK indices of a beat (>= 1); the others none. STORE is without
// units; CORE needs sq_core_a_init(&s->core_a, ...).
void sq_flow_sim_init(struct sq_flow_sim *s, enum sq_flow_kind kind, unsigned depth);
// `in`: a beat per input stream that the kind has.
void sq_flow_comb(const struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready,
                  struct sq_flow_out *out);
void sq_flow_clock(struct sq_flow_sim *s, const struct sq_flow_beat *in, bool out_ready);

// STORE as in sq_array_s: with the mask unit (kind and depth as of sq_topk, sq_stream_sim.h) and
// the array (depth).
void sq_flow_store_units(struct sq_flow_sim *s, enum sq_stream_kind front, unsigned front_depth,
                         unsigned array_depth);
// What the output of the store does in this cycle.
enum sq_flow_wait sq_flow_store_wait(const struct sq_flow_sim *s, const struct sq_flow_beat *in,
                                     bool out_ready);

#endif
