// SPDX-License-Identifier: Apache-2.0
// How a layer is cut on the chip: blocks of tiles, which operand stays, chunks of K. The estimate is of steps
// (a chunk of a block): in each the engine multiplies while the next one is loaded, and the longer of the two
// counts. tests/sim/test_chip.c holds the plan to the cycles that the cycle model takes for others.
#ifndef SQ_CHIP_PLAN_H
#define SQ_CHIP_PLAN_H

#include "sim/block/flow/sq_env.h"
#include "sim/block/top/sq_top_image.h"

// Cycles of a layer on the chip, for the choice of a plan; its regions need no place.
typedef enum sq_status sq_chip_time(const unsigned *value, const struct sq_env_choice *memory,
                                    const struct sq_top_layer *layer, uint64_t *cycles,
                                    struct sq_error *err);

// Sets block, chunk, part and cols_outer of a layer whose tiles, groups and beats are set, among blocks of powers of two and chunks of K: of the best estimates the one of the fewest
// cycles by `time`, where not NULL, else the best estimate. value: the parameters of sq_top; memory: of kind 1
// (sq_axi_memory.h). Errors are those of `time`.
enum sq_status sq_chip_plan(const unsigned *value, const struct sq_env_choice *memory,
                            sq_chip_time *time, struct sq_top_layer *layer, struct sq_error *err);

#endif
