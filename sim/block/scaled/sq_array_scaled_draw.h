// SPDX-License-Identifier: Apache-2.0
// Parameters, ports and stimulus of sq_array_scaled (sq_array_scaled_block.c).
#ifndef SQ_ARRAY_SCALED_DRAW_H
#define SQ_ARRAY_SCALED_DRAW_H

#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_block.h"

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
    TWO
};
enum { MASK_CODE = 8 };

// Blocks of a line in a beat.
unsigned sq_array_scaled_blocks(const unsigned *v);
// Whether activations have mask bits; those with own scales have mask codes.
bool sq_array_scaled_has_mask(const unsigned *v);
// Fields of its ports from the places of MX+ on, which are there with PLUS alone.
enum { SQ_ARRAY_SCALED_ACT_PLACE = 7, SQ_ARRAY_SCALED_WEIGHT_PLACE = 8 };
bool sq_array_scaled_has_place(const unsigned *v);
// An element, of ILLEGAL any code, else one that is a number; n of them, at times all the same,
// returns x + n; a scale.
int32_t sq_scaled_draw_element(enum sq_scaled_element e, struct sq_rng *rng, enum sq_stimulus kind);
int32_t *sq_scaled_draw_elements(enum sq_scaled_element e, struct sq_rng *rng,
                                 enum sq_stimulus kind, size_t n, int32_t *x);
int32_t sq_scaled_draw_scale(enum sq_scaled_scale s, struct sq_rng *rng, enum sq_stimulus kind);
// A sign to some of n scales that have one, each of a block of codes; of a block of INT4 1000 is none.
void sq_scaled_draw_signs(enum sq_scaled_element e, unsigned bank, struct sq_rng *rng,
                          enum sq_stimulus kind, size_t n, int32_t *scale, int32_t *code);
void sq_array_scaled_ports(const unsigned *v, struct sq_ports *p);
// struct sq_block: draw_beat, draw_directed.
void sq_array_scaled_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                          uint64_t number, int32_t *beat);
enum { SQ_ARRAY_SCALED_N_DIRECTED = 3 };
enum sq_status sq_array_scaled_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                        struct sq_error *err);

#endif
