// SPDX-License-Identifier: Apache-2.0
// Cycle models of the blocks whose output beats are not one per input beat: what leaves, and when,
// depends on how many beats came, on what they hold, or on a second input stream. When, not what.
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
#ifndef SQ_FLOW_SIM_H
#define SQ_FLOW_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sq_stream_sim.h"

enum sq_flow_kind { SQ_FLOW_TILE, SQ_FLOW_PACK, SQ_FLOW_WALK, SQ_FLOW_STORE };

// What is offered on an input stream in this cycle, as far as time depends on it.
struct sq_flow_beat {
    bool valid;
    bool last;  // PACK: end of the vector; WALK: of the matrix; STORE: of the tile
    uint32_t n; // PACK: indices of the segment; WALK, stream 0: row_index; STORE, stream 0: passes
};

struct sq_flow_out {
    bool in_ready[2], out_valid;
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
    struct sq_store_sim {
        bool has_units;                          // sq_array_s
        struct sq_stream_sim front, stage, back; // mask unit, ranks, array
        bool full[2];
        unsigned in, out;     // tile being written, being given
        uint32_t written;     // beats of the tile that comes in
        uint32_t given, pass; // beats of the pass, passes done, of the tile that goes out
        uint32_t len[2], passes[2];
        uint32_t queue[4]; // passes of the tiles whose last beat is in front of the store
        unsigned n_queue;
    } store; // STORE
};

enum sq_flow_wait {
    SQ_FLOW_BUSY,       // the store gave a beat
    SQ_FLOW_WAIT_MASK,  // there is none to give: the array waits for masks
    SQ_FLOW_WAIT_OTHER, // no weights, or the array or the sink does not take it
};

// depth: TILE beats of a tile, PACK indices of a beat (>= 1); WALK, STORE none. STORE is without
// units.
void sq_flow_sim_init(struct sq_flow_sim *s, enum sq_flow_kind kind, unsigned depth);
void sq_flow_comb(const struct sq_flow_sim *s, const struct sq_flow_beat in[2], bool out_ready,
                  struct sq_flow_out *out);
void sq_flow_clock(struct sq_flow_sim *s, const struct sq_flow_beat in[2], bool out_ready);

// STORE as in sq_array_s: with the mask unit (kind and depth as of sq_topk, sq_stream_sim.h) and
// the array (depth).
void sq_flow_store_units(struct sq_flow_sim *s, enum sq_stream_kind front, unsigned front_depth,
                         unsigned array_depth);
// What the output of the store does in this cycle.
enum sq_flow_wait sq_flow_store_wait(const struct sq_flow_sim *s, const struct sq_flow_beat in[2],
                                     bool out_ready);

#endif
