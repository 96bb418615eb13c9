// SPDX-License-Identifier: Apache-2.0
// What lies in memory for a layer on sq_top: operands as its DMA reads them, outputs as it writes them.
//
//   act        for each block of rows, for each chunk of K, for each tile of the block, a beat for each bank
//              along K; with one chunk simply tile after tile
//   weight     the same for columns
//   row_scale  a beat for each tile of rows: [rows] binary32, twice where the form has two a token
//   col_scale  for blocks, chunks and tiles of columns as above, group after group: [cols] binary32, twice
//              where the form has two a channel
//   out        tile after tile in the order in which they are computed: [rows][cols] outputs
// A beat of the plain operand is [lines of a tile][bank] codes; of the coded one [lines] low codes, [lines] high
// codes, [lines] mask bits or nibbles, as far as the layout has them (sq_array.h). The first lies in the low
// bits. A beat is padded to whole bytes, and beats lie packed, one behind the other; what a transfer of the DMA
// reads or writes, a chunk of a block, is padded to whole beats of the bus.
// On a chip of block-scaled formats (its form is FLOAT) a scale group is a block. A beat of either operand is a
// block of all lines as sq_engine_scaled takes it: [lines] codes, high codes, mask bits, scales, scales of high
// codes, places, as far as the format has them. What stands above the blocks is row_scale and col_scale: a
// beat for each tile of rows, of columns, whose high parts follow the low ones.
// On a chip whose layout is SQ_TOP_KEPT (sq_indexed.h) a tile has one column:
//
//   act        for each tile of rows a beat for each group of K: [rows][G] codes
//   weight     for each block of columns as many beats as the descriptor says, a kept group each, as the engine has
//              it; channel after channel, and padding behind them
//   row_scale  as above; col_scale: a beat for each channel, the kept groups of its block up to its end
#pragma once

#include <stdint.h>

#include "models/array/sq_array.h"
#include "sim/block/flow/sq_indexed.h"
#include "sim/block/output/sq_output_sim.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"
#include "sim/block/top/sq_sequencer_sim.h"

// Parameters of the block, in this order.
enum {
    SQ_TOP_DATA_W,
    SQ_TOP_ROWS,
    SQ_TOP_COLS,
    SQ_TOP_BANK_LEN,
    SQ_TOP_ACT_W,
    SQ_TOP_WEIGHT_W,
    SQ_TOP_LAYOUT,
    SQ_TOP_HIGH,
    SQ_TOP_HIGH_W,
    SQ_TOP_ON_ACTS,
    SQ_TOP_ONE_ACC,
    SQ_TOP_FORM,
    SQ_TOP_OUT_KIND,
    SQ_TOP_PORT_LEN,
    SQ_TOP_DEPTH, // of each operand, as enum sq_top_part has them
    SQ_TOP_DEPTH_END = SQ_TOP_DEPTH + SQ_TOP_OPERANDS - 1,
    SQ_TOP_SUM_TILES,
    SQ_TOP_MAX_BURST,
    SQ_TOP_OUTSTANDING,
    SQ_TOP_WRITES,
    SQ_TOP_QUIET,
    SQ_TOP_MACRO,
    SQ_TOP_ELEMENT, // of block-scaled formats, as the two below
    SQ_TOP_SCALE,
    SQ_TOP_HIGH_KIND,
    SQ_TOP_COUNT_START, // where counters begin: other than 0 in tests of their carries
    SQ_TOP_PARTS,       // integers beside the sums between chunks of K, else in their place
    SQ_TOP_ENCODE,      // elements a cycle of the encoder, 0: there is none
    SQ_TOP_CHOOSE,      // of the encoder, enum sq_scaled_choose
    SQ_TOP_TAIL,        // of block-scaled formats (SQ_SCALED_TAIL)
    SQ_TOP_VECTOR,      // 1: a vector unit, with a lane for each 32 bits of DATA_W
    SQ_TOP_ATTEND,      // sq_ta_param of an attention unit, 0: there is none
    SQ_TOP_PARAMS
};
enum {
    SQ_TOP_PES_MAX = 1024, // sums of a tile
    SQ_TOP_WORDS_MAX = 144,
    SQ_TOP_DEPTH_MAX = 32768,
    SQ_TOP_HALF_NBYTES = 1 << 19, // of half a buffer
    SQ_TOP_PORT_MAX = 64          // outputs of a word, of 8 bits at least
};
enum { SQ_TOP_BEAT_MAX = 32 * SQ_TOP_WORDS_MAX }; // integers of a beat, of a bit at least

unsigned sq_top_out_bits(const unsigned *value);
struct sq_top_room sq_top_room(const unsigned *value);
struct sq_output_config sq_top_output(const unsigned *value);
// Words of 32 bits that wait of an output between two chunks of K.
unsigned sq_top_kept_words(const unsigned *value);
// Bits of a beat of an operand; of a tile of outputs.
uint32_t sq_top_bits(const unsigned *value, enum sq_top_part part);
// Beats of an operand in the whole layer; tiles of outputs.
uint32_t sq_top_beats(const unsigned *value, const struct sq_top_layer *l, enum sq_top_part part);
uint64_t sq_top_nbytes(const unsigned *value, const struct sq_top_layer *l, enum sq_top_part part);

// The engine in it and its parameters: sq_engine_array_block, sq_engine_scaled_block, that of sq_indexed_block.
const struct sq_block *sq_top_engine_block(const unsigned *value);
bool sq_top_is_scaled(const unsigned *value);
bool sq_top_is_indexed(const unsigned *value);
void sq_top_engine(const unsigned *value, unsigned engine[SQ_POINT_VALUES]);

// What a beat of each operand holds.
enum { SQ_TOP_FIELDS = 6 };
struct sq_top_shape {
    struct sq_array_config array; // of sq_engine_array
    bool on_acts;
    bool is_scaled, is_indexed;
    unsigned engine[SQ_POINT_VALUES]; // of sq_engine_scaled, of an indexed one
    struct sq_es_layout scaled;
    unsigned pairs; // totals of a PE
    struct sq_output_config output;
    struct sq_top_beat_shape {
        unsigned n, len, bits; // fields; integers and bits of a beat
        struct sq_field field[SQ_TOP_FIELDS];
    } part[SQ_TOP_OPERANDS];
};
// With a table of elements it points into value.
struct sq_top_shape sq_top_shape(const unsigned *value);

// Beats as integers, [sq_top_beats][len of a beat], tile after tile, group after group.
struct sq_top_operands {
    int32_t *beat[SQ_TOP_OPERANDS];
};

// Beats of both operands into the sums of their group, each [rows * cols]. Returns what is wrong with them
// (field ENGINE of STATUS).
// sq_engine_array:
uint32_t sq_top_multiply(const struct sq_top_shape *s, const int32_t *act, const int32_t *weight,
                         uint32_t *p_lo, uint32_t *p_hi);
// sq_engine_scaled: a block into the totals of a tile, [pairs][rows * cols]. Returns as above.
uint32_t sq_top_add_block(const struct sq_top_shape *s, const int32_t *act, const int32_t *weight,
                          float *total, int64_t *exact);
// The scales of a group as sq_output_sim.h has them; returns as above.
uint32_t sq_top_scales(const struct sq_top_shape *s, bool is_last, const int32_t *row,
                       const int32_t *col, int32_t *scale);

// Field of `width` bits (1..32) at bit `at` of an array of words.
void sq_top_put_bits(int32_t *word, uint32_t at, unsigned width, int32_t value);
int32_t sq_top_get_bits(const int32_t *word, uint32_t at, unsigned width); // unsigned
// A beat of the bus as integers.
void sq_top_unpack(const struct sq_top_beat_shape *s, const int32_t *word, int32_t *beat);

// The same the other way round, so many bytes behind `word`.
void sq_top_pack(const struct sq_top_beat_shape *s, const int32_t *beat, int32_t *word,
                 size_t nbytes);

// A whole region, sq_top_nbytes long, zeroed before.
void sq_top_put_operand(const unsigned *value, const struct sq_top_layer *l,
                        const struct sq_top_operands *x, enum sq_top_part part, int32_t *word);
// The same the other way round: beats [sq_top_beats][len of a beat] of a region.
void sq_top_get_operand(const unsigned *value, const struct sq_top_layer *l, const int32_t *word,
                        enum sq_top_part part, int32_t *beat);
// The outputs that must come, by models/; returns what is wrong with the operands (field ENGINE of
// STATUS).
uint32_t sq_top_golden(const unsigned *value, const struct sq_top_layer *l,
                       const struct sq_top_operands *x, int32_t *word);

enum { SQ_HOST_COUNTERS = 4 }; // CYCLES, BUSY_CYCLES, WAIT_CYCLES, BLOCKED_CYCLES

// A layer for the host (sq_top_host.h): words of memory, the caller's with the descriptor first, those that are drawn from
// address 0 on; outputs where the layer of the descriptor says, in want.
struct sq_top_given {
    const int32_t *word;
    uint64_t descriptor;      // its address
    uint32_t n_words, status; // status: field ENGINE that must come
    const int32_t *want;
    uint64_t out; // address of the outputs
    uint32_t n_want,
        n_gap; // words of outputs; of them: words between two regions, which are not written
    uint64_t *counted; // NULL, or [SQ_HOST_COUNTERS]: what the host reads behind the layer
};
