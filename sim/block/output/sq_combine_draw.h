// SPDX-License-Identifier: Apache-2.0
// Stimulus of blocks that combine sums and scales (sq_combine_block.c).
#pragma once

#include "sim/block/flow/sq_block.h"

// A sum of a scale group; and the bits of a scale: positive and finite, as encoders write it, of
// any exponent where extremes are wanted. is_tiny: small sums, and scales around the smallest
// normal value, which the last factor (is_end) moves below it.
int32_t sq_combine_draw_sum(struct sq_rng *rng, enum sq_stimulus kind, bool is_tiny);
// The bits of that sum as binary32, or, one time in four, its own bits: any exponent.
int32_t sq_combine_draw_float(struct sq_rng *rng, int32_t sum);
int32_t sq_combine_draw_scale(struct sq_rng *rng, enum sq_stimulus kind, bool is_tiny, bool is_end);
