// SPDX-License-Identifier: Apache-2.0
// GQSA on a machine: the unit, the groups that its channels keep, bytes. Members of its
// table (sq_format_ops.h), as sq_cost.h has them.
#ifndef SQ_GQSA_COST_H
#define SQ_GQSA_COST_H

#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/sq_cost.h"

enum sq_status sq_gqsa_check_cost(const struct sq_recipe *r, struct sq_error *err);
void sq_gqsa_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, struct sq_cost_unit *u);
uint32_t sq_gqsa_draw(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                      struct sq_rng *rng);
double sq_gqsa_kept(const struct sq_recipe *r, uint64_t elements, double mean);
bool sq_gqsa_is_even(const struct sq_recipe *r);
void sq_gqsa_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                           const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
double sq_gqsa_equivalent_bits(const struct sq_recipe *r);

#endif
