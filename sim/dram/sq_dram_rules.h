// SPDX-License-Identifier: Apache-2.0
// When a command may go to a channel of a DRAM: from the last command before it to this one, so many clocks, for
// each pair of commands of a bank, a bank group, a rank, and of two ranks of a pseudo-channel; four activates in a
// window; one command a clock on each bus. Times are those of the first clock of a command.
#pragma once

#include "sim/dram/sq_dram_map.h"

enum sq_dram_command {
    SQ_DRAM_ACT,
    SQ_DRAM_PRE,
    SQ_DRAM_PREA, // of all banks of the rank
    SQ_DRAM_RD,
    SQ_DRAM_RDA, // and precharges, as soon as it may
    SQ_DRAM_WR,
    SQ_DRAM_WRA,
    SQ_DRAM_REFA, // all banks of the rank
    SQ_DRAM_REFB, // one bank
    SQ_DRAM_COMMANDS
};
const char *sq_dram_command_name(enum sq_dram_command command);

enum sq_dram_level {
    SQ_DRAM_OF_BANK,
    SQ_DRAM_OF_GROUP,
    SQ_DRAM_OF_RANK,
    SQ_DRAM_OF_OTHERS, // the other ranks of the pseudo-channel
    SQ_DRAM_LEVELS
};

// What never changes.
struct sq_dram_rules {
    struct sq_dram_device device;
    // Clocks from the first command to the second; 0: none.
    int32_t gap[SQ_DRAM_LEVELS][SQ_DRAM_COMMANDS][SQ_DRAM_COMMANDS];
    uint32_t length[SQ_DRAM_COMMANDS], bus[SQ_DRAM_COMMANDS]; // clocks on the bus, which one
    int32_t window;                                           // from an activate to the fifth
    uint32_t read_ends, write_ends; // from a command to the clock behind its last beat
};
void sq_dram_rules_init(const struct sq_dram_device *device, struct sq_dram_rules *r);

enum {
    SQ_DRAM_RANKS_MAX = 8,
    SQ_DRAM_GROUPS_MAX = 64
}; // of a channel, pseudo-channels one behind the other

// The times from which each command may go. Plain data, zeroed before the first command.
struct sq_dram_times {
    uint64_t bank[SQ_DRAM_BANKS_MAX][SQ_DRAM_COMMANDS];
    uint64_t group[SQ_DRAM_GROUPS_MAX][SQ_DRAM_COMMANDS];
    uint64_t rank[SQ_DRAM_RANKS_MAX][SQ_DRAM_COMMANDS];
    uint64_t window[SQ_DRAM_RANKS_MAX][4]; // of an activate, the oldest at `oldest`
    uint32_t oldest[SQ_DRAM_RANKS_MAX];
    uint64_t bus[2];
};

// Banks of a channel are numbered ((pseudo * ranks + rank) * groups + group) * banks + bank; a command of a rank names
// any of its banks.
static inline uint32_t sq_dram_bank_of(const struct sq_dram_device *d,
                                       const struct sq_dram_place *p)
{
    return ((p->at[SQ_DRAM_PSEUDO] * d->ranks + p->at[SQ_DRAM_RANK]) * d->groups +
            p->at[SQ_DRAM_GROUP]) *
               d->banks +
           p->at[SQ_DRAM_BANK];
}

// The first clock in which the command may go, whatever the state of rows.
uint64_t sq_dram_earliest(const struct sq_dram_rules *r, const struct sq_dram_times *t,
                          enum sq_dram_command command, uint32_t bank);
// It goes at `now`, which is at least that.
void sq_dram_issue(const struct sq_dram_rules *r, struct sq_dram_times *t,
                   enum sq_dram_command command, uint32_t bank, uint64_t now);
