// SPDX-License-Identifier: Apache-2.0
// What the blocks with split codes on activations and a dynamic mask share: sq_act_split,
// sq_array_a, sq_array_s.
#ifndef SQ_SPLIT_ACT_H
#define SQ_SPLIT_ACT_H

#include "sim/block/sq_block.h"

enum { SQ_SPLIT_MAG_W = 8, SQ_SPLIT_ARRAY_DEPTH = 3 };

// The code + 8 that the port carries: any 8-bit value is the code of something.
int32_t sq_split_draw(struct sq_rng *rng, enum sq_stimulus kind);

// Low and high codes and mask of a bank of such codes.
void sq_split_bank(const int32_t *biased, unsigned bank, unsigned k, int32_t *low, int32_t *high,
                   int32_t *mask);

// Adds the product of `banks` banks of a row and of a column to *p.
void sq_split_add(unsigned banks, unsigned bank, unsigned k, const int32_t *act,
                  const int32_t *weight, uint32_t *p);

#endif
