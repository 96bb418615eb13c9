// SPDX-License-Identifier: Apache-2.0
// Engines of sq_engine_spqr side by side: what their streams offer, and the time of their jobs.
#include "models/spqr/sq_spqr.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/spqr/sq_engine_spqr_sim.h"

static void offer(struct sq_unit_engine_run *r)
{
    r->in[SQ_UNIT_JOB].job =
        (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes};
    r->in[SQ_UNIT_JOB].n = sq_spqr_workers((size_t)r->job->loads * SQ_SPQR_TILE);
    r->in[3].n = sq_unit_engine_offset(r, SQ_SPQR_TILE);
}

enum { PACE = 2 }; // cycles for each outlier

// The first tile is decoded.
static uint64_t late(uint64_t loads, uint64_t work)
{
    enum { FIRST_TILE = 36 };
    const uint64_t first_step = 1 + loads + SQ_SPQR_TILE + work;
    return first_step < FIRST_TILE ? FIRST_TILE - first_step : 0;
}

// sq_engine_spqr: for 16 rows their offsets, the outliers on their way in, all columns of all tiles, each
// outlier; each worker looks through 16 rows and ends its share. The first tile needs time.
static void add(struct sq_unit_times *t, uint64_t work, enum sq_unit_scan scan)
{
    const uint64_t workers = sq_spqr_workers((size_t)t->loads * SQ_SPQR_TILE);
    (void)scan;
    sq_unit_sum_add(&t->cycles,
                    SQ_SPQR_TILE * (1 + t->loads) + workers * (SQ_SPQR_TILE + 1) + PACE * work);
}

static void end(struct sq_unit_times *t)
{
    enum { TO_OUTPUT = 5 };
    t->first = t->loads + 1;
    t->tile = t->first + sq_unit_sum(&t->cycles, t->passes) + 1;
    t->late = late(t->loads, sq_unit_sum(&t->work, 1));
    t->latency = TO_OUTPUT;
}

static void count(const struct sq_unit_times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    const uint64_t steps = t->passes * SQ_SPQR_TILE * t->loads + sq_unit_sum(&t->work, t->passes);
    low[SQ_CAUSE_FILLING] = t->tiles * (1 + t->loads) - 1;
    low[SQ_CAUSE_BUSY] = t->tiles * steps;
    low[SQ_CAUSE_WAIT_WEIGHT] = t->late;
    low[SQ_CAUSE_WAIT_INDEX] =
        t->tiles * (t->first - t->loads + sq_unit_sum(&t->cycles, t->passes) - steps);
}

const struct sq_unit_engine sq_engine_spqr_unit = {
    .block = &sq_engine_spqr_block,
    .widest = "OutlierW",
    .widest_value = SQ_ENGINE_SPQR_OUTLIER_W,
    .offer = offer,
    .cause = sq_engine_spqr_cause,
    .offsets = 3,
    .rows = SQ_SPQR_TILE,
    .outputs = 1,
    .pace = PACE,
    .late = late,
    .add = add,
    .end = end,
    .count = count,
};
