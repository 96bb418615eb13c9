// SPDX-License-Identifier: Apache-2.0
// Lock-step co-simulation of sq_core: cycle model and verilated RTL see the same streams, and in
// every cycle all handshake outputs must agree; every tile that leaves must hold the integers of
// the golden model; the cause counters must agree at the end of every job. Zero tolerance: the
// first difference stops the run and is described.
#ifndef SQ_CORE_COSIM_H
#define SQ_CORE_COSIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/block/sq_core_sim.h"
#include "sim/block/sq_stream.h"
#include "sim/cosim/sq_rtl.h"

// Operands of a case, as the streams carry them, over all its jobs. A bank index counts the banks
// of all jobs in order. The caller owns the arrays.
struct sq_core_operands {
    uint64_t n_banks;
    const int8_t *act; // [n_banks][rows][bank]
    const int8_t *lo;  // [n_banks][cols][bank], mask codes included
    const int8_t *hi;  // [n_banks][cols][high_per_bank]
};

#define SQ_CASE_JOBS_MAX 3u
struct sq_core_case {
    struct sq_core_config config;
    unsigned n_jobs; // 1..SQ_CASE_JOBS_MAX, one after the other
    struct sq_job job[SQ_CASE_JOBS_MAX];
    struct sq_stall stall[4]; // act, lo, hi, out
    uint64_t seed;            // of the stalls, of surplus lanes and of registers without reset
    uint32_t job_gap;         // idle cycles before each job and after the last
    // > 0: the run ends after so many cycles, whatever the job still wants; its operands repeat.
    uint64_t max_cycles;
    struct sq_core_operands operands;
};

enum sq_mismatch_kind {
    SQ_MISMATCH_NONE = 0,
    SQ_MISMATCH_VALUE,     // a tile holds a wrong integer
    SQ_MISMATCH_HANDSHAKE, // valid or ready differs in a cycle
    SQ_MISMATCH_COUNTER,   // a cause counter differs at the end of a job
    SQ_MISMATCH_MASK_ERROR,
    SQ_MISMATCH_HANG, // model and RTL agree, but nothing moves any more
};

struct sq_mismatch {
    enum sq_mismatch_kind kind;
    uint64_t cycle;    // since reset
    uint64_t tile;     // tiles that had left before; the divergent tile for a value
    unsigned row, col; // of a value
    const char *what;  // signal or counter name, static
    int64_t got, want; // RTL, model
};

struct sq_core_cosim_result {
    uint64_t cycles; // compared, over all jobs, idle ones included
    uint64_t beats;  // transfers compared on the four streams
    uint64_t tiles;
    struct sq_core_stats stats; // of the last job
    struct sq_mismatch mismatch;
};

// Runs one case from reset. `fst_path` (or NULL) dumps the cycles from `fst_from` on; the object
// must have been built with tracing. SQ_ERR_MEMORY, or SQ_ERR_IO for the trace; a mismatch is a
// result, not a failure.
enum sq_status sq_core_cosim_run(const struct sq_core_case *c, const struct sq_rtl_api *rtl,
                                 const char *fst_path, uint64_t fst_from,
                                 struct sq_core_cosim_result *result, struct sq_error *err);

// Integers of one tile by the golden model (sq_gather_bank, exact sums): banks [first, first + n)
// of the operands -> p_lo, p_hi [rows][cols]. Returns a bit per column: a bank of it does not hold
// exactly k mask codes.
uint64_t sq_core_golden_tile(const struct sq_core_config *config,
                             const struct sq_core_operands *operands, uint64_t first, uint32_t n,
                             int32_t *p_lo, int32_t *p_hi);

#endif
