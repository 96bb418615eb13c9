// SPDX-License-Identifier: Apache-2.0
// A whole job through the cycle model, twice: by stepping every cycle, and by skipping the steady
// state. Both give the same statistics, counter by counter (tests/sim/test_engines).
#ifndef SQ_CORE_RUN_H
#define SQ_CORE_RUN_H

#include "sim/block/sq_core_sim.h"
#include "sim/block/sq_stream.h"

// Periodic streams: cycles between two beats, 1 = a beat in every cycle, up to 1000.
struct sq_rates {
    uint32_t act, lo, hi; // sources
    uint32_t out;         // sink: cycles between two tiles
};

// Stepping engine. The job must be within the limits of sq_core_sim.h.
struct sq_core_stats sq_core_run_step(const struct sq_core_config *config, const struct sq_job *job,
                                      const struct sq_rates *rates);

// Fast engine: steps until the registers and streams repeat relative to the bank (inside a group)
// or to the group, then skips whole periods. Exact, and its time does not grow with the job.
struct sq_core_stats sq_core_run_fast(const struct sq_core_config *config, const struct sq_job *job,
                                      const struct sq_rates *rates);

// Cycles a path was charged with, over all causes; equals stats->cycles.
uint64_t sq_causes_sum(const uint64_t counts[SQ_N_CAUSES]);

#endif
