// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_encode with its data: outputs of one layer to activations of the next. All its outputs follow
// from its state. Zero but for its sizes, it has no descriptor.
#pragma once

#include "models/core/sq_act_token.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/top/sq_gear_sim.h"

// A descriptor of kind encode (docs/registers.md). The three regions are of from, act, row_scale.
enum { SQ_ENCODE_FROM, SQ_ENCODE_ACT, SQ_ENCODE_ROW_SCALE, SQ_ENCODE_REGIONS };
struct sq_encode_layer {
    uint64_t addr[SQ_ENCODE_REGIONS];
    uint32_t rows, cols, beats; // tiles of the outputs; beats of the activations of a tile of rows
    bool is_codes; // the outputs are INT8 codes, which move as they are; there are no scales
};
// Whether a chip may have an encoder: of INT8, of coded activations with a mask for each token, or of blocks as
// sq_pkg::encodes has them in RTL.
bool sq_encode_makes(const unsigned *value);
bool sq_encode_moves(const unsigned *value); // is_codes may be true
void sq_encode_encode(const struct sq_encode_layer *l, uint32_t word[SQ_DESC_WORDS]);
// Whether these words are a descriptor that such a chip runs.
bool sq_encode_decode(const unsigned *value, const uint32_t word[SQ_DESC_WORDS],
                      struct sq_encode_layer *l);
// Beats of the bus of a tile of rows in each region.
void sq_encode_strides(const unsigned *value, const struct sq_encode_layer *l,
                       uint64_t stride[SQ_ENCODE_REGIONS]);

// The activations and scales that must come of the outputs, whole regions by models/, zeroed before. Returns what is wrong
// with the outputs (field ENGINE of STATUS).
uint32_t sq_encode_golden(const unsigned *value, const struct sq_encode_layer *l,
                          const int32_t *from, int32_t *act, int32_t *row_scale);

enum {
    SQ_ENCODE_STAGES = 6, // of integers; of blocks the last of them alone
    SQ_ENCODE_LANES_MAX = 32,
    SQ_ENCODE_ROWS_MAX = 255,
    SQ_ENCODE_BEATS = 8 // in sq_act_blocks, at most
};

struct sq_encode_sim {
    unsigned value[SQ_POINT_VALUES]; // of the chip
    uint32_t lanes;                  // 0: the chip has no encoder
    struct sq_task task;
    struct sq_encode_layer layer;
    uint64_t stride[SQ_ENCODE_REGIONS];

    uint32_t kind, left; // of the transfer that comes next; tiles of rows
    uint64_t at[SQ_ENCODE_REGIONS];

    struct sq_gear_sim words, moved, codes, scales; // moved: words of codes that move
    enum {
        SQ_PASS_LARGEST,
        SQ_PASS_SETTLE,
        SQ_PASS_DIVIDE,
        SQ_PASS_CODES,
        SQ_PASS_FLUSH,
        SQ_PASS_SCALES
    } pass;
    uint32_t group, row, step; // of the next word; of the division
    uint16_t largest[SQ_ENCODE_ROWS_MAX];
    struct sq_act_token scale[SQ_ENCODE_ROWS_MAX][SQ_BS_PARTS]; // of INT8 the first
    bool stage[SQ_ENCODE_STAGES];
    // Codes; of blocks elements over `global`; with is_dynamic elements, whose codes follow with the mask.
    uint16_t code[SQ_ENCODE_STAGES][SQ_ENCODE_LANES_MAX];
    uint32_t have, to_group, to_row,
        banks; // columns that wait; of the next codes; that are to come
    uint16_t line[8 * SQ_TOP_WORDS_MAX + SQ_TOP_PES_MAX]; // [rows][bank + cols - 1]

    bool is_scaled;                  // blocks, with what follows
    unsigned encoder[SQ_PARAMS_MAX]; // of sq_act_scale
    float global[SQ_ENCODE_ROWS_MAX][SQ_BS_PARTS];
    struct sq_chain blocks;
    uint32_t n_inside,
        beats; // beats in sq_act_blocks; those that have not left it, or sq_encode_dynamic
    unsigned char inside[SQ_ENCODE_BEATS][4 * SQ_TOP_WORDS_MAX];

    bool is_dynamic; // banks of low and high codes, with what follows
    uint32_t
        masking; // 1: a beat is offered, which stands in `inside`; more: cycles before that and 1
    uint16_t low[SQ_ENCODE_ROWS_MAX]; // largest of the elements that are not high
};

void sq_encode_init(struct sq_encode_sim *s, const unsigned *value);
bool sq_encode_transfer(const struct sq_encode_sim *s, int32_t transfer[SQ_DMA_JOB_LEN]);
bool sq_encode_takes(const struct sq_encode_sim *s); // a beat of the outputs
bool sq_encode_word(const struct sq_encode_sim *s,
                    int32_t word[SQ_DMA_WORDS_MAX]);     // a beat for memory
bool sq_encode_is_done(const struct sq_encode_sim *s);   // in this cycle
bool sq_encode_has_error(const struct sq_encode_sim *s); // likewise: an element is no number

void sq_encode_clock(struct sq_encode_sim *s, const struct sq_task_in *in);
