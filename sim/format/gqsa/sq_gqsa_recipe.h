// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only GQSA has.
#pragma once

#include "models/gqsa/sq_gqsa.h"
#include "models/quant/sq_gptq.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_gqsa;

struct sq_gqsa_recipe {
    enum sq_prune prune;  // what is pruned first
    enum sq_score score;  // sparsegpt: importance of a weight
    double sparsity;      // share of the groups that is pruned
    bool is_row_balanced; // in every row the same number of groups
    unsigned weight_bits; // of a value: 4, 8 or 16 (binary16); 0: 4
    unsigned is_slice_k;  // on a machine: each column takes its own groups; else they are shared
};
SQ_RECIPE_OPTIONS(sq_gqsa)

// What an encoded layer holds.
const struct sq_gqsa *sq_gqsa_encoded(const void *state);
