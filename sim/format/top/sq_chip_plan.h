// SPDX-License-Identifier: Apache-2.0
// How a layer is cut on the chip: blocks of tiles, which operand stays, chunks of K. The estimate is of steps
// (a chunk of a block): in each the engine multiplies while the next one is loaded, and the longer of the two
// counts. tests/sim/test_chip.c holds the plan to the cycles that the cycle model takes for others.
#ifndef SQ_CHIP_PLAN_H
#define SQ_CHIP_PLAN_H

#include "sim/block/top/sq_top_image.h"

// Sets block, chunk and cols_outer of a layer whose tiles, groups and beats are set, a scale group of which
// fits half a buffer: those of the least estimate among blocks of powers of two and chunks of K. value: the
// parameters of sq_top; memory: of kind 1 (sq_axi_memory.h).
void sq_chip_plan(const unsigned *value, const struct sq_env_choice *memory,
                  struct sq_top_layer *layer);

#endif
