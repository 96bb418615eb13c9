// SPDX-License-Identifier: Apache-2.0
// Stages of an array (ARRAY of sq_pipeline.h): the operands, then sums.
#pragma once

#include <stdbool.h>

enum {
    SQ_ARRAY_STAGES_PLAIN = 2, // dense, 2:4
    SQ_ARRAY_STAGES_MIXED = 3, // operands of two parts
};

// The stages of sq_array_scaled: operands, sums of low and high nibbles in split codes, those of the tail
// (sq_scaled_tail_stages).
static inline unsigned sq_array_scaled_stages(unsigned tail, bool is_split)
{
    return 1u + is_split + tail;
}
