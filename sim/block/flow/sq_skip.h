// SPDX-License-Identifier: Apache-2.0
// Skips what repeats, for every run that has a long way and few states: jobs of a core and of units, blocks of
// a GEMM on a machine.
//
// A run describes itself at the boundaries of a loop, say after each bank: its state as bytes, and counters, the
// numbers in it that move on while the state comes back. What happens must depend on a counter only through
// whether it is near its end. Then, where the state of an earlier boundary comes back, what happened since happens
// again until the first counter comes near its end, so all these periods are added at once.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum sq_skip_kind {
    SQ_SKIP_SUM,   // counts what happened; nothing depends on it
    SQ_SKIP_UP,    // goes up to `end`
    SQ_SKIP_DOWN,  // goes down to 0
    SQ_SKIP_FIXED, // must be where it was, or nothing is skipped
};
struct sq_skip_counter {
    void *at; // n numbers of nbytes (4, 8) each
    uint64_t end;
    uint16_t n, nbytes;
    uint32_t kind;
};
#define SQ_COUNTS_UP(x, to) ((struct sq_skip_counter){&(x), (to), 1, sizeof(x), SQ_SKIP_UP})
#define SQ_COUNTS_DOWN(x) ((struct sq_skip_counter){&(x), 0, 1, sizeof(x), SQ_SKIP_DOWN})
// Sums: the numbers from x up to the end of `all`, whose numbers are as long as x.
#define SQ_COUNTS(x, all)                                                                          \
    ((struct sq_skip_counter){&(x), 0, sizeof(all) / sizeof(x), sizeof(x), SQ_SKIP_SUM})

enum { SQ_SKIP_NBYTES = 1024, SQ_SKIP_COUNTERS = 20, SQ_SKIP_NUMBERS = 64 };

// A run at a boundary.
struct sq_skip_here {
    const unsigned char *state;
    size_t nbytes;
    unsigned n;
    struct sq_skip_counter counter[SQ_SKIP_COUNTERS];
    _Alignas(8) unsigned char key[SQ_SKIP_NBYTES]; // the state without its counters
};
// Begins with a state without counters; it holds no padding that differs.
static inline void sq_skip_begin(struct sq_skip_here *here, const void *state, size_t nbytes)
{
    assert(nbytes <= SQ_SKIP_NBYTES);
    here->state = state;
    here->nbytes = nbytes;
    here->n = 0;
    memcpy(here->key, state, nbytes);
}
// Adds a counter, inside or outside the state. At each boundary of a loop the same ones come in the same order.
static inline void sq_skip_add(struct sq_skip_here *here, struct sq_skip_counter counter)
{
    const size_t at = (size_t)((uintptr_t)counter.at - (uintptr_t)here->state);
    assert(here->n < SQ_SKIP_COUNTERS);
    here->counter[here->n++] = counter;
    if (at < here->nbytes)
        memset(here->key + at, 0, (size_t)counter.n * counter.nbytes);
}

// The boundary of a loop to which later ones are compared. It moves on after 1, 2, 4, ... boundaries, so that any period is
// found (Brent). valid = false: there is none yet.
struct sq_skip_mark {
    bool valid;
    uint64_t until, seen;
    uint64_t number[SQ_SKIP_NUMBERS]; // the counters' then, one after the other
    _Alignas(8) unsigned char key[SQ_SKIP_NBYTES];
};
// Periods like that since the mark that may follow; 0: the state is another one, or a counter is near its end.
uint64_t sq_skip_periods(const struct sq_skip_mark *mark, const struct sq_skip_here *here);
// Goes n of these periods on. With n = 0 the mark moves when it is its turn; true: it was set here.
bool sq_skip_go(struct sq_skip_mark *mark, const struct sq_skip_here *here, uint64_t n);

// As many as there are. Returns as sq_skip_go.
static inline bool sq_skip_visit(struct sq_skip_mark *mark, const struct sq_skip_here *here)
{
    return sq_skip_go(mark, here, sq_skip_periods(mark, here));
}
