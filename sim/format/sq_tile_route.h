// SPDX-License-Identifier: Apache-2.0
// Products as tiles of the arrays: tokens are rows, output channels columns; tiles go down the
// tokens first. Lines beyond the last token or channel carry zeros.
#ifndef SQ_TILE_ROUTE_H
#define SQ_TILE_ROUTE_H

#include "models/sq_array.h"
#include "models/sq_config.h"
#include "sim/format/sq_kernel_trace.h"

// Beats of a product: all banks of K for every tile.
struct sq_tiles {
    size_t rows, cols, m, n; // of the array, in tiles
    size_t banks;            // of a tile, a beat each
    unsigned bank;
};

// Parameters of the array. `value` in the order of `name`, which ends with NULL.
void sq_route_set_all(struct sq_route_work *w, const unsigned *value, const char *const *name);
void sq_route_set_array(struct sq_route_work *w, enum sq_array_format format, unsigned bank,
                        unsigned high, bool on_acts, unsigned plain_bits, unsigned low_bits,
                        unsigned high_bits);

// Room for all tiles; every group is a tile.
enum sq_status sq_tiles_begin(struct sq_route_work *w, struct sq_tiles *t, struct sq_error *err);
// Beat `bank` of tile g; its `last` is set.
int32_t *sq_tiles_beat(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank);
// Token of a row and channel of a column of tile g; they may lie behind the last.
size_t sq_tiles_token(const struct sq_tiles *t, size_t g, size_t row);
size_t sq_tiles_channel(const struct sq_tiles *t, size_t g, size_t col);
void sq_route_copy(int32_t *to, const int8_t *from, size_t n);
// Codes of all tokens and of all channels of bank `bank`: x[m][k], weight[n][k].
void sq_tiles_put(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank,
                  const int8_t *x, int32_t *rows, const int8_t *weight, int32_t *cols);
// p_lo, and p_hi where the array has it, of every tile against the kernel's: a route's check.
enum sq_status sq_tiles_check(struct sq_route_work *w, struct sq_error *err);

#endif
