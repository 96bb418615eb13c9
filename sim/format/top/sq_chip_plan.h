// SPDX-License-Identifier: Apache-2.0
// How a layer is cut on the chip: blocks of tiles, which operand stays, chunks of K. The estimate is of steps
// (a chunk of a block): in each the engine multiplies while the next one is loaded, and the longer of the two
// counts. tests/sim/test_chip.c holds the plan to the cycles that the cycle model takes for others.
#pragma once

#include "sim/block/flow/sq_env.h"
#include "sim/block/top/sq_top_image.h"

// Cycles of a layer on the chip, for the choice of a plan; its regions need no place. memo: what the function keeps from
// one layer to the next (sq_chip_run.h), or NULL.
struct sq_chip_memo;
typedef enum sq_status sq_chip_time(struct sq_chip_memo *memo, const unsigned *value,
                                    const struct sq_env_choice *memory,
                                    const struct sq_top_layer *layer, uint64_t *cycles,
                                    struct sq_error *err);

// Sets block, chunk, part and cols_outer of a layer whose tiles, groups and beats are set, among blocks of powers of two and chunks of K: of the best estimates the one of the fewest
// cycles by `time`, where not NULL, which is given the memo, else the best estimate. value: the parameters of sq_top; memory: of kind 1
// (sq_axi_memory.h). Errors are those of `time`.
enum sq_status sq_chip_plan(const unsigned *value, const struct sq_env_choice *memory,
                            sq_chip_time *time, struct sq_chip_memo *memo,
                            struct sq_top_layer *layer, struct sq_error *err);

// Plans made before, for who plans layers of few shapes again and again: plain data, zeros at first.
enum { SQ_CHIP_PLANS = 64 };
struct sq_chip_plans {
    unsigned n; // made; the last ones are kept
    struct sq_chip_planned {
        unsigned value[SQ_POINT_VALUES];
        uint32_t kind, memory[4], shape[4]; // tiles, groups, beats
        sq_chip_time *time;
        struct sq_top_layer layer;
    } plan[SQ_CHIP_PLANS];
};
// The same, of a plan that is there without a search. plans may be NULL.
enum sq_status sq_chip_plan_again(struct sq_chip_plans *plans, const unsigned *value,
                                  const struct sq_env_choice *memory, sq_chip_time *time,
                                  struct sq_chip_memo *memo, struct sq_top_layer *layer,
                                  struct sq_error *err);
