// SPDX-License-Identifier: Apache-2.0
// The fast run of a layer on the chip (sq_chip_fast.c) where a block begins: what of its loops is skipped or looked up.
#ifndef SQ_CHIP_LOOPS_H
#define SQ_CHIP_LOOPS_H

#include "sim/block/flow/sq_skip.h"
#include "sim/machine/sq_chip_world.h"

enum sq_chip_level { INNER, OUTER, SQ_CHIP_LEVELS };
enum { SQ_CHIP_KINDS = SQ_TOP_OPERANDS + 1 }; // of transfers

// The sequencer's own model, asked for one step after the other.
struct sq_chip_cursor {
    struct sq_sequencer_sim q; // behind the step
    struct sq_block_walk at;   // the step
    struct sq_chip_load load;  // of it, in a cursor of loads
    struct sq_chip_job job;    // ... of jobs
    uint32_t number;           // of that; SQ_POOL_NONE: behind the last step
    // Where the transfers of a kind since the mark, and behind them those since the begin of a block, end at most, from the
    // begin of a page; of a cursor of loads.
    uint32_t end[SQ_CHIP_LEVELS + 1][SQ_CHIP_KINDS];
};

enum { SQ_CHIP_AHEAD = 8 }; // steps that may begin to be loaded in a stretch

// What a course follows from, beside the places of transfers that cross no page: from a block to the next one, both within
// the inner loop.
struct sq_chip_course_key {
    uint32_t state, job, load, shape;         // numbers
    uint32_t ahead, groups, beats, is_new[2]; // of the step that is loaded
    uint32_t next[SQ_CHIP_KINDS];             // places within a page, where they matter
};
struct sq_chip_courses {
    struct sq_pool shape; // of blocks
    struct sq_chains of;  // a key
    struct sq_chip_course *course;
    uint32_t n, room;
};
void sq_chip_courses_init(struct sq_chip_courses *c); // zeroed before
void sq_chip_courses_free(struct sq_chip_courses *c);
size_t sq_chip_courses_nbytes(const struct sq_chip_courses *c);

// What follows from the chip alone.
struct sq_chip_memo {
    unsigned value[SQ_POINT_VALUES]; // the chip; zeros: none
    uint32_t memory[4];
    struct sq_pool load, job, state;
    struct sq_chains stretches; // of a state
    struct sq_chip_stretch *stretch;
    uint32_t n_stretches, stretch_room;
    struct sq_chip_turns turns;
    struct sq_chip_courses courses;
    struct sq_pool layer;      // that were run
    struct sq_chip_stats *run; // of each
    uint32_t run_room;
};

// How a kind of transfer moves from one block of the inner loop to the next.
enum sq_chip_way {
    SQ_CHIP_STAYS, // it does not, or no burst is cut short
    SQ_CHIP_ONCE,  // a transfer shorter than a page
    SQ_CHIP_OFTEN, // more
};

struct sq_chip_run {
    struct sq_chip_setup setup;
    struct sq_chip_memo *memo;
    struct sq_chip_walk walk;
    struct sq_chip_cursor loads, jobs; // the step that is loaded; whose job comes next
    struct sq_chip_cursor posted;      // whose job was posted
    // The steps behind the one that is loaded, as far as they were asked for.
    struct sq_chip_cursor ahead[SQ_CHIP_AHEAD];
    uint32_t n_ahead;
    struct sq_chip_stats stats;
    bool is_even[SQ_CHIP_KINDS]; // no burst of this kind is cut short by a page
    enum sq_chip_way moves[SQ_CHIP_KINDS];
    uint32_t once[SQ_CHIP_KINDS], shape; // bytes of that transfer; number of what blocks are like
    struct sq_skip_mark mark[SQ_CHIP_LEVELS]; // of blocks that begin
    struct {
        bool valid;
        struct sq_chip_course_key key;
        uint64_t next[SQ_CHIP_KINDS], start[SQ_TOP_OPERANDS];
        struct sq_chip_stats stats;
    } begun; // the course that is run
    struct sq_chip_world world;
};

// What of its layer the loops need. False: no memory.
bool sq_chip_loops_init(struct sq_chip_run *run);
// A job was posted in that state. Where a block begins with it, whole periods are added; and if what follows is known, it goes on to the
// begin of the next block: *went, *state. False: no memory.
bool sq_chip_loops_go(struct sq_chip_run *run, uint32_t *state, bool *went);
// States have other numbers from here on.
void sq_chip_loops_forget(struct sq_chip_run *run);

#endif
