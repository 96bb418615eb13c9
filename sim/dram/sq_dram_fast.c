// SPDX-License-Identifier: Apache-2.0
// Runs a DRAM piece by piece, and looks up the pieces that it knows (sq_dram_fast.h).
#include "sim/dram/sq_dram_fast.h"

#include <assert.h>
#include <string.h>

enum {
    BASE = 1 << 20, // clock 0: times of a code may lie before it
    SHORT = 256,    // clocks that pass at once where a refresh is due
    LONG = 4096,
    OWN = 255 // the row of the piece
};

// What comes: bursts of a piece, or clocks, or nothing until the queues are empty; and the clocks to the refreshes that may be
// due meanwhile, FAR for all others.
struct key {
    uint32_t state;
    uint16_t bank, offset, n, clocks;
    uint16_t is_write, row, fed, unused;
    uint16_t due[SQ_DRAM_RANKS_MAX];
};
enum { FAR = UINT16_MAX, BIAS = 1 << 12 }; // added to clocks to a refresh, which may be late

// What follows from it.
struct entry {
    uint32_t to, clocks;
    uint32_t oldest;       // number of the next burst less that of the oldest in the queues
    uint32_t n_went, last; // bursts; the largest of their clocks
    uint16_t fed, n_rows;
    uint8_t refreshes[SQ_DRAM_RANKS_MAX]; // by how many the due ones move on
    uint8_t row[SQ_DRAM_CODE_ROWS];
    struct sq_dram_stats stats;
    struct sq_dram_went
        went[]; // after them the clocks in which those of the piece came, from the begin on
};

void sq_dram_memo_clear(struct sq_dram_memo *m)
{
    sq_memo_free(&m->state);
    sq_memo_free(&m->next);
    memset(m, 0, sizeof *m);
}

// Whether it was full, or had seen another memory, and has begun again.
static bool forget(struct sq_dram_memo *m, bool is_of_another)
{
    if (!is_of_another &&
        sq_memo_nbytes(&m->state) + sq_memo_nbytes(&m->next) <= SQ_DRAM_MEMO_NBYTES)
        return false;
    sq_memo_forget(&m->state);
    sq_memo_forget(&m->next);
    return true;
}

// ---- the state ------------------------------------------------------------------------------------

static uint32_t n_ranks(const struct sq_dram_fast *f)
{
    return f->d->setup->rules.device.pseudo * f->d->setup->rules.device.ranks;
}

// Clocks in which a refresh counts as near. Ranks refresh one after the other: no two of them are near at once.
static uint64_t horizon(const struct sq_dram_fast *f)
{
    const uint64_t most = sq_dram_interval(f->d->setup) / n_ranks(f);
    return most < FAR - BIAS ? most : FAR - BIAS - 1;
}

static uint64_t next_due(const struct sq_dram_fast *f)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < n_ranks(f); i++)
        next = f->due[i] < next ? f->due[i] : next;
    return next;
}

// Makes *d the state.
static void live(struct sq_dram_fast *f)
{
    struct sq_dram_code *const c = &f->code;
    if (f->is_live)
        return;
    size_t nbytes;
    const void *const code = sq_memo_key(&f->memo->state, f->state, &nbytes);
    c->n = (uint32_t)(nbytes / sizeof c->word[0]);
    memcpy(c->word, code, nbytes);
    memcpy(c->row, f->row, sizeof c->row);
    memcpy(c->due, f->due, sizeof c->due);
    f->d->now = f->now;
    sq_dram_decode(c, f->d, f->next, f->came);
    f->is_live = true;
}

// ---- a piece that is new --------------------------------------------------------------------------

// Bursts that went in this clock.
static void note_went(struct sq_dram_fast *f, uint64_t begin)
{
    const struct sq_dram *const d = f->d;
    for (uint32_t i = 0; i < d->n_done; i++) {
        f->came[(d->done[i].tag + d->done[i].burst) % SQ_DRAM_CAME_MAX] = (uint32_t)d->done[i].came;
        assert(f->n_went < SQ_DRAM_WENT_MAX);
        f->went[f->n_went++] =
            (struct sq_dram_went){(int32_t)(d->done[i].tag + d->done[i].burst - f->next),
                                  (uint32_t)(d->done[i].time - begin)};
    }
}

static bool is_empty(const struct sq_dram *d)
{
    for (uint32_t c = 0; c < d->setup->channels; c++)
        if (d->channel[c].n_active > 0)
            return false;
    return true;
}

// Runs until the front is empty, with an empty one up to a clock, or, where it drains, until the queues are empty as well.
static void run(struct sq_dram_fast *f, uint64_t until, bool drains)
{
    struct sq_dram *const d = f->d;
    const uint64_t begin = d->now;
    f->n_went = 0;
    while (d->now < until && !(drains && is_empty(d))) {
        const bool may_feed = sq_dram_feed(d, &f->fed);
        if (until == UINT64_MAX && d->n_front == 0)
            break;
        d->n_done = 0;
        uint64_t next = sq_dram_go(d);
        note_went(f, begin);
        next = may_feed ? d->now + 1 : next;
        d->now = next < until ? next : until;
        f->fed = 0;
    }
}

// Those that wait.
static void note_waiting(struct sq_dram_fast *f)
{
    for (uint32_t c = 0; c < f->d->setup->channels; c++) {
        const struct sq_dram_channel *const ch = &f->d->channel[c];
        for (uint32_t i = 0; i < ch->n_active; i++)
            for (uint32_t j = ch->bank[ch->active[i]].first; j; j = ch->waiting[j].next)
                f->came[(ch->waiting[j].tag + ch->waiting[j].burst) % SQ_DRAM_CAME_MAX] =
                    (uint32_t)ch->waiting[j].came;
    }
}

// Number of the next burst less that of the oldest in the queues.
static uint32_t oldest_of(const struct sq_dram *d)
{
    uint64_t oldest = d->number;
    for (uint32_t c = 0; c < d->setup->channels; c++) {
        const struct sq_dram_channel *const ch = &d->channel[c];
        for (uint32_t i = 0; i < ch->n_active; i++) {
            const uint64_t number = ch->waiting[ch->bank[ch->active[i]].first].number;
            oldest = number < oldest ? number : oldest;
        }
    }
    return (uint32_t)(d->number - oldest);
}

static void subtract(uint64_t *to, const uint64_t *from)
{
    for (size_t i = 0; i < sizeof(struct sq_dram_stats) / sizeof *to; i++)
        to[i] -= from[i];
}

static void add(uint64_t *to, const uint64_t *from)
{
    for (size_t i = 0; i < sizeof(struct sq_dram_stats) / sizeof *to; i++)
        to[i] += from[i];
}

static uint8_t number_in(const uint32_t *list, uint32_t n, uint32_t x)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == x)
            return (uint8_t)i;
    return OWN;
}

// What an entry says of the state that was, and of the piece.
struct before {
    uint64_t now, due[SQ_DRAM_RANKS_MAX];
    uint32_t row[SQ_DRAM_CODE_ROWS], n_rows;
    struct sq_dram_stats stats;
};

static void note_before(const struct sq_dram_fast *f, struct before *b)
{
    b->now = f->now;
    b->n_rows = f->n_rows;
    memcpy(b->due, f->due, sizeof b->due);
    memcpy(b->row, f->row, sizeof b->row);
    b->stats = sq_dram_stats_of(f->d);
}

static struct entry entry_of(const struct sq_dram_fast *f, const struct before *b)
{
    const uint64_t interval = sq_dram_interval(f->d->setup);
    struct entry e;
    memset(&e, 0, sizeof e);
    e.to = f->state;
    e.clocks = (uint32_t)(f->now - b->now);
    e.oldest = oldest_of(f->d);
    e.fed = (uint16_t)f->fed;
    e.n_rows = (uint16_t)f->n_rows;
    e.n_went = f->n_went;
    for (uint32_t i = 0; i < f->n_went; i++)
        e.last = f->went[i].clocks > e.last ? f->went[i].clocks : e.last;
    for (uint32_t i = 0; i < f->n_rows; i++)
        e.row[i] = number_in(b->row, b->n_rows, f->row[i]);
    for (uint32_t i = 0; i < n_ranks(f); i++)
        e.refreshes[i] = f->due[i] > b->due[i] ? (uint8_t)((f->due[i] - b->due[i]) / interval) : 0;
    e.stats = sq_dram_stats_of(f->d);
    subtract((uint64_t *)&e.stats, (const uint64_t *)&b->stats);
    return e;
}

static void keep(struct sq_dram_fast *f, const struct key *key, const struct entry *e)
{
    const size_t nbytes = e->n_went * sizeof e->went[0];
    const uint32_t at = sq_memo_add_key(&f->memo->next, key, sizeof *key);
    struct entry *const new =
        sq_memo_add(&f->memo->next, at, sizeof *e + nbytes + key->n * sizeof f->came[0]);
    if (!new)
        return;
    *new = *e;
    memcpy(new->went, f->went, nbytes);
    uint32_t *const came = (void *)(new->went + e->n_went);
    for (uint32_t i = 0; i < key->n; i++)
        came[i] = f->came[(f->next + i) % SQ_DRAM_CAME_MAX] - (uint32_t)(f->now - e->clocks);
}

// The state at hand is *d: its code in the memo. True: all others were forgotten.
static bool find_state(struct sq_dram_fast *f)
{
    struct sq_dram_code *const c = &f->code;
    sq_dram_settle(f->d);
    const bool has_code = sq_dram_encode(f->d, c);
    const bool forgot = has_code && forget(f->memo, false);
    f->now = f->d->now;
    f->state = has_code ? sq_memo_add_key(&f->memo->state, c->word, c->n * sizeof c->word[0]) : 0;
    f->n_rows = has_code ? c->n_rows : 0;
    memcpy(f->row, c->row, sizeof f->row);
    memcpy(f->due, c->due, sizeof f->due);
    return forgot;
}

// The bursts that went, by transfer; `last`: the largest of their clocks.
static void note_gone(struct sq_dram_fast *f, const struct sq_dram_went *went, uint32_t n,
                      uint32_t last, uint64_t begin)
{
    uint32_t kept = 0;
    f->n_gone = 0;
    for (uint32_t i = 0; i < f->n_flying; i++) {
        struct sq_dram_gone *const g = &f->gone[f->n_gone];
        const int32_t from = (int32_t)(f->flying[i].first - f->next),
                      to = i + 1 < f->n_flying ? (int32_t)(f->flying[i + 1].first - f->next)
                                               : INT32_MAX;
        *g = (struct sq_dram_gone){.tag = f->flying[i].tag};
        if (f->n_flying == 1) {
            g->n = n;
            g->time = last;
        } else
            for (uint32_t j = 0; j < n; j++)
                if (went[j].number >= from && went[j].number < to) {
                    g->n++;
                    g->time = went[j].clocks > g->time ? went[j].clocks : g->time;
                }
        g->time += begin - BASE;
        f->n_gone += g->n > 0;
        f->flying[i].left -= g->n;
        f->flying[kept] = f->flying[i];
        kept += f->flying[i].left > 0;
    }
    f->n_flying = kept;
}

// The clock in which the oldest burst has waited for too long.
static uint64_t gets_old(const struct sq_dram_fast *f)
{
    const uint32_t came = f->came[(f->next - f->oldest) % SQ_DRAM_CAME_MAX];
    return f->oldest ? f->now - ((uint32_t)f->now - came) + f->d->setup->age : UINT64_MAX;
}

// Runs the piece at the front, or the clocks up to `until`, or until the queues are empty, and keeps what follows.
static uint32_t run_new(struct sq_dram_fast *f, struct key *in, uint64_t until)
{
    const bool drains = in->n == 0 && in->clocks == 0;
    struct before b;
    const uint32_t from = f->state;
    note_before(f, &b);
    const uint64_t old = gets_old(f);
    run(f, until, drains);
    note_waiting(f);
    const bool is_young = f->d->now <= old;
    if (drains && !is_empty(f->d)) // clocks, no more
        in->clocks = (uint16_t)(f->d->now - f->now);
    const bool forgot = find_state(f);
    struct entry e = entry_of(f, &b);
    f->oldest = e.oldest;
    add((uint64_t *)&f->stats, (const uint64_t *)&e.stats);
    bool is_plain = true, is_said = false; // no refresh was due; the input says when
    for (uint32_t i = 0; i < n_ranks(f); i++) {
        is_plain &= b.due[i] >= f->now;
        is_said |= in->due[i] != FAR;
    }
    if (is_plain)
        memset(in->due, 0xff, sizeof in->due);
    const bool is_known = is_plain || (is_said && f->now - b.now <= horizon(f));
    if (f->state && !forgot && from && is_known && is_young)
        keep(f, in, &e);
    return e.last;
}

// ---- a piece that is known ------------------------------------------------------------------------

static void follow(struct sq_dram_fast *f, const struct entry *e, uint32_t row)
{
    uint32_t rows[SQ_DRAM_CODE_ROWS];
    for (uint32_t i = 0; i < e->n_rows; i++)
        rows[i] = e->row[i] == OWN ? row : f->row[e->row[i]];
    memcpy(f->row, rows, e->n_rows * sizeof rows[0]);
    f->n_rows = e->n_rows;
    for (uint32_t i = 0; i < SQ_DRAM_RANKS_MAX; i++)
        if (e->refreshes[i])
            f->due[i] += e->refreshes[i] * sq_dram_interval(f->d->setup);
    f->oldest = e->oldest;
    f->now += e->clocks;
    f->fed = e->fed;
    f->state = e->to;
    f->is_live = false;
    add((uint64_t *)&f->stats, (const uint64_t *)&e->stats);
}

static const struct entry *find(const struct sq_dram_fast *f, const struct key *key)
{
    const struct sq_memo *const m = &f->memo->next;
    return sq_memo_entry(m, sq_memo_first(m, sq_memo_find(m, key, sizeof *key)));
}

// The entry of a key whose refreshes are set here; NULL: it is new.
static const struct entry *known(const struct sq_dram_fast *f, struct key *in)
{
    const uint64_t due = next_due(f);
    memset(in->due, 0xff, sizeof in->due);
    if (!f->state)
        return NULL;
    const struct entry *const e = find(f, in);
    if (e && due >= f->now + e->clocks)
        return e;
    if (due >= f->now + horizon(f) || due + BIAS <= f->now)
        return NULL;
    for (uint32_t i = 0; i < n_ranks(f); i++)
        if (f->due[i] < f->now + horizon(f))
            in->due[i] = (uint16_t)(f->due[i] + BIAS - f->now);
    return find(f, in);
}

// `most`: clocks that a drain may take.
static void step(struct sq_dram_fast *f, struct key *in, uint64_t addr, uint32_t row, uint64_t most)
{
    const struct entry *const e = known(f, in);
    const uint64_t begin = f->now;
    if (e && e->clocks <= most && f->now + e->clocks <= gets_old(f)) {
        const uint32_t *const came = (const void *)(e->went + e->n_went);
        for (uint32_t i = 0; i < in->n; i++)
            f->came[(f->next + i) % SQ_DRAM_CAME_MAX] = came[i] + (uint32_t)begin;
        follow(f, e, row);
        note_gone(f, e->went, e->n_went, e->last, begin);
    } else {
        live(f);
        if (in->n > 0)
            sq_dram_ask(f->d, addr, (uint64_t)in->n << f->d->setup->map.below, in->is_write != 0,
                        f->next);
        const uint32_t last = run_new(f, in, in->n > 0 ? UINT64_MAX : f->now + most);
        note_gone(f, f->went, f->n_went, last, begin);
    }
    f->next += in->n;
    f->is_lost |= f->oldest >= SQ_DRAM_CAME_MAX;
}

// ---- from outside ---------------------------------------------------------------------------------

// Bursts of a piece: the most whose addresses differ below the bits of the row, but not more than `most`.
static uint32_t piece_of(const struct sq_dram_map *map, uint32_t most)
{
    uint32_t piece = 1;
    for (uint32_t i = 0; i < map->n_parts && map->part[i].field != SQ_DRAM_ROW; i++)
        for (uint32_t bit = 0; bit < map->part[i].width && piece < most; bit++)
            piece *= 2;
    return piece;
}

void sq_dram_fast_init(struct sq_dram_fast *f, const struct sq_dram_setup *setup, struct sq_dram *d,
                       struct sq_dram_memo *memo)
{
    f->memo = memo;
    f->d = d;
    f->piece = piece_of(&setup->map, SQ_DRAM_PIECE * setup->channels);
    if (forget(memo, memcmp(&memo->setup, setup, sizeof *setup) != 0))
        memo->setup = *setup;
    sq_dram_init(d, setup);
    d->now = BASE;
    for (uint32_t i = 0; i < setup->channels; i++) {
        for (uint32_t j = 0; j < n_ranks(f); j++)
            d->channel[i].rank[j].due += setup->refresh == SQ_DRAM_REFRESH_NONE ? 0 : BASE;
        for (uint32_t j = 0; j < setup->rules.device.pseudo; j++)
            d->channel[i].pseudo[j].free = BASE;
    }
    (void)find_state(f);
    f->is_live = true;
}

uint64_t sq_dram_fast_now(const struct sq_dram_fast *f)
{
    return f->now - BASE;
}

uint32_t sq_dram_fast_take(struct sq_dram_fast *f, uint64_t *addr, uint32_t n, bool is_write,
                           uint32_t tag)
{
    const struct sq_dram_setup *const s = f->d->setup;
    const struct sq_dram_place p = sq_dram_map_place(&s->map, *addr);
    const uint32_t offset = (uint32_t)(*addr >> s->map.below) & (f->piece - 1);
    const uint32_t row = p.at[SQ_DRAM_ROW], most = f->piece - offset;
    struct key in = {
        .state = f->state,
        .bank = (uint16_t)(p.at[SQ_DRAM_CHANNEL] * SQ_DRAM_BANKS_MAX +
                           sq_dram_bank_of(&s->rules.device, &p)),
        .offset = (uint16_t)offset,
        .n = (uint16_t)(n < most ? n : most),
        .is_write = is_write,
        .row = number_in(f->row, f->n_rows, row),
        .fed = (uint16_t)f->fed,
    };
    if (f->n_flying == 0 || f->flying[f->n_flying - 1].tag != tag) {
        assert(f->n_flying < SQ_DRAM_FLYING_MAX);
        f->flying[f->n_flying].tag = tag;
        f->flying[f->n_flying].left = 0;
        f->flying[f->n_flying++].first = f->next;
    }
    f->flying[f->n_flying - 1].left += in.n;
    step(f, &in, *addr, row, UINT64_MAX);
    *addr += (uint64_t)in.n << s->map.below;
    return in.n;
}

void sq_dram_fast_wait(struct sq_dram_fast *f, uint64_t clocks)
{
    const uint64_t due = next_due(f);
    uint64_t most = clocks < LONG ? clocks : LONG, n = 1;
    if (due > f->now && due - f->now < most)
        most = due - f->now;
    else if (due <= f->now && most > SHORT)
        most = SHORT;
    while (2 * n <= most)
        n *= 2;
    struct key in = {.state = f->state, .clocks = (uint16_t)n, .row = OWN, .fed = (uint16_t)f->fed};
    step(f, &in, 0, 0, n);
}

void sq_dram_fast_drain(struct sq_dram_fast *f, uint64_t clocks)
{
    struct key in = {.state = f->state, .row = OWN, .fed = (uint16_t)f->fed};
    step(f, &in, 0, 0, clocks < LONG ? clocks : LONG);
}

struct sq_dram_stats sq_dram_fast_stats(const struct sq_dram_fast *f)
{
    return f->stats;
}
