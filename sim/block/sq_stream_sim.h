// SPDX-License-Identifier: Apache-2.0
// Cycle models of the blocks with one input and one output stream: sq_topk, sq_meta24, sq_array,
// and of two such blocks in a row: sq_array_a. When, not what: the values of the g-th beat that
// leaves come from the golden model.
//
//   PIPE    `depth` stages that move together, unless the last one holds a beat that is not taken
//           (rank TopK and 2:4: 2)
//   SERIAL  a beat occupies the block for `depth` cycles, is offered in the next one, and may be
//           replaced as it leaves (radix TopK: depth = magnitude bits)
//   ARRAY   `depth` stages (operands, then the sum) that move together; the last beat of a group
//           goes on to the output register, and everything stops while that holds a tile that is
//           not taken (dense and 2:4: 2, mixed formats: 3)
#ifndef SQ_STREAM_SIM_H
#define SQ_STREAM_SIM_H

#include <stdbool.h>

#define SQ_STREAM_DEPTH_MAX 32u

enum sq_stream_kind { SQ_STREAM_PIPE, SQ_STREAM_SERIAL, SQ_STREAM_ARRAY };

struct sq_stream_sim {
    enum sq_stream_kind kind;
    unsigned depth;
    bool valid[SQ_STREAM_DEPTH_MAX], last[SQ_STREAM_DEPTH_MAX]; // PIPE, ARRAY: stage by stage
    bool has_result;                                            // ARRAY
    bool is_busy;                                               // SERIAL
    unsigned step;                                              // SERIAL: cycles done
    bool held_last;                                             // SERIAL: flag of the beat inside
};

struct sq_stream_out {
    bool in_ready, out_valid;
};

// depth 1..SQ_STREAM_DEPTH_MAX.
void sq_stream_sim_init(struct sq_stream_sim *s, enum sq_stream_kind kind, unsigned depth);
void sq_stream_comb(const struct sq_stream_sim *s, bool out_ready, struct sq_stream_out *out);
void sq_stream_clock(struct sq_stream_sim *s, bool in_valid, bool in_last, bool out_ready);

// `front`, PIPE or SERIAL, feeds `back`, ARRAY.
struct sq_stream_chain {
    struct sq_stream_sim front, back;
    bool has_front; // otherwise back alone
};
void sq_chain_comb(const struct sq_stream_chain *c, bool out_ready, struct sq_stream_out *out);
void sq_chain_clock(struct sq_stream_chain *c, bool in_valid, bool in_last, bool out_ready);

#endif
