// SPDX-License-Identifier: Apache-2.0
// Places the streams of a plan in memory and follows its transfers (sq_machine_timed.h).
#include "sim/machine/sq_machine_timed.h"

#include <assert.h>
#include <string.h>

enum {
    PAGE = 4096,
    LEAP = 1 << 20,
    BLINK = 8 // clocks, fewer than from a command to the end of its burst
};

static bool is_act(unsigned stream)
{
    return stream == SQ_STREAM_ACT || stream == SQ_STREAM_ACT_SCALE;
}

static bool is_out(unsigned stream)
{
    return stream == SQ_STREAM_OUT || stream == SQ_STREAM_PARTIAL;
}

// Number of a block of a stream.
static uint64_t block_of(const struct sq_mapping *p, unsigned stream, uint64_t i, uint64_t j,
                         uint64_t l)
{
    return is_out(stream) ? i * p->count_n + j : (is_act(stream) ? i : j) * p->count_k + l;
}

void sq_machine_timed_begin(struct sq_machine_timed *t, const struct sq_machine *m,
                            const struct sq_mapping *p, bool is_fast)
{
    const struct sq_dram_setup *const setup = &m->timed.end[m->timed.at];
    struct sq_dram_memo *const memo = t->memo;
    uint64_t end = 0;
    uint32_t n = 0;
    memset(t, 0, sizeof *t);
    t->memo = memo;
    t->is_fast = is_fast && memo && !setup->note.call; // what is looked up has no commands
    t->plan = p;
    t->clock = sq_dram_clock_of(&setup->rules.device, m->clock_hz);
    for (unsigned s = 0; s < SQ_N_STREAMS; s++) {
        for (unsigned c = 0; c < SQ_STEP_CLASSES; c++)
            if (p->step[c].nbytes[s] > t->unit[s])
                t->unit[s] = p->step[c].nbytes[s];
        t->unit[s] = (t->unit[s] + m->burst_nbytes - 1) / m->burst_nbytes * m->burst_nbytes;
        if (t->unit[s] == 0)
            continue;
        t->base[s] = sq_dram_begin_of(setup, end, PAGE, n++);
        end = t->base[s] +
              t->unit[s] * (block_of(p, s, p->count_m - 1, p->count_n - 1, p->count_k - 1) + 1);
    }
    if (t->is_fast)
        sq_dram_fast_init(&t->fast, setup, &t->dram, memo);
    else
        sq_dram_init(&t->dram, setup);
}

bool sq_machine_timed_is_free(const struct sq_machine_timed *t, uint64_t now)
{
    return t->is_fast ? t->n_asked == 0 && t->free_at <= now : t->dram.n_front == 0;
}

// ---- what is under way --------------------------------------------------------------------------

static void begin(struct sq_flight *f)
{
    assert(f->n < SQ_UNDER_WAY);
    f->of[(f->first + f->n) % SQ_UNDER_WAY].left = 0;
    f->of[(f->first + f->n) % SQ_UNDER_WAY].time = 0;
    f->of[(f->first + f->n) % SQ_UNDER_WAY].over = 0;
    f->n++;
}

static void end(struct sq_flight *f)
{
    assert(f->n > 0);
    f->first++;
    f->n--;
}

// Bursts of a transfer that went, the last of them over at a clock.
static void note(struct sq_machine_timed *t, uint32_t tag, uint64_t n, uint64_t time)
{
    struct sq_flight *const f = tag & 1 ? &t->store : &t->load;
    const unsigned at = (tag >> 1) % SQ_UNDER_WAY;
    f->of[at].left -= n;
    f->of[at].time = time > f->of[at].time ? time : f->of[at].time;
    if (f->of[at].left == 0)
        f->of[at].over = sq_dram_cycle_at(&t->clock, f->of[at].time);
}

static void note_gone(struct sq_machine_timed *t)
{
    for (uint32_t i = 0; i < t->fast.n_gone; i++)
        note(t, t->fast.gone[i].tag, t->fast.gone[i].n, t->fast.gone[i].time);
}

// Nothing comes up to a clock.
static void wait_until(struct sq_machine_timed *t, uint64_t clock)
{
    while (sq_dram_fast_now(&t->fast) < clock) {
        sq_dram_fast_wait(&t->fast, clock - sq_dram_fast_now(&t->fast));
        note_gone(t);
    }
}

static void ask(struct sq_machine_timed *t, struct sq_flight *f, uint64_t now, uint64_t addr,
                uint64_t nbytes)
{
    const uint32_t number = f->first + f->n - 1, tag = number << 1 | (f == &t->store);
    if (nbytes == 0)
        return;
    const uint32_t n = sq_dram_n_bursts(t->dram.setup, addr, nbytes);
    f->of[number % SQ_UNDER_WAY].left += n;
    if (!t->is_fast) {
        sq_dram_ask(&t->dram, addr, nbytes, f == &t->store, tag);
        return;
    }
    wait_until(t, sq_dram_clock_at(&t->clock, now));
    assert(t->n_asked < SQ_DRAM_TRANSFERS_MAX);
    t->asked[t->n_asked++] = (struct sq_machine_asked){addr, n, tag, f == &t->store};
}

static uint64_t over(const struct sq_flight *f)
{
    const unsigned at = f->first % SQ_UNDER_WAY;
    return f->n == 0 || f->of[at].left > 0 ? UINT64_MAX : f->of[at].over;
}

uint64_t sq_machine_timed_loaded(const struct sq_machine_timed *t)
{
    return over(&t->load);
}

uint64_t sq_machine_timed_stored(const struct sq_machine_timed *t)
{
    return over(&t->store);
}

void sq_machine_timed_take(struct sq_machine_timed *t)
{
    end(&t->load);
}

void sq_machine_timed_free(struct sq_machine_timed *t)
{
    end(&t->store);
}

// ---- transfers ----------------------------------------------------------------------------------

void sq_machine_timed_load(struct sq_machine_timed *t, uint64_t now, unsigned step, uint64_t i,
                           uint64_t j, uint64_t l)
{
    const struct sq_mapping *const p = t->plan;
    begin(&t->load);
    for (unsigned s = 0; s < SQ_N_STREAMS; s++) {
        const bool comes = is_out(s) ? false
                           : is_act(s)
                               ? sq_mapping_loads_act(p, j) && (s == SQ_STREAM_ACT || l == 0)
                               : sq_mapping_loads_weight(p, i);
        if (comes)
            ask(t, &t->load, now, t->base[s] + t->unit[s] * block_of(p, s, i, j, l),
                p->step[step].nbytes[s]);
    }
}

void sq_machine_timed_store(struct sq_machine_timed *t, uint64_t now, unsigned step, uint64_t i,
                            uint64_t j, uint64_t part, uint64_t parts, bool is_last)
{
    const struct sq_mapping *const p = t->plan;
    const uint64_t burst = sq_dram_burst_nbytes(&t->dram.setup->rules.device);
    if (part == 0)
        begin(&t->store);
    for (unsigned s = SQ_STREAM_OUT; s < SQ_N_STREAMS; s++) {
        const uint64_t n = is_out(s) ? p->step[step].nbytes[s] : 0,
                       each = n / burst / parts * burst;
        const uint64_t from = part * each;
        ask(t, &t->store, now, t->base[s] + t->unit[s] * block_of(p, s, i, j, 0) + from,
            is_last ? n - from : each);
    }
}

// ---- time ---------------------------------------------------------------------------------------

static void note_done(struct sq_machine_timed *t)
{
    for (uint32_t i = 0; i < t->dram.n_done; i++)
        note(t, t->dram.done[i].tag, 1, t->dram.done[i].time);
}

void sq_machine_timed_run(struct sq_machine_timed *t, uint64_t now)
{
    bool is_there;
    do {
        is_there = sq_dram_run(&t->dram, sq_dram_clock_at(&t->clock, now));
        note_done(t);
    } while (!is_there);
}

static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
    return b > now && b < a ? b : a;
}

// The first cycle that begins after the clock.
static uint64_t cycle_after(const struct sq_machine_timed *t, uint64_t clock)
{
    const uint64_t cycle = sq_dram_cycle_at(&t->clock, clock);
    return cycle + (sq_dram_clock_at(&t->clock, cycle) <= clock);
}

// What is asked for goes into the queues: nothing but the DRAM itself decides when.
static void take_asked(struct sq_machine_timed *t)
{
    for (uint32_t i = 0; i < t->n_asked; i++)
        for (struct sq_machine_asked *const a = &t->asked[i]; a->left > 0; note_gone(t))
            a->left -= sq_dram_fast_take(&t->fast, &a->addr, a->left, a->is_write != 0, a->tag);
    if (t->n_asked > 0)
        t->free_at = cycle_after(t, sq_dram_fast_now(&t->fast));
    t->n_asked = 0;
}

static uint64_t leap_fast(struct sq_machine_timed *t, uint64_t now, uint64_t until)
{
    take_asked(t);
    for (;;) {
        uint64_t next = sooner(until, sq_machine_timed_loaded(t), now);
        next = sooner(next, sq_machine_timed_stored(t), now);
        next = sooner(next, t->free_at, now);
        const bool waits = (t->load.n > 0 && sq_machine_timed_loaded(t) == UINT64_MAX) ||
                           (t->store.n > 0 && sq_machine_timed_stored(t) == UINT64_MAX);
        const uint64_t at = sq_dram_fast_now(&t->fast);
        const uint64_t clock = next == UINT64_MAX ? next : sq_dram_clock_at(&t->clock, next);
        if (!waits || clock <= at)
            return next;
        if (t->fast.n_flying == 1) // its end is after that of the drain
            sq_dram_fast_drain(&t->fast, clock - at);
        else
            sq_dram_fast_wait(&t->fast, clock - at < BLINK ? clock - at : BLINK);
        note_gone(t);
    }
}

uint64_t sq_machine_timed_leap(struct sq_machine_timed *t, uint64_t now, uint64_t until)
{
    const bool was_free = sq_machine_timed_is_free(t, now);
    if (sq_machine_timed_stored(t) <=
        now) // a block of no bytes was stored: it is over in the next cycle
        until = now + 1;
    if (t->is_fast)
        return leap_fast(t, now, until);
    assert(until < UINT64_MAX || !was_free || t->load.n > 0 || t->store.n > 0);
    for (;;) {
        uint64_t next = sooner(until, sq_machine_timed_loaded(t), now);
        next = sooner(next, sq_machine_timed_stored(t), now);
        if (!was_free && sq_machine_timed_is_free(t, now)) {
            next = sooner(next, cycle_after(t, t->dram.now - 1), now);
            until = next;
        }
        const uint64_t clock =
            next == UINT64_MAX ? t->dram.now + LEAP : sq_dram_clock_at(&t->clock, next);
        const bool is_there = sq_dram_run(&t->dram, clock);
        note_done(t);
        if (is_there && next < UINT64_MAX &&
            sooner(next, sq_machine_timed_loaded(t), now) == next &&
            sooner(next, sq_machine_timed_stored(t), now) == next)
            return next;
    }
}

struct sq_dram_stats sq_machine_timed_stats(struct sq_machine_timed *t, uint64_t now)
{
    if (!t->is_fast)
        return sq_dram_stats_of(&t->dram);
    wait_until(t, sq_dram_clock_at(&t->clock, now));
    return sq_dram_fast_stats(&t->fast);
}
