// SPDX-License-Identifier: Apache-2.0
// Activations that are encoded in front of sq_engine_scaled: blocks as sq_act_blocks makes them, and whole tokens as
// sq_encode does.
#pragma once

#include "sim/block/scaled/sq_engine_scaled_draw.h"

// A block of a line as it is stored; what it has not is NULL or 0.
enum { SQ_ES_ENCODED_MAX = 1 + 3 * SQ_BS_BLOCK_MAX };
struct sq_es_stored {
    const int32_t *code, *high, *mask, *sub; // high: compact
    int32_t scale, high_scale, place;
    int32_t encoded[SQ_ES_ENCODED_MAX], compact[SQ_BS_BLOCK_MAX]; // what those may point to
};

// `encoder`: the point of sq_act_scale (sq_es_encoder).
// What it makes of a block x[bank] of bfloat16; one with an element that is not finite is zeros at a scale
// that is no number.
void sq_es_encode(const unsigned *encoder, const struct sq_es_side *s, const int32_t *x,
                  struct sq_es_stored *b);
// A block of line r into a record: codes, high codes, mask, scale.
void sq_es_put_stored(const struct sq_es_side *s, unsigned r, const struct sq_es_stored *b,
                      int32_t *record);

// The power of two above the blocks of a token with this largest magnitude, as sq_bs_globals_of has it (SPEC Q.5b,
// token2), by part; 1 where blocks have none.
void sq_es_global(const unsigned *encoder, uint16_t amax, float global[SQ_BS_PARTS]);
// An element over that of its last part, as sq_encode_over has it.
uint16_t sq_es_over(const unsigned *encoder, uint16_t x, const float global[SQ_BS_PARTS]);

// Whole tokens by models/: x[lines of act][blocks * bank], finite, into records [blocks][len] and global[part][lines].
// What sq_es_over makes 0 counts as 0.
void sq_es_encode_tokens(const unsigned *encoder, const struct sq_es_layout *l, const uint16_t *x,
                         size_t blocks, int32_t *record, float *global);
