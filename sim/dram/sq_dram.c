// SPDX-License-Identifier: Apache-2.0
// The controller of a DRAM: queues, choice of commands, refresh, and the account of its data buses (sq_dram.h).
#include "sim/dram/sq_dram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/io/sq_checked.h"

__extension__ typedef unsigned __int128 wide; // a product of a time and a fraction

static const char *const cause_names[SQ_DRAM_CAUSES] = {"peak",  "rows", "refresh",
                                                        "turns", "held", "idle"};

const char *const sq_dram_page_names[] = {"open", "closed", NULL};
const char *const sq_dram_refresh_names[] = {"all", "bank", "none", NULL};
const char *const sq_dram_placement_names[] = {"packed", "banks", NULL};

const char *sq_dram_cause_name(enum sq_dram_cause cause)
{
    return cause_names[cause];
}

enum sq_status sq_dram_setup_init(const struct sq_dram_device *device,
                                  const struct sq_dram_options *o, struct sq_dram_setup *s,
                                  struct sq_error *err)
{
    memset(s, 0, sizeof *s);
    sq_dram_rules_init(device, &s->rules);
    s->channels = o->channels ? o->channels : 1;
    s->queue = o->queue ? o->queue : SQ_DRAM_QUEUE_USUAL;
    s->age = o->age ? o->age : SQ_DRAM_AGE_USUAL;
    s->page = o->page;
    s->refresh = o->refresh;
    s->placement = o->placement;
    if (s->channels > SQ_DRAM_CHANNELS_MAX || (s->channels & (s->channels - 1)) != 0)
        return SQ_FAIL(err, SQ_ERR_RANGE, "channels = %u, need a power of two, 1..%d", s->channels,
                       SQ_DRAM_CHANNELS_MAX);
    if (s->queue > SQ_DRAM_QUEUE_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE, "queue = %u bursts a bank, need 1..%d", s->queue,
                       SQ_DRAM_QUEUE_MAX);
    if (s->refresh == SQ_DRAM_REFRESH_BANK && device->t[SQ_DRAM_T_REFIpb] == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "refresh = bank, need all or none: %s has no such refresh",
                       device->name);
    return sq_dram_map_parse(o->map ? o->map : "groups", device, s->channels, &s->map, err);
}

uint64_t sq_dram_interval(const struct sq_dram_setup *s)
{
    return s->rules.device
        .t[s->refresh == SQ_DRAM_REFRESH_BANK ? SQ_DRAM_T_REFIpb : SQ_DRAM_T_REFI];
}

static uint32_t n_ranks(const struct sq_dram_setup *s)
{
    return s->rules.device.pseudo * s->rules.device.ranks;
}

static uint32_t banks_of_rank(const struct sq_dram_setup *s)
{
    return s->rules.device.groups * s->rules.device.banks;
}

void sq_dram_init(struct sq_dram *d, const struct sq_dram_setup *setup)
{
    d->setup = setup;
    for (uint32_t c = 0; c < setup->channels; c++) {
        struct sq_dram_channel *const ch = &d->channel[c];
        for (uint32_t i = 1; i < SQ_DRAM_WAITING_MAX; i++)
            ch->waiting[i].next = i + 1 < SQ_DRAM_WAITING_MAX ? i + 1 : 0;
        ch->unused = 1;
        for (uint32_t i = 0; i < n_ranks(setup); i++) // ranks one after the other
            ch->rank[i].due = setup->refresh == SQ_DRAM_REFRESH_NONE
                                  ? UINT64_MAX
                                  : sq_dram_interval(setup) * (n_ranks(setup) + i) / n_ranks(setup);
    }
}

// ---- the queues -----------------------------------------------------------------------------------

static void push(struct sq_dram *d, struct sq_dram_channel *ch, const struct sq_dram_transfer *t,
                 uint32_t bank, uint32_t row)
{
    struct sq_dram_bank *const b = &ch->bank[bank];
    const uint32_t place = ch->unused;
    ch->unused = ch->waiting[place].next;
    ch->waiting[place] = (struct sq_dram_waiting){.came = d->now,
                                                  .number = d->number++,
                                                  .row = row,
                                                  .tag = t->tag,
                                                  .burst = t->burst,
                                                  .is_write = t->is_write,
                                                  .bank = bank};
    if (b->n++ == 0) {
        b->first = place;
        ch->active[ch->n_active++] = bank;
    } else
        ch->waiting[b->last].next = place;
    b->last = place;
    ch->wake = d->now;
}

static void drop(struct sq_dram_channel *ch, uint32_t bank, uint32_t place)
{
    struct sq_dram_bank *const b = &ch->bank[bank];
    uint32_t before = 0;
    for (uint32_t i = b->first; i != place; i = ch->waiting[i].next)
        before = i;
    if (before)
        ch->waiting[before].next = ch->waiting[place].next;
    else
        b->first = ch->waiting[place].next;
    b->last = b->last == place ? before : b->last;
    ch->waiting[place].next = ch->unused;
    ch->unused = place;
    if (--b->n > 0)
        return;
    uint32_t i = 0;
    while (ch->active[i] != bank)
        i++;
    ch->active[i] = ch->active[--ch->n_active];
}

// ---- the front ------------------------------------------------------------------------------------

uint32_t sq_dram_n_bursts(const struct sq_dram_setup *s, uint64_t addr, uint64_t nbytes)
{
    return (uint32_t)(((addr + nbytes - 1) >> s->map.below) - (addr >> s->map.below) + 1);
}

void sq_dram_ask(struct sq_dram *d, uint64_t addr, uint64_t nbytes, bool is_write, uint32_t tag)
{
    assert(sq_dram_has_room(d));
    const uint32_t at = (d->first + d->n_front++) % SQ_DRAM_TRANSFERS_MAX;
    d->front[at] = (struct sq_dram_transfer){.addr = addr,
                                             .left = sq_dram_n_bursts(d->setup, addr, nbytes),
                                             .tag = tag,
                                             .is_write = is_write};
}

bool sq_dram_feed(struct sq_dram *d, uint32_t *fed)
{
    while (d->n_front > 0) {
        struct sq_dram_transfer *const t = &d->front[d->first];
        const struct sq_dram_place p = sq_dram_map_place(&d->setup->map, t->addr);
        struct sq_dram_channel *const ch = &d->channel[p.at[SQ_DRAM_CHANNEL]];
        const uint32_t bank = sq_dram_bank_of(&d->setup->rules.device, &p);
        if (*fed >> p.at[SQ_DRAM_CHANNEL] & 1)
            return true;
        if (ch->unused == 0 || ch->bank[bank].n >= d->setup->queue)
            return false;
        push(d, ch, t, bank, p.at[SQ_DRAM_ROW]);
        *fed |= 1u << p.at[SQ_DRAM_CHANNEL];
        t->addr += UINT64_C(1) << d->setup->map.below;
        t->burst++;
        if (--t->left == 0) {
            d->first = (d->first + 1) % SQ_DRAM_TRANSFERS_MAX;
            d->n_front--;
        }
    }
    return false;
}

// ---- the choice of a command ----------------------------------------------------------------------

struct choice {
    enum sq_dram_command command;
    uint32_t bank, place; // place 0: of no burst
    // The smaller goes first: clocks on the bus, 0 where it goes before all others; number.
    uint64_t rank[2];
    bool is_there;
};

struct turn { // of one clock of a channel
    struct sq_dram *d;
    struct sq_dram_channel *ch;
    uint64_t next;         // the first clock in which one that waits may go
    struct choice best[2]; // of each bus
    // The number of a burst that has waited too long, in each pseudo-channel; all ones where none has.
    uint64_t old[2];
    uint32_t no_act; // ranks that activate nothing before a refresh, a bit each
};

// A command that wants to go.
static void offer(struct turn *t, enum sq_dram_command command, uint32_t bank, uint32_t place,
                  uint64_t number)
{
    const struct sq_dram_rules *const r = &t->d->setup->rules;
    const uint64_t at = sq_dram_earliest(r, &t->ch->times, command, bank);
    struct choice *const best = &t->best[r->bus[command]];
    if (at > t->d->now) {
        t->next = at < t->next ? at : t->next;
        return;
    }
    const bool is_first = place == 0 || t->ch->waiting[place].number == t->old[0] ||
                          t->ch->waiting[place].number == t->old[1];
    const uint64_t rank[2] = {is_first ? 0 : r->length[command], number};
    if (best->is_there &&
        (best->rank[0] < rank[0] || (best->rank[0] == rank[0] && best->rank[1] < rank[1])))
        return;
    *best = (struct choice){command, bank, place, {rank[0], rank[1]}, true};
}

// The bank that is refreshed next: of those that the round has not had, the first with an empty queue, or the first.
static void choose_bank(const struct sq_dram_setup *s, struct sq_dram_channel *ch, uint32_t rank)
{
    const uint32_t n = banks_of_rank(s);
    uint32_t chosen = 0;
    if (ch->rank[rank].chosen > 0)
        return;
    for (uint32_t i = n; i-- > 0;)
        if (!(ch->rank[rank].refreshed >> i & 1) &&
            (chosen == 0 || ch->bank[rank * n + i].n == 0 || ch->bank[rank * n + chosen - 1].n > 0))
            chosen = i + 1;
    ch->rank[rank].chosen = chosen;
}

// A refresh that is due closes what it needs closed. True: the rank does nothing else.
static bool offer_refresh(struct turn *t, uint32_t rank)
{
    const struct sq_dram_setup *const s = t->d->setup;
    struct sq_dram_channel *const ch = t->ch;
    const uint32_t first = rank * banks_of_rank(s);
    if (ch->rank[rank].due > t->d->now) {
        t->next = ch->rank[rank].due < t->next ? ch->rank[rank].due : t->next;
        return false;
    }
    if (s->refresh == SQ_DRAM_REFRESH_ALL) {
        offer(t, ch->rank[rank].n_open ? SQ_DRAM_PREA : SQ_DRAM_REFA, first, 0, 0);
        return true;
    }
    choose_bank(s, ch, rank);
    const uint32_t bank = first + ch->rank[rank].chosen - 1;
    offer(t, ch->bank[bank].is_open ? SQ_DRAM_PRE : SQ_DRAM_REFB, bank, 0, 0);
    // A longer command may begin before it and would take its place in the window.
    if (!ch->bank[bank].is_open && ch->times.bank[bank][SQ_DRAM_REFB] <= t->d->now)
        t->no_act |= 1u << rank;
    return false;
}

// The burst of a bank that is served: the oldest of the open row, or the oldest.
static uint32_t served(const struct sq_dram_channel *ch, const struct sq_dram_bank *b,
                       bool in_order)
{
    if (b->is_open && !in_order)
        for (uint32_t i = b->first; i; i = ch->waiting[i].next)
            if (ch->waiting[i].row == b->row)
                return i;
    return b->first;
}

static bool has_other(const struct sq_dram_channel *ch, const struct sq_dram_bank *b,
                      uint32_t place)
{
    for (uint32_t i = b->first; i; i = ch->waiting[i].next)
        if (i != place && ch->waiting[i].row == b->row)
            return true;
    return false;
}

static void offer_bank(struct turn *t, uint32_t bank)
{
    const struct sq_dram_setup *const s = t->d->setup;
    const struct sq_dram_bank *const b = &t->ch->bank[bank];
    const uint32_t pseudo = bank / (s->rules.device.ranks * banks_of_rank(s));
    const bool is_old = t->ch->waiting[b->first].number == t->old[pseudo];
    const uint32_t place = served(t->ch, b, is_old);
    const struct sq_dram_waiting *const w = &t->ch->waiting[place];
    if (!b->is_open) {
        if (!(t->no_act >> bank / banks_of_rank(s) & 1))
            offer(t, SQ_DRAM_ACT, bank, place, w->number);
    } else if (b->row != w->row)
        offer(t, SQ_DRAM_PRE, bank, place, w->number);
    else if (is_old || t->old[pseudo] == UINT64_MAX) {
        const bool closes = s->page == SQ_DRAM_CLOSED && !has_other(t->ch, b, place);
        offer(t,
              w->is_write ? (closes ? SQ_DRAM_WRA : SQ_DRAM_WR)
                          : (closes ? SQ_DRAM_RDA : SQ_DRAM_RD),
              bank, place, w->number);
    }
}

// The oldest burst of each pseudo-channel, where it has waited too long.
static void find_old(struct turn *t)
{
    const struct sq_dram_setup *const s = t->d->setup;
    t->old[0] = t->old[1] = UINT64_MAX;
    for (uint32_t i = 0; i < t->ch->n_active; i++) {
        const uint32_t bank = t->ch->active[i];
        const struct sq_dram_waiting *const w = &t->ch->waiting[t->ch->bank[bank].first];
        uint64_t *const old = &t->old[bank / (s->rules.device.ranks * banks_of_rank(s))];
        if (w->came + s->age <= t->d->now)
            *old = w->number < *old ? w->number : *old;
        else if (w->came + s->age < t->next)
            t->next = w->came + s->age;
    }
}

// ---- the account of the data bus -------------------------------------------------------------------

static uint64_t clip(uint64_t x, uint64_t low, uint64_t high)
{
    return x < low ? low : x > high ? high : x;
}

// What kept a read or write that goes now, since the bus was free: the causes in the order of time.
static void account(struct sq_dram *d, struct sq_dram_channel *ch, const struct choice *c)
{
    const struct sq_dram_setup *const s = d->setup;
    const struct sq_dram_waiting *const w = &ch->waiting[c->place];
    const uint32_t rank = c->bank / banks_of_rank(s), pseudo = rank / s->rules.device.ranks;
    const uint64_t free = ch->pseudo[pseudo].free, now = d->now;
    const uint64_t came = clip(w->came, free, now);
    const uint64_t from = clip(ch->rank[rank].from, came, now);
    const uint64_t until = clip(ch->rank[rank].until, from, now);
    const uint64_t opened = clip(ch->bank[c->bank].opened, until, now);
    const bool turns = ch->pseudo[pseudo].was_write != w->is_write;
    uint64_t *const clocks = ch->stats.clocks;
    clocks[SQ_DRAM_IDLE] += came - free;
    clocks[SQ_DRAM_OPENED] += (from - came) + (opened - until);
    clocks[SQ_DRAM_REFRESHED] += until - from;
    clocks[turns ? SQ_DRAM_TURN : SQ_DRAM_HELD] += now - opened;
    clocks[SQ_DRAM_BUSY] += sq_dram_burst_clocks(&s->rules.device);
    ch->pseudo[pseudo].free = now + sq_dram_burst_clocks(&s->rules.device);
    ch->pseudo[pseudo].was_write = w->is_write;
}

struct sq_dram_stats sq_dram_stats_of(const struct sq_dram *d)
{
    struct sq_dram_stats sum = {.hits = 0};
    for (uint32_t c = 0; c < d->setup->channels; c++) {
        const struct sq_dram_channel *const ch = &d->channel[c];
        for (unsigned i = 0; i < SQ_DRAM_COMMANDS; i++)
            sum.command[i] += ch->stats.command[i];
        for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
            sum.clocks[i] += ch->stats.clocks[i];
        sum.hits += ch->stats.hits;
        for (unsigned i = 0; i < d->setup->rules.device.pseudo;
             i++) { // the end, and a burst that is not over
            const uint64_t free = ch->pseudo[i].free;
            sum.clocks[SQ_DRAM_IDLE] += d->now > free ? d->now - free : 0;
            sum.clocks[SQ_DRAM_BUSY] -= free > d->now ? free - d->now : 0;
        }
    }
    return sum;
}

// ---- commands -------------------------------------------------------------------------------------

static void close_row(struct sq_dram_channel *ch, const struct sq_dram_setup *s, uint32_t bank)
{
    ch->rank[bank / banks_of_rank(s)].n_open -= ch->bank[bank].is_open;
    ch->bank[bank].is_open = 0;
}

static void refreshed(struct sq_dram *d, struct sq_dram_channel *ch, const struct choice *c)
{
    const struct sq_dram_setup *const s = d->setup;
    const uint32_t rank = c->bank / banks_of_rank(s);
    if (c->command == SQ_DRAM_REFA) {
        ch->rank[rank].from = ch->rank[rank].due;
        ch->rank[rank].until = sq_dram_earliest(&s->rules, &ch->times, SQ_DRAM_ACT, c->bank);
    } else {
        const uint64_t all = ~UINT64_C(0) >> (64 - banks_of_rank(s));
        uint64_t *const had = &ch->rank[rank].refreshed;
        *had |= UINT64_C(1) << (ch->rank[rank].chosen - 1);
        *had = *had == all ? 0 : *had;
        ch->rank[rank].chosen = 0;
    }
    ch->rank[rank].due += sq_dram_interval(s);
}

// A read or write goes: its burst leaves the queue.
static void column(struct sq_dram *d, struct sq_dram_channel *ch, const struct choice *c)
{
    const struct sq_dram_rules *const r = &d->setup->rules;
    struct sq_dram_bank *const b = &ch->bank[c->bank];
    const struct sq_dram_waiting *const w = &ch->waiting[c->place];
    account(d, ch, c);
    ch->stats.hits += b->used++ > 0;
    d->done[d->n_done++] = (struct sq_dram_done){
        w->tag, w->burst, w->came, d->now + (w->is_write ? r->write_ends : r->read_ends)};
    if (c->command == SQ_DRAM_RDA || c->command == SQ_DRAM_WRA)
        close_row(ch, d->setup, c->bank);
    drop(ch, c->bank, c->place);
}

static void go(struct sq_dram *d, struct sq_dram_channel *ch, const struct choice *c)
{
    const struct sq_dram_setup *const s = d->setup;
    const uint32_t first = c->bank / banks_of_rank(s) * banks_of_rank(s);
    struct sq_dram_bank *const b = &ch->bank[c->bank];
    if (s->note.call)
        s->note.call(s->note.ctx, (uint32_t)(ch - d->channel), d->now, c->command, c->bank,
                     c->place ? ch->waiting[c->place].row : b->row);
    sq_dram_issue(&s->rules, &ch->times, c->command, c->bank, d->now);
    ch->stats.command[c->command]++;
    switch (c->command) {
    case SQ_DRAM_ACT:
        b->row = ch->waiting[c->place].row;
        b->is_open = 1;
        b->used = 0;
        ch->rank[c->bank / banks_of_rank(s)].n_open++;
        b->opened =
            ch->times.bank[c->bank][ch->waiting[c->place].is_write ? SQ_DRAM_WR : SQ_DRAM_RD];
        return;
    case SQ_DRAM_PRE:
        close_row(ch, s, c->bank);
        return;
    case SQ_DRAM_PREA:
        for (uint32_t i = first; i < first + banks_of_rank(s); i++)
            close_row(ch, s, i);
        return;
    case SQ_DRAM_REFA:
    case SQ_DRAM_REFB:
        refreshed(d, ch, c);
        return;
    default:
        column(d, ch, c);
    }
}

static void clock_channel(struct sq_dram *d, struct sq_dram_channel *ch)
{
    const struct sq_dram_setup *const s = d->setup;
    struct turn t = {.d = d, .ch = ch, .next = UINT64_MAX};
    uint32_t is_kept = 0;
    find_old(&t);
    for (uint32_t i = 0; s->refresh != SQ_DRAM_REFRESH_NONE && i < n_ranks(s); i++)
        is_kept |= (uint32_t)offer_refresh(&t, i) << i;
    for (uint32_t i = 0; i < ch->n_active; i++) {
        const uint32_t bank = ch->active[i], rank = bank / banks_of_rank(s);
        const bool waits = s->refresh == SQ_DRAM_REFRESH_BANK && ch->rank[rank].due <= d->now &&
                           bank % banks_of_rank(s) + 1 == ch->rank[rank].chosen;
        if (!(is_kept >> rank & 1) && !waits)
            offer_bank(&t, bank);
    }
    ch->wake = t.next;
    for (unsigned i = 0; i < 2; i++)
        if (t.best[i].is_there) {
            go(d, ch, &t.best[i]);
            ch->wake = d->now + 1;
        }
}

uint64_t sq_dram_go(struct sq_dram *d)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < d->setup->channels; i++) {
        struct sq_dram_channel *const ch = &d->channel[i];
        if (ch->wake <= d->now)
            clock_channel(d, ch);
        next = ch->wake < next ? ch->wake : next;
    }
    return next;
}

bool sq_dram_run(struct sq_dram *d, uint64_t until)
{
    d->n_done = 0;
    while (d->now < until) {
        uint32_t fed = 0;
        const bool was_empty = d->n_front == 0, may_feed = sq_dram_feed(d, &fed);
        uint64_t next = sq_dram_go(d);
        next = may_feed && d->now + 1 < next ? d->now + 1 : next;
        const bool stops = d->n_done > 0 || (!was_empty && d->n_front == 0);
        next = stops ? d->now + 1 : next;
        d->now = next < until ? next : until;
        if (stops)
            break;
    }
    return d->now == until;
}

// ---- joules ---------------------------------------------------------------------------------------

void sq_dram_picojoules(const struct sq_dram_setup *setup, const struct sq_dram_stats *s,
                        double seconds, double pj[2])
{
    const struct sq_dram_energy *const e = &setup->rules.device.energy;
    const uint64_t *const n = s->command;
    const double work = (double)n[SQ_DRAM_ACT] * e->act_pj +
                        (double)(n[SQ_DRAM_RD] + n[SQ_DRAM_RDA]) * e->read_pj +
                        (double)(n[SQ_DRAM_WR] + n[SQ_DRAM_WRA]) * e->write_pj +
                        (double)n[SQ_DRAM_REFA] * e->refresh_pj +
                        (double)n[SQ_DRAM_REFB] * e->refresh_pj / (double)banks_of_rank(setup);
    assert(e->is_there);
    for (unsigned i = 0; i < 2; i++)
        pj[i] = work + 1e9 * e->background_mw[i] * seconds * setup->channels;
}

// ---- another clock --------------------------------------------------------------------------------

struct sq_dram_clock sq_dram_clock_of(const struct sq_dram_device *device, double hz)
{
    const uint64_t num = UINT64_C(1000000000000), den = (uint64_t)llround(hz) * device->clock_ps;
    const uint64_t common = sq_gcd(num, den);
    return (struct sq_dram_clock){num / common, den / common};
}

uint64_t sq_dram_clock_at(const struct sq_dram_clock *c, uint64_t cycle)
{
    return (uint64_t)(((wide)cycle * c->num + c->den - 1) / c->den);
}

uint64_t sq_dram_cycle_at(const struct sq_dram_clock *c, uint64_t clock)
{
    return (uint64_t)(((wide)clock * c->den + c->num - 1) / c->num);
}
