// SPDX-License-Identifier: Apache-2.0
// A planned GEMM on its machine, cycle by cycle and by events. Both give the same statistics,
// counter by counter (tests/sim/test_machine_engines).
//
// In every cycle, with what was finished before it:
//   core   idle, the operands of the next step are there and an output half is free: takes the job
//          (one cycle, charged as filling), then runs it (sq_core_sim.h) with free streams
//   DRAM   one transfer at a time, back to back: the next step's operands where their buffer half
//   is
//          free (the step two before has finished), else outputs of a finished block
//   loads  are usable `dram_latency` cycles after their transfer; a step that loads nothing is
//   ready
//          as soon as its half is free
// The first load waits for the plan's index_cycles. The GEMM ends with the last store.
#ifndef SQ_MACHINE_RUN_H
#define SQ_MACHINE_RUN_H

#include "sim/block/sq_core_sim.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_plan.h"

struct sq_machine_stats {
    uint64_t cycles;
    uint64_t steps;
    // Every cycle of both paths: the causes of the core while it has a job, else index (columns are
    // being collected, nothing is loaded yet) or memory.
    // sum(low) + index + memory = sum(high) + index + memory = cycles.
    uint64_t low[SQ_N_CAUSES];
    uint64_t high[SQ_N_CAUSES];
    uint64_t index, memory;
    uint64_t dram_busy; // cycles in which the DRAM moved something
    uint64_t nbytes[SQ_N_STREAMS];
};

// Definition: steps every cycle of DRAM and core.
struct sq_machine_stats sq_machine_run_step(const struct sq_machine *machine,
                                            const struct sq_plan *plan);

// Goes from event to event, core jobs by sq_core_run_fast, and skips repeating blocks: microseconds
// per GEMM.
struct sq_machine_stats sq_machine_run_fast(const struct sq_machine *machine,
                                            const struct sq_plan *plan);

#endif
