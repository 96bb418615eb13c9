// SPDX-License-Identifier: Apache-2.0
// Engines of sq_engine_gqsa side by side: what their streams offer, and the time of their jobs.
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/gqsa/sq_gqsa_walk_sim.h"
#include "sim/io/sq_checked.h"

static void offer(struct sq_unit_engine_run *r)
{
    r->in[SQ_UNIT_JOB].job =
        (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes + 1};
    r->in[2].n = sq_unit_engine_offset(r, 1);
}

// sq_engine_gqsa: activations, row_index[0] and the next one; then a step for a group or an empty row.
// The next job comes when the last sums have left the array.
static void add(struct sq_unit_times *t, uint64_t work, enum sq_unit_scan scan)
{
    (void)scan;
    sq_unit_sum_add(&t->cycles, sq_larger(work, t->engine->least));
}

static void end(struct sq_unit_times *t)
{
    enum { OFFSETS = 2, TO_SUMS = 4, TO_OUTPUT = 9 };
    t->first = t->loads + OFFSETS;
    t->tile = t->first + sq_unit_sum(&t->cycles, t->passes) + TO_SUMS + 1;
    t->latency = TO_OUTPUT;
}

static void count(const struct sq_unit_times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    low[SQ_CAUSE_FILLING] = t->tiles * (1 + t->loads) - 1;
    low[SQ_CAUSE_BUSY] = t->tiles * sq_unit_sum(&t->work, t->passes);
    low[SQ_CAUSE_WAIT_INDEX] = t->tiles * (t->first - t->loads + sq_unit_sum(&t->none, t->passes));
}

const struct sq_unit_engine sq_engine_gqsa_unit = {
    .block = &sq_engine_gqsa_block,
    .offer = offer,
    .cause = sq_engine_gqsa_cause,
    .offsets = 2,
    .rows = 1,
    .outputs = 1,
    .least = 1,
    .add = add,
    .end = end,
    .count = count,
};
