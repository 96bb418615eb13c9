// SPDX-License-Identifier: Apache-2.0
// The table of gaps of a device, and the times that follow from the commands that went (sq_dram_rules.h).
#include "sim/dram/sq_dram_rules.h"

#include <string.h>

#define T(key) ((int32_t)d->t[SQ_DRAM_T_##key])

enum { // sets of commands
    ACT = 1 << SQ_DRAM_ACT,
    PRE = 1 << SQ_DRAM_PRE,
    PREA = 1 << SQ_DRAM_PREA,
    RDA = 1 << SQ_DRAM_RDA,
    WRA = 1 << SQ_DRAM_WRA,
    READ = 1 << SQ_DRAM_RD | RDA,
    WRITE = 1 << SQ_DRAM_WR | WRA,
    RD = 1 << SQ_DRAM_RD,
    WR = 1 << SQ_DRAM_WR,
    REFA = 1 << SQ_DRAM_REFA,
    REFB = 1 << SQ_DRAM_REFB
};

const char *sq_dram_command_name(enum sq_dram_command command)
{
    static const char *const name[SQ_DRAM_COMMANDS] = {"ACT", "PRE", "PREA", "RD",  "RDA",
                                                       "WR",  "WRA", "REFA", "REFB"};
    return name[command];
}

// The longest gap of each pair of one set and the other stays. Timings are from last clock to last clock, gaps from
// first to first.
static void put(struct sq_dram_rules *r, enum sq_dram_level level, unsigned before, unsigned after,
                int32_t clocks)
{
    for (unsigned i = 0; i < SQ_DRAM_COMMANDS; i++)
        for (unsigned j = 0; j < SQ_DRAM_COMMANDS; j++) {
            int32_t *const gap = &r->gap[level][i][j];
            const int32_t first = clocks + (int32_t)r->length[i] - (int32_t)r->length[j];
            if ((before >> i & 1) && (after >> j & 1) && first > *gap)
                *gap = first;
        }
}

static void put_bank(struct sq_dram_rules *r, const struct sq_dram_device *d, int32_t written)
{
    const enum sq_dram_level bank = SQ_DRAM_OF_BANK;
    put(r, bank, ACT, ACT | REFB, T(RC));
    put(r, bank, ACT, ACT | REFB,
        T(RAS) + T(RP)); // with a read or write that precharges in between
    put(r, bank, ACT, READ, T(RCDRD));
    put(r, bank, ACT, WRITE, T(RCDWR));
    put(r, bank, ACT, PRE, T(RAS));
    put(r, bank, PRE, ACT | REFB, T(RP));
    put(r, bank, RD, PRE, T(RTP));
    put(r, bank, WR, PRE, written + T(WR));
    put(r, bank, RDA, ACT | REFB, T(RTP) + T(RP));
    put(r, bank, WRA, ACT | REFB, written + T(WR) + T(RP));
    put(r, bank, REFB, ACT | REFB, T(RFCpb));
}

static void put_rank(struct sq_dram_rules *r, const struct sq_dram_device *d, int32_t written)
{
    const enum sq_dram_level group = SQ_DRAM_OF_GROUP, rank = SQ_DRAM_OF_RANK;
    put(r, group, ACT, ACT | REFB, T(RRDL));
    put(r, group, READ, READ, T(CCDL));
    put(r, group, WRITE, WRITE, T(CCDLW));
    put(r, group, WRITE, READ, written + T(WTRL));
    put(r, rank, ACT, ACT | REFB, T(RRDS));
    put(r, rank, READ, READ, T(CCDS));
    put(r, rank, WRITE, WRITE, T(CCDSW));
    put(r, rank, READ, WRITE, T(RTW));
    put(r, rank, WRITE, READ, written + T(WTRS));
    put(r, rank, PRE | PREA, PRE | PREA, T(PPD));
    put(r, rank, ACT, PREA, T(RAS));
    put(r, rank, READ, PREA, T(RTP));
    put(r, rank, WRITE, PREA, written + T(WR));
    put(r, rank, ACT, REFA, T(RC));
    put(r, rank, ACT, REFA, T(RAS) + T(RP));
    put(r, rank, PREA, ACT | REFA | REFB, T(RPab));
    put(r, rank, PRE, REFA, T(RP));
    put(r, rank, RDA, REFA, T(RTP) + T(RP));
    put(r, rank, WRA, REFA, written + T(WR) + T(RP));
    put(r, rank, REFA, ACT | REFA | REFB, T(RFC));
    put(r, rank, REFB, ACT, T(RREFD));
    put(r, rank, REFB, REFB, T(PBR));
    put(r, rank, REFB, REFA, T(RFCpb));
}

// Two ranks share the data bus, and need RTRS clocks to change hands.
static void put_others(struct sq_dram_rules *r, const struct sq_dram_device *d, int32_t burst)
{
    const int32_t reads = T(CL) + T(DQSCK), writes = T(CWL) + T(DQSS), change = burst + T(RTRS);
    put(r, SQ_DRAM_OF_OTHERS, READ, READ, change);
    put(r, SQ_DRAM_OF_OTHERS, WRITE, WRITE, change);
    put(r, SQ_DRAM_OF_OTHERS, READ, WRITE, reads - writes + change);
    put(r, SQ_DRAM_OF_OTHERS, WRITE, READ, writes - reads + change);
}

void sq_dram_rules_init(const struct sq_dram_device *d, struct sq_dram_rules *r)
{
    const int32_t burst = (int32_t)sq_dram_burst_clocks(d);
    memset(r, 0, sizeof *r);
    r->device = *d;
    for (unsigned i = 0; i < SQ_DRAM_COMMANDS; i++) {
        const unsigned bit = 1u << i;
        r->length[i] = bit & ACT              ? d->act
                       : bit & (PRE | PREA)   ? d->pre
                       : bit & (READ | WRITE) ? d->col
                                              : d->ref;
        r->bus[i] = d->buses == 2 && bit & (READ | WRITE);
    }
    put_bank(r, d, T(CWL) + T(DQSS) + burst);
    put_rank(r, d, T(CWL) + T(DQSS) + burst);
    put_others(r, d, burst);
    r->window = T(FAW);
    r->read_ends = d->col - 1 + d->t[SQ_DRAM_T_CL] + d->t[SQ_DRAM_T_DQSCK] + (uint32_t)burst;
    r->write_ends = d->col - 1 + d->t[SQ_DRAM_T_CWL] + d->t[SQ_DRAM_T_DQSS] + (uint32_t)burst;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// A refresh of one bank activates its rows: it counts as an activate.
static bool activates(enum sq_dram_command command)
{
    return command == SQ_DRAM_ACT || command == SQ_DRAM_REFB;
}

uint64_t sq_dram_earliest(const struct sq_dram_rules *r, const struct sq_dram_times *t,
                          enum sq_dram_command command, uint32_t bank)
{
    const uint32_t group = bank / r->device.banks, rank = group / r->device.groups;
    uint64_t at = later(t->bank[bank][command], t->bus[r->bus[command]]);
    at = later(at, later(t->group[group][command], t->rank[rank][command]));
    if (activates(command)) { // of windows, the last clocks count as well
        const uint64_t opens = t->window[rank][t->oldest[rank]];
        at = later(at, opens > r->length[command] ? opens - r->length[command] : 0);
    }
    return at;
}

static void raise(const int32_t gap[SQ_DRAM_COMMANDS], uint64_t now, uint64_t at[SQ_DRAM_COMMANDS])
{
    for (unsigned i = 0; i < SQ_DRAM_COMMANDS; i++)
        if (gap[i] > 0 && now + (uint64_t)gap[i] > at[i])
            at[i] = now + (uint64_t)gap[i];
}

void sq_dram_issue(const struct sq_dram_rules *r, struct sq_dram_times *t,
                   enum sq_dram_command command, uint32_t bank, uint64_t now)
{
    const uint32_t group = bank / r->device.banks, rank = group / r->device.groups;
    const uint32_t first = rank / r->device.ranks * r->device.ranks;
    raise(r->gap[SQ_DRAM_OF_BANK][command], now, t->bank[bank]);
    raise(r->gap[SQ_DRAM_OF_GROUP][command], now, t->group[group]);
    raise(r->gap[SQ_DRAM_OF_RANK][command], now, t->rank[rank]);
    for (uint32_t i = first; i < first + r->device.ranks; i++)
        if (i != rank)
            raise(r->gap[SQ_DRAM_OF_OTHERS][command], now, t->rank[i]);
    if (activates(command)) {
        t->window[rank][t->oldest[rank]] = now + r->length[command] + (uint64_t)r->window;
        t->oldest[rank] = (t->oldest[rank] + 1) % 4;
    }
    t->bus[r->bus[command]] = now + r->length[command];
}
