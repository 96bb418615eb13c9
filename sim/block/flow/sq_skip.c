// SPDX-License-Identifier: Apache-2.0
// Compares the state of a run with an earlier one, and adds whole periods to its counters (sq_skip.h).
#include "sim/block/flow/sq_skip.h"

enum { NEAR = 2 }; // of the end of a counter

static uint64_t get(const struct sq_skip_counter *c, unsigned i)
{
    return c->nbytes == sizeof(uint32_t) ? ((const uint32_t *)c->at)[i]
                                         : ((const uint64_t *)c->at)[i];
}

static void add(const struct sq_skip_counter *c, unsigned i, uint64_t by)
{
    if (c->nbytes == sizeof(uint32_t))
        ((uint32_t *)c->at)[i] += (uint32_t)by;
    else
        ((uint64_t *)c->at)[i] += by;
}

// Periods that fit before a counter that moved since `then` comes near its end.
static uint64_t room(const struct sq_skip_counter *c, uint64_t then)
{
    const uint64_t now = get(c, 0);
    if (c->kind == SQ_SKIP_SUM || now == then)
        return UINT64_MAX;
    const bool is_down = c->kind == SQ_SKIP_DOWN;
    if (c->kind == SQ_SKIP_FIXED || (is_down ? now > then : now < then))
        return 0; // it began again
    const uint64_t step = is_down ? then - now : now - then;
    const uint64_t from = is_down ? now : c->end, to = is_down ? 0 : now;
    return from > to && from - to > NEAR ? (from - to - NEAR) / step : 0;
}

uint64_t sq_skip_periods(const struct sq_skip_mark *mark, const struct sq_skip_here *here)
{
    uint64_t n = UINT64_MAX;
    if (!mark->valid || memcmp(here->key, mark->key, here->nbytes) != 0)
        return 0;
    for (unsigned i = 0, at = 0; i < here->n; at += here->counter[i++].n) {
        const uint64_t fits = room(&here->counter[i], mark->number[at]);
        n = fits < n ? fits : n;
    }
    return n < UINT64_MAX ? n : 0; // nothing has an end: the run stands still
}

static void set(struct sq_skip_mark *mark, const struct sq_skip_here *here)
{
    unsigned at = 0;
    mark->until = mark->valid ? 2 * mark->until : 1;
    mark->seen = 0;
    mark->valid = true;
    memcpy(mark->key, here->key, here->nbytes);
    for (unsigned i = 0; i < here->n; i++) {
        const struct sq_skip_counter *const c = &here->counter[i];
        assert(at + c->n <= SQ_SKIP_NUMBERS);
        if (c->nbytes == sizeof(uint64_t))
            memcpy(&mark->number[at], c->at, c->n * sizeof(uint64_t));
        else
            for (unsigned j = 0; j < c->n; j++)
                mark->number[at + j] = get(c, j);
        at += c->n;
    }
}

bool sq_skip_go(struct sq_skip_mark *mark, const struct sq_skip_here *here, uint64_t n)
{
    unsigned at = 0;
    if (n == 0) {
        const bool moves = !mark->valid || ++mark->seen >= mark->until;
        if (moves)
            set(mark, here);
        return moves;
    }
    for (unsigned i = 0; i < here->n; i++) {
        const struct sq_skip_counter *const c = &here->counter[i];
        for (unsigned j = 0; j < c->n; j++)
            add(c, j, n * (get(c, j) - mark->number[at++]));
    }
    mark->valid = false;
    return false;
}
