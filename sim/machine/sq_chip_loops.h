// SPDX-License-Identifier: Apache-2.0
// The fast run of a layer on the chip: its steps (sq_chip_fast.c), and the loops that they are in (sq_chip_loops.c).
#pragma once

#include "sim/machine/sq_chip_state.h"

enum { SQ_CHIP_KINDS = SQ_TOP_OPERANDS + 1 }; // of transfers

// The sequencer's own model, asked for one step after the other.
struct sq_chip_cursor {
    struct sq_sequencer_sim q; // after the step
    struct sq_block_walk at;   // the step
    struct sq_chip_load load;  // of it, in a cursor of loads
    struct sq_chip_job job;    // ... of jobs
    uint32_t number;           // key of that; 0: after the last step
};

// What follows from the chip and its memory alone.
struct sq_chip_memo {
    unsigned value[SQ_POINT_VALUES]; // the chip; zeros: none
    uint32_t memory[4];
    size_t limit; // bytes of each after which it is forgotten
    struct sq_memo tiles,
        jobs; // what follows from tile to tile; from job to job, block to block, of whole layers
};

enum { SQ_CHIP_AHEAD = 8 }; // steps that may begin to be loaded between two jobs

// How a kind of transfer moves from one block of the inner loop to the next.
enum sq_chip_way {
    SQ_CHIP_STAYS, // it does not, or no burst is cut short
    SQ_CHIP_ONCE,  // a transfer shorter than a page
    SQ_CHIP_OFTEN, // more
};

struct sq_chip_run {
    struct sq_chip_setup setup;
    struct sq_chip_memo *memo;
    bool (*go)(struct sq_chip_run *r); // from the posted job to the next one; false: no memory
    struct sq_chip_walk walk;
    struct sq_chip_cursor loads, jobs; // the step that is loaded; whose job comes next
    struct sq_chip_cursor posted;      // whose job was posted
    // The steps after the one that is loaded, as far as they were asked for.
    struct sq_chip_cursor ahead[SQ_CHIP_AHEAD];
    uint32_t n_ahead;
    uint32_t state, n_forgotten; // key where a job was posted; times that all keys were forgotten
    struct sq_chip_stats stats;
    bool is_even[SQ_CHIP_KINDS]; // no burst of this kind is cut short by a page
    enum sq_chip_way moves[SQ_CHIP_KINDS];
    uint32_t once[SQ_CHIP_KINDS]; // bytes of that transfer
    struct sq_chip_state chip;
};

// What of its layer the loops need.
void sq_chip_loops_init(struct sq_chip_run *run);
// Goes from the first posted job to the last one. False: no memory.
bool sq_chip_loops_run(struct sq_chip_run *run);
