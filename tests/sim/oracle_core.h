// SPDX-License-Identifier: Apache-2.0
// The core (SPEC D.2, D.3, R.2): per bank the low path takes Ls = ceil(b/L) steps and the high path
// Hs = ceil(k/H), one bank apart; both ends of R.2, Ls + (n-1) max(Ls, Hs) + Hs + 3, follow from
// these rules:
//   streams  enter through registers of two beats: beat i when beat i - 2 has gone; it may go on in
//            the next cycle
//   low      a step a cycle; the last one of a bank not before the last high step of the bank
//   before high     a step a cycle, from the cycle after the last low step of its bank on totals a
//   low step is in the total 3 moves after it was accepted, a high one 2 moves after; the
//            low total goes to a register of its own, which the tile before must have left by then;
//            the high total stays where it is summed, so the first high step of the next group
//            waits there until the tile has gone. The path that waits stands still as a whole
//   tile     offered when both totals are there; a job ends with its last tile, the next one starts
//            in the cycle after
#pragma once

#include "tests/sim/oracle.h"

struct register2 { // a stream register: the entry before, and when the last two beats went on
    uint64_t entered, gone1, gone2;
};

// What each step of a path waited for: `first` and `second` are the first cycles in which what it
// needs is there (activations and codes, the mask of its bank and codes), `held` that of the bank
// buffer, `t` when it was accepted.
struct step {
    uint64_t first, second, held, t;
};

struct steps {
    size_t n, cap;
    struct step *step;
};

static inline void add_step(struct steps *s, struct step step)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        void *const larger = fixture_exact(s->cap * sizeof *s->step);
        s->step = s->n > 0 ? memcpy(larger, s->step, s->n * sizeof *s->step) : larger;
    }
    s->step[s->n++] = step;
}

struct oracle_core {
    struct steps low_log, high_log;
    unsigned low_steps, high_steps;
    struct stalls low, high;
    struct register2 act, lo, hi;
    uint64_t low_step, high_step; // from when on a further step may be accepted
    uint64_t bank;                // last low step of the bank at hand
    uint64_t bank_free;           // last high step of the bank before
    uint64_t tile_left;           // of the group before
    uint64_t low_total, high_total;
};

static inline uint64_t enter(struct register2 *r, uint64_t offered)
{
    r->entered = later(offered, later(r->entered, r->gone2));
    return r->entered;
}

static inline void go_on(struct register2 *r, uint64_t t)
{
    r->gone2 = r->gone1;
    r->gone1 = t + 1;
    r->entered++; // the next one a cycle later
}

// A low step whose beats are offered from act and lo on; when they enter goes there.
static inline void core_low(struct oracle_core *c, bool bank_last, bool group_last, uint64_t *act,
                            uint64_t *lo)
{
    *act = enter(&c->act, *act);
    *lo = enter(&c->lo, *lo);
    uint64_t t = later(later(*act, *lo) + 1, c->low_step);
    if (bank_last)
        t = later(t, c->bank_free);
    t = moving(&c->low, t);
    add_step(&c->low_log, (struct step){*act + 1, *lo + 1, bank_last ? c->bank_free : 0, t});
    go_on(&c->act, t);
    go_on(&c->lo, t);
    c->low_step = t + 1;
    if (bank_last)
        c->bank = t;
    if (group_last) {
        const uint64_t total = moves(&c->low, t, 3);
        stall(&c->low, total, c->tile_left);
        c->low_total = later(total, c->tile_left) + 1;
    }
}

static inline void core_high(struct oracle_core *c, bool group_first, bool bank_last,
                             bool group_last, uint64_t *hi)
{
    *hi = enter(&c->hi, *hi);
    const uint64_t t = moving(&c->high, later(*hi + 1, later(c->high_step, c->bank + 1)));
    add_step(&c->high_log, (struct step){c->bank + 1, *hi + 1, 0, t});
    go_on(&c->hi, t);
    c->high_step = t + 1;
    if (bank_last)
        c->bank_free = t;
    uint64_t sum = moves(&c->high, t, 2);
    if (group_first) {
        stall(&c->high, sum, c->tile_left);
        sum = later(sum, c->tile_left);
    }
    if (group_last)
        c->high_total = sum + 1;
}

// The tile of the group that ended.
static inline void core_tile(struct oracle_core *c, struct prediction *w)
{
    c->tile_left = give(w, later(c->low_total, c->high_total));
}

// ---- causes (sim/block/flow/sq_cause.h) --------------------------------------------------------------

// Why the path did what it did in cycle t of a job, by the first of these that holds: all of its steps
// were accepted; it stands still for a tile; the bank buffer is held; what it needs first, then
// what it needs second, is missing. `n` steps of the job from `at` on, which is moved to the next
// one to be accepted.
enum why { DONE, STANDS, HELD, FIRST, SECOND, STEP };

static inline enum why why(const struct steps *s, const struct stalls *stalls, size_t *at,
                           size_t end, uint64_t t)
{
    while (*at < end && s->step[*at].t < t)
        ++*at;
    if (*at == end)
        return DONE;
    const struct step *next = &s->step[*at];
    return moving(stalls, t) != t ? STANDS
           : t < next->held       ? HELD
           : t < next->first      ? FIRST
           : t < next->second     ? SECOND
                                  : STEP;
}

// A job that is offered from t on; when it is taken.
static inline uint64_t core_job(struct oracle_core *c, uint64_t t, bool is_first)
{
    if (!is_first)
        t = later(t, c->tile_left + 1);
    c->low_step = later(c->low_step, t + 1);
    return t;
}
