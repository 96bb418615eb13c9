// SPDX-License-Identifier: Apache-2.0
// Layers of spqr through engine_spqr (sq_spqr_engine_route.c).
#ifndef SQ_SPQR_ROUTE_H
#define SQ_SPQR_ROUTE_H

#include "models/spqr/sq_spqr.h"
#include "sim/format/sq_route.h"

// The matrix of the product without its dense part, in buffers of the product.
enum sq_status sq_spqr_take_matrix(struct sq_product *p, struct sq_spqr *m, struct sq_error *err);
// Token t of x[m][k] as sq_spqr_load makes it; values[k] is scratch.
enum sq_status sq_spqr_load_token(const struct sq_spqr *m, const uint16_t *x, size_t t,
                                  float *values, float *loaded, struct sq_error *err);

// A kernel trace ends with the decoder.
bool sq_spqr_is_layer(const struct sq_product *p);
bool sq_spqr_is_trace(const struct sq_product *p);
// A job a token; all outputs are compared.
enum sq_status sq_spqr_make_engine(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_spqr_check_engine(struct sq_route_work *w, struct sq_error *err);

#endif
