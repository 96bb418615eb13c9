// SPDX-License-Identifier: Apache-2.0
// Does the co-simulation notice a fault? Yosys puts faults into the netlist of one parameter point
// (one bit inverted, stuck, or made to depend on its neighbour), Verilator compiles it once, and
// each fault runs against the models until they differ or the cases are used up.
#pragma once

#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"

struct sq_mutant_campaign {
    struct sq_rtl_point point; // n_mutants >= 1
    uint64_t cases;            // most per fault, >= 1; those of sqsim cosim by number
    uint64_t seed;             // of the cases; that of the faults is point.mutant_seed
    unsigned jobs;             // threads, 1..64; the result does not depend on it
    const char *home;          // see sq_rtl_load
    void (*progress)(void *context, uint64_t done, uint64_t total); // may be NULL
    void *progress_context;
};

struct sq_mutant {
    char change[512];         // as Yosys lists it: mode, cell, port, bit, source
    uint64_t cases, cycles;   // run until it was found
    struct sq_mismatch found; // kind NONE: it survived
};

struct sq_mutant_outcome {
    unsigned n_cells;             // of the netlist, word-level
    bool is_sound;                // without a fault nothing differs; otherwise no fault was run
    char dir[SQ_RTL_PATH_NBYTES]; // struct sq_rtl
};

// out[point.n_mutants], in the order of their numbers. Deterministic at any number of threads.
enum sq_status sq_mutant_run(const struct sq_mutant_campaign *campaign, struct sq_mutant *out,
                             struct sq_mutant_outcome *outcome, struct sq_error *err);
