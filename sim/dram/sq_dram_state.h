// SPDX-License-Identifier: Apache-2.0
// The state of a DRAM as a code: what the future of it depends on, and nothing else. Times count from now on and end at 0
// where they are over; rows have numbers in the order in which they are met, bursts in that in which they came. Two states of
// one code behave alike, but for two things that it leaves out: when refreshes are due, and for how long bursts have waited. Of sq_dram_fast.h.
#pragma once

#include "sim/dram/sq_dram.h"

enum { SQ_DRAM_CODE_ROWS = 48, SQ_DRAM_CODE_WORDS = 1 << 16, SQ_DRAM_CAME_MAX = 1 << 16 };

struct sq_dram_code {
    uint32_t n, n_rows; // words, rows
    bool is_bad;        // it does not fit
    uint32_t row[SQ_DRAM_CODE_ROWS];
    uint64_t due[SQ_DRAM_RANKS_MAX]; // of the channel that is farthest
    uint16_t word[SQ_DRAM_CODE_WORDS];
};

// Pseudo-channels for which no burst waits account for the clocks up to now: what idle ones have behind them is no part of a code.
void sq_dram_settle(struct sq_dram *d);
// The code of a settled state with an empty front, in the middle of a clock, between its two halves. False: it has none, because something
// does not fit.
bool sq_dram_encode(const struct sq_dram *d, struct sq_dram_code *c);
// A state of the code at d->now, with its rows and due refreshes; d->setup stays. The next burst has the number `next`, and
// those in the queues have theirs as tags; they came when `came` says, by their last bits.
void sq_dram_decode(const struct sq_dram_code *c, struct sq_dram *d, uint32_t next,
                    const uint32_t came[SQ_DRAM_CAME_MAX]);
