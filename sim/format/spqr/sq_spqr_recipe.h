// SPDX-License-Identifier: Apache-2.0
// What recipes of SpQR say beside what all say.
#ifndef SQ_SPQR_RECIPE_H
#define SQ_SPQR_RECIPE_H

#include "models/sq_spqr.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_spqr;

struct sq_spqr_recipe {
    double outliers;      // threshold over the mean error that a column may make, 0: 0.2
    double outlier_share; // on a machine: rho, 0..0.25
    unsigned is_absolute; // 0, 1: outliers stored as the published encoder has them
    unsigned is_ptcsr;    // 0, 1: outliers stored as PTCSR
};
SQ_RECIPE_OPTIONS(sq_spqr)

// What an encoded layer holds.
const struct sq_spqr *sq_spqr_encoded(const void *state);

#endif
