// SPDX-License-Identifier: Apache-2.0
// Jobs of units: every cycle, or from period to period (sq_unit.h).
#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_unit_world.h"

enum { NEAR = 2 }; // of the end of a counter

// ---- stepping -------------------------------------------------------------------------------

static void start(struct sq_unit_job_run *r, const struct sq_unit *unit,
                  const struct sq_unit_job *job)
{
    memset(r, 0, sizeof *r);
    r->unit = unit;
    r->job = job;
    assert(job->tiles >= 1 && job->passes >= 1 && job->flushes >= 1);
    sq_unit_ops[unit->kind].start(r);
}

// The counters of a core are put in.
static struct sq_unit_stats finish(struct sq_unit_job_run *r)
{
    const struct sq_unit_ops *k = &sq_unit_ops[r->unit->kind];
    if (!k->core_stats)
        return r->stats;
    const struct sq_core_stats *core = k->core_stats(&r->w);
    struct sq_unit_stats *s = &r->stats;
    s->cycles += core->cycles;
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        // Operands are free: what a path waits for is a store that has no masked codes yet.
        const unsigned as = i == SQ_CAUSE_WAIT_WEIGHT ? (unsigned)SQ_CAUSE_WAIT_MASK : i;
        s->low[as] += core->low[i];
        s->high[as] += core->high[i];
    }
    return *s;
}

struct sq_unit_stats sq_unit_run_step(const struct sq_unit *unit, const struct sq_unit_job *job,
                                      const struct sq_tile_list *list)
{
    struct sq_unit_job_run r;
    if (unit->engine)
        return sq_unit_engines_step(unit, job, list);
    start(&r, unit, job);
    while (!sq_unit_ops[unit->kind].done(&r))
        sq_unit_ops[unit->kind].clock(&r);
    return finish(&r);
}

// ---- skipping -------------------------------------------------------------------------------
//
// The next state depends on a counter only through "has it arrived" (within NEAR of its end). So if
// two boundaries of a level have the same state but for its counters, and none of them arrives
// between, then what happened between happens again until the first one comes near.

struct mark {
    bool valid;
    struct sq_unit_world key;          // counters and statistics zeroed
    uint32_t at[SQ_UNIT_COUNTERS_MAX]; // the counters then
    struct sq_unit_stats stats;        // and the statistics
    struct sq_core_stats core;
    uint64_t next, seen; // the mark moves after `next` visits, doubling (Brent)
};

static void take_mark(struct sq_unit_job_run *r, struct mark *m, const struct sq_unit_world *key,
                      const struct sq_unit_counter *c, size_t n)
{
    const struct sq_unit_ops *k = &sq_unit_ops[r->unit->kind];
    m->key = *key;
    for (size_t i = 0; i < n; i++)
        m->at[i] = *c[i].at;
    m->stats = r->stats;
    if (k->core_stats)
        m->core = *k->core_stats(&r->w);
    m->next = m->valid ? m->next * 2 : 1;
    m->seen = 0;
    m->valid = true;
}

// Periods that fit before a counter that moved from `then` to now comes near its end.
static uint64_t room(const struct sq_unit_counter *c, uint32_t then)
{
    const uint32_t now = *c->at;
    if (now == then)
        return UINT64_MAX;
    if (c->is_down ? now > then : now < then)
        return 0; // it began again
    const uint32_t step = c->is_down ? then - now : now - then;
    const uint32_t end = c->end, from = c->is_down ? now : end, to = c->is_down ? end : now;
    return from > to && from - to > NEAR ? (from - to - NEAR) / step : 0;
}

static void add_periods(uint64_t *now, uint64_t then, uint64_t n)
{
    *now += n * (*now - then);
}

static void skip(struct sq_unit_job_run *r, const struct mark *m, const struct sq_unit_counter *c,
                 size_t n_counters, uint64_t n)
{
    const struct sq_unit_ops *k = &sq_unit_ops[r->unit->kind];
    for (size_t i = 0; i < n_counters; i++)
        *c[i].at += (uint32_t)n * (*c[i].at - m->at[i]);
    add_periods(&r->stats.cycles, m->stats.cycles, n);
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++) {
        add_periods(&r->stats.low[i], m->stats.low[i], n);
        add_periods(&r->stats.high[i], m->stats.high[i], n);
    }
    if (!k->core_stats)
        return;
    struct sq_core_stats *s = k->core_stats(&r->w);
    add_periods(&s->cycles, m->core.cycles, n);
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        add_periods(&s->low[i], m->core.low[i], n);
        add_periods(&s->high[i], m->core.high[i], n);
    }
}

static void visit(struct sq_unit_job_run *r, struct mark *m, enum sq_unit_level level)
{
    const struct sq_unit_ops *k = &sq_unit_ops[r->unit->kind];
    struct sq_unit_counter c[SQ_UNIT_COUNTERS_MAX];
    struct sq_unit_world saved = r->w, key;
    const size_t n = k->counters(r, level, c);
    uint64_t periods = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        *c[i].at = 0;
    if (k->core_stats)
        memset(k->core_stats(&r->w), 0, sizeof(struct sq_core_stats));
    key = r->w;
    r->w = saved;
    if (m->valid && memcmp(&key, &m->key, sizeof key) == 0) {
        for (size_t i = 0; i < n; i++) {
            const uint64_t fits = room(&c[i], m->at[i]);
            periods = fits < periods ? fits : periods;
        }
        if (periods > 0 && periods < UINT64_MAX) {
            skip(r, m, c, n, periods);
            m->valid = false;
            m->next = 0;
            return;
        }
    }
    if (!m->valid || ++m->seen >= m->next)
        take_mark(r, m, &key, c, n);
}

struct sq_unit_stats sq_unit_run_fast(const struct sq_unit *unit, const struct sq_unit_job *job,
                                      const struct sq_tile_list *list)
{
    struct sq_unit_job_run r;
    struct mark mark[SQ_N_LEVELS];
    for (unsigned i = 0; i < SQ_N_LEVELS; i++)
        mark[i].valid = false;
    if (unit->engine)
        return sq_unit_engines_run(unit, job, list);
    start(&r, unit, job);
    while (!sq_unit_ops[unit->kind].done(&r)) {
        sq_unit_ops[unit->kind].clock(&r);
        for (unsigned i = 0; i < (unsigned)r.level; i++)
            mark[i].valid = false;
        if (!sq_unit_ops[unit->kind].done(&r))
            visit(&r, &mark[r.level], r.level);
    }
    return finish(&r);
}
