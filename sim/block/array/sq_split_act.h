// SPDX-License-Identifier: Apache-2.0
// What the blocks with split codes on activations and a dynamic mask share: sq_act_split,
// sq_array_dynamic, sq_array_stored.
#ifndef SQ_SPLIT_ACT_H
#define SQ_SPLIT_ACT_H

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_pipeline.h"

enum { SQ_SPLIT_MAG_W = 8, SQ_SPLIT_ARRAY_DEPTH = SQ_ARRAY_STAGES_MIXED };

// The code + 8 that the port carries: any 8-bit value is the code of something.
int32_t sq_split_draw(struct sq_rng *rng, enum sq_stimulus kind);

// The port of the code of largest magnitude, and the largest |sum| of a bank of codes: k of that,
// and the others at the end of the low part.
enum { SQ_SPLIT_PORT_MIN = -128 };
int64_t sq_split_bank_max(unsigned bank, unsigned k);

// Low and high codes and mask of a bank of such codes.
void sq_split_bank(const int32_t *biased, unsigned bank, unsigned k, int32_t *low, int32_t *high,
                   int32_t *mask);

// Adds the product of `banks` banks of a row and of a column to *p.
void sq_split_add(unsigned banks, unsigned bank, unsigned k, const int32_t *act,
                  const int32_t *weight, uint32_t *p);

#endif
