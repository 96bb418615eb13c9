// SPDX-License-Identifier: Apache-2.0
// GQSA on a machine: the unit, tiles of columns by the groups that they keep, bytes. Members of its
// table (sq_format_ops.h), as sq_cost.h has them.
#ifndef SQ_GQSA_COST_H
#define SQ_GQSA_COST_H

#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/sq_cost.h"

enum sq_status sq_gqsa_check_cost(const struct sq_recipe *r, struct sq_error *err);
void sq_gqsa_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, struct sq_cost_unit *u);
void sq_gqsa_draw(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                  uint64_t elements, struct sq_rng *rng, struct sq_tile_work *tile, double *kept);
void sq_gqsa_own_tile(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                      const uint32_t *count, struct sq_tile_work *tile, double *kept);
void sq_gqsa_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                           const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
double sq_gqsa_equivalent_bits(const struct sq_recipe *r);

// A tile whose columns keep nnz[u->lines] groups, shared out by the recipe's schedule; *mean of
// them a column. Columns that share a row add up their sums one after the other.
void sq_gqsa_tile(const struct sq_recipe *r, const struct sq_cost_unit *u, const uint32_t *nnz,
                  struct sq_tile_work *tile, double *mean);

#endif
