// SPDX-License-Identifier: Apache-2.0
// Parameters, ports and stimulus of sq_array_scaled (sq_array_scaled_block.c).
#ifndef SQ_ARRAY_SCALED_DRAW_H
#define SQ_ARRAY_SCALED_DRAW_H

#include "sim/block/sq_block.h"

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
    HIGH_ACC_W
};
enum { MASK_CODE = 8 };

// Whether activations have mask bits; those with own scales have mask codes.
bool sq_array_scaled_has_mask(const unsigned *v);
void sq_array_scaled_ports(const unsigned *v, struct sq_ports *p);
// struct sq_block: draw_beat, draw_directed.
void sq_array_scaled_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                          uint64_t number, int32_t *beat);
enum { SQ_ARRAY_SCALED_N_DIRECTED = 2 };
enum sq_status sq_array_scaled_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                        struct sq_error *err);

#endif
