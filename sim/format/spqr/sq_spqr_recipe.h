// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only SpQR has.
#pragma once

#include "models/spqr/sq_spqr.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_spqr;

struct sq_spqr_recipe {
    double outliers;      // a weight is one whose squared error exceeds so many mean variances of a
                          // column; 0: 0.2
    double outlier_share; // on a machine: share of the weights that are outliers, 0..0.25
    unsigned is_absolute; // 0, 1: outliers stored as the published encoder has them
    unsigned is_ptcsr;    // 0, 1: outliers stored as PTCSR
};
SQ_RECIPE_OPTIONS(sq_spqr)

// What an encoded layer holds.
const struct sq_spqr *sq_spqr_encoded(const void *state);
