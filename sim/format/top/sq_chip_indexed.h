// SPDX-License-Identifier: Apache-2.0
// Layers of a chip whose weights are found by an index (SQ_TOP_KEPT): how they are cut, and their operands.
#ifndef SQ_CHIP_INDEXED_H
#define SQ_CHIP_INDEXED_H

#include "sim/block/top/sq_top_image.h"
#include "sim/format/sq_route.h"

// Kept groups of each of n channels: up to channel i at[i * stride] - at[0], at[n * stride] in all; NULL: `each`.
struct sq_chip_kept {
    const int32_t *at;
    size_t stride;
    uint64_t n, each;
};
// Sets block, groups, chunk and cols_outer of a layer whose tiles and beats are set: of as few and of as short blocks of
// columns as there may be, the cut that loads less or is computed sooner. SQ_ERR_RANGE: a channel or K is too long.
enum sq_status sq_chip_indexed_plan(const unsigned *value, const struct sq_chip_kept *kept,
                                    struct sq_top_layer *l, struct sq_error *err);
// Beats of each operand out of the jobs of the engine, one for each tile of tokens, `records` apart.
enum sq_status sq_chip_indexed_operands(const struct sq_route_work *engine, size_t records,
                                        const struct sq_chip_kept *kept, const unsigned *value,
                                        const struct sq_top_layer *l, struct sq_product *p,
                                        struct sq_top_operands *x, struct sq_error *err);

#endif
