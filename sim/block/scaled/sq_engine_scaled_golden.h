// SPDX-License-Identifier: Apache-2.0
// The golden product of sq_engine_scaled: stored blocks of both operands to outputs, as the formats
// define it (SPEC Q.7).
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"

// An operand of a product as the models take it.
enum { SQ_ES_GRIDS = 8, SQ_ES_CODES = 256 };
struct sq_es_operand {
    struct sq_bs c;
    struct sq_bs_table *table; // of a described format, else NULL; owned
    unsigned errors;           // bits of enum sq_scaled_error
    uint16_t seen[SQ_ES_GRIDS]
                 [SQ_ES_CODES]; // what was found for each code; most layers repeat a few codes
};
// Loads `tiles` tiles of `records` records of `len` integers each; the scale above low parts is 1, that above high ones 0.
void sq_es_load(const unsigned *v, const struct sq_es_layout *l, const struct sq_es_side *s,
                const int32_t *first, size_t len, uint32_t records, size_t tiles,
                struct sq_es_operand *o);
void sq_es_free(struct sq_es_operand *o);
// Elements of all rows as integers, each multiplied by the scale of its block. The caller frees them.
int64_t *sq_es_integers(const struct sq_es_operand *o, const struct sq_es_side *s);

// A tile, y [rows * cols], from its first record; scales col_lo, col_hi, row_lo, row_hi. Returns
// bits of enum sq_scaled_error.
unsigned sq_es_tile(const unsigned *v, const struct sq_es_layout *l, const int32_t *first,
                    uint32_t blocks, const int32_t *scale, float *y);

// Tiles of an operand as they lie on the chip: of each its beats, a block of all lines each, and the scales above them, low
// ones of its lines, then high ones.
struct sq_es_tiles {
    const int32_t *beat, *scale;
    size_t beat_len, scale_len, n;
};
// The product of coded operands, y [lines of act][lines of weight]. Returns as above, but for those scales.
unsigned sq_es_product(const unsigned *v, const struct sq_es_layout *l, uint32_t blocks,
                       const struct sq_es_tiles *act, const struct sq_es_tiles *weight, float *y);

// A block more into the totals of a tile, [pairs][rows * cols], before the scales above the blocks: those of
// each pair of parts in the order of SPEC Q.7. Returns as above, but for those scales.
unsigned sq_es_block(const unsigned *v, const struct sq_es_layout *l, const int32_t *record,
                     float *total, int64_t *exact);
// An exact sum of the elements and scales of blocks as binary32.
float sq_es_float(const struct sq_es_layout *l, int64_t sum);

// The words of a job, as struct sq_block asks for (sq_block.h).
uint64_t sq_es_golden(const unsigned *v, const struct sq_group *in, int32_t *out);
