// SPDX-License-Identifier: Apache-2.0
// Random layers for the host of sq_top (sq_top_host.h): shapes, orders and blocks that its buffers have
// room for, operands of a random kind of stimulus, and where they lie in memory.
#ifndef SQ_TOP_DRAW_H
#define SQ_TOP_DRAW_H

#include "models/sq_rng.h"
#include "sim/block/top/sq_encode_sim.h"
#include "sim/block/vector/sq_top_attend.h"

enum {
    SQ_DRAWN_WORDS = 1 << 18, // of an image
    SQ_DRAWN_OUT_WORDS = 1 << 17,
    SQ_DRAWN_LINES = 64, // rows and columns of a layer, at most
    SQ_DRAWN_K = 1024,
    SQ_DRAWN_BEATS = 1 << 19 // integers of an operand
};

struct sq_top_drawn {
    int32_t word[SQ_DRAWN_WORDS], want[SQ_DRAWN_OUT_WORDS];
    int32_t beat[SQ_TOP_OPERANDS][SQ_DRAWN_BEATS]; // operands as integers
};

// Two tiles of columns in two blocks, in two chunks of a beat.
struct sq_top_layer sq_top_short_layer(const unsigned *value);
// Tiles, blocks, beats, groups, chunks and order of *l.
void sq_top_draw_shape(const unsigned *value, struct sq_rng *rng, struct sq_top_layer *l);

// Addresses of *l, its operands, the words around them, and the golden outputs. wrong: a beat of the weights
// of which a number is one that no encoder writes, so that the engine tells an error; or of any operand, which may
// have no such number; or of none. What is returned points into *to.
enum { SQ_DRAWN_RIGHT = -1, SQ_DRAWN_ANY_WRONG = -2 };
struct sq_top_given sq_top_draw_image(const unsigned *value, struct sq_rng *rng,
                                      struct sq_top_layer *l, int32_t wrong,
                                      struct sq_top_drawn *to);

// What runs a descriptor; those beside the engine that this chip has, and how many they are.
enum sq_top_unit { SQ_UNIT_ENCODER, SQ_UNIT_PASSES, SQ_UNIT_ATTENTION, SQ_UNIT_ENGINE };
uint32_t sq_top_units(const unsigned *value, enum sq_top_unit unit[SQ_UNIT_ENGINE]);
// A descriptor of that kind, with all it needs.
struct sq_top_given sq_top_draw_unit(const unsigned *value, struct sq_rng *rng,
                                     enum sq_top_unit unit, struct sq_top_drawn *to);
// Adds `by` to the addresses of a descriptor.
void sq_top_move_unit(enum sq_top_unit unit, uint32_t word[SQ_DESC_WORDS], uint64_t by);

// Where image number i (below 4) of a ring begins, of so many words: anywhere, or across a multiple of 8 GiB, and
// apart from the others.
uint64_t sq_top_draw_base(struct sq_rng *rng, uint32_t i, uint32_t n_words);

#endif
