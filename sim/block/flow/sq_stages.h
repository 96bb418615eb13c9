// SPDX-License-Identifier: Apache-2.0
// Stages of an array (ARRAY of sq_pipeline.h): the operands, then sums.
#ifndef SQ_STAGES_H
#define SQ_STAGES_H

#include <stdbool.h>

enum {
    SQ_ARRAY_STAGES_PLAIN = 2, // dense, 2:4
    SQ_ARRAY_STAGES_MIXED = 3, // operands of two parts
};

// The stages of sq_array_scaled: operands, sums of low and high nibbles in split codes, the scaled sum,
// its addition in binary32; cut: registers in the tails of exact sums.
static inline unsigned sq_array_scaled_stages(bool is_binary32, bool is_split, unsigned cut)
{
    return 2u + is_split + is_binary32 + cut;
}

#endif
