// SPDX-License-Identifier: Apache-2.0
// What the dynamic mask unit for split codes on activations must deliver: mask and planes of one
// bank of codes.
#ifndef SQ_ACT_SPLIT_H
#define SQ_ACT_SPLIT_H

#include <stdint.h>

// code[bank], -136..119, at the step of the low part. mask: the k largest |code| (sq_topk_bank).
// Masked elements: code = 16 * high + low, low in -8..7. Others: low = code clamped to -7..7, the
// code of SPEC 0.3; high[i] of theirs is not used by anybody.
void sq_act_split_bank(const int32_t *code, unsigned bank, unsigned k, int32_t *low, int32_t *high,
                       int32_t *mask);

#endif
