// SPDX-License-Identifier: Apache-2.0
// Block-scaled rows as factors of products that are summed as a tensor core does it (models/number/sq_sum.h, SPEC Q.11).
#pragma once

#include "models/number/sq_sum.h"
#include "models/scaled/sq_bs.h"

// Row `row` of a format of one part, out[c->k]: elements times the scale of their block, without what is above, exact; and
// exponents: the element's, as sq_sum_decode has it, plus floor(log2) of the scale.
void sq_bs_accumulate_load(const struct sq_bs *c, size_t row, double *out, int16_t *exponent);
// Onto sums [x->n][w->n] those of all rows of both by the rule, without what is above their blocks. False: no memory.
bool sq_bs_accumulate(const struct sq_sum_rule *r, const struct sq_bs *w, const struct sq_bs *x,
                      double *sum);
