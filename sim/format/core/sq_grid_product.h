// SPDX-License-Identifier: Apache-2.0
// The product of a layer on a grid of codes (sq_grid_format.h), for its routes.
//
//   acts        code I8 [m][k]; w I8 [n][k]            dense
//               and mask U8 [k], the same for all tokens, or [m][k]      sq_a_static, sq_a_dynamic
//   weights     x I8 [m][k]; code I8 and mask U8 [n][k]             sq_w, scales tied or split
//               lo, hi U8, s_lo, s_hi F32 (SPEC A.6); x             sq_w, own scales
//   split codes: low and high I8, its two parts (SPEC A.11), in place of code
//   all         scales of the output stage (sq_tile_route.h)
//               p_lo, p_hi I32 [m][n][groups] (p_hi where two scales), y F32 [m][n]; numbers
//               act_bits, weight_bits, high_bits, low_bits, bank, k, group (none: the row), one_acc
#pragma once

#include "sim/format/core/sq_grid_format.h"
#include "sim/format/sq_route.h"

// Grids that no array takes: fp, binary16.
enum sq_status sq_grid_check_routes(const struct sq_recipe *r, struct sq_error *err);
enum sq_status sq_grid_product(const struct sq_quant_layer *q, const struct sq_recipe *r, float *x,
                               struct sq_product *p, struct sq_error *err);
