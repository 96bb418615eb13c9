// SPDX-License-Identifier: Apache-2.0
// A unit is what multiplies on a machine: one of the blocks below, with operands that are always
// there and a port through which finished tiles leave. The time of its jobs comes from the cycle
// model of the block, so a machine has no rates of its own, whatever format it runs.
//
//   core      sq_core: low and high path (sq_core_sim.h)
//   core_act  sq_core_act: a mask unit, stores, the core. Masks of a tile of tokens are made once,
//             and used for every tile of channels
//   array     sq_array, sq_array_static: a beat a cycle
//
// Behind these stands the output stage (sq_output_sim.h): the tile of each scale group is read through
// `lanes` combine units, and the last group's outputs wait for the port in a queue.
//
//   engines   engines of a format side by side, which the format's room describes (sq_unit_engine.h), each with its share of the channels and, of some, of the
//             tokens. Their time is that of the one that has most to do. Each gives a beat of outputs
//             at a time; the beats wait in the output buffer, which has room for all of a job, and leave
//             through the port, `words` cycles for a beat of all engines
//
// A job: `tiles` of rows (tokens), each with `passes` tiles of columns (channels) of `flushes` scale
// groups. It ends when the last word of the last tile has left. An engine (rtl/sq_engine_*.sv) takes
// its job in a cycle, and is a unit in the next ones: tests/sim/test_machine_units.c.
#pragma once

#include "models/output/sq_combine.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_stages.h"
#include "sim/io/sq_memo.h"

enum sq_unit_kind {
    SQ_UNIT_CORE,
    SQ_UNIT_CORE_ACT,
    SQ_UNIT_ARRAY,
    SQ_UNIT_ENGINES // side by side
};

// The output stage of a unit.
struct sq_unit_output {
    uint32_t pes;   // outputs of a tile, 1..SQ_OUTPUT_TILE_MAX; 0: no stage, tiles leave at once
    uint32_t lanes; // combine units; engines: outputs of a beat of those of a tile
    uint32_t form;  // enum sq_combine_form
    uint32_t depth; // beats of outputs that the queue holds, >= 2
    uint32_t hold;  // 1: it has registers for a tile
    uint32_t pairs; // of parts of the operands, with a sum each: times that it reads a tile
};

// Without padding, zeroed where unused: compared by its bytes.
struct sq_unit {
    const struct sq_unit_engine *engine; // engines: which ones (sq_unit_engine.h); others: NULL
    uint32_t kind;
    uint32_t topk;              // core_act: enum sq_topk_arch
    uint32_t stages;            // array: of sq_stages.h
    struct sq_core_config core; // core, core_act
    struct sq_unit_output output;
    uint32_t unused; // 0, in place of padding
};
_Static_assert(sizeof(struct sq_unit) == sizeof(void *) + 4 * sizeof(uint32_t) +
                                             sizeof(struct sq_core_config) +
                                             sizeof(struct sq_unit_output),
               "no padding");

const char *sq_unit_name(const struct sq_unit *unit); // "core", ...; of engines that of their block

struct sq_unit_job {
    uint32_t tiles, passes; // >= 1 each, tiles * passes * flushes < 2^31
    uint32_t flushes;       // scale groups of a tile; of engines: 1
    uint32_t beats;         // core, core_act: banks of a group, <= SQ_JOB_GROUP_BANKS_MAX; array:
                            // beats of a group; engines: work of a tile, where no list says it
    uint32_t words;         // cycles of the port for `lanes` outputs; 0: tiles stay inside, as
                            // partial sums
    uint32_t loads;         // engines: beats of activations before the first tile, >= 1
};

// What the engine with most to do has in one tile: kept groups in a row (gqsa), outliers in 16 rows
// (spqr), active columns of a token (spqt); and how much of it is more than the engines have on average.
// The tiles take the entries of the list in turn, from its beginning: for each tile of rows those of
// columns; of spqt the tiles of rows, in all of whose columns an entry holds.
struct sq_tile_work {
    uint32_t work, idle; // idle <= work
};
struct sq_tile_list {
    uint32_t n; // 0: all tiles have job->beats
    const struct sq_tile_work *tile;
};

struct sq_unit_stats {
    uint64_t cycles;
    uint64_t low[SQ_N_UNIT_CAUSES], high[SQ_N_UNIT_CAUSES]; // each sums to cycles
};

// The definition: a call of the block's model for every cycle. list: NULL as an empty one.
struct sq_unit_stats sq_unit_run_step(const struct sq_unit *unit, const struct sq_unit_job *job,
                                      const struct sq_tile_list *list);

// The same result in every counter, faster: when the state of the block comes back to an earlier
// one, whole periods are skipped; engines, which nothing stops, have closed forms.
struct sq_unit_stats sq_unit_run_fast(const struct sq_unit *unit, const struct sq_unit_job *job,
                                      const struct sq_tile_list *list);

// sq_unit_run_fast. memo: of jobs that were run, for callers that meet the same ones again and again; one per
// thread, NULL: none.
struct sq_unit_stats sq_unit_run(const struct sq_unit *unit, const struct sq_unit_job *job,
                                 const struct sq_tile_list *list, struct sq_memo *memo);

// Bounds: no job takes less than its slowest part alone, none more than all parts one after the
// other.
uint64_t sq_unit_bound(const struct sq_unit *unit, const struct sq_unit_job *job,
                       const struct sq_tile_list *list);
uint64_t sq_unit_limit(const struct sq_unit *unit, const struct sq_unit_job *job,
                       const struct sq_tile_list *list);
