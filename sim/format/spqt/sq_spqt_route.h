// SPDX-License-Identifier: Apache-2.0
// Layers of spqt through engine_spqt (sq_spqt_engine_route.c).
#ifndef SQ_SPQT_ROUTE_H
#define SQ_SPQT_ROUTE_H

#include "sim/format/sq_route.h"

// A kernel trace has no product.
bool sq_spqt_is_layer(const struct sq_product *p);
bool sq_spqt_is_trace(const struct sq_product *p);

// A job a token; all outputs are compared.
enum sq_status sq_spqt_make_engine(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_spqt_check_engine(struct sq_route_work *w, struct sq_error *err);

#endif
