// SPDX-License-Identifier: Apache-2.0
// The transfers of a plan on a DRAM that keeps time: where they lie in memory, when they are over. sq_machine_run.c alone uses it.
#pragma once

#include "sim/dram/sq_dram_fast.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_mapping.h"

// Transfers of one kind, the oldest first; each of several ranges of addresses.
enum { SQ_UNDER_WAY = 4 };
struct sq_flight {
    struct {
        uint64_t left, time,
            over; // bursts that have not gone; the clock and, with none left, the cycle in which the last is over
    } of[SQ_UNDER_WAY];
    uint32_t first, n; // number of the first
};

// Operands lie in memory block by block, in the order of the plan's blocks, each stream in a region of its own.
struct sq_machine_timed {
    const struct sq_mapping *plan;
    struct sq_dram_clock clock;
    uint64_t unit[SQ_N_STREAMS], base[SQ_N_STREAMS]; // bytes of a block; first byte of the region
    struct sq_flight load, store;
    struct sq_dram dram;
    struct sq_dram_memo
        *memo; // of the caller, kept; NULL: the fast engine goes from command to command as well
    // The fast way has transfers that wait at the front, and the first cycle after the clock in which they were all in the queues.
    bool is_fast;
    struct sq_dram_fast fast;
    struct sq_machine_asked {
        uint64_t addr;
        uint32_t left, tag, is_write;
    } asked[SQ_DRAM_TRANSFERS_MAX];
    uint32_t n_asked;
    uint64_t free_at;
};

// The end of the device's ranges that machine->timed.at says. Machine and plan live as long. is_fast: with the memo, by leaps
// alone.
void sq_machine_timed_begin(struct sq_machine_timed *t, const struct sq_machine *machine,
                            const struct sq_mapping *plan, bool is_fast);

// Cycle `now` begins: all that happens before it has happened.
void sq_machine_timed_run(struct sq_machine_timed *t, uint64_t now);
// The last transfer is in the queues: the next one may be asked for.
bool sq_machine_timed_is_free(const struct sq_machine_timed *t, uint64_t now);
// Loads for block (i, j) of rows and columns and chunk l of K, a step of this class.
void sq_machine_timed_load(struct sq_machine_timed *t, uint64_t now, unsigned step, uint64_t i,
                           uint64_t j, uint64_t l);
// Part `part` of `parts` of the outputs of block (i, j); is_last: all that is left, after which the block is stored.
void sq_machine_timed_store(struct sq_machine_timed *t, uint64_t now, unsigned step, uint64_t i,
                            uint64_t j, uint64_t part, uint64_t parts, bool is_last);
// The cycle in which the oldest load that is not taken, or the oldest store that is not freed, is over; UINT64_MAX: unknown.
uint64_t sq_machine_timed_loaded(const struct sq_machine_timed *t);
uint64_t sq_machine_timed_stored(const struct sq_machine_timed *t);
void sq_machine_timed_take(struct sq_machine_timed *t);
void sq_machine_timed_free(struct sq_machine_timed *t);
// Runs on to the first cycle after `now` in which the DRAM becomes free, a load or a store is over, but no farther than
// `until`; returns that cycle. Something must be under way where until is UINT64_MAX.
uint64_t sq_machine_timed_leap(struct sq_machine_timed *t, uint64_t now, uint64_t until);
// What the DRAM counts up to cycle `now`.
struct sq_dram_stats sq_machine_timed_stats(struct sq_machine_timed *t, uint64_t now);
