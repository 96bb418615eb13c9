// SPDX-License-Identifier: Apache-2.0
// Parameters, ports and stimulus of sq_engine_scaled (sq_engine_scaled_block.c).
#pragma once

#include "models/scaled/sq_scaled.h"
#include "sim/block/output/sq_output_sim.h"
#include "sim/block/scaled/sq_scaled_codes.h"

// Parameters; behind them those of the output stage. Its form is FLOAT, and is none of the RTL.
enum {
    SQ_ES_ROWS,
    SQ_ES_COLS,
    SQ_ES_BANK,
    SQ_ES_HIGH_PER_BANK,
    SQ_ES_HIGH,        // enum sq_scaled_high
    SQ_ES_WEIGHT_HIGH, // weights have high elements, too
    SQ_ES_ACT_ELEMENT,
    SQ_ES_WEIGHT_ELEMENT,
    SQ_ES_ACT_SCALE,
    SQ_ES_WEIGHT_SCALE,
    SQ_ES_ENCODE, // activations come as bfloat16
    SQ_ES_TOPK,
    SQ_ES_ACC,   // enum sq_scaled_acc
    SQ_ES_ACC_W, // exact sums, as the two below
    SQ_ES_CUT,
    SQ_ES_CARRY,
    SQ_ES_OUTPUT
};
enum { SQ_ES_JOB, SQ_ES_ACT, SQ_ES_WEIGHT, SQ_ES_SCALE }; // streams
enum { SQ_ES_BLOCKS, SQ_ES_TILES, SQ_ES_JOB_FIELDS };     // of a job
enum { SQ_ES_BLOCKS_MAX = 4, SQ_ES_TILES_MAX = 3, SQ_ES_MASK_CODE = 8 };
enum { SQ_ES_NONE = -1 };

// An operand in a record: where its fields begin, SQ_ES_NONE where it has none such.
struct sq_es_side {
    unsigned lines, bank, k; // k: high elements of a block, 0: none
    unsigned per_line; // so many `lines`, one after the other, are blocks of a line of the product
    enum sq_scaled_high high_kind;
    enum sq_scaled_element element;
    enum sq_scaled_scale scale_kind;
    const unsigned *words; // of a table: those of the point
    int x, code, high, mask, scale, high_scale, place, sub;
};
struct sq_es_layout {
    struct sq_output_config c;
    struct sq_es_side act, weight;
    size_t scale, len; // scales above the blocks, without `last`; a record
    unsigned pairs;
};
struct sq_es_layout sq_es_layout_of(const unsigned *v);
// What codes of a side stand for; where the bits of line r beside its codes and scale are, NULL where there are none.
struct sq_scaled_codes sq_es_codes(const struct sq_es_side *s);
const int32_t *sq_es_subs(const struct sq_es_side *s, const int32_t *record, size_t r);
void sq_es_ports(const unsigned *v, struct sq_ports *p);

// The point of sq_act_scale that encodes the activations, by their largest elements.
enum { SQ_ES_ENCODER_TOPK = 4, SQ_ES_ENCODER_CHOOSE = 6 };
void sq_es_encoder(const unsigned *v, unsigned value[SQ_PARAMS_MAX]);
struct sq_bs_format sq_act_scale_format(const unsigned *v); // what a point of sq_act_scale writes

// One operand of a beat.
void sq_es_draw_side(const unsigned *v, const struct sq_es_side *s, struct sq_rng *rng,
                     enum sq_stimulus kind, int32_t *record);
// The largest codes of a sign, at the same places: at a scale of 1, at a large one, or at the largest, with the lowest
// integer, which is no code but counts.
enum sq_es_fill { SQ_ES_AT_ONE, SQ_ES_LARGE, SQ_ES_LARGEST };
void sq_es_fill_side(const struct sq_es_side *s, bool is_negative, enum sq_es_fill how,
                     int32_t *record);
// One thing of an operand wrong. False where it has no such thing.
bool sq_es_spoil(const struct sq_es_side *s, struct sq_rng *rng, enum sq_scaled_error kind,
                 int32_t *record);
