// SPDX-License-Identifier: Apache-2.0
// What lies in memory for a layer on sq_top: operands as its DMA reads them, outputs as it writes them.
//
//   act        for each block of rows, for each chunk of K, for each tile of the block, beat after beat along
//              K: [rows of a tile][bank] codes; with one chunk simply tile after tile
//   weight     the same for columns
//   row_scale  a beat for each tile of rows: [rows] binary32
//   col_scale  for blocks, chunks and tiles of columns as above, group after group: [cols] binary32
//   out        tile after tile in the order in which they are computed: [rows][cols] outputs
// Code and output 0 lie in the low bits; a beat of an operand is padded to whole beats of the bus.
#ifndef SQ_TOP_IMAGE_H
#define SQ_TOP_IMAGE_H

#include <stdint.h>

#include "sim/block/sq_output_sim.h"
#include "sim/block/top/sq_sequencer_sim.h"

// Parameters of the block, in this order.
enum {
    SQ_TOP_DATA_W,
    SQ_TOP_ROWS,
    SQ_TOP_COLS,
    SQ_TOP_BANK_LEN,
    SQ_TOP_ACT_W,
    SQ_TOP_WEIGHT_W,
    SQ_TOP_OUT_KIND,
    SQ_TOP_PORT_LEN,
    SQ_TOP_DEPTH,
    SQ_TOP_SUM_TILES,
    SQ_TOP_MAX_BURST,
    SQ_TOP_OUTSTANDING,
    SQ_TOP_QUIET,
    SQ_TOP_MACRO,
    SQ_TOP_PARAMS
};
enum { SQ_TOP_PES_MAX = 64, SQ_TOP_WORDS_MAX = 16, SQ_TOP_DEPTH_MAX = 512 };

unsigned sq_top_out_bits(const unsigned *value);
struct sq_top_room sq_top_room(const unsigned *value);
struct sq_output_config sq_top_output(const unsigned *value);
// Bits of a beat of an operand; of a tile of outputs.
uint32_t sq_top_bits(const unsigned *value, enum sq_top_part part);
uint32_t sq_top_bus_beats(const unsigned *value, enum sq_top_part part);
// Beats of an operand in the whole layer; tiles of outputs.
uint32_t sq_top_beats(const struct sq_top_layer *l, enum sq_top_part part);
uint32_t sq_top_nbytes(const unsigned *value, const struct sq_top_layer *l, enum sq_top_part part);

struct sq_top_operands {
    int8_t *act, *weight; // [tiles * rows or cols][k], k = beats * groups * bank
    float *row_scale;     // [tiles * rows]
    float *col_scale;     // [tiles * cols][groups]
};

// Field of `width` bits (1..32) at bit `at` of an array of words.
void sq_top_put_bits(int32_t *word, uint32_t at, unsigned width, int32_t value);
int32_t sq_top_get_bits(const int32_t *word, uint32_t at, unsigned width); // unsigned

// A whole region, sq_top_nbytes long, zeroed before.
void sq_top_put_operand(const unsigned *value, const struct sq_top_layer *l,
                        const struct sq_top_operands *x, enum sq_top_part part, int32_t *word);
// The outputs that must come, by models/; returns what is wrong with the operands (field ENGINE of
// STATUS).
uint32_t sq_top_golden(const unsigned *value, const struct sq_top_layer *l,
                       const struct sq_top_operands *x, int32_t *word);

#endif
