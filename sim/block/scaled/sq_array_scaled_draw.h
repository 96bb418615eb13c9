// SPDX-License-Identifier: Apache-2.0
// Parameters, ports and stimulus of sq_array_scaled (sq_array_scaled_block.c).
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"

enum {
    ROWS,
    COLS,
    BANK,
    HIGH,
    ACT_ELEMENT,
    WEIGHT_ELEMENT,
    ACT_SCALE,
    WEIGHT_SCALE,
    ACC,
    ACC_W,
    OWN,
    HIGH_ACC_W,
    TWO,
    CUT,
    CARRY
};
enum { MASK_CODE = 8 };

// Blocks of a line in a beat.
unsigned sq_array_scaled_blocks(const unsigned *v);
// Whether activations have mask bits; those with own scales have mask codes.
bool sq_array_scaled_has_mask(const unsigned *v);
// Its ports, and its operands as those of an engine (sq_engine_scaled_draw.h), without scales above the blocks.
struct sq_es_layout sq_array_scaled_layout(const unsigned *v, struct sq_ports *p);
// Fields of its ports from the places of MX+ on, which are there with PLUS alone.
enum { SQ_ARRAY_SCALED_ACT_PLACE = 7, SQ_ARRAY_SCALED_WEIGHT_PLACE = 8 };
bool sq_array_scaled_has_place(const unsigned *v);
// An element, of ILLEGAL any code, else one that is a number; n of them, at times all the same,
// returns x + n; a scale.
int32_t sq_scaled_draw_element(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_stimulus kind);
int32_t *sq_scaled_draw_elements(struct sq_scaled_codes e, struct sq_rng *rng,
                                 enum sq_stimulus kind, size_t n, int32_t *x);
int32_t sq_scaled_draw_scale(enum sq_scaled_scale s, struct sq_rng *rng, enum sq_stimulus kind);
// A sign to some of n scales that have one, each of a block of codes, and the bits beside codes and scale (sub; NULL:
// there are none); but for ILLEGAL a code that stands for nothing, as 1000 in a block of INT4, becomes another.
void sq_scaled_draw_signs(struct sq_scaled_codes e, unsigned bank, struct sq_rng *rng,
                          enum sq_stimulus kind, size_t n, int32_t *scale, int32_t *sub,
                          int32_t *code);
// A code of no value in place of *code of a block, of a table or IF4; false where there is none.
bool sq_scaled_spoil_code(struct sq_scaled_codes e, struct sq_rng *rng, int32_t *scale,
                          int32_t *sub, int32_t *code);
void sq_array_scaled_ports(const unsigned *v, struct sq_ports *p);
// struct sq_block: draw_beat, draw_directed.
void sq_array_scaled_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                          uint64_t number, int32_t *beat);
enum { SQ_ARRAY_SCALED_N_DIRECTED = 3 };
enum sq_status sq_array_scaled_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                        struct sq_error *err);
