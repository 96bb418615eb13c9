// SPDX-License-Identifier: Apache-2.0
// A whole product of SQ weights through the core's RTL, compiled by Verilator: cut into pieces of
// tiles, each with stalls and resets or without.
#pragma once

#include "models/core/sq_format.h"
#include "sim/block/core/sq_core_block.h"
#include "sim/cosim/sq_lockstep.h"

// Y[m][n] = X W^T and what was computed from it, of the caller.
struct sq_layer_codes {
    size_t m;
    const struct sq_matrix *w;  // n, k and format in it
    const int8_t *act;          // [m][w->k]
    const int32_t *p_lo, *p_hi; // [m][w->n][groups]
    struct sq_job job;          // sq_gemm_job
    uint64_t cycles;            // of the job, by the cycle model
};

struct sq_layer_cosim {
    struct sq_compared compared;
    uint64_t
        cycles; // of the jobs by the RTL, equal to the model's; with resets, of those behind the
                // last one
    // Values in which layer (p_lo, p_hi) and bank-wise golden model differ, and pieces whose RTL
    // differs, by what differed first; with free streams a cycle mismatch also where the RTL took
    // another time than the layer's.
    uint64_t value_mismatches, cycle_mismatches;
    // The first piece that failed, shrunk, where asked for; mismatch.kind NONE if there is none.
    uint32_t failing_tile;
    struct sq_point point;
    struct sq_case failing;
    struct sq_result result;
};

// Tiles [first, first + n_tiles) as a case of sq_core_block at c->point, which is set, with free
// streams. Rows beyond m carry zeros, columns beyond n legal banks of zeros. *differences: values
// in which p_lo, p_hi and the bank-wise golden model of the co-simulation differ. SQ_ERR_MEMORY.
enum sq_status sq_layer_case(const struct sq_layer_codes *x, const struct sq_core_config *config,
                             uint32_t first, uint32_t n_tiles, uint64_t seed, struct sq_case *c,
                             uint64_t *differences, struct sq_error *err);

// *out is zeroed here and not moved afterwards; free out->failing (sq_case_free) even after a
// failure. A mismatch is a result, not a failure.
enum sq_status sq_layer_cosim_run(const struct sq_layer_codes *x,
                                  const struct sq_core_config *config, const struct sq_rtl_api *rtl,
                                  uint64_t seed, bool is_free, bool keep_failure,
                                  struct sq_layer_cosim *out, struct sq_error *err);
