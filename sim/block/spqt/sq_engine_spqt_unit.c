// SPDX-License-Identifier: Apache-2.0
// Engines of sq_engine_spqt side by side: what their streams offer, and the time of their jobs.
#include "models/number/sq_q4k.h"
#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/spqt/sq_spqt_idx_block.h"
#include "sim/io/sq_checked.h"

enum { ONE_HALF = 0x3c00 /* 1.0 */ };
_Static_assert((int)SQ_ENGINE_SPQT_SEG <= (int)SQ_UNIT_BEAT_MAX, "a segment is a beat");

static void offer(struct sq_unit_engine_run *r)
{
    const uint64_t n = sq_unit_engine_work(r, r->tile), s = r->job->loads;
    const uint64_t active =
        r->load < s ? sq_spqt_idx_before(r->load + 1, s, n) - sq_spqt_idx_before(r->load, s, n) : 0;
    r->in[SQ_UNIT_JOB].job =
        (struct sq_job){.group_banks = r->job->loads, .groups = r->job->passes};
    r->in[SQ_UNIT_JOB].n = ONE_HALF;
    for (unsigned i = 0; i < SQ_ENGINE_SPQT_SEG; i++)
        r->x[i] = i < active ? ONE_HALF : 0;
    r->in[SQ_UNIT_ACT].beat = r->x;
}

// sq_engine_spqt: the columns are found; then the superblocks of all active ones, or one of zeros.
enum { BEATS = SQ_Q4K_NBYTES / SQ_ENGINE_SPQT_BYTES };

static void add(struct sq_unit_times *t, uint64_t work, enum sq_unit_scan scan)
{
    enum { LANES = SQ_ENGINE_SPQT_LANES, PIPELINE = 8 };
    const uint64_t cycles = scan == SQ_SCAN_STEPPED ? sq_spqt_idx_scan(LANES, t->loads, work)
                            : scan == SQ_SCAN_LEAST ? sq_larger(t->loads, work / LANES)
                                                    : t->loads + work / LANES + PIPELINE;
    sq_unit_sum_add(&t->scan, cycles);
    sq_unit_sum_add(&t->cycles, cycles + t->passes * sq_larger(work, t->engine->least) * BEATS + 1);
}

static void end(struct sq_unit_times *t)
{
    enum { TO_OUTPUT = 7 };
    t->latency = TO_OUTPUT;
}

static void count(const struct sq_unit_times *t, uint64_t low[SQ_N_UNIT_CAUSES])
{
    const uint64_t superblocks = t->passes * sq_unit_sum(&t->work, t->tiles);
    const uint64_t none = t->passes * sq_unit_sum(&t->none, t->tiles);
    low[SQ_CAUSE_FILLING] = t->tiles - 1;
    low[SQ_CAUSE_BUSY] = superblocks * t->engine->outputs;
    low[SQ_CAUSE_WAIT_WEIGHT] = superblocks * (BEATS - t->engine->outputs);
    low[SQ_CAUSE_WAIT_INDEX] = sq_unit_sum(&t->scan, t->tiles) + none * BEATS;
}

const struct sq_unit_engine sq_engine_spqt_unit = {
    .block = &sq_engine_spqt_block,
    .point = SQ_ENGINE_SPQT_POINT,
    .offer = offer,
    .cause = sq_engine_spqt_cause,
    .outputs = SQ_Q4K_LEN / 2 / SQ_ENGINE_SPQT_BYTES,
    .least = 1,
    .is_of_tokens = true,
    .add = add,
    .end = end,
    .count = count,
    .steps = BEATS,
};
