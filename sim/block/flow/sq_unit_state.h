// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of sq_unit_*.c; users include sq_unit.h.
#pragma once

#include "sim/block/core/sq_core_act_sim.h"
#include "sim/block/flow/sq_skip.h"
#include "sim/block/flow/sq_unit.h"
#include "sim/block/output/sq_output_sim.h"

// Everything that evolves during a job, zeroed with its padding before.
struct sq_unit_state {
    union {
        struct sq_core_sim core;
        struct sq_core_act_sim act;
        struct sq_pipeline array;
    } block;
    struct sq_output_sim stage;
    // In front: tiles of rows not yet in, beats left of the one that goes in; array:
    // beats of the scale group, groups and passes done.
    uint32_t tiles, beats, group, pass;
    // Behind: pairs read of the tile that is offered, reads of the tile in the stage that are done,
    // beats of outputs of the tile that leaves; tiles that have not left.
    uint32_t pair, read, gone, outputs;
};

// How far a boundary between two cycles reaches: what ended with the cycle before it.
enum sq_unit_level { SQ_LEVEL_CYCLE, SQ_LEVEL_FLUSH, SQ_LEVEL_PASS, SQ_LEVEL_TILE, SQ_N_LEVELS };

struct sq_unit_job_run {
    const struct sq_unit *unit;
    const struct sq_unit_job *job;
    struct sq_unit_state w;
    struct sq_unit_stats stats; // core, core_act: of the cycles after the core's own
    enum sq_unit_level level;   // of the last edge
};

// What a kind of unit does in a run.
struct sq_unit_ops {
    void (*start)(struct sq_unit_job_run *r);
    void (*clock)(struct sq_unit_job_run *r);
    // Adds the counters that move on while the state comes back at every boundary of a level.
    void (*counters)(struct sq_unit_job_run *r, struct sq_skip_here *here);
    struct sq_core_stats *(*core_stats)(
        struct sq_unit_state *w); // NULL: causes are counted in stats
};

extern const struct sq_unit_ops sq_unit_ops[SQ_UNIT_ENGINES]; // all but engines side by side

// A cycle of a path that has no causes of its own.
void sq_unit_count(struct sq_unit_stats *stats, enum sq_cause cause);

// Engines side by side: sq_unit_engines.c. The first two as those of sq_unit.h.
struct sq_unit_stats sq_unit_engines_step(const struct sq_unit *unit, const struct sq_unit_job *job,
                                          const struct sq_tile_list *list);
struct sq_unit_stats sq_unit_engines_run(const struct sq_unit *unit, const struct sq_unit_job *job,
                                         const struct sq_tile_list *list);
// No less, and no more: without stepping anything.
uint64_t sq_unit_engines_bound(const struct sq_unit *unit, const struct sq_unit_job *job,
                               const struct sq_tile_list *list);
uint64_t sq_unit_engines_limit(const struct sq_unit *unit, const struct sq_unit_job *job,
                               const struct sq_tile_list *list);
