// SPDX-License-Identifier: Apache-2.0
// What stands around a core: three sources and one sink, each with a stall pattern. The same streams
// drive the cycle model and the RTL. A source raises valid for its next beat after a number of
// waiting cycles, then holds it until the beat is taken; the sink is ready after a number of
// waiting cycles. All randomness comes from the seed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/sq_rng.h"
#include "sim/block/core/sq_core_sim.h"

enum sq_stall_kind {
    SQ_STALL_FREE = 0,     // never waits
    SQ_STALL_INTERVAL = 1, // beats at least `n` cycles apart (n >= 1; 1 = free)
    SQ_STALL_RANDOM = 2,   // each beat waits 0..n cycles with probability 1/2
    SQ_STALL_BURST = 3,    // runs of up to n beats, then up to 4n waiting cycles
    SQ_STALL_STARVE = 4,   // rare long waits: 16n cycles, one beat in n
    SQ_N_STALL_KINDS = 5,  // end of those drawn at random
    SQ_STALL_IDLE = 5,     // a source waits n cycles in which its beat would be taken
};

struct sq_stall {
    enum sq_stall_kind kind;
    uint32_t n; // 1..1000
};

// One side of one stream: a source of beats, or a sink (`left` unused).
struct sq_source {
    struct sq_stall stall;
    struct sq_rng rng;
    uint64_t left;  // beats not yet taken
    uint32_t wait;  // cycles before the next beat is offered, or accepted
    uint32_t burst; // beats left in the run (SQ_STALL_BURST)
};

void sq_source_init(struct sq_source *s, const struct sq_stall *stall, uint64_t seed);
// The source offers a beat in this cycle; the sink would accept one.
bool sq_source_valid(const struct sq_source *s);
bool sq_sink_ready(const struct sq_source *s);
// The end of the cycle. A periodic sink waits after each beat; the random ones also drop ready
// without one. ready: of the other side.
void sq_source_clock(struct sq_source *s, bool fired, bool ready);
void sq_sink_clock(struct sq_source *s, bool fired);

// The four streams of a core.
struct sq_streams {
    struct sq_source act, lo, hi; // sources
    struct sq_source out;         // sink
};

void sq_streams_init(struct sq_streams *e, const struct sq_stall stall[4], uint64_t seed);

// Adds the beats of a job to the sources.
void sq_streams_add(struct sq_streams *e, const struct sq_core_config *config,
                    const struct sq_job *job);

// Which sides offer or accept in this cycle: fills the four handshake inputs of *in.
void sq_streams_drive(const struct sq_streams *e, struct sq_core_in *in);

// The end of the cycle: what fired moves on, waiting counts down.
void sq_streams_clock(struct sq_streams *e, const struct sq_core_in *in,
                      const struct sq_core_out *out);
