// SPDX-License-Identifier: Apache-2.0
// The same DRAM, faster: it looks up what it has seen before. Transfers go in, and of each the number of its bursts that
// went and the clock in which the last of them is over come out.
//
// A transfer goes in pieces whose bursts lie in one row of each bank. What happens while a piece goes into the queues
// follows from the state's code (sq_dram_state.h) and the piece: the next code, the clocks that it takes, the bursts that went, the
// account. It is run once and then looked up. The same holds for clocks in which nothing comes. Where a
// refresh is due meanwhile, it follows from the time of the refresh as well.
// Where a burst waits for too long meanwhile (the option age), nothing is looked up.
#pragma once

#include "sim/dram/sq_dram_state.h"
#include "sim/io/sq_memo.h"

enum {
    SQ_DRAM_MEMO_NBYTES = 1 << 26,
    SQ_DRAM_WENT_MAX = 1 << 14,
    SQ_DRAM_PIECE = 64 // bursts of a channel in a piece, at most
};

// What was seen of one memory. Zeroed: nothing. It forgets all when it is full, or when another memory comes.
struct sq_dram_memo {
    struct sq_dram_setup setup;
    struct sq_memo state, next; // codes; what follows from one and what comes
};
void sq_dram_memo_clear(struct sq_dram_memo *memo);

enum { SQ_DRAM_FLYING_MAX = 16 };

// Bursts of a transfer that went of late, and the clock in which the last of them is over.
struct sq_dram_gone {
    uint32_t tag, n;
    uint64_t time;
};

// Zeroed before sq_dram_fast_init.
struct sq_dram_fast {
    struct sq_dram_memo *memo;
    struct sq_dram *d; // of the caller
    uint32_t state;    // in the memo; 0: it is not there
    bool is_live;      // *d is the state
    bool is_lost; // a burst waits for SQ_DRAM_CAME_MAX others: what comes out is wrong from here on
    uint64_t now; // in clocks, BASE more than outside
    uint32_t oldest; // number of the next burst less that of the oldest in the queues
    uint32_t came
        [SQ_DRAM_CAME_MAX]; // the last bits of the clock in which a burst came, by the last bits of its number
    uint64_t due[SQ_DRAM_RANKS_MAX];
    uint32_t fed, piece; // channels that this clock has fed; bursts of a piece at most
    uint32_t row[SQ_DRAM_CODE_ROWS], n_rows;
    uint32_t next; // number of the next burst
    struct {
        uint32_t tag, first, left; // number of its first burst; bursts in the queues
    } flying[SQ_DRAM_FLYING_MAX];  // transfers with bursts in the queues, in order
    uint32_t n_flying;
    struct sq_dram_stats stats;
    struct sq_dram_gone gone[SQ_DRAM_FLYING_MAX];
    uint32_t n_gone;
    struct sq_dram_went {
        int32_t number;       // less the next one's at the begin
        uint32_t clocks;      // from the begin to its end
    } went[SQ_DRAM_WENT_MAX]; // in a run of late
    uint32_t n_went;
    struct sq_dram_code code; // at work
};

// Begins at clock 0. Setup, memo and d live as long.
void sq_dram_fast_init(struct sq_dram_fast *f, const struct sq_dram_setup *setup, struct sq_dram *d,
                       struct sq_dram_memo *memo);
// The clock that it is in.
uint64_t sq_dram_fast_now(const struct sq_dram_fast *f);
// The next bursts of the transfer at hand go into the queues, at most all of them; returns how many, and f->gone
// has those that went meanwhile. *addr moves on.
uint32_t sq_dram_fast_take(struct sq_dram_fast *f, uint64_t *addr, uint32_t n, bool is_write,
                           uint32_t tag);
// Nothing comes for some clocks, at most so many, >= 1; f->gone as above.
void sq_dram_fast_wait(struct sq_dram_fast *f, uint64_t clocks);
// Nothing comes until all queues are empty, or for at most so many clocks.
void sq_dram_fast_drain(struct sq_dram_fast *f, uint64_t clocks);
// As sq_dram_stats_of.
struct sq_dram_stats sq_dram_fast_stats(const struct sq_dram_fast *f);
