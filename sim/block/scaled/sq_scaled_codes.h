// SPDX-License-Identifier: Apache-2.0
// What the codes of a side of sq_array_scaled and sq_engine_scaled stand for: of an element that is built in, or of a
// table, whose values stand behind the parameters of the point. A block has a grid: of a table as its scale or its
// bits beside the codes say, of IF4 and RAZER the sign of its scale, else 0.
#pragma once

#include <stdio.h>

#include "models/scaled/sq_scaled.h"
#include "sim/block/flow/sq_block.h"

struct sq_scaled_codes {
    enum sq_scaled_element element;
    const unsigned *words; // of a table
};
// Those of a point with this element.
struct sq_scaled_codes sq_scaled_codes(const unsigned *v, unsigned element);

// `sub`: bits beside codes and scale (sq_scaled_sub_bits), one an integer; NULL: there are none.
unsigned sq_scaled_grid(struct sq_scaled_codes e, int32_t scale, const int32_t *sub);
bool sq_scaled_is_code(struct sq_scaled_codes e, unsigned grid, int32_t code);
// The code that a block counts as this one: one of no value is 0, but the lowest integer, of IF4 alone.
uint8_t sq_scaled_taken(struct sq_scaled_codes e, unsigned grid, int32_t code);
uint8_t sq_scaled_zero(struct sq_scaled_codes e, unsigned grid);
uint8_t sq_scaled_negative(struct sq_scaled_codes e, unsigned grid, int32_t code);
// The code of the largest magnitude of a sign, and its grid.
uint8_t sq_scaled_end(struct sq_scaled_codes e, bool is_negative, unsigned *grid);
// The bits beside the codes, in which every exponent is the largest; a zero point too, of negative ends.
void sq_scaled_end_subs(struct sq_scaled_codes e, unsigned grid, bool is_negative, int32_t *sub);

// The description of blocks of `bank` codes that a model decodes as hardware does: a code of no value is 0. And the byte
// of each smallest sub-block of a table, as models have it (sq_bs_table.h); of a block without a scale no zero point.
struct sq_bs_table sq_scaled_decoded(struct sq_scaled_codes e, enum sq_scaled_scale scale,
                                     unsigned bank);
void sq_scaled_load_subs(struct sq_scaled_codes e, const int32_t *sub, bool is_scale, uint8_t *to);

// Element i of a row as PEs multiply it: in units of 2^-sq_scaled_element_fraction.
int64_t sq_scaled_integer(const struct sq_bs *c, enum sq_scaled_element element, size_t row,
                          size_t i);

// An element, of ILLEGAL any code, else one that is a number; n of them, at times all the same,
// returns x + n; a scale.
int32_t sq_scaled_draw_element(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_stimulus kind);
int32_t *sq_scaled_draw_elements(struct sq_scaled_codes e, struct sq_rng *rng,
                                 enum sq_stimulus kind, size_t n, int32_t *x);
int32_t sq_scaled_draw_scale(enum sq_scaled_scale s, struct sq_rng *rng, enum sq_stimulus kind);
// A sign to some of n scales that have one, each of a block of codes, and the bits beside codes and scale (sub; NULL:
// there are none); but for ILLEGAL a code that stands for nothing, as 1000 in a block of INT4, becomes another.
void sq_scaled_draw_signs(struct sq_scaled_codes e, unsigned bank, struct sq_rng *rng,
                          enum sq_stimulus kind, size_t n, int32_t *scale, int32_t *sub,
                          int32_t *code);
// A code of no value in place of *code of a block, of a table or IF4; false where there is none.
bool sq_scaled_spoil_code(struct sq_scaled_codes e, struct sq_rng *rng, int32_t *scale,
                          int32_t *sub, int32_t *code);
// The same of a scale; false where every code is one.
bool sq_scaled_spoil_scale(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_scaled_scale kind,
                           int32_t *scale);

// The source of rtl/ that decodes a table, with the table as its comment; its name in files.f.
const char *sq_scaled_write_decoder(struct sq_scaled_codes e, FILE *out);
// The same of a point with these elements (struct sq_block): NULL where neither is a table, or it is the one in the
// tree, that of mixfp4: grids E2M1 and E1M2, in halves, chosen by the sign of the scale.
const char *sq_scaled_write_source(const unsigned *v, unsigned act, unsigned weight, FILE *out);
#define SQ_MIXFP4 SQ_SCALED_TABLE_OF(4u, 1u, 1u, 12u)
#define SQ_MIXFP4_WORDS                                                                            \
    SQ_SCALED_FOUR(0, 1, 2, 3), SQ_SCALED_FOUR(4, 6, 8, 12), SQ_SCALED_FOUR(0, -1, -2, -3),        \
        SQ_SCALED_FOUR(-4, -6, -8, -12), 0, 0, 0, 0, SQ_SCALED_FOUR(0, 1, 2, 3),                   \
        SQ_SCALED_FOUR(4, 5, 6, 7), SQ_SCALED_FOUR(0, -1, -2, -3), SQ_SCALED_FOUR(-4, -5, -6, -7)

// S1P2, blocks of 64 with exponents of a bit of 8 and of 4 elements.
#define SQ_HIF4 (SQ_SCALED_TABLE_OF(4u, 2u, 0u, 28u) | 1u << 13 | 1u << 15 | 3u << 17 | 1u << 20)
#define SQ_HIF4_WORDS                                                                              \
    SQ_SCALED_FOUR(0, 1, 2, 3), SQ_SCALED_FOUR(4, 5, 6, 7), SQ_SCALED_FOUR(0, -1, -2, -3),         \
        SQ_SCALED_FOUR(-4, -5, -6, -7)

// Three grids of three bits, in halves, with codes of no value; blocks of 32 with an exponent of two bits of 8 elements.
#define SQ_THREE_GRIDS (SQ_SCALED_TABLE_OF(3u, 1u, 0u, 56u) | 2u << 11 | 2u << 13 | 2u << 17)
#define SQ_THREE_GRIDS_WORDS                                                                       \
    SQ_SCALED_FOUR(1, 0, -1, 2), SQ_SCALED_FOUR(-2, 3, SQ_SCALED_NO_VALUE, 7), 0, 0, 0, 0, 0, 0,   \
        SQ_SCALED_FOUR(0, 1, 2, 3), SQ_SCALED_FOUR(4, 5, SQ_SCALED_NO_VALUE, 6), 0, 0, 0, 0, 0, 0, \
        SQ_SCALED_FOUR(0, -1, -2, -3), SQ_SCALED_FOUR(-4, -5, -6, SQ_SCALED_NO_VALUE), 0, 0, 0, 0, \
        0, 0, 0x80808080, 0x80808080

// Codes of 4 bits from -8 on (Q4_0), and from 0 on less a zero point of as many bits (AWQ).
#define SQ_OFFSET4 SQ_SCALED_TABLE_OF(4u, 0u, 0u, 8u)
#define SQ_OFFSET4_WORDS                                                                           \
    SQ_SCALED_FOUR(-8, -7, -6, -5), SQ_SCALED_FOUR(-4, -3, -2, -1), SQ_SCALED_FOUR(0, 1, 2, 3),    \
        SQ_SCALED_FOUR(4, 5, 6, 7)
#define SQ_ZERO4 (SQ_SCALED_TABLE_OF(4u, 0u, 0u, 15u) | SQ_SCALED_ZERO_OF(4u))
#define SQ_ZERO4_WORDS                                                                             \
    SQ_SCALED_FOUR(0, 1, 2, 3), SQ_SCALED_FOUR(4, 5, 6, 7), SQ_SCALED_FOUR(8, 9, 10, 11),          \
        SQ_SCALED_FOUR(12, 13, 14, 15)
