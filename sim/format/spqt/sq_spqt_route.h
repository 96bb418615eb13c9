// SPDX-License-Identifier: Apache-2.0
// Routes of spqt behind its index unit: superblocks of active columns to weights, weights times
// tokens (sq_spqt_mac_route.c).
#ifndef SQ_SPQT_ROUTE_H
#define SQ_SPQT_ROUTE_H

#include "sim/format/sq_route.h"

// A kernel trace has no product.
bool sq_spqt_is_layer(const struct sq_product *p);

// What goes through: for (token) for (superblock row) for (active column of the model).
struct sq_spqt_columns {
    const int32_t *n_active, *index;
    const uint8_t *blocks;
    size_t rows, k; // superblock rows, columns of the model
};
enum sq_status sq_spqt_take_columns(struct sq_product *p, struct sq_spqt_columns *a,
                                    struct sq_error *err);
// Columns of token t that the model has: padding is at the end.
size_t sq_spqt_n_columns(const struct sq_product *p, const struct sq_spqt_columns *a, size_t t);

// q4k_weight: every weight of each superblock; fp_mac: the outputs.
enum sq_status sq_spqt_make_weight(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_spqt_check_weight(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_spqt_make_mac(struct sq_route_work *w, struct sq_error *err);
enum sq_status sq_spqt_check_mac(struct sq_route_work *w, struct sq_error *err);

#endif
