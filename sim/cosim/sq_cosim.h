// SPDX-License-Identifier: Apache-2.0
// A co-simulation campaign: many cases over many parameter points. Point i runs the cases whose
// number is i modulo the points, so a number and a seed name a case for good. Deterministic at any
// number of threads.
#ifndef SQ_COSIM_H
#define SQ_COSIM_H

#include "sim/cosim/sq_cosim_case.h"
#include "sim/cosim/sq_rtl_build.h"

struct sq_campaign {
    enum sq_rtl_block block;
    const struct sq_cosim_point *points;
    size_t n_points;
    uint64_t cases; // over all points, >= 1
    uint64_t seed;
    bool netlist;         // the Yosys netlist in place of the RTL
    const char *coverage; // NULL, or an existing directory: <point>.dat there (sq_rtl.h)
    unsigned jobs;        // threads, 1..64
    const char *home;     // see sq_rtl_load
    // Called from one thread at a time after each case and each build; may be NULL.
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
};

struct sq_campaign_point {
    uint64_t cases, cycles, beats;
    uint64_t value_mismatches, cycle_mismatches; // failing cases by what differed first
    bool built;                                  // not from the cache
    // The first failing case, shrunk; mismatch.kind NONE if there is none.
    uint64_t failing_case;
    struct sq_owned_case failing;
    struct sq_core_cosim_result result;
};

// out[n_points], zeroed here; free with sq_campaign_free even after a failure. A mismatch is a
// result, not a failure.
enum sq_status sq_campaign_run(const struct sq_campaign *campaign, struct sq_campaign_point *out,
                               struct sq_error *err);
void sq_campaign_free(struct sq_campaign_point *out, size_t n_points);

// Runs a failing case once more with tracing and leaves wave.fst and wave.gtkw in `dir` (made if
// missing): a window that ends at the divergent cycle.
enum sq_status sq_cosim_dump(enum sq_rtl_block block, const struct sq_owned_case *o, bool netlist,
                             const struct sq_core_cosim_result *result, const char *home,
                             const char *dir, struct sq_error *err);

// The function that runs cases of a block.
sq_cosim_run_fn *sq_cosim_run_of(enum sq_rtl_block block);

#endif
