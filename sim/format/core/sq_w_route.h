// SPDX-License-Identifier: Apache-2.0
// Products of sq_w with own scales, integers or codes of floating point, as the core takes them.
#pragma once

#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_route.h"

// The weights in the product's format, copied and validated, into *w; free with sq_operand_free.
enum sq_status sq_w_operand(struct sq_product *p, struct sq_operand *w, struct sq_error *err);
// Codes of E2M1 and E4M3 (SPEC A.9): code and mask [n][k] in place of lo and hi.
bool sq_w_is_fp(const struct sq_product *p);
// *core with the bits, bank and k of the product; checked.
enum sq_status sq_w_config(const struct sq_product *p, const struct sq_core_config *core,
                           struct sq_core_config *config, struct sq_error *err);

// Route through core_out (sq_w_core_route.c): the whole layer as one job; y bit by bit.
enum sq_status sq_w_make_core_out(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_w_check_core_out(struct sq_route_work *w, struct sq_error *err);
