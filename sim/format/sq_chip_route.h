// SPDX-License-Identifier: Apache-2.0
// A product on the chip (rtl/top/sq_top.sv): its operands become the image of a layer in memory, with a
// descriptor; the lock step runs it, and holds every word that is written to the golden outputs, which
// must be the product's `y`. For every product that a route takes to an engine which the chip may have
// (sq_engine_array, sq_engine_scaled): that route says what the operands are.
#ifndef SQ_CHIP_ROUTE_H
#define SQ_CHIP_ROUTE_H

#include "sim/format/sq_route.h"

// make of struct sq_route for the engine; sq_route_work.is_diagonal is set.
typedef enum sq_status sq_chip_engine_route(struct sq_route_work *w, struct sq_error *err);

// make and check of struct sq_route. SQ_ERR_RANGE where a scale group does not fit half a buffer.
enum sq_status sq_chip_make(struct sq_route_work *w, const struct sq_block *engine,
                            sq_chip_engine_route *make, struct sq_error *err);
enum sq_status sq_chip_check(struct sq_route_work *w, struct sq_error *err);

#endif
