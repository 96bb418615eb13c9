// SPDX-License-Identifier: Apache-2.0
// The second account of time, beside the cycle models: when each beat enters and leaves a block, as
// max-plus recurrences over beats (SPEC D, R.2) and not as a state that is clocked. A beat moves at
// the latest of the times of its causes: it was offered, the beat before it moved on, the sink
// takes it. Written from SPEC and from what the headers of sim/block promise; no line of a cycle
// model and no table is used. Times are cycles since reset; NEVER and beyond: not while the run
// lasted.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/test.h"

#define NEVER ((uint64_t)1 << 40)
enum { ORACLE_STREAMS = 5 };

// What stood around the block in a run, and what was then seen (or predicted) of it.
struct prediction {
    uint64_t end;   // cycles of the run
    uint64_t *next; // [end + 1] first cycle from t on in which the sink is ready
    struct beats {
        size_t n;
        uint64_t *offered; // first cycle in which beat i stands on the port; its source's affair
        uint64_t *taken;
    } in[ORACLE_STREAMS];
    size_t n_out, max_out;
    uint64_t *shown, *left; // of output beat i: first offered, taken
    size_t n_status;        // values of the status outputs; 0: nobody asks
    int32_t *status;        // [end][n_status] in each cycle
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// When the sink takes what is offered from cycle t on.
static inline uint64_t sink(const struct prediction *w, uint64_t t)
{
    return t < w->end ? w->next[t] : NEVER;
}

// An output beat, offered from cycle `shown` on; returns when it leaves.
static inline uint64_t give(struct prediction *w, uint64_t shown)
{
    const uint64_t left = sink(w, shown);
    if (shown < w->end) {
        assert(w->n_out < w->max_out);
        w->shown[w->n_out] = shown;
        w->left[w->n_out++] = left;
    }
    return left;
}

// ---- stages that move together ---------------------------------------------------------------

// Cycles in which they do not, as intervals [from, to), ascending.
struct stalls {
    size_t n, cap;
    uint64_t (*at)[2];
};

static inline void stall(struct stalls *s, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        void *const larger = fixture_exact(s->cap * sizeof *s->at);
        s->at = s->n > 0 ? memcpy(larger, s->at, s->n * sizeof *s->at) : larger;
    }
    s->at[s->n][0] = from;
    s->at[s->n++][1] = to;
}

// First cycle from t on in which they move.
static inline uint64_t moving(const struct stalls *s, uint64_t t)
{
    size_t i = s->n;
    while (i > 0 && s->at[i - 1][1] > t)
        i--;
    for (; i < s->n; i++)
        if (s->at[i][0] <= t && t < s->at[i][1])
            t = s->at[i][1];
    return t;
}

// The cycle of the n-th move after that of cycle t.
static inline uint64_t moves(const struct stalls *s, uint64_t t, unsigned n)
{
    while (n-- > 0)
        t = moving(s, t + 1);
    return t;
}

// ---- units of one beat at a time ---------------------------------------------------------------

// A pipe of `depth` stages that move together unless the last one holds a beat that is not taken, a
// beat per cycle, latency `depth`; or, `serial`, a unit that a beat occupies until it leaves,
// offered `depth` cycles after it came, and followed by the next in the cycle in which it leaves
// (SPEC C.3: latency = interval).
struct unit {
    unsigned depth;
    bool serial;
    uint64_t before; // pipe: first cycle after the last entry; serial: when the last beat left
    struct stalls stalls;
};

// A beat that is offered from cycle t on enters.
static inline uint64_t unit_enter(struct unit *u, uint64_t t)
{
    t = later(t, u->before);
    if (u->serial)
        return t;
    t = moving(&u->stalls, t);
    u->before = t + 1;
    return t;
}

// When the beat that entered at t is offered behind the unit.
static inline uint64_t unit_show(const struct unit *u, uint64_t t)
{
    return u->serial ? t + u->depth : moves(&u->stalls, t, u->depth - 1) + 1;
}

static inline void unit_leave(struct unit *u, uint64_t shown, uint64_t left)
{
    if (u->serial)
        u->before = left;
    else
        stall(&u->stalls, shown, left);
}

// Output-stationary arrays: `depth` stages (operands, sum), then the tile. They stop only when a
// finished group meets a tile that is not taken.
struct tail {
    unsigned depth;
    bool in_place; // a tile stays where beats are added, so that none is until it has left
    uint64_t before, tile_left;
    struct stalls stalls;
};

static inline uint64_t tail_enter(struct tail *a, uint64_t t)
{
    t = moving(&a->stalls, later(t, a->before));
    a->before = t + 1;
    if (a->in_place)
        stall(&a->stalls, moves(&a->stalls, t, a->depth), a->tile_left);
    return t;
}

// The last beat of a group entered at t: its tile is offered from the cycle that is returned on.
static inline uint64_t tail_show(struct tail *a, uint64_t t)
{
    uint64_t done = moves(&a->stalls, t, a->depth);
    stall(&a->stalls, done, a->tile_left);
    done = later(done, a->tile_left);
    return done + 1;
}

// A TopK unit (SPEC C.3, D.8) of `bits` magnitude bits: by ranks, latency 2, a bank per cycle;
// radix, latency and interval bits + 1.
static inline struct unit topk_unit(bool radix, unsigned bits)
{
    return (struct unit){.depth = radix ? bits + 1 : 2, .serial = radix};
}
