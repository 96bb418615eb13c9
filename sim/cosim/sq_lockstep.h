// SPDX-License-Identifier: Apache-2.0
// Lock-step co-simulation of a block: cycle model and verilated RTL see the same streams. In every
// cycle, and in 64 cycles after the last output, all handshake and status outputs must agree, a
// beat that is offered must hold the integers of the golden model (whether it is taken or not), and
// no assertion of the RTL may fail. A block with an environment (sq_env.h) must ask it the same in RTL
// and model, signal for signal, and the run goes on until nothing is owed. Zero tolerance: the first difference stops the run and is
// described. A run in which nothing moves any more (a hang) ends too.
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/cosim/sq_rtl.h"

enum sq_mismatch_kind {
    SQ_MISMATCH_NONE = 0,
    SQ_MISMATCH_VALUE,     // a beat or a flag holds a wrong integer
    SQ_MISMATCH_HANDSHAKE, // valid or ready differs in a cycle
    SQ_MISMATCH_COUNTER,   // a counter differs in a cycle
    SQ_MISMATCH_HANG,      // output is owed, all is offered, and nothing moves
    SQ_MISMATCH_ASSERTION, // one of the RTL failed at the end of a cycle
};

struct sq_mismatch {
    enum sq_mismatch_kind kind;
    uint64_t cycle;        // since the first reset
    size_t group;          // in which it came
    uint64_t beat;         // output beats that had left before; the divergent one for a value
    unsigned field, index; // of a value or counter: field and element
    bool is_status;        // of the status, not of the output
    bool is_ask;           // of what it asks its environment
    char what[96];         // signal, field, counter or path of the assertion
    int64_t got, want;     // RTL, model; of an assertion 0 and 1
    uint64_t quiet;        // HANG: cycles without progress
};

enum { SQ_STATUS_LEN_MAX = 96 };

// The smallest and the largest integer of a field that has left; 0 is always among them.
struct sq_reach {
    int32_t low, high;
};

// What was compared.
struct sq_compared {
    uint64_t cycles;   // idle ones included
    uint64_t beats;    // handshakes of all streams, but for those of jobs (sq_ports)
    uint64_t tiles;    // output beats, whatever they hold
    uint64_t integers; // in them
    uint64_t resets;   // but for the first
    uint64_t active; // runs that gave an output, or ended a piece of their environment's work well
};
void sq_compared_add(struct sq_compared *to, const struct sq_compared *c);

struct sq_result {
    struct sq_compared compared;
    uint64_t end;                         // cycles up to the last output
    uint64_t n_out;                       // output beats that left
    struct sq_reach reach[SQ_FIELDS_MAX]; // of output fields that sum (limit of sq_block.h)
    int32_t status[SQ_STATUS_LEN_MAX];    // after the last group; all fields one after the other
    struct sq_mismatch mismatch;
};

// Whether what differs is a value; otherwise it is time.
bool sq_mismatch_is_value(const struct sq_mismatch *m);

// What a run leaves as a waveform. At a difference it does not end: model and RTL go on with the
// handshakes of the model, unchecked, to the end of the window.
struct sq_window {
    const char *fst_path;
    uint64_t from, to; // cycles, `to` itself not
    unsigned element;  // of each output field, shown apart
};

// What differs in one sentence: "act[5], row 1, lane 1: rtl 0x7 (7), model 0xf (15)".
void sq_mismatch_text(const struct sq_case *c, const struct sq_mismatch *m, char *text, size_t cap);

// Runs one case from reset. With a window (or NULL) the object must have been built with tracing.
// SQ_ERR_MEMORY, or SQ_ERR_IO for the trace; a mismatch is a result, not a failure.
//
// After a difference of valid or ready, all is offered to the RTL alone for a while: if nothing
// moves in SQ_HANG_CYCLES although output is owed, the RTL hangs (SQ_MISMATCH_HANG); otherwise it
// was early or late.
#define SQ_HANG_CYCLES 10000u
enum sq_status sq_lockstep_run(const struct sq_case *c, const struct sq_rtl_api *rtl,
                               const struct sq_window *window, struct sq_result *result,
                               struct sq_error *err);

// Fewer groups, smaller groups, free streams, as long as the case still fails; *result is that of
// the case that remains. Beats that come over and over are stored where they are few enough, so that
// some of them can go.
enum sq_status sq_shrink(struct sq_case *c, const struct sq_rtl_api *rtl, struct sq_result *result,
                         struct sq_error *err);
