// SPDX-License-Identifier: Apache-2.0
// GQSA on a machine: the unit, the groups that its channels keep, bytes. Members of its
// table (sq_format_ops.h), as sq_cost.h has them.
#ifndef SQ_GQSA_COST_H
#define SQ_GQSA_COST_H

#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/sq_demand.h"

enum sq_status sq_gqsa_check_cost(const struct sq_recipe *r, struct sq_error *err);
void sq_gqsa_demand(const struct sq_recipe *r, const struct sq_core_config *has,
                    struct sq_demand *d);
double sq_gqsa_equivalent_bits(const struct sq_recipe *r);

#endif
