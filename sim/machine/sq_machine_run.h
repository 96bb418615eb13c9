// SPDX-License-Identifier: Apache-2.0
// A planned GEMM on its machine, cycle by cycle and by events. Both give the same statistics,
// counter by counter (tests/sim/test_machine_engines).
//
// In every cycle, with what was finished before it:
//   core   idle, the operands of the next step are there and an output half is free: takes the job
//          (one cycle, charged as filling), then runs it (sq_unit.h)
//   DRAM   one transfer at a time, in the order of the plan, each as soon as it may: loads, and
//          between them the outputs of finished blocks
//   load   of a step: when the step two before has finished, which leaves its buffer half free. Its
//          operands are usable `dram_latency` cycles after it; a step that loads nothing is ready
//          as soon as its turn comes
//   store  of a block: after the load that follows its last job, a part, and another one after each
//          load of the next block; or, where the plan says store_late, all of it after the last of
//          these loads. After the last load all that is left
// The order does not depend on times: every time is the largest of sums of others, so that shorter
// jobs and transfers of the same plan never end later. (A DRAM that takes what is there first has
// the anomalies of list schedules.)
// The first load waits for the plan's index_cycles. The GEMM ends with the last store.
#pragma once

#include "sim/block/flow/sq_unit.h"
#include "sim/machine/sq_machine_stats.h"

struct sq_machine_timed;
struct sq_chip_memo;

// Definition: steps every cycle of DRAM and core. timed: memory of the caller's (sq_machine_timed.h), a megabyte, for a
// DRAM that keeps time, with timed->memo NULL or zeroed memory for what the fast engine has seen (sq_dram_fast.h); NULL where the DRAM of the machine is ideal.
struct sq_machine_stats sq_machine_run_step(const struct sq_machine *machine,
                                            const struct sq_mapping *plan,
                                            struct sq_machine_timed *timed);

// The same statistics, faster: goes from event to event, times jobs by sq_unit_run_fast, and skips
// blocks that repeat. Takes microseconds per GEMM.
struct sq_machine_stats sq_machine_run_fast(const struct sq_machine *machine,
                                            const struct sq_mapping *plan,
                                            struct sq_machine_timed *timed);

// The same for many GEMMs: the memo keeps the times of jobs from one GEMM to the next; NULL: none.
struct sq_machine_stats sq_machine_run_next(const struct sq_machine *machine,
                                            const struct sq_mapping *plan, struct sq_memo *memo,
                                            struct sq_machine_timed *timed);

// What many GEMMs share: times of jobs; what was seen of a chip, and of a DRAM that keeps time. Zeroed: nothing. One
// for each thread.
struct sq_machine_memo {
    struct sq_memo unit;
    struct sq_chip_memo *chip;
    struct sq_machine_timed *timed[2]; // of each end of its ranges, with its memo
};
void sq_machine_memo_clear(struct sq_machine_memo *memo); // but for the times of jobs
void sq_machine_memos_free(struct sq_machine_memo *memos,
                           size_t n); // and the n of them; NULL: none

// Chooses the mapping of a GEMM: runs the candidates of sq_mapping_search (which says what is
// refused) and takes the one with the fewest cycles, the first of equal ones. *stats, if not NULL,
// gets the statistics of its run. memo: NULL for none.
enum sq_status sq_mapping_make(const struct sq_machine *machine, const struct sq_recipe *recipe,
                               const struct sq_gemm *gemm, struct sq_mapping *plan,
                               struct sq_error *err);
enum sq_status sq_mapping_run(const struct sq_machine *machine, const struct sq_recipe *recipe,
                              const struct sq_gemm *gemm, struct sq_mapping *plan,
                              struct sq_machine_stats *stats, struct sq_machine_memo *memo,
                              struct sq_error *err);

// The sum of a path's cycles over all causes.
uint64_t sq_unit_causes_sum(const uint64_t counts[SQ_N_UNIT_CAUSES]);
