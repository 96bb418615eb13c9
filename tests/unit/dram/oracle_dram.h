// SPDX-License-Identifier: Apache-2.0
// A judge of finished command traces of one channel: the constraints of a device as sentences over pairs of commands,
// each looked for in the whole trace before it. It shares nothing with sim/dram/ but the values of the device: no
// table of gaps, no times that are carried along. A complaint is a sentence of static storage; NULL: all is well.
#pragma once

#include <stdio.h>

#include "sim/dram/sq_dram.h"

struct seen {
    uint64_t at; // first clock
    enum sq_dram_command is;
    uint32_t bank, row;
};

struct judge {
    const struct sq_dram_device *d;
    const struct seen *trace;
    size_t n;
    char text[200];
};

static uint32_t length_of(const struct sq_dram_device *d, enum sq_dram_command c)
{
    if (c == SQ_DRAM_ACT)
        return d->act;
    if (c == SQ_DRAM_PRE || c == SQ_DRAM_PREA)
        return d->pre;
    return c == SQ_DRAM_REFA || c == SQ_DRAM_REFB ? d->ref : d->col;
}

static bool reads(enum sq_dram_command c)
{
    return c == SQ_DRAM_RD || c == SQ_DRAM_RDA;
}

static bool writes(enum sq_dram_command c)
{
    return c == SQ_DRAM_WR || c == SQ_DRAM_WRA;
}

static bool is_column(enum sq_dram_command c)
{
    return reads(c) || writes(c);
}

static bool closes_itself(enum sq_dram_command c)
{
    return c == SQ_DRAM_RDA || c == SQ_DRAM_WRA;
}

// The last clock of a command: what the standards count from and to.
static uint64_t last_of(const struct sq_dram_device *d, const struct seen *c)
{
    return c->at + length_of(d, c->is) - 1;
}

static uint32_t rank_of(const struct sq_dram_device *d, uint32_t bank)
{
    return bank / (d->banks * d->groups);
}

// First clock of the beats of a read or write.
static uint64_t beats_of(const struct sq_dram_device *d, const struct seen *c)
{
    const uint32_t *const t = d->t;
    return last_of(d, c) + (reads(c->is) ? t[SQ_DRAM_T_CL] + t[SQ_DRAM_T_DQSCK]
                                         : t[SQ_DRAM_T_CWL] + t[SQ_DRAM_T_DQSS]);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// The least clocks from the last clock of a to that of b, by the relation of their banks; 0: none.
static uint64_t least_between(const struct sq_dram_device *d, const struct seen *a,
                              const struct seen *b)
{
    const uint32_t *const t = d->t, burst = (d->burst + d->beats - 1) / d->beats;
    const uint64_t written = (uint64_t)t[SQ_DRAM_T_CWL] + t[SQ_DRAM_T_DQSS] + burst;
    const bool bank = a->bank == b->bank, group = a->bank / d->banks == b->bank / d->banks;
    const bool rank = rank_of(d, a->bank) == rank_of(d, b->bank);
    const bool all_b = b->is == SQ_DRAM_PREA || b->is == SQ_DRAM_REFA;
    const bool touches =
        bank || (rank && (all_b || a->is == SQ_DRAM_PREA || a->is == SQ_DRAM_REFA));
    uint64_t x = 0;
    if (!rank)
        return 0; // beats of ranks are judged on the data bus
    const bool opens_b = b->is == SQ_DRAM_ACT || b->is == SQ_DRAM_REFB || b->is == SQ_DRAM_REFA;
    switch (a->is) {
    case SQ_DRAM_ACT:
        if (touches && opens_b)
            x = most(x, t[SQ_DRAM_T_RC]);
        if (touches && (b->is == SQ_DRAM_PRE || b->is == SQ_DRAM_PREA))
            x = most(x, t[SQ_DRAM_T_RAS]);
        if (bank && reads(b->is))
            x = most(x, t[SQ_DRAM_T_RCDRD]);
        if (bank && writes(b->is))
            x = most(x, t[SQ_DRAM_T_RCDWR]);
        if (b->is == SQ_DRAM_ACT || b->is == SQ_DRAM_REFB)
            x = most(x, t[group ? SQ_DRAM_T_RRDL : SQ_DRAM_T_RRDS]);
        break;
    case SQ_DRAM_PRE:
    case SQ_DRAM_PREA:
        if (touches && opens_b)
            x = most(x, t[a->is == SQ_DRAM_PRE ? SQ_DRAM_T_RP : SQ_DRAM_T_RPab]);
        if (b->is == SQ_DRAM_PRE || b->is == SQ_DRAM_PREA)
            x = most(x, t[SQ_DRAM_T_PPD]);
        break;
    case SQ_DRAM_RD:
    case SQ_DRAM_RDA:
        if (reads(b->is))
            x = most(x, t[group ? SQ_DRAM_T_CCDL : SQ_DRAM_T_CCDS]);
        if (writes(b->is))
            x = most(x, t[SQ_DRAM_T_RTW]);
        if (touches && (b->is == SQ_DRAM_PREA || (b->is == SQ_DRAM_PRE && a->is == SQ_DRAM_RD)))
            x = most(x, t[SQ_DRAM_T_RTP]);
        if (touches && opens_b && a->is == SQ_DRAM_RDA)
            x = most(x, (uint64_t)t[SQ_DRAM_T_RTP] + t[SQ_DRAM_T_RP]);
        break;
    case SQ_DRAM_WR:
    case SQ_DRAM_WRA:
        if (writes(b->is))
            x = most(x, t[group ? SQ_DRAM_T_CCDLW : SQ_DRAM_T_CCDSW]);
        if (reads(b->is))
            x = most(x, written + t[group ? SQ_DRAM_T_WTRL : SQ_DRAM_T_WTRS]);
        if (touches && (b->is == SQ_DRAM_PREA || (b->is == SQ_DRAM_PRE && a->is == SQ_DRAM_WR)))
            x = most(x, written + t[SQ_DRAM_T_WR]);
        if (touches && opens_b && a->is == SQ_DRAM_WRA)
            x = most(x, written + t[SQ_DRAM_T_WR] + t[SQ_DRAM_T_RP]);
        break;
    case SQ_DRAM_REFA:
        if (opens_b)
            x = most(x, t[SQ_DRAM_T_RFC]);
        break;
    default: // a refresh of one bank
        if (b->is == SQ_DRAM_ACT)
            x = most(x, t[bank ? SQ_DRAM_T_RFCpb : SQ_DRAM_T_RREFD]);
        if (b->is == SQ_DRAM_REFB)
            x = most(x, t[bank ? SQ_DRAM_T_RFCpb : SQ_DRAM_T_PBR]);
        if (b->is == SQ_DRAM_REFB && !bank)
            x = most(x, t[SQ_DRAM_T_PBR]);
        if (b->is == SQ_DRAM_REFA)
            x = most(x, t[SQ_DRAM_T_RFCpb]);
    }
    // The precharge within a read or write waits for RAS.
    if (a->is == SQ_DRAM_ACT && touches && opens_b)
        x = most(x, (uint64_t)t[SQ_DRAM_T_RAS] + t[SQ_DRAM_T_RP]);
    return x;
}

static const char *complain(struct judge *j, size_t a, size_t b, const char *why, uint64_t need)
{
    snprintf(j->text, sizeof j->text, "%s bank %u at %llu, %s bank %u at %llu: %s %llu",
             sq_dram_command_name(j->trace[a].is), j->trace[a].bank,
             (unsigned long long)j->trace[a].at, sq_dram_command_name(j->trace[b].is),
             j->trace[b].bank, (unsigned long long)j->trace[b].at, why, (unsigned long long)need);
    return j->text;
}

// The farthest that any constraint reaches back.
static uint64_t reach(const struct sq_dram_device *d)
{
    uint64_t sum = 64;
    for (unsigned i = 0; i < SQ_DRAM_N_TIMES; i++)
        if (i != SQ_DRAM_T_REFI && i != SQ_DRAM_T_REFIpb)
            sum = most(sum, d->t[i]);
    return sum + d->t[SQ_DRAM_T_CWL] + d->t[SQ_DRAM_T_WR] + d->t[SQ_DRAM_T_RP] + 256;
}

// Command b against those before it.
static const char *judge_one(struct judge *j, size_t b, uint64_t back)
{
    const struct sq_dram_device *const d = j->d;
    const struct seen *const x = &j->trace[b];
    const uint32_t burst = (d->burst + d->beats - 1) / d->beats;
    const bool activates = x->is == SQ_DRAM_ACT || x->is == SQ_DRAM_REFB;
    unsigned n_activates = 0;
    for (size_t a = b; a-- > 0 && j->trace[a].at + back >= x->at;) {
        const struct seen *const y = &j->trace[a];
        const uint64_t need = least_between(d, y, x);
        const bool same_bus = d->buses == 1 || is_column(y->is) == is_column(x->is);
        if (y->at > x->at)
            return complain(j, a, b, "out of order", 0);
        if (same_bus && last_of(d, y) >= x->at)
            return complain(j, a, b, "two on one bus", 0);
        if (need > 0 && last_of(d, x) < last_of(d, y) + need)
            return complain(j, a, b, "need", need);
        if (is_column(x->is) && is_column(y->is) &&
            rank_of(d, x->bank) / d->ranks == rank_of(d, y->bank) / d->ranks) {
            const uint64_t p = beats_of(d, y), q = beats_of(d, x);
            const uint64_t change =
                rank_of(d, x->bank) == rank_of(d, y->bank) ? 0 : d->t[SQ_DRAM_T_RTRS];
            if (q < p + burst + change)
                return complain(j, a, b, "beats meet", change);
        }
        const bool same_rank = rank_of(d, y->bank) == rank_of(d, x->bank);
        if (activates && same_rank && (y->is == SQ_DRAM_ACT || y->is == SQ_DRAM_REFB) &&
            ++n_activates == 4 && last_of(d, x) < last_of(d, y) + d->t[SQ_DRAM_T_FAW])
            return complain(j, a, b, "five activates within", d->t[SQ_DRAM_T_FAW]);
    }
    return NULL;
}

// Rows are open and closed as commands need it.
static const char *judge_rows(struct judge *j)
{
    static uint32_t row[SQ_DRAM_BANKS_MAX]; // 1 + the open one
    const uint32_t of_rank = j->d->groups * j->d->banks;
    for (uint32_t i = 0; i < SQ_DRAM_BANKS_MAX; i++)
        row[i] = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct seen *const x = &j->trace[i];
        const uint32_t first = rank_of(j->d, x->bank) * of_rank;
        uint32_t n_open = 0;
        for (uint32_t k = first; k < first + of_rank; k++)
            n_open += row[k] > 0;
        if ((x->is == SQ_DRAM_ACT || x->is == SQ_DRAM_REFB) && row[x->bank] > 0)
            return complain(j, i, i, "the bank is open", 0);
        if (x->is == SQ_DRAM_REFA && n_open > 0)
            return complain(j, i, i, "banks are open:", n_open);
        if (is_column(x->is) && row[x->bank] != x->row + 1)
            return complain(j, i, i, "needs the row", x->row);
        if (x->is == SQ_DRAM_ACT)
            row[x->bank] = x->row + 1;
        if (x->is == SQ_DRAM_PRE || closes_itself(x->is))
            row[x->bank] = 0;
        for (uint32_t k = first; x->is == SQ_DRAM_PREA && k < first + of_rank; k++)
            row[k] = 0;
    }
    return NULL;
}

static const char *judge_trace(struct judge *j)
{
    const uint64_t back = reach(j->d);
    const char *why = judge_rows(j);
    for (size_t i = 0; !why && i < j->n; i++)
        why = judge_one(j, i, back);
    return why;
}

// As many refreshes of each rank as intervals are over up to `now`, none an interval late; of banks one by one, each once in
// a round.
static const char *judge_refreshes(struct judge *j, enum sq_dram_refresh refresh, uint64_t now)
{
    const struct sq_dram_device *const d = j->d;
    const bool by_bank = refresh == SQ_DRAM_REFRESH_BANK;
    const uint64_t every = d->t[by_bank ? SQ_DRAM_T_REFIpb : SQ_DRAM_T_REFI];
    const uint32_t of_rank = d->groups * d->banks;
    for (uint32_t r = 0; r < d->pseudo * d->ranks; r++) {
        const uint64_t first = every + every * r / (d->pseudo * d->ranks);
        uint64_t n = 0, had = 0;
        for (size_t i = 0; i < j->n; i++) {
            const struct seen *const x = &j->trace[i];
            if (rank_of(d, x->bank) != r || x->is != (by_bank ? SQ_DRAM_REFB : SQ_DRAM_REFA))
                continue;
            if (x->at < first + n * every || x->at >= first + (n + 1) * every)
                return complain(
                    j, i, i, x->at < first + n * every ? "is early; refresh" : "is late; refresh",
                    n);
            if (by_bank && (had >> x->bank % of_rank & 1))
                return complain(j, i, i, "twice in a round", n);
            had |= UINT64_C(1) << x->bank % of_rank;
            if (++n % of_rank == 0)
                had = 0;
        }
        const uint64_t due = now > first ? (now - first - 1) / every + 1 : 0;
        if (refresh != SQ_DRAM_REFRESH_NONE && (n > due || n + 1 < due)) {
            snprintf(j->text, sizeof j->text, "rank %u: %llu refreshes up to %llu, need %llu", r,
                     (unsigned long long)n, (unsigned long long)now, (unsigned long long)due);
            return j->text;
        }
    }
    return NULL;
}
