// SPDX-License-Identifier: Apache-2.0
// What the parameters of sq_array_scaled mean (rtl/sq_pkg.sv has the same numbers), and the sums of
// block-scaled formats that are added as integers instead of in binary32.
//
//   BINARY32  A = fl(A + fl(P * s_w * s_x)), blocks ascending: sq_bs_gemm (SPEC Q.7)
//   FIXED     A = sum of P * s_w * s_x, an integer in units of 2^-sq_scaled_fraction(): exact, of
//             every order the same; rounded once at the end where a binary32 is wanted
//   ALIGNED   a block is a step of sq_sum_rule, whose terms are the products of the block and A (SPEC Q.11)
//   AFTER     the same with c = after: A is added in binary32
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/number/sq_sum.h"
#include "models/scaled/sq_bs_table.h"

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
    SQ_SCALED_TABLE = 12, // what sq_element_table decodes; a number of fields (SQ_SCALED_TABLE_OF)
    SQ_SCALED_ELEMENTS
};
enum sq_scaled_scale {
    SQ_SCALED_NONE = 0,
    SQ_SCALED_E4M3 = 1,
    SQ_SCALED_E8M0 = 2,
    SQ_SCALED_POW4 = 3, // 2^0..2^15; what the row has in common is above the blocks
    SQ_SCALED_UE5M3 = 4,
    SQ_SCALED_E6M2 = 5,
    SQ_SCALED_F16 = 6,
    SQ_SCALED_BF16 = 7,
    SQ_SCALED_F32 = 8,
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
enum sq_scaled_acc {
    SQ_SCALED_BINARY32 = 0,
    SQ_SCALED_FIXED = 1,
    SQ_SCALED_ALIGNED = 2,
    SQ_SCALED_AFTER = 3
};
// The fewest aligned bits of products of an element that sq_acc_aligned has; 0: it has none of it.
static inline unsigned sq_scaled_aligned_min(enum sq_scaled_element e)
{
    return e == SQ_SCALED_E2M1                                  ? 4
           : e == SQ_SCALED_E2M3 || e == SQ_SCALED_E4M3_ELEMENT ? 8
           : e == SQ_SCALED_E3M2 || e == SQ_SCALED_E5M2         ? 6
                                                                : 0;
}
// The rule of ALIGNED and AFTER with blocks of `bank` and so many aligned bits.
static inline struct sq_sum_rule sq_scaled_rule(unsigned acc, unsigned aligned, unsigned bank)
{
    return (struct sq_sum_rule){.step = bank,
                                .groups = 1,
                                .aligned = aligned,
                                .emin = -126,
                                .kept = aligned < 23 ? aligned : 23,
                                .c = acc == SQ_SCALED_AFTER ? SQ_SUM_C_AFTER : SQ_SUM_C_AMONG};
}

// What adds up the blocks in a PE of sq_engine_scaled, as one number (BlockSum of sq_top): 0: binary32; else exact sums of
// acc_w bits, 1..64, with cut 0..2 registers in the tail, and carries that are saved every `carry` bits, 0: none; or
// aligned ones of acc_w bits.
#define SQ_SCALED_TAIL(acc, acc_w, cut, carry)                                                     \
    ((acc_w) | (cut) << 7 | (carry) << 9 | ((acc)-SQ_SCALED_FIXED) << 14)
struct sq_scaled_tail {
    unsigned acc, acc_w, cut, carry; // acc: enum sq_scaled_acc
};
static inline struct sq_scaled_tail sq_scaled_tail_of(unsigned tail)
{
    return (struct sq_scaled_tail){tail ? SQ_SCALED_FIXED + (tail >> 14) : SQ_SCALED_BINARY32,
                                   tail ? tail & 127 : 32, tail >> 7 & 3, tail >> 9 & 31};
}
// Register stages of such a tail before its accumulator; whether its total stays there until it is taken.
static inline unsigned sq_scaled_tail_stages(unsigned acc, unsigned cut)
{
    return (acc == SQ_SCALED_BINARY32 ? 2 : acc == SQ_SCALED_AFTER ? 3 : 1) + cut;
}
static inline bool sq_scaled_tail_stays(unsigned acc, unsigned carry)
{
    return carry > 0 || acc >= SQ_SCALED_ALIGNED;
}

// Kinds of errors of stored operands, a bit each.
enum sq_scaled_error {
    SQ_SCALED_ERROR_CODE = 0, // a code of no value
    SQ_SCALED_ERROR_SCALE = 1,
    SQ_SCALED_ERROR_MASK = 2, // not k high elements; a place where there is none
    SQ_SCALED_ERRORS = 3
};

enum sq_element sq_scaled_element_of(
    enum sq_scaled_element e); // models/scaled/sq_element.h has its numbers; not of a table
// Stored bits of an element; bits, largest magnitude (of any code) and fraction bits of what is
// multiplied: an integer (E2M1 is counted in halves), of E4M3 and E5M2 a significand and a shift.
unsigned sq_scaled_code_bits(enum sq_scaled_element e);
unsigned sq_scaled_element_bits(enum sq_scaled_element e);
unsigned sq_scaled_element_max(enum sq_scaled_element e);
unsigned sq_scaled_element_fraction(enum sq_scaled_element e);
// Whether the sign bit of a block's scale, E4M3, says what its elements stand for (SQ_BS_SCALE_SIGN).
bool sq_scaled_has_sign(enum sq_scaled_element e);
// The code of the largest magnitude that an element has, of either sign. Not of a table.
uint8_t sq_scaled_element_end(enum sq_scaled_element e, bool is_negative);

// ---- tables ---------------------------------------------------------------------------------
// A table (SPEC Q.9) is an element by a number of fields (rtl/sq_pkg.sv), which says all but what its
// codes stand for. Those are bytes, two's complement: code c of grid g is byte 32 g + c, the lowest byte
// of a word first. They stand behind the parameters of a block (SQ_PARAMS_MAX).

enum { SQ_SCALED_TABLE_CODES = 32, SQ_SCALED_TABLE_WORDS = 32, SQ_SCALED_NO_VALUE = -128 };

// Without sub-blocks and zero points: bits of a code, fraction bits, whether the sign of the scale is the grid, the largest
// magnitude.
#define SQ_SCALED_TABLE_OF(bits, fraction, has_sign, most)                                         \
    (SQ_SCALED_TABLE | ((bits)-2u) << 5 | (fraction) << 7 | (has_sign) << 10 | (most) << 23)
#define SQ_SCALED_ZERO_OF(bits) (1u << 30 | ((bits)-1u) << 17) // of a zero point
#define SQ_SCALED_FOUR(a, b, c, d)                                                                 \
    (((unsigned)(a)&0xffu) | ((unsigned)(b)&0xffu) << 8 | ((unsigned)(c)&0xffu) << 16 |            \
     ((unsigned)(d)&0xffu) << 24)

struct sq_scaled_table {
    unsigned code_bits, fraction, most, n_grids;
    bool has_sign;
    unsigned grid_bits,
        exponent_bits[SQ_BS_TABLE_LEVELS];  // stored bits, of a block and of a sub-block
    unsigned log2_subs[SQ_BS_TABLE_LEVELS]; // sub-blocks of that level in a block
    unsigned zero_bits;                     // of a zero point, in place of grids and sub-blocks
};

bool sq_scaled_is_table(enum sq_scaled_element e);
struct sq_scaled_table sq_scaled_table(enum sq_scaled_element e); // of a table
// The element that multiplies what the description says: a built-in one where all its codes are those of it, else
// a table; and into words what the codes of a table stand for.
enum sq_scaled_element sq_scaled_element_of_table(const struct sq_bs_table *t,
                                                  unsigned words[SQ_SCALED_TABLE_WORDS]);
// SQ_ERR_UNSUPPORTED, with the key of the description, where no RTL has such a table. The functions before and after this
// one are for tables that it takes.
enum sq_status sq_scaled_check_table(const struct sq_bs_table *t, struct sq_error *err);
enum sq_scaled_scale sq_scaled_scale_of_table(const struct sq_bs_table *t);
// Whether only a description says what blocks stand for; it, with what decodes blocks of `bank` codes, none of 32 values
// or more, and nothing of how they are encoded.
bool sq_scaled_is_described(enum sq_scaled_element e, enum sq_scaled_scale scale);
struct sq_bs_table sq_scaled_description(enum sq_scaled_element e, const unsigned *words,
                                         enum sq_scaled_scale scale, unsigned bank);
// What a code stands for without exponents, or SQ_SCALED_NO_VALUE.
int sq_scaled_table_value(const unsigned *words, unsigned grid, unsigned code);
// Stored bits of a block beside codes and scale: of the grid, then of the exponents, or of a zero point; 0 of other
// elements.
unsigned sq_scaled_sub_bits(enum sq_scaled_element e);

// Bits of a scale of this kind; whether a code is one: E4M3 without sign and NaN, 0..15, the others without NaN.
unsigned sq_scaled_scale_bits(enum sq_scaled_scale s);
bool sq_scaled_is_scale(enum sq_scaled_scale s, uint32_t code);
uint32_t sq_scaled_infinite(
    enum sq_scaled_scale s); // exponent bits that no scale has; 0 of others than floats
uint32_t sq_scaled_one(enum sq_scaled_scale s); // the code of 1; of NONE and POW4 that of E4M3
// The scale as an integer, in units of the smallest one: E4M3 of 2^-9. Of E4M3, POW4 and NONE.
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
// Bits of a signed sum that may be `limit` in both signs; 65: more than 64.
unsigned sq_scaled_sum_bits(int64_t limit);
