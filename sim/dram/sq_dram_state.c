// SPDX-License-Identifier: Apache-2.0
// Writes the state of a DRAM as a code, and reads it back (sq_dram_state.h).
#include "sim/dram/sq_dram_state.h"

#include <assert.h>
#include <string.h>

enum {
    MIDDLE = 1 << 15,
    NUMBERS = 1 << 16
}; // 0 of a time that may be over; numbers that bursts begin with

// What the walks below know of the shape.
struct shape {
    uint32_t banks, groups, ranks,
        pseudo; // of a channel; banks of a rank and ranks of a pseudo-channel
    uint32_t of_rank, of_pseudo;
    uint64_t interval;
};

static struct shape shape_of(const struct sq_dram_setup *s)
{
    const struct sq_dram_device *const v = &s->rules.device;
    return (struct shape){.banks = sq_dram_n_banks(v),
                          .groups = sq_dram_n_banks(v) / v->banks,
                          .ranks = v->pseudo * v->ranks,
                          .pseudo = v->pseudo,
                          .of_rank = v->groups * v->banks,
                          .of_pseudo = v->ranks,
                          .interval = sq_dram_interval(s)};
}

// ---- writing ------------------------------------------------------------------------------------

static void put(struct sq_dram_code *c, uint64_t x)
{
    c->is_bad |= x > UINT16_MAX || c->n == SQ_DRAM_CODE_WORDS;
    if (!c->is_bad)
        c->word[c->n++] = (uint16_t)x;
}

static uint64_t ahead(uint64_t t, uint64_t now)
{
    return t > now ? t - now : 0;
}

// The times that are not over, behind a word that says which.
static void put_times(struct sq_dram_code *c, const uint64_t at[SQ_DRAM_COMMANDS], uint64_t now)
{
    uint32_t which = 0;
    for (uint32_t i = 0; i < SQ_DRAM_COMMANDS; i++)
        which |= (uint32_t)(at[i] > now) << i;
    put(c, which);
    for (uint32_t i = 0; which >> i; i++)
        if (which >> i & 1)
            put(c, at[i] - now);
}

static void put_row(struct sq_dram_code *c, uint32_t row)
{
    uint32_t i = 0;
    while (i < c->n_rows && c->row[i] != row)
        i++;
    c->is_bad |= i == SQ_DRAM_CODE_ROWS;
    if (i == c->n_rows && !c->is_bad)
        c->row[c->n_rows++] = row;
    put(c, i);
}

// A time that may be over, but not 0.
static void put_middle(struct sq_dram_code *c, uint64_t t, uint64_t now)
{
    c->is_bad |= t + MIDDLE == now;
    put(c, t + MIDDLE - now);
}

// A time that counts only behind `since`; else 0.
static void put_since(struct sq_dram_code *c, uint64_t t, uint64_t since, uint64_t now)
{
    if (t > since)
        put_middle(c, t, now);
    else
        put(c, 0);
}

static void put_bank(struct sq_dram_code *c, const struct sq_dram *d,
                     const struct sq_dram_channel *ch, uint32_t bank, uint64_t free)
{
    const struct sq_dram_bank *const b = &ch->bank[bank];
    put_times(c, ch->times.bank[bank], d->now);
    put(c, b->n << 2 | (uint32_t)(b->used > 0 && b->is_open) << 1 | b->is_open);
    if (b->is_open) {
        put_row(c, b->row);
        put_since(c, b->opened, free, d->now);
    }
    for (uint32_t i = b->first; b->n > 0 && i; i = ch->waiting[i].next) {
        const struct sq_dram_waiting *const w = &ch->waiting[i];
        put_row(c, w->row);
        put(c, w->is_write);
        put(c, d->number - w->number);
        put(c, ahead(w->came, free));
    }
}

static void put_channel(struct sq_dram_code *c, const struct sq_dram *d,
                        const struct sq_dram_channel *ch, const struct shape *s)
{
    const struct sq_dram_times *const t = &ch->times;
    uint64_t free[2];
    put(c, ahead(t->bus[0], d->now));
    put(c, ahead(t->bus[1], d->now));
    for (uint32_t i = 0; i < s->pseudo; i++) {
        free[i] = ch->pseudo[i].free;
        put_middle(c, free[i], d->now);
        put(c, ch->pseudo[i].was_write);
    }
    for (uint32_t i = 0; i < s->ranks; i++) {
        const uint64_t since = free[i / s->of_pseudo];
        put_times(c, t->rank[i], d->now);
        for (uint32_t j = 0; j < 4; j++)
            put(c, ahead(t->window[i][(t->oldest[i] + j) % 4], d->now));
        for (uint32_t j = 0; j < 4; j++)
            put(c, ch->rank[i].refreshed >> 16 * j & UINT16_MAX);
        put(c, ch->rank[i].chosen);
        put(c, s->interval ? (c->due[i] - ch->rank[i].due) / s->interval : 0);
        if (ch->rank[i].due < c->due[i]) // its refresh is late
            put(c, d->now - ch->rank[i].due);
        put_since(c, ch->rank[i].until, since, d->now);
        if (ch->rank[i].until > since)
            put_middle(c, ch->rank[i].from > since ? ch->rank[i].from : since, d->now);
        else
            put(c, 0);
    }
    for (uint32_t i = 0; i < s->groups; i++)
        put_times(c, t->group[i], d->now);
    for (uint32_t i = 0; i < s->banks; i++)
        put_bank(c, d, ch, i, free[i / (s->of_pseudo * s->of_rank)]);
}

void sq_dram_settle(struct sq_dram *d)
{
    const struct shape s = shape_of(d->setup);
    for (uint32_t c = 0; c < d->setup->channels; c++) {
        struct sq_dram_channel *const ch = &d->channel[c];
        uint32_t waits = 0; // pseudo-channels, a bit each
        for (uint32_t i = 0; i < ch->n_active; i++)
            waits |= 1u << ch->active[i] / (s.of_pseudo * s.of_rank);
        for (uint32_t i = 0; i < s.pseudo; i++)
            if (!(waits >> i & 1) && ch->pseudo[i].free < d->now) {
                ch->stats.clocks[SQ_DRAM_IDLE] += d->now - ch->pseudo[i].free;
                ch->pseudo[i].free = d->now;
            }
    }
}

bool sq_dram_encode(const struct sq_dram *d, struct sq_dram_code *c)
{
    const struct shape s = shape_of(d->setup);
    assert(d->n_front == 0);
    c->n = c->n_rows = 0;
    c->is_bad = false;
    for (uint32_t i = 0; i < s.ranks; i++) {
        c->due[i] = 0;
        for (uint32_t j = 0; j < d->setup->channels; j++)
            if (d->channel[j].rank[i].due > c->due[i])
                c->due[i] = d->channel[j].rank[i].due;
    }
    for (uint32_t i = 0; i < d->setup->channels; i++)
        put_channel(c, d, &d->channel[i], &s);
    return !c->is_bad;
}

// ---- reading ------------------------------------------------------------------------------------

struct reader {
    const uint16_t *at;
    const struct sq_dram_code *code;
    uint64_t now;
    uint32_t next; // number of the next burst
    const uint32_t *came;
};

static uint64_t get_ahead(struct reader *r)
{
    return r->now + *r->at++;
}

static uint64_t get_since(struct reader *r)
{
    const uint64_t x = *r->at++;
    return x ? r->now + x - MIDDLE : 0;
}

static void get_times(struct reader *r, uint64_t at[SQ_DRAM_COMMANDS])
{
    const uint32_t which = *r->at++;
    for (uint32_t i = 0; i < SQ_DRAM_COMMANDS; i++)
        at[i] = which >> i & 1 ? get_ahead(r) : 0;
}

static void get_bank(struct reader *r, struct sq_dram_channel *ch, uint32_t bank, uint32_t rank)
{
    struct sq_dram_bank *const b = &ch->bank[bank];
    get_times(r, ch->times.bank[bank]);
    const uint32_t flags = *r->at++;
    *b = (struct sq_dram_bank){.is_open = flags & 1, .used = flags >> 1 & 1, .n = flags >> 2};
    if (b->is_open) {
        ch->rank[rank].n_open++;
        b->row = r->code->row[*r->at++];
        b->opened = get_since(r);
    }
    if (b->n > 0)
        ch->active[ch->n_active++] = bank;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t place = ch->unused, row = r->code->row[r->at[0]];
        struct sq_dram_waiting *const w = &ch->waiting[place];
        ch->unused = w->next;
        *w = (struct sq_dram_waiting){
            .came = r->now - ((uint32_t)r->now - r->came[(r->next - r->at[2]) % SQ_DRAM_CAME_MAX]),
            .number = NUMBERS - r->at[2],
            .row = row,
            .tag = r->next - r->at[2],
            .is_write = r->at[1],
            .bank = bank};
        r->at += 4;
        if (i == 0)
            b->first = place;
        else
            ch->waiting[b->last].next = place;
        b->last = place;
    }
}

static void get_channel(struct reader *r, struct sq_dram_channel *ch, const struct shape *s)
{
    memset(&ch->stats, 0, sizeof ch->stats);
    for (uint32_t i = 1; i < SQ_DRAM_WAITING_MAX; i++)
        ch->waiting[i].next = i + 1 < SQ_DRAM_WAITING_MAX ? i + 1 : 0;
    ch->unused = 1;
    ch->n_active = 0;
    ch->wake = r->now;
    ch->times.bus[0] = get_ahead(r);
    ch->times.bus[1] = get_ahead(r);
    for (uint32_t i = 0; i < s->pseudo; i++) {
        ch->pseudo[i].free = r->now + *r->at++ - MIDDLE;
        ch->pseudo[i].was_write = *r->at++;
    }
    for (uint32_t i = 0; i < s->ranks; i++) {
        get_times(r, ch->times.rank[i]);
        ch->times.oldest[i] = 0;
        for (uint32_t j = 0; j < 4; j++)
            ch->times.window[i][j] = get_ahead(r);
        ch->rank[i].refreshed = 0;
        for (uint32_t j = 0; j < 4; j++)
            ch->rank[i].refreshed |= (uint64_t)*r->at++ << 16 * j;
        ch->rank[i].chosen = *r->at++;
        const uint64_t behind = *r->at++;
        ch->rank[i].due = r->code->due[i] - behind * s->interval;
        r->at += behind > 0;
        ch->rank[i].until = get_since(r);
        ch->rank[i].from = get_since(r);
        ch->rank[i].n_open = 0;
    }
    for (uint32_t i = 0; i < s->groups; i++)
        get_times(r, ch->times.group[i]);
    for (uint32_t i = 0; i < s->banks; i++)
        get_bank(r, ch, i, i / s->of_rank);
}

void sq_dram_decode(const struct sq_dram_code *c, struct sq_dram *d, uint32_t next,
                    const uint32_t came[SQ_DRAM_CAME_MAX])
{
    const struct shape s = shape_of(d->setup);
    struct reader r = {.at = c->word, .code = c, .now = d->now, .next = next, .came = came};
    d->number = NUMBERS;
    d->n_front = d->n_done = 0;
    for (uint32_t i = 0; i < d->setup->channels; i++)
        get_channel(&r, &d->channel[i], &s);
    assert(r.at == c->word + c->n);
}
