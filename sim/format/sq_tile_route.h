// SPDX-License-Identifier: Apache-2.0
// Products as tiles of the arrays: tokens are rows, output channels columns; tiles go down the
// tokens first. Lines beyond the last token or channel carry zeros.
//
// A kernel trace ends with the sums of the array; a layer goes on through the output stage
// (an engine), which reads, of the product:
//   col_lo, col_hi F32 [n][groups]; row_lo, row_hi F32 [m]   scales (sq_output_sim.h), those that
//                                                            its form reads
//   form                                                     enum sq_combine_form
#pragma once

#include "models/array/sq_array.h"
#include "models/core/sq_config.h"
#include "sim/format/sq_route.h"

// Whether the product has what the output stage reads: a layer's.
bool sq_tiles_has_scales(const struct sq_product *p);
bool sq_tiles_has_no_scales(const struct sq_product *p);
// Scales into the product; NULL: the form does not read them.
enum sq_status sq_tiles_put_scales(struct sq_product *p, unsigned form, const float *col_lo,
                                   const float *col_hi, const float *row_lo, const float *row_hi,
                                   struct sq_error *err);
// The parameters of the output stage for a tile of rows x cols: a lane for each column, a row a
// word.
enum sq_status sq_route_set_output(struct sq_route_work *w, unsigned rows, unsigned cols,
                                   unsigned hold, struct sq_error *err);
// The scales of one tile of a scale group: col_lo [cols], col_hi [cols], row_lo [rows], row_hi [rows],
// 1.0 where a column or a row is not there.
struct sq_tile_scales {
    const float *col_lo, *col_hi, *row_lo, *row_hi;
    size_t groups;
};
enum sq_status sq_tile_scales_of(struct sq_product *p, struct sq_tile_scales *s,
                                 struct sq_error *err);
void sq_tile_scales_put(const struct sq_tile_scales *s, const struct sq_product *p, size_t token,
                        size_t rows, size_t channel, size_t cols, size_t group, int32_t *scale);
// Outputs of a tile against the product's y: `out` are output beats of the block, words of outputs, with an error
// behind each where the block has one, which must be none.
void sq_tiles_expect_words(struct sq_route_work *w, const float *y, size_t token, size_t rows,
                           size_t channel, size_t cols, const int32_t *out);

// Beats of a product: all banks of K for every tile. A group of the case is a scale group, with an
// output stage all scale groups of a tile, in an engine a job: a column of tiles.
struct sq_tiles {
    size_t rows, cols, m, n; // of the array, in tiles
    size_t groups;           // of a tile: scale groups of a row
    bool is_diagonal;        // tile i is of row and column i, or the last one
    size_t all;              // scale groups of all tiles, m * n * groups; max(m, n) * groups
    size_t banks;            // of a scale group, a beat each
    unsigned bank;
};

// Parameters of the array. `value` in the order of `name`, which ends with NULL.
void sq_route_set_all(struct sq_route_work *w, const unsigned *value, const char *const *name);
void sq_route_set_array(struct sq_route_work *w, enum sq_array_layout format, unsigned bank,
                        unsigned high, bool on_acts, unsigned plain_bits, unsigned low_bits,
                        unsigned high_bits);

// Room for all tiles; with an output stage its parameters and scales.
enum sq_status sq_tiles_begin(struct sq_route_work *w, struct sq_tiles *t, struct sq_error *err);
// Beat `bank` of scale group g; its `last` is set, where it has one.
int32_t *sq_tiles_beat(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank);
// Where the plain operand stands in it, whose name in an array is `plain` or `weight`.
int32_t *sq_tiles_plain(const struct sq_route_work *w, const char *name, int32_t *beat);
// Token of a row and channel of a column of group g; they may lie behind the last. The first of K
// in its bank `bank`.
size_t sq_tiles_token(const struct sq_tiles *t, size_t g, size_t row);
size_t sq_tiles_channel(const struct sq_tiles *t, size_t g, size_t col);
size_t sq_tiles_column(const struct sq_tiles *t, size_t g, size_t bank);
void sq_route_copy(int32_t *to, const int8_t *from, size_t n);
// Codes of all tokens and of all channels of bank `bank`: x[m][k], weight[n][k].
void sq_tiles_put(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank,
                  const int8_t *x, int32_t *rows, const int8_t *weight, int32_t *cols);
// Two planes of codes, low and high parts, [lines][K]: of `code` where the product has it, else of
// `low` and `high`.
struct sq_planes {
    const int8_t *low, *high;
};
enum sq_status sq_planes_of(struct sq_product *p, size_t lines, struct sq_planes *planes,
                            struct sq_error *err);
// A bank of a line: codes in order, low where the mask is 0, high where it is 1; is_all: low ones
// of every element.
void sq_planes_split(const struct sq_planes *planes, size_t at, const uint8_t *mask, unsigned bank,
                     bool is_all, int32_t *low, int32_t *high);
// The product on an array of this layout (SQ_ARRAY_SPLIT, _COMPACT, _SENTINEL), codes and mask
// [lines][K] (or one mask, [K]) of tokens (on_acts) or channels; `plain` is the name of the other
// operand.
enum sq_status sq_route_make_coded(struct sq_route_work *w, enum sq_array_layout layout,
                                   bool on_acts, const char *plain, struct sq_error *err);

// p_lo, and p_hi where the array has it, [m][n][groups], of every tile against the product's; with
// an output stage y [m][n], bit by bit: a route's check.
enum sq_status sq_tiles_check(struct sq_route_work *w, struct sq_error *err);
