// SPDX-License-Identifier: Apache-2.0
// Lock-step co-simulation of a block: cycle model and verilated RTL see the same streams. In every
// cycle all handshake outputs must agree; every beat that leaves must hold the integers of the
// golden model; the status outputs must agree after every group. Zero tolerance: the first
// difference stops the run and is described. A run in which nothing moves any more ends as well.
#ifndef SQ_LOCKSTEP_H
#define SQ_LOCKSTEP_H

#include "sim/block/sq_case.h"
#include "sim/cosim/sq_rtl.h"

enum sq_mismatch_kind {
    SQ_MISMATCH_NONE = 0,
    SQ_MISMATCH_VALUE,     // a beat or a flag holds a wrong integer
    SQ_MISMATCH_HANDSHAKE, // valid or ready differs in a cycle
    SQ_MISMATCH_COUNTER,   // a counter differs after a group
    SQ_MISMATCH_HANG,      // output is owed, all is offered, and nothing moves
};

struct sq_mismatch {
    enum sq_mismatch_kind kind;
    uint64_t cycle;        // since reset
    size_t group;          // in which it came
    uint64_t beat;         // output beats that had left before; the divergent one for a value
    unsigned field, index; // of a value or counter: field and element
    char what[32];         // signal, field or counter
    int64_t got, want;     // RTL, model
    uint64_t quiet;        // HANG: cycles without progress
};

enum { SQ_STATUS_LEN_MAX = 96 };

struct sq_result {
    uint64_t cycles;                   // compared, idle ones included
    uint64_t beats;                    // transfers compared, but for those of jobs (sq_ports)
    uint64_t n_out;                    // output beats
    int32_t status[SQ_STATUS_LEN_MAX]; // after the last group; all fields one after the other
    struct sq_mismatch mismatch;
};

// Whether what differs is a value; otherwise it is time.
bool sq_mismatch_is_value(const struct sq_mismatch *m);

// Runs one case from reset. `fst_path` (or NULL) dumps the cycles from `fst_from` on; the object
// must have been built with tracing. SQ_ERR_MEMORY, or SQ_ERR_IO for the trace; a mismatch is a
// result, not a failure.
//
// After a difference of valid or ready, all is offered to the RTL alone for a while: if nothing
// moves in SQ_HANG_CYCLES although output is owed, the RTL hangs (SQ_MISMATCH_HANG); otherwise it
// was early or late.
#define SQ_HANG_CYCLES 10000u
enum sq_status sq_lockstep_run(const struct sq_case *c, const struct sq_rtl_api *rtl,
                               const char *fst_path, uint64_t fst_from, struct sq_result *result,
                               struct sq_error *err);

// Fewer groups, smaller groups, free streams, as long as the case still fails; *result is that of
// the case that remains. A case with max_cycles stays as it is.
enum sq_status sq_shrink(struct sq_case *c, const struct sq_rtl_api *rtl, struct sq_result *result,
                         struct sq_error *err);

#endif
