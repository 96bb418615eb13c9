// SPDX-License-Identifier: Apache-2.0
// What an engine says of itself so that a unit may consist of several side by side (sq_unit_engines.c):
// what its streams offer cycle by cycle, and the time of its jobs in closed form. Each stands in
// the room of its format, sq_engine_<name>_unit.c, and the format puts it into its unit.
#pragma once

#include <assert.h>

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_cause.h"
#include "sim/block/flow/sq_unit.h"

// Streams that all of them have.
enum { SQ_UNIT_JOB, SQ_UNIT_ACT };

// ---- a cycle at a time ------------------------------------------------------------------------

enum { SQ_UNIT_BEAT_MAX = 16 };
struct sq_unit_engine_run {
    const struct sq_unit_job *job;
    const struct sq_tile_list *list;
    uint32_t jobs, tile;         // to come; of the job at hand
    uint32_t load, offset;       // of its activations, of its row offsets: the next one
    uint32_t at;                 // what was before the pass of that offset
    int32_t x[SQ_UNIT_BEAT_MAX]; // of the activations that are offered, where their values count
    struct sq_offer in[SQ_STREAMS_MAX]; // what the streams offer
    uint64_t waiting, leaving, word;    // beats of outputs: in the queue; to leave; words gone
};
// The work of tile i of the list.
uint32_t sq_unit_engine_work(const struct sq_unit_engine_run *r, uint32_t i);
// The row offset that comes next, of `rows` in a pass: the work of a pass is spread over them.
uint32_t sq_unit_engine_offset(const struct sq_unit_engine_run *r, uint32_t rows);

// ---- in closed form ---------------------------------------------------------------------------
//
// Cycle 0 follows the one in which the first job is taken.

// Sums over the first entries of a list, as often as it is repeated.
enum { SQ_UNIT_SUMS_MAX = 64 };
struct sq_unit_sums {
    uint32_t n;
    uint64_t of[SQ_UNIT_SUMS_MAX + 1];
};

static inline uint64_t sq_unit_sum(const struct sq_unit_sums *s, uint64_t n)
{
    return n / s->n * s->of[s->n] + s->of[n % s->n];
}

static inline void sq_unit_sum_add(struct sq_unit_sums *s, uint64_t x)
{
    assert(s->n < SQ_UNIT_SUMS_MAX);
    s->of[s->n + 1] = s->of[s->n] + x;
    s->n++;
}

// How long a search takes whose cycles depend on where it finds: no less, as its cycle model says, no
// more.
enum sq_unit_scan { SQ_SCAN_LEAST, SQ_SCAN_STEPPED, SQ_SCAN_MOST };

struct sq_unit_engine;

// The times of a job. Engines whose lists are of tokens have the second line, the others the third.
struct sq_unit_times {
    const struct sq_unit_engine *engine;
    uint64_t tiles, passes, loads;
    struct sq_unit_sums work, none; // of the list; entries without work
    struct sq_unit_sums cycles;     // of the jobs of the list; else of the passes of a job
    struct sq_unit_sums scan;       // cycles of a job before its first step
    uint64_t first, tile;           // cycles before the first pass, from a job to the next one
    uint64_t late;                  // cycles that only the first job waits
    uint64_t latency;               // cycles from the last step of a pass to its outputs
};

struct sq_unit_engine {
    const struct sq_block *block;
    const char *point;  // NULL: the first one
    const char *widest; // NULL: a parameter that is widest_value and not as at the point
    unsigned widest_value;
    void (*offer)(struct sq_unit_engine_run *r);
    // What its multipliers do in a cycle: `state` is that of its cycle model, `in` what its streams offer.
    //   BUSY            a step of products is taken; FILLING a job or its activations
    //   WAIT_INDEX      what says which products come next: offsets, active columns, outliers on their way
    //                   in, the way to the next one, steps without products
    //   WAIT_WEIGHT     headers of superblocks; words of the first tile
    //   BLOCKED_OUTPUT  a step waits for those before it; DRAINING nothing is left to be taken
    enum sq_cause (*cause)(const void *state, const struct sq_offer *in, bool out_ready);
    unsigned offsets, rows; // the stream of row offsets, 0: none; rows in a pass
    unsigned outputs;       // beats of a pass
    uint32_t least;         // a tile takes no less than for so much work
    bool is_of_tokens;      // lists are of tiles of rows
    unsigned steps;         // of these: cycles for each piece of work
    unsigned pace;          // of the others, where `late` is there: the same
    // Cycles that only the first job waits, whose first entry of the list has so much work; NULL: none.
    uint64_t (*late)(uint64_t loads, uint64_t work);
    // An entry of the list is added, all are; the counters but cycles and draining.
    void (*add)(struct sq_unit_times *t, uint64_t work, enum sq_unit_scan scan);
    void (*end)(struct sq_unit_times *t);
    void (*count)(const struct sq_unit_times *t, uint64_t low[SQ_N_UNIT_CAUSES]);
};
