// SPDX-License-Identifier: Apache-2.0
// A co-simulation campaign: many cases over the points (sets of parameter values) of one block.
// Each point runs its cases 0, 1, ...; if the number of cases is no multiple of that of points, the
// first points run one more. Point, number and seed determine a case completely (sq_case.h), so a
// campaign gives the same result with any number of threads.
#pragma once

#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"

struct sq_campaign {
    const struct sq_block *block;
    const struct sq_point *const *points;
    size_t n_points;
    uint64_t cases, seed; // cases over all points, >= 1
    uint64_t first;       // number of the first one of each point
    bool is_one_case;     // cases from `first` on, whatever they are
    bool netlist;         // the Yosys netlist in place of the RTL
    const char *coverage; // NULL, or an existing directory: <point>.dat there (sq_rtl.h)
    unsigned jobs;        // threads, 1..64
    const char *home;     // see sq_rtl_load
    // Called from one thread at a time after each case and each build; may be NULL.
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
};

struct sq_outcome {
    uint64_t cases;
    struct sq_compared compared;
    struct sq_reach reach[SQ_FIELDS_MAX];
    uint64_t value_mismatches, cycle_mismatches; // failing cases by what differed first
    bool is_exhausted;                           // all input there is was run
    // The first failing case, shrunk; mismatch.kind NONE if there is none.
    uint64_t failing_case;
    struct sq_case failing;
    struct sq_result result;
};

// A campaign must run more cases of each of its n_points than the fixed ones of any of them
// (sq_case_n_fixed): otherwise it draws nothing at random there, and is refused.
enum sq_status sq_campaign_check_cases(const struct sq_block *block, const struct sq_point *point,
                                       size_t n_points, uint64_t cases, struct sq_error *err);

// out[n_points], zeroed here; free each `failing` even after a failure. A mismatch is a result, not
// a failure.
enum sq_status sq_campaign_run(const struct sq_campaign *campaign, struct sq_outcome *out,
                               struct sq_error *err);
