// SPDX-License-Identifier: Apache-2.0
// What the parameters of sq_array_scaled mean (rtl/sq_pkg.sv has the same numbers), and the sums of
// block-scaled formats that are added as integers instead of in binary32.
//
//   BINARY32  A = fl(A + fl(P * s_w * s_x)), blocks ascending: sq_bs_gemm (SPEC Q.7)
//   FIXED     A = sum of P * s_w * s_x, an integer in units of 2^-sq_scaled_fraction(): exact, of
//             every order the same; rounded once at the end where a binary32 is wanted
#ifndef SQ_SCALED_H
#define SQ_SCALED_H

#include <stdbool.h>
#include <stdint.h>

#include "models/scaled/sq_bs.h"

enum sq_scaled_element {
    SQ_SCALED_INT4 = 0,
    SQ_SCALED_INT5 = 1,
    SQ_SCALED_E2M1 = 2,
    SQ_SCALED_E2M3 = 3,
    SQ_SCALED_E3M2 = 4,
    SQ_SCALED_E4M3_ELEMENT = 5,
    SQ_SCALED_E5M2 = 6,
    SQ_SCALED_INT8 = 7,
    SQ_SCALED_MXINT8 = 8, // in steps of 1/64
    SQ_SCALED_PLUS = 9,   // E2M1; the largest of a block is 1.3 fixed point
    SQ_SCALED_IF4 = 10,   // E2M1, or INT4 where the scale of the block has a sign
    SQ_SCALED_RAZER = 11, // E2M1; -0 is 5 with the sign of the scale
    SQ_SCALED_ELEMENTS
};
enum sq_scaled_scale {
    SQ_SCALED_NONE = 0,
    SQ_SCALED_E4M3 = 1,
    SQ_SCALED_E8M0 = 2,
    SQ_SCALED_POW4 = 3, // 2^0..2^15; what the row has in common is above the blocks
};
// What stores the high elements of a block (SPEC Q.5): codes are those of the low ones and high_per_block
// high ones, in ascending position.
enum sq_scaled_high {
    SQ_SCALED_SPLIT = 0, // mask bits, upper nibbles at the scale of the block
    SQ_SCALED_OWN = 1,   // mask codes, high codes at a scale of the row
    SQ_SCALED_BLOCK = 2, // mask codes, high codes at a second scale of the block
};
// How sq_act_scale finds the scale of a block (SPEC Q.5d).
enum sq_scaled_choose {
    SQ_SCALED_LARGEST = 0,  // from its largest element
    SQ_SCALED_SEARCH = 1,   // that one or one a little below, by the squared error
    SQ_SCALED_FOUR_SIX = 2, // the largest element of E2M1 becomes 6 or 4
    SQ_SCALED_SIGN = 3,     // IF4 and RAZER: their sign too
};
enum sq_scaled_acc { SQ_SCALED_BINARY32 = 0, SQ_SCALED_FIXED = 1 };

// Kinds of errors of stored operands, a bit each.
enum sq_scaled_error {
    SQ_SCALED_ERROR_CODE = 0, // a code of no value
    SQ_SCALED_ERROR_SCALE = 1,
    SQ_SCALED_ERROR_MASK = 2, // not k high elements; a place where there is none
    SQ_SCALED_ERRORS = 3
};

enum sq_element
sq_scaled_element_of(enum sq_scaled_element e); // models/scaled/sq_element.h has its numbers
// Stored bits of an element; bits, largest magnitude (of any code) and fraction bits of what is
// multiplied: an integer (E2M1 is counted in halves), of E4M3 and E5M2 a significand and a shift.
unsigned sq_scaled_code_bits(enum sq_scaled_element e);
unsigned sq_scaled_element_bits(enum sq_scaled_element e);
unsigned sq_scaled_element_max(enum sq_scaled_element e);
unsigned sq_scaled_element_fraction(enum sq_scaled_element e);
// Whether the sign bit of a block's scale, E4M3, says what its elements stand for (SQ_BS_SCALE_SIGN).
bool sq_scaled_has_sign(enum sq_scaled_element e);
// The code of the largest magnitude that an element has, of either sign.
uint8_t sq_scaled_element_end(enum sq_scaled_element e, bool is_negative);

// Whether a byte is a scale of this kind: E4M3 without sign and NaN, E8M0 without NaN, 0..15.
bool sq_scaled_is_scale(enum sq_scaled_scale s, uint8_t code);
// The scale as an integer, in units of the smallest one: E4M3 of 2^-9. Not of E8M0.
uint32_t sq_scaled_units(enum sq_scaled_scale s, uint8_t code);

// High elements beside low ones: INT4 (upper nibbles), INT8, or E4M3 beside E2M1.
enum sq_scaled_element sq_scaled_high_element(enum sq_scaled_high high,
                                              enum sq_scaled_element element);
// Pairs of parts that have a total of their own (SPEC Q.7): of activations and weights with high
// elements, or of activations alone.
unsigned sq_scaled_pairs(enum sq_scaled_high high, bool has_weight_high);

// The largest |A| of FIXED over `k` columns in blocks of `bank`, codes of any bits: with split
// codes `high` elements of a block reach -136.
int64_t sq_scaled_limit(enum sq_scaled_element act, enum sq_scaled_element weight,
                        enum sq_scaled_scale act_scale, enum sq_scaled_scale weight_scale,
                        unsigned bank, unsigned high, unsigned k);

#endif
