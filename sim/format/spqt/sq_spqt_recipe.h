// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only SpQt has.
#pragma once

#include "models/spqt/sq_spqt.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_spqt;

struct sq_spqt_recipe {
    double sparsity;            // share of activations below the threshold
    unsigned workers;           // of a superblock row, 0: 64
    bool is_prefill_dense;      // every token as in prefill: no column is skipped
    bool is_greedy;             // a sparsity per layer (sq_sparsity_scan.h), of mean `sparsity`
    enum sq_spqt_layout layout; // on a machine
    double of_all;              // on a machine, of given rows: share of the columns that any
                                // token has
};
SQ_RECIPE_OPTIONS(sq_spqt)

// What an encoded layer holds.
const struct sq_spqt *sq_spqt_encoded(const void *state, float *theta);
