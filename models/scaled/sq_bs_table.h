// SPDX-License-Identifier: Apache-2.0
// A block-scaled format that a table describes (SPEC Q.9): the kind SQ_BS_TABLE of sq_bs.h. What differs
// between formats of this kind is data: grids of at most 256 values, a tree of blocks, the type of the
// scale, and the rule that chooses scale and grid.
//
//   element   value[grid][code] * 2^(exponents of its sub-blocks) * 2^-fraction: what is multiplied
//   step      (float)scale * global, rounded once; where the scale is E8M0 the scale alone
//
// With a zero point z of a block an element is value[0][code] - z (INT); or fl(-z * step) (F16) or z (MIN) is
// added to its value, which products of codes do not know.
//
// A block of `length` elements has one code of a scale, and one grid. A sub-block (a level) has
// an exponent 0 .. 2^bits - 1 of its own. The byte sub[] of each smallest sub-block holds what is stored
// beside the codes: bits 0..1 the exponent of the first level, bits 2..3 that of the second, bits 4..7 the
// grid where it is not in the sign of the scale. A level that covers several smallest sub-blocks is the
// same in all of them. Behind them stand the bytes of a zero point, one (INT) or two.
//
// With sub_scale each sub-block has an integer that multiplies the step of the block, and with MIN another one, without a
// sign, whose product with the binary16 of the block is subtracted from the values. sub[] holds the codes of all of the
// first, those of the second, and the binary16.
//
// With keep_m, of every keep_m elements keep_n are kept, of pairs of neighbours as many; the others are 0, of the code of
// 0. Rows have the codes of all; which are kept follows from them (sq_bs_pack.h).
#ifndef SQ_BS_TABLE_H
#define SQ_BS_TABLE_H

#include "models/scaled/sq_bs.h"
#include "models/scaled/sq_bs_scale.h"

enum {
    SQ_BS_TABLE_NAME = 32,   // bytes of a name
    SQ_BS_TABLE_BITS = 8,    // of a code, at most
    SQ_BS_TABLE_CODES = 256, //
    SQ_BS_TABLE_GRIDS = 16,  // of a format, at most
    SQ_BS_TABLE_LEVELS = 2,  // below the blocks
    SQ_BS_TABLE_SUBS = 16,   // integers of sub-blocks in a block, at most
    SQ_BS_TABLE_TRIES = 16,  // pairs of grid and divisor
    SQ_BS_TABLE_NEAR = 16,   // neighbours of a scale's code on either side, at most
    SQ_BS_TABLE_FRACTION = 9,
    SQ_BS_TABLE_KEEP = 16,   // elements of a group of which some are kept, at most
    SQ_BS_TABLE_MOST = 2047, // largest magnitude of what is multiplied as integers of 2^-fraction
    SQ_BS_TABLE_WIDE = 1 << 18, // the same of one grid with nothing below the block
    SQ_BS_NO_VALUE = INT32_MIN, // of a code that stands for nothing
};

// How a scale of E8M0 follows from the largest magnitude: emax is floor(log2(divisor)).
enum sq_bs_exponent_rule {
    SQ_BS_FLOOR,   // floor(log2 amax) - emax
    SQ_BS_CEILING, // the smallest exponent with divisor * 2^exponent >= amax
    SQ_BS_EVEN, // floor(log2 amax') - emax; amax' is amax rounded (half up in magnitude) to as many
                // fraction bits as the grid has in the binade of its divisor
};

// What the rule divides. Elements behind the last real one are zeros.
enum sq_bs_statistic {
    SQ_BS_AMAX,
    SQ_BS_MAX,   // the largest or the smallest element, whichever has the larger magnitude
    SQ_BS_RANGE, // the largest less the smallest
    SQ_BS_RMS,
    SQ_BS_MEAN, // of magnitudes
    SQ_BS_L2,   // root of the sum of squares
    SQ_BS_PERCENTILE,
    SQ_BS_LEAST_SQUARES, // amax; then four times sum(x v) / sum(v v), v the elements at the scale before
    SQ_BS_STATISTICS
};
enum sq_bs_zero { SQ_BS_ZERO_NONE, SQ_BS_ZERO_INT, SQ_BS_ZERO_F16, SQ_BS_ZERO_MIN };
enum { SQ_BS_FITS = 4 };

struct sq_bs_sub_level {
    unsigned length; // elements; divides the length above it
    unsigned bits;   // of its exponent, 1 or 2
    float
        at; // its exponent is the smallest e with amax / step / 2^(exponents) < at, or the largest
};

// Integers of `bits` bits in place of exponents, in two's complement or without a sign. bits 0: there are none.
struct sq_bs_sub_scale {
    unsigned length, bits;
    bool is_signed;
};

// A pair that the rule tries.
struct sq_bs_try {
    unsigned grid;
    float divisor; // the scale is amax / divisor / global, rounded to its type
};

// Grids that loops know by arithmetic, with the results of any grid.
enum sq_bs_shape {
    SQ_BS_SHAPE_ANY,
    SQ_BS_SHAPE_E2M1,
    SQ_BS_SHAPE_INTEGERS, // -n .. n times a unit, two's complement
    SQ_BS_SHAPE_WHOLE,    // other integers of consecutive codes
};

struct sq_bs_table {
    char name[SQ_BS_TABLE_NAME];
    unsigned bits, n_grids; // of a code, 1..8; 1..16
    bool is_away; // halfway between two values: to the larger magnitude; else by their codes
    char grid_name[SQ_BS_TABLE_GRIDS][SQ_BS_TABLE_NAME];
    unsigned fraction;                                   // 0..9
    int32_t value[SQ_BS_TABLE_GRIDS][SQ_BS_TABLE_CODES]; // in units of 2^-fraction
    bool is_signed[SQ_BS_TABLE_GRIDS]; // the grid: its uppermost code bit is a sign
    unsigned length;                   // of a block: 8, 16, 32, 64, 128, 256
    enum sq_bs_scale_type scale;
    enum sq_bs_exponent_rule rule; // E8M0
    enum sq_bs_statistic statistic;
    float percentile;     // 0 < percentile <= 100
    enum sq_bs_zero zero; // needs RANGE, and RANGE it
    unsigned zero_bits;   // of a stored zero point: 1..8, 16
    bool is_reciprocal;   // quotients are products with the nearest bfloat16 of the reciprocal
    unsigned n_tries;     // in this order; of equal errors the first is taken
    struct sq_bs_try tries[SQ_BS_TABLE_TRIES];
    unsigned below, above; // each try again at codes of the scale next to its own: a search
    bool is_absolute;      // errors are sums of magnitudes, else of squares
    bool is_sign_grid;     // two grids: the uppermost bit of the scale's code says which
    unsigned n_levels;
    struct sq_bs_sub_level level[SQ_BS_TABLE_LEVELS];
    struct sq_bs_sub_scale sub_scale; // needs n_levels = 0
    unsigned keep_n, keep_m;          // 0, 0: all are kept
    bool keeps_pairs;
    bool has_global; // a binary32 above the blocks: one of the tensor of weights, one of each token
    // ---- derived by sq_bs_table_settle
    unsigned leaf;     // elements of the smallest sub-block; without levels `length`
    unsigned sub_bits; // stored bits of a block beside codes and scale
    bool lacks_zero;   // 0 is no value of the grid
    unsigned most;     // the largest magnitude of what is multiplied, exponents and all
    // The values of a grid as its encoder takes them, ascending; magnitudes where it is signed. A quotient
    // above above[i] is nearer to value[i + 1] than to value[i].
    struct sq_bs_sorted {
        unsigned n;
        float value[SQ_BS_TABLE_CODES], above[SQ_BS_TABLE_CODES];
        uint8_t code[SQ_BS_TABLE_CODES];
        enum sq_bs_shape shape;
        float unit; // of INTEGERS, WHOLE
        // WHOLE: the code less the integer; the one place `odd` where not the even integer wins a tie
        int32_t shift;
        unsigned odd;
    } sorted[SQ_BS_TABLE_GRIDS];
};

// Checks the fields above the line and derives those below it. SQ_ERR_RANGE and SQ_ERR_UNSUPPORTED with field,
// value and range: lengths that do not divide, grids without zero or with a value twice (but for zero),
// values beyond SQ_BS_TABLE_MOST with their exponents, scales without a free bit for a grid.
enum sq_status sq_bs_table_settle(struct sq_bs_table *t, struct sq_error *err);

// The largest scale, the code of the scale nearest to x >= 0, and what a code stands for.
float sq_bs_scale_max(enum sq_bs_scale_type type);
uint32_t sq_bs_scale_encode(enum sq_bs_scale_type type, float x);
float sq_bs_scale_decode(enum sq_bs_scale_type type, uint32_t code);
uint32_t sq_bs_scale_last(enum sq_bs_scale_type type); // the code of the largest
const char *sq_bs_scale_name(enum sq_bs_scale_type type);

// Internal: the nearest bfloat16, ties to even, and that of 1 / step; fraction bits of a grid in the binade of the
// divisor of try i.
float sq_bs_bfloat16(double x);
float sq_bs_reciprocal(float step);
unsigned sq_bs_binade_bits(const struct sq_bs_table *t, unsigned i);

static inline unsigned sq_bs_leaves(const struct sq_bs_table *t)
{
    return t->length / t->leaf;
}

// Where sub[] holds the zero point, behind a byte of each smallest sub-block or, with a minimum, behind two integers of it;
// and the bytes of that zero point.
static inline unsigned sq_bs_zero_at(const struct sq_bs_table *t)
{
    return sq_bs_leaves(t) * (t->sub_scale.bits && t->zero ? 2 : 1);
}

static inline unsigned sq_bs_zero_nbytes(const struct sq_bs_table *t)
{
    return t->zero > SQ_BS_ZERO_INT ? 2 : t->zero;
}

// What the zero point in the bytes of a block takes from its codes.
static inline int32_t sq_bs_zero_of(const struct sq_bs_table *t, const uint8_t *sub)
{
    return t->zero == SQ_BS_ZERO_INT ? sub[sq_bs_zero_at(t)] : 0;
}

// The binary16 in its place, of F16 and MIN.
static inline float sq_bs_half_of(const struct sq_bs_table *t, const uint8_t *sub)
{
    const uint8_t *const half = sub + sq_bs_zero_at(t);
    return sq_bs_float_value(SQ_BS_SCALE_F16, half[0] | (uint32_t)half[1] << 8);
}

// The step of element i, but for exponents, and what is added to its value; `step` and `offset` are those of the block.
static inline float sq_bs_step_at(const struct sq_bs_table *t, const uint8_t *sub, size_t i,
                                  float step)
{
    const int32_t sign = t->sub_scale.is_signed ? 1 << (t->sub_scale.bits - 1) : 0;
    return t->sub_scale.bits ? (float)((sub[i / t->leaf] ^ sign) - sign) * step : step;
}

static inline float sq_bs_offset_at(const struct sq_bs_table *t, const uint8_t *sub, size_t i,
                                    float offset)
{
    if (!t->sub_scale.bits || !t->zero)
        return offset;
    return 0 - (float)sub[sq_bs_leaves(t) + i / t->leaf] * sq_bs_half_of(t, sub);
}

// Whether blocks have minima; products of codes take these from blocks of their own (sq_bs_take_apart).
static inline bool sq_bs_has_minima(const struct sq_bs_format *f)
{
    return f->table && f->table->zero == SQ_BS_ZERO_MIN;
}

// The last code of the integer v in the only grid; -1: it has none.
static inline int sq_bs_code_with(const struct sq_bs_table *t, int32_t v)
{
    int code = (1 << t->bits) - 1;
    while (code >= 0 && t->value[0][code] != v * (1 << t->fraction))
        code--;
    return code;
}

// Whether products of codes know what is beside the codes: a minimum is ones at a scale, both of binary16; no product knows
// integers of sub-blocks.
static inline bool sq_bs_is_multiplied(const struct sq_bs_table *t)
{
    const bool is_apart = t->zero == SQ_BS_ZERO_MIN && t->scale == SQ_BS_SCALE_F16 &&
                          sq_bs_code_with(t, 0) >= 0 && sq_bs_code_with(t, 1) >= 0;
    return t->sub_scale.bits == 0 && (t->zero <= SQ_BS_ZERO_INT || is_apart);
}

// Elements that a group has, together: 2 of pairs.
static inline unsigned sq_bs_keep_unit(const struct sq_bs_table *t)
{
    return t->keeps_pairs ? 2 : 1;
}

// Which elements of a group x[keep_m], `stride` apart, are not kept: those of the smallest magnitudes, of pairs of their
// sums, the later one of equals.
static inline void sq_bs_dropped(const struct sq_bs_table *t, const float *x, size_t stride,
                                 uint8_t is_dropped[SQ_BS_TABLE_KEEP])
{
    const unsigned unit = sq_bs_keep_unit(t);
    float size[SQ_BS_TABLE_KEEP];
    for (unsigned i = 0; i < t->keep_m; i++)
        size[i] = fabsf(x[(i - i % unit) * stride]) +
                  (unit > 1 ? fabsf(x[(i - i % unit + 1) * stride]) : 0);
    for (unsigned i = 0; i < t->keep_m; i++) {
        unsigned before = 0;
        for (unsigned j = 0; j < t->keep_m; j += unit)
            before += size[j] > size[i] || (j < i - i % unit && size[j] == size[i]) ? unit : 0;
        is_dropped[i] = before >= t->keep_n;
    }
}

// The grid of a block.
static inline unsigned sq_bs_grid_of(const struct sq_bs_table *t, uint32_t scale, uint8_t sub)
{
    return t->is_sign_grid ? scale >> 7 & 1 : t->n_grids > 1 ? sub >> 4 : 0;
}

// Bits that say the grid of a block, where the scale does not.
static inline unsigned sq_bs_grid_bits(const struct sq_bs_table *t)
{
    unsigned bits = 0;
    while (!t->is_sign_grid && t->n_grids > 1u << bits)
        bits++;
    return bits;
}

// The sum of the exponents of the byte sub[].
static inline unsigned sq_bs_sub_exponent(uint8_t sub)
{
    return (sub & 3u) + (sub >> 2 & 3u);
}

#endif
