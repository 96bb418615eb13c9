// SPDX-License-Identifier: Apache-2.0
// A whole job through the cycle model, twice: by stepping every cycle, and by skipping the steady
// state. Both give the same statistics, counter by counter (tests/sim/test_engines).
#pragma once

#include "models/core/sq_format.h"
#include "models/sq_status.h"
#include "sim/block/core/sq_core_sim.h"
#include "sim/block/flow/sq_stream.h"

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

// ---- products -------------------------------------------------------------------------------

// Banks narrower than the low lanes, side by side: to the core one bank of as many as fill the
// lanes and divide a scale group of `group` elements (0: any), with all their high codes. Codes,
// masks and sums stay what they are. Returns how many.
unsigned sq_core_join_banks(struct sq_core_config *config, size_t group);
// The core that a product of this format runs on: banks joined.
struct sq_core_config sq_gemm_core(const struct sq_core_config *config,
                                   const struct sq_format *format, size_t k_padded);

// One scale group per tile and flush: tiles in the order for (column tile) for (row tile), groups
// ascending inside. `config` has banks of the format, or joined ones. SQ_ERR_RANGE where the job
// exceeds the core's counters.
enum sq_status sq_gemm_job(const struct sq_core_config *config, const struct sq_format *format,
                           size_t m, size_t n, size_t k_padded, struct sq_job *job,
                           struct sq_error *err);

// What the datapath did with the cycles: useful multiplications (padding of K, unused rows and
// columns not counted; masked positions of the low path counted, as it spends them) over all
// multipliers and cycles. 0..1.
double sq_utilisation_low(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                          uint64_t cycles);
double sq_utilisation_high(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                           uint64_t cycles);
