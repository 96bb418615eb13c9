// SPDX-License-Identifier: Apache-2.0
// A computed layer (sq_layer.h), whole, through a verilated core: piece by piece, free streams.
#ifndef SQ_LAYER_COSIM_H
#define SQ_LAYER_COSIM_H

#include "sim/cosim/sq_core_cosim.h"
#include "sim/llm/sq_layer.h"

struct sq_layer_cosim {
    uint64_t beats, cycles; // compared; cycles of the jobs by the RTL, equal to the model's
    // Values in which layer (p_lo, p_hi) and bank-wise golden model differ, and pieces whose RTL
    // differs, by what differed first; a cycle mismatch also where the RTL took another time than
    // r->stats.
    uint64_t value_mismatches, cycle_mismatches;
    // The first piece that failed, shrunk, where asked for; mismatch.kind NONE if there is none.
    uint32_t failing_tile;
    struct sq_owned_case failing;
    struct sq_core_cosim_result result;
};

// r has p_lo and p_hi. *out is zeroed here; free out->failing (sq_owned_case_free) even after a
// failure. A mismatch is a result, not a failure.
enum sq_status sq_layer_cosim_run(const struct sq_layer_run *r, const struct sq_core_config *config,
                                  const struct sq_rtl_api *rtl, uint64_t seed, bool keep_failure,
                                  struct sq_layer_cosim *out, struct sq_error *err);

#endif
