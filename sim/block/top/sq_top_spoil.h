// SPDX-License-Identifier: Apache-2.0
// Descriptors that sq_top must refuse: each way in which one can be wrong.
#pragma once

#include "models/sq_rng.h"
#include "sim/block/top/sq_top_image.h"

enum { SQ_SPOIL_CHANGES = 13, SQ_SPOIL_FIXED_BITS = 126 + 16 };
enum sq_spoil {
    SQ_SPOIL_WIDE_ROWS =
        SQ_SPOIL_CHANGES, // a block that does not fit; before it one field is wrong
    SQ_SPOIL_WIDE_COLS,
    SQ_SPOIL_MANY_SUMS, // more tiles than sums have room for, or than blocks of an indexed chip have
    SQ_SPOIL_LONG_CHUNK,  // longer than K
    SQ_SPOIL_PART_OF_TWO, // a part of two groups
    SQ_SPOIL_WHOLE_PART,  // ... of all beats
    SQ_SPOIL_MANY_PARTS,  // ... of a layer of more groups than integers have room for
    SQ_SPOIL_MANY_SCALES, // scales of columns that do not fit; of rows
    SQ_SPOIL_MANY_ROWS,
    SQ_SPOIL_WRAPS_TILE, // a product whose low 16 bits would fit: beats of a tile, of a block
    SQ_SPOIL_WRAPS_BLOCK,
    SQ_SPOIL_FULL_SUMS, // more tiles of a block than sums have room for, by rows and columns; than the buffers have
    SQ_SPOIL_FULL_BUFFERS,
    SQ_SPOIL_CROOKED, // address of the descriptor: the caller's to spoil, as the next, and PAST_END
    SQ_SPOIL_ASTRIDE, // the descriptor lies across 2^48
    // outputs of 2^32 beats and a few; operands, by their beats or by the high half of those of a tile: near 2^48
    SQ_SPOIL_MANY_OUT,
    SQ_SPOIL_MANY_ACT,
    SQ_SPOIL_FAR_ACT, // that and 2^48 beats, or what is nearest
    SQ_SPOIL_LONG_ACT,
    SQ_SPOIL_LONG_WEIGHT,
    SQ_SPOIL_PAST_END, // a region ends a beat beyond 2^48: the four operands, the outputs
    SQ_SPOIL_FIXED =
        SQ_SPOIL_PAST_END + SQ_TOP_OPERANDS + 1, // a bit without a name is 1, or one of KIND wrong
    SQ_SPOILS = SQ_SPOIL_FIXED + SQ_SPOIL_FIXED_BITS
};

static inline bool sq_spoil_is_past_end(enum sq_spoil way)
{
    return way >= SQ_SPOIL_PAST_END && way < SQ_SPOIL_FIXED;
}
// One of the fixed bits comes as often as any other way.
enum sq_spoil sq_spoil_draw(struct sq_rng *rng);
// Spoils the words of a sound descriptor of a chip with that room.
void sq_spoil_descriptor(uint32_t word[SQ_DESC_WORDS], enum sq_spoil way,
                         const struct sq_top_room *room);
// Spoils those of an encoder of a chip with these parameters: one field is wrong, or a bit of KIND, or a region ends a
// beat beyond 2^48, of short tiles and of those of more than 64 KiB. `number`: of these ways, in turn.
void sq_spoil_encoder(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);
// The same of kind vector, of kind attend.
void sq_spoil_vector(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);
void sq_spoil_attend(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value);
