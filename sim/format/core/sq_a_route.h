// SPDX-License-Identifier: Apache-2.0
// Layers of sq_a_dynamic whose low codes an integer multiplier made of INT8 codes (--select
// int8_mul): the engine of core_act, which makes masks and low codes itself.
//
// The route reads from the product, beside weights and scales:
//   x8 I8 [m][k]          INT8 codes
//   mul, shift I32 [m]    by what they become low codes (sq_act_quant.h)
#ifndef SQ_A_ROUTE_H
#define SQ_A_ROUTE_H

#include "sim/format/sq_route.h"

bool sq_a_has_ratios(const struct sq_product *p);
enum sq_status sq_a_make_core_act(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_a_check_core_act(struct sq_route_work *w, struct sq_error *err);

#endif
