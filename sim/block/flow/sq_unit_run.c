// SPDX-License-Identifier: Apache-2.0
// Jobs of units: every cycle, or from period to period (sq_unit.h).
#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_unit_state.h"

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
    while (r.w.outputs > 0)
        sq_unit_ops[unit->kind].clock(&r);
    return finish(&r);
}

// ---- skipping -------------------------------------------------------------------------------

static void visit(struct sq_unit_job_run *r, struct sq_skip_mark *mark)
{
    const struct sq_unit_ops *k = &sq_unit_ops[r->unit->kind];
    struct sq_skip_here here;
    sq_skip_begin(&here, &r->w, sizeof r->w);
    sq_skip_add(&here, SQ_COUNTS(r->stats.cycles, r->stats));
    if (k->core_stats)
        sq_skip_add(&here, SQ_COUNTS(k->core_stats(&r->w)->cycles, struct sq_core_stats));
    k->counters(r, &here);
    (void)sq_skip_visit(mark, &here);
}

struct sq_unit_stats sq_unit_run_fast(const struct sq_unit *unit, const struct sq_unit_job *job,
                                      const struct sq_tile_list *list)
{
    struct sq_unit_job_run r;
    struct sq_skip_mark mark[SQ_N_LEVELS];
    for (unsigned i = 0; i < SQ_N_LEVELS; i++)
        mark[i].valid = false;
    if (unit->engine)
        return sq_unit_engines_run(unit, job, list);
    start(&r, unit, job);
    while (r.w.outputs > 0) {
        sq_unit_ops[unit->kind].clock(&r);
        for (unsigned i = 0; i < (unsigned)r.level; i++)
            mark[i].valid = false;
        if (r.w.outputs > 0)
            visit(&r, &mark[r.level]);
    }
    return finish(&r);
}
