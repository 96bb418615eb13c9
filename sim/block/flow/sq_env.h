// SPDX-License-Identifier: Apache-2.0
// The environment of a block: what stands behind streams whose answers depend on what was asked, such
// as a memory behind a bus. The streams of a case are drawn before the run; these are answered in it.
//
// A block asks on up to five streams (its valid and fields, the environment's ready) and gets replies
// on up to five (the environment's valid and fields, its ready). In every cycle the environment drives
// its side from its state alone, then model and RTL see the same; what both ask must be equal, else
// the run has found a difference; then the environment sees what was asked. So one environment serves
// both, state for state.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_rng.h"
#include "sim/dram/sq_dram.h"

enum { SQ_ASKS_MAX = 5, SQ_REPLIES_MAX = 5, SQ_ASK_LEN_MAX = 48, SQ_REPLY_LEN_MAX = 40 };

// All signals between block and environment in one cycle; fields of all streams one after the other,
// in the order of struct sq_ports.
struct sq_pins {
    bool ask_valid[SQ_ASKS_MAX], reply_ready[SQ_REPLIES_MAX]; // the block's
    int32_t ask[SQ_ASK_LEN_MAX];
    bool ask_ready[SQ_ASKS_MAX], reply_valid[SQ_REPLIES_MAX]; // the environment's
    int32_t reply[SQ_REPLY_LEN_MAX];
    const int32_t *status; // the block's status outputs in this cycle; NULL: it has none
};

// Which environment a case has. All zero: the one that makes the least trouble, to which the shrinker
// goes back.
struct sq_env_choice {
    uint32_t kind, n[4];
    uint64_t seed;
    // For an environment that brings the work itself: `what` is the number of the work, `begin` that of its
    // first piece, `end` that of the piece behind the last. A reset loses the piece that is being done.
    uint32_t what, begin, end;
    const void *given; // a work of the caller's, or NULL
    // A memory that keeps time: its setup, which lives as long, and the block's clock beside its own; NULL: none.
    const struct sq_dram_setup *dram;
    struct sq_dram_clock clock;
};

struct sq_env {
    size_t nbytes; // of its state, plain data, zeroed before init
    void (*draw)(struct sq_rng *rng, struct sq_env_choice *choice);
    // Trouble for a work of the caller's (choice->given), which is done in the end: that many `lost` pieces
    // before it may fall to resets. Returns the cycles that it takes at least. NULL: no work is given.
    uint64_t (*disturb)(const unsigned *value, struct sq_rng *rng, uint32_t lost,
                        struct sq_env_choice *choice);
    // After each reset, too; `value`: the parameters of the block.
    void (*init)(const unsigned *value, const struct sq_env_choice *choice, void *env);
    void (*drive)(const void *env, struct sq_pins *pins); // its side, of its state alone
    // The edge. Returns what the block must not have done, a word or two; NULL: all is well.
    const char *(*clock)(void *env, const struct sq_pins *pins);
    bool (*is_busy)(const void *env); // it owes a reply
    uint32_t (*n_done)(
        const void
            *env); // pieces of work since init that ended without an error; NULL: none is brought
};
