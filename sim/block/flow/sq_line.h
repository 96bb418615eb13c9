// SPDX-License-Identifier: Apache-2.0
// The time of a block that is made of blocks, from the cycle models of its parts: each part takes
// streams of the block or what a part in front of it gives. A part says its time once, in its own
// file; nothing is said of it again here.
//
// Valid of a part does not depend on ready behind it, and no path of ready leads forwards: so the
// valid signals of a cycle follow from the first part to the last, and the ready ones back.
#pragma once

#include "sim/block/flow/sq_block.h"

enum { SQ_LINE_PARTS_MAX = 6, SQ_LINE_FRONT = SQ_STREAMS_MAX };

struct sq_line {
    unsigned n;
    struct sq_line_part {
        const struct sq_timing *timing;
        size_t at; // of its state, in bytes behind the line itself
        // What its output tells of a beat, as far as the part behind asks (last, n). NULL: nothing.
        void (*show)(const void *state, struct sq_offer *out);
        unsigned n_in;
        // Where each of its input streams comes from: a stream of the block, or SQ_LINE_FRONT + the part
        // whose output it is.
        unsigned from[SQ_STREAMS_MAX];
    } part[SQ_LINE_PARTS_MAX];
};

void sq_line_add(struct sq_line *l, const struct sq_line_part *part);
// Adds a part to s->line of a struct state, whose state is s->member, with `from` of its input streams.
#define SQ_LINE_ADD(s, member, timing_of, show_of, ...)                                            \
    sq_line_add(&(s)->line, &(struct sq_line_part){.timing = (timing_of),                          \
                                                   .at = offsetof(struct state, member),           \
                                                   .show = (show_of),                              \
                                                   .n_in = sizeof((unsigned[]){__VA_ARGS__}) /     \
                                                           sizeof(unsigned),                       \
                                                   .from = {__VA_ARGS__}})

// comb and clock of struct sq_timing for a state that begins with its line. Streams that no part
// takes are not ready.
void sq_line_comb(const void *state, const struct sq_offer *in, bool out_ready,
                  struct sq_handshake *out);
void sq_line_clock(void *state, const struct sq_offer *in, bool out_ready);

// What part `p` offers, and whether it is taken in this cycle.
struct sq_line_seen {
    struct sq_offer out;
    bool ready;
};
struct sq_line_seen sq_line_see(const void *state, const struct sq_offer *in, bool out_ready,
                                unsigned p);

// `show` of a sq_chain: last of the beat at its end.
void sq_line_show_chain(const void *state, struct sq_offer *out);
