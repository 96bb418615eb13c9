// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only 2:4 has.
#pragma once

#include "models/sp24/sq_prune24.h"
#include "models/sp24/sq_sp24.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_sp24;

struct sq_sp24_recipe {
    enum sq_prune prune;   // what is pruned first
    unsigned weight_bits;  // of a value: 4..8; 16: binary16; 0: 8
    double sparsity;       // always 0.5
    double dense_fraction; // share of the layers that stays dense, by sensitivity
};
SQ_RECIPE_OPTIONS(sq_sp24)

// What an encoded layer holds.
const struct sq_sp24 *sq_sp24_encoded(const void *state); // NULL where it stays dense
