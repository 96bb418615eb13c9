// SPDX-License-Identifier: Apache-2.0
// Bounds of jobs, and jobs that were run before (sq_unit.h).
#include "models/core/sq_topk.h"
#include "sim/block/flow/sq_unit_state.h"
#include "sim/block/output/sq_output_port.h"
#include "sim/io/sq_checked.h"

// ---- bounds ---------------------------------------------------------------------------------

// Cycles of the parts of a job, each alone.
struct parts {
    uint64_t low, high;    // the paths; arrays: both
    uint64_t front;        // masks
    uint64_t reads, drain; // the output stage: its reads of tiles; the port
};

// Cycles between two banks out of the mask unit.
static unsigned mask_interval(const struct sq_unit *u)
{
    struct sq_pipeline topk;
    sq_topk_pipeline(&topk, u->topk, u->core.high_bits - 1);
    return topk.kind == SQ_TIMING_SERIAL ? topk.depth + 1 : 1;
}

static struct parts parts_of(const struct sq_unit *u, const struct sq_unit_job *j)
{
    const uint64_t tiles = (uint64_t)j->tiles * j->passes;
    const uint64_t beats = (uint64_t)j->flushes * j->beats;
    struct parts p = {.reads = 0};
    if (u->output.pes > 0) {
        const uint64_t slots = sq_output_ceil(u->output.pes, u->output.lanes);
        p.reads = sq_sat_mul(tiles * j->flushes, slots * u->output.pairs);
        p.drain = sq_sat_mul(tiles, slots * j->words);
    }
    if (u->kind == SQ_UNIT_CORE || u->kind == SQ_UNIT_CORE_ACT) {
        p.low = sq_sat_mul(tiles * beats, sq_core_low_steps(&u->core));
        p.high = sq_sat_mul(tiles * beats, sq_core_high_steps(&u->core));
    } else {
        p.low = sq_sat_mul(tiles, beats);
        p.high = p.low;
    }
    if (u->kind == SQ_UNIT_CORE_ACT)
        p.front = sq_sat_mul(j->tiles * beats, mask_interval(u));
    return p;
}

uint64_t sq_unit_bound(const struct sq_unit *unit, const struct sq_unit_job *job,
                       const struct sq_tile_list *list)
{
    if (unit->engine)
        return sq_unit_engines_bound(unit, job, list);
    const struct parts p = parts_of(unit, job);
    const uint64_t paths = sq_larger(sq_larger(p.low, p.high), p.front);
    return sq_larger(paths, sq_larger(p.reads, p.drain));
}

uint64_t sq_unit_limit(const struct sq_unit *unit, const struct sq_unit_job *job,
                       const struct sq_tile_list *list)
{
    // The first bank's 128 low steps, the last one's 64 high steps, and registers between.
    enum { PIPELINES = 512 };
    if (unit->engine)
        return sq_unit_engines_limit(unit, job, list);
    const struct parts p = parts_of(unit, job);
    const uint64_t paths = unit->kind == SQ_UNIT_CORE || unit->kind == SQ_UNIT_CORE_ACT
                               ? sq_larger(p.low, p.high)
                               : p.low;
    return sq_sat_add(sq_sat_add(paths, sq_sat_add(p.front, p.reads)),
                      sq_sat_add(p.drain, PIPELINES));
}

// ---- jobs that were run -----------------------------------------------------------------------

enum { MEMO_NBYTES = 1 << 24 }; // after which it is forgotten

struct sq_unit_stats sq_unit_run(const struct sq_unit *unit, const struct sq_unit_job *job,
                                 const struct sq_tile_list *list, struct sq_memo *memo)
{
    struct {
        struct sq_unit unit;
        struct sq_unit_job job;
        uint32_t list, unused; // place of its tiles; 0: none
    } key = {*unit, *job, 0, 0};
    const bool has_list = list && list->n > 0;
    if (memo && sq_memo_nbytes(memo) > MEMO_NBYTES)
        sq_memo_forget(memo);
    if (memo && has_list)
        key.list = sq_memo_add_key(memo, list->tile, list->n * sizeof *list->tile);
    const bool is_kept = memo && (key.list || !has_list);
    const uint32_t at = is_kept ? sq_memo_add_key(memo, &key, sizeof key) : 0;
    const uint32_t known = at ? sq_memo_first(memo, at) : 0;
    if (known)
        return *(const struct sq_unit_stats *)sq_memo_entry(memo, known);
    const struct sq_unit_stats stats = sq_unit_run_fast(unit, job, list);
    if (at)
        (void)sq_memo_put(memo, at, &stats, sizeof stats); // without memory it is run again
    return stats;
}
