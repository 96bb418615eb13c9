// SPDX-License-Identifier: Apache-2.0
// Looks up what the numbers of sq_array_scaled mean, and bounds its integer sums (sq_scaled.h).
#include "models/scaled/sq_scaled.h"

#include <assert.h>
#include <string.h>

enum {
    SPLIT_LOWEST = 136,
    PLUS_MOST = 15,
    IF4_MOST = 14,
    IF4_LEAST_CODE = 9,
    E4M3_TOP = 14 << 14,
    POW4_TOP = 1 << 15
};

static const struct sq_element_type *type(enum sq_scaled_element e)
{
    return sq_element_type(sq_scaled_element_of(e));
}

enum sq_element sq_scaled_element_of(enum sq_scaled_element e)
{
    static const enum sq_element of[] = {
        [SQ_SCALED_INT4] = SQ_ELEMENT_INT4,     [SQ_SCALED_INT5] = SQ_ELEMENT_INT5,
        [SQ_SCALED_E2M1] = SQ_ELEMENT_E2M1,     [SQ_SCALED_E2M3] = SQ_ELEMENT_E2M3,
        [SQ_SCALED_E3M2] = SQ_ELEMENT_E3M2,     [SQ_SCALED_E4M3_ELEMENT] = SQ_ELEMENT_E4M3,
        [SQ_SCALED_E5M2] = SQ_ELEMENT_E5M2,     [SQ_SCALED_INT8] = SQ_ELEMENT_INT8,
        [SQ_SCALED_MXINT8] = SQ_ELEMENT_MXINT8, [SQ_SCALED_PLUS] = SQ_ELEMENT_E2M1,
        [SQ_SCALED_IF4] = SQ_ELEMENT_E2M1,      [SQ_SCALED_RAZER] = SQ_ELEMENT_E2M1};
    return of[e];
}

unsigned sq_scaled_code_bits(enum sq_scaled_element e)
{
    return sq_scaled_is_table(e) ? sq_scaled_table(e).code_bits : type(e)->bits;
}

static unsigned signed_bits(uint32_t most)
{
    unsigned bits = 1;
    while (most >> (bits - 1))
        bits++;
    return bits;
}

// The bits of what is multiplied: an integer in two's complement. E4M3 and E5M2 take 9, a signed
// significand of 4 and of 3 bits and a shift of 4 and of 5 bits.
unsigned sq_scaled_element_bits(enum sq_scaled_element e)
{
    if (e == SQ_SCALED_E4M3_ELEMENT || e == SQ_SCALED_E5M2)
        return 9;
    return signed_bits(sq_scaled_is_table(e) ? sq_scaled_table(e).most
                       : type(e)->is_int     ? type(e)->lowest - 1
                                             : type(e)->most);
}

unsigned sq_scaled_element_fraction(enum sq_scaled_element e)
{
    return sq_scaled_is_table(e) ? sq_scaled_table(e).fraction : type(e)->fraction;
}

unsigned sq_scaled_element_max(enum sq_scaled_element e)
{
    return e == SQ_SCALED_PLUS     ? PLUS_MOST
           : e == SQ_SCALED_IF4    ? IF4_MOST
           : sq_scaled_is_table(e) ? sq_scaled_table(e).most
                                   : type(e)->lowest;
}

bool sq_scaled_has_sign(enum sq_scaled_element e)
{
    return e == SQ_SCALED_IF4 || e == SQ_SCALED_RAZER ||
           (sq_scaled_is_table(e) && sq_scaled_table(e).has_sign);
}

uint8_t sq_scaled_element_end(enum sq_scaled_element e, bool is_negative)
{
    const unsigned sign = 1u << (sq_scaled_code_bits(e) - 1);
    unsigned magnitude = sign - 1; // all ones, but for what is no number
    if (e == SQ_SCALED_IF4)        // of a block of INT4
        return (uint8_t)(is_negative ? IF4_LEAST_CODE : magnitude);
    if (type(e)->is_int)
        return (uint8_t)(is_negative ? sign : magnitude);
    while (!sq_element_is_number(sq_scaled_element_of(e), (uint8_t)magnitude))
        magnitude--;
    return (uint8_t)(is_negative ? sign | magnitude : magnitude);
}

unsigned sq_scaled_scale_bits(enum sq_scaled_scale s)
{
    return s == SQ_SCALED_F32 ? 32 : s >= SQ_SCALED_F16 ? 16 : 8;
}

uint32_t sq_scaled_infinite(enum sq_scaled_scale s)
{
    return s == SQ_SCALED_F16    ? 0x7c00
           : s == SQ_SCALED_BF16 ? 0x7f80
           : s == SQ_SCALED_F32  ? 0x7f800000
                                 : 0;
}

bool sq_scaled_is_scale(enum sq_scaled_scale s, uint32_t code)
{
    switch (s) {
    case SQ_SCALED_F16:
    case SQ_SCALED_BF16:
    case SQ_SCALED_F32:
        return (~code & sq_scaled_infinite(s)) != 0;
    case SQ_SCALED_E4M3:
        return code < 0x7f;
    case SQ_SCALED_E8M0:
    case SQ_SCALED_UE5M3:
    case SQ_SCALED_E6M2:
        return code != SQ_E8M0_NAN;
    case SQ_SCALED_POW4:
        return code < 16;
    default:
        return true;
    }
}

uint32_t sq_scaled_one(enum sq_scaled_scale s)
{
    return s == SQ_SCALED_E8M0    ? 127
           : s == SQ_SCALED_F16   ? 0x3c00
           : s == SQ_SCALED_BF16  ? 0x3f80
           : s == SQ_SCALED_F32   ? 0x3f800000
           : s == SQ_SCALED_UE5M3 ? 0x78
           : s == SQ_SCALED_E6M2  ? 0xc0
                                  : 0x38;
}

uint32_t sq_scaled_units(enum sq_scaled_scale s, uint8_t code)
{
    assert(s <= SQ_SCALED_POW4 && s != SQ_SCALED_E8M0);
    const uint32_t exponent = code >> 3, fraction = code & 7u;
    return s == SQ_SCALED_NONE   ? 1
           : s == SQ_SCALED_POW4 ? UINT32_C(1) << code
           : exponent == 0       ? fraction
                                 : (8 + fraction) << (exponent - 1);
}

// ---- tables ---------------------------------------------------------------------------------

static unsigned field(enum sq_scaled_element e, unsigned at, unsigned width)
{
    return (unsigned)e >> at & ((1u << width) - 1);
}

bool sq_scaled_is_table(enum sq_scaled_element e)
{
    return field(e, 0, 5) == SQ_SCALED_TABLE;
}

struct sq_scaled_table sq_scaled_table(enum sq_scaled_element e)
{
    assert(sq_scaled_is_table(e));
    struct sq_scaled_table t = {.code_bits = 2 + field(e, 5, 2),
                                .fraction = field(e, 7, 3),
                                .has_sign = field(e, 10, 1),
                                .grid_bits = field(e, 11, 2),
                                .exponent_bits = {field(e, 13, 2), field(e, 15, 2)},
                                .log2_subs = {field(e, 17, 3), field(e, 17, 3) + field(e, 20, 3)},
                                .most = field(e, 23, 7),
                                .zero_bits = field(e, 30, 1) ? field(e, 17, 3) + 1 : 0};
    t.n_grids = t.has_sign ? 2 : 1u << t.grid_bits;
    return t;
}

unsigned sq_scaled_sub_bits(enum sq_scaled_element e)
{
    if (!sq_scaled_is_table(e))
        return 0;
    const struct sq_scaled_table t = sq_scaled_table(e);
    return t.zero_bits ? t.zero_bits
                       : t.grid_bits + (t.exponent_bits[0] << t.log2_subs[0]) +
                             (t.exponent_bits[1] << t.log2_subs[1]);
}

int sq_scaled_table_value(const unsigned *words, unsigned grid, unsigned code)
{
    const unsigned at = grid * SQ_SCALED_TABLE_CODES + code;
    return (int8_t)(words[at / 4] >> (at % 4 * 8));
}

// What a code of a built-in element stands for in units of 2^-9; SQ_BS_NO_VALUE: nothing.
static int built_in(enum sq_scaled_element e, unsigned grid, uint8_t code)
{
    enum { FIFTH = 5, UNIT = 1 << SQ_BS_TABLE_FRACTION };
    const bool is_int4 = e == SQ_SCALED_IF4 && grid;
    const enum sq_element of = is_int4 ? SQ_ELEMENT_INT4 : sq_scaled_element_of(e);
    if (e == SQ_SCALED_RAZER && code == 8)
        return grid ? -FIFTH * UNIT : FIFTH * UNIT;
    return sq_element_is_number(of, code) ? (int)(sq_element_decode(of, code) * UNIT)
                                          : SQ_BS_NO_VALUE;
}

static bool is_built_in(const struct sq_bs_table *t, enum sq_scaled_element e)
{
    bool is = t->bits == sq_scaled_code_bits(e) && t->n_levels == 0 && t->zero == SQ_BS_ZERO_NONE &&
              t->is_sign_grid == sq_scaled_has_sign(e) && t->n_grids == 1u + t->is_sign_grid;
    for (unsigned g = 0; is && g < t->n_grids; g++)
        for (unsigned c = 0; is && c < 1u << t->bits; c++) {
            const int v = t->value[g][c];
            is = built_in(e, g, (uint8_t)c) ==
                 (v == SQ_BS_NO_VALUE ? v : v * (1 << (SQ_BS_TABLE_FRACTION - t->fraction)));
        }
    return is;
}

static unsigned log2_of(unsigned n)
{
    unsigned bits = 0;
    while (n >> bits > 1)
        bits++;
    return bits;
}

enum sq_scaled_element sq_scaled_element_of_table(const struct sq_bs_table *t,
                                                  unsigned words[SQ_SCALED_TABLE_WORDS])
{
    static const enum sq_scaled_element with[] = {
        SQ_SCALED_INT4, SQ_SCALED_INT5, SQ_SCALED_E2M1, SQ_SCALED_IF4,    SQ_SCALED_RAZER,
        SQ_SCALED_INT8, SQ_SCALED_E2M3, SQ_SCALED_E3M2, SQ_SCALED_MXINT8, SQ_SCALED_E4M3_ELEMENT};
    memset(words, 0, SQ_SCALED_TABLE_WORDS * sizeof *words);
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++)
        if (is_built_in(t, with[i]))
            return with[i];
    if (t->bits < 2 || t->bits > 5 || t->most > 127 || t->fraction > 7 ||
        4 * SQ_SCALED_TABLE_WORDS < t->n_grids * SQ_SCALED_TABLE_CODES) // sq_scaled_check_table
        return SQ_SCALED_TABLE;
    const unsigned grid_bits = t->is_sign_grid ? 0 : log2_of(2 * t->n_grids - 1);
    unsigned e = SQ_SCALED_TABLE_OF(t->bits, t->fraction, (unsigned)t->is_sign_grid, t->most) |
                 grid_bits << 11 | (t->zero_bits ? SQ_SCALED_ZERO_OF(t->zero_bits) : 0);
    for (unsigned l = 0, above = t->length; l < t->n_levels; above = t->level[l++].length)
        e |= t->level[l].bits << (13 + 2 * l) | log2_of(above / t->level[l].length) << (17 + 3 * l);
    for (unsigned g = 0; g < 1u << (grid_bits + t->is_sign_grid);
         g++) // of three grids the fourth is none
        for (unsigned c = 0; c < 1u << t->bits; c++) {
            const unsigned at = g * SQ_SCALED_TABLE_CODES + c;
            const int v = g < t->n_grids && t->value[g][c] != SQ_BS_NO_VALUE ? t->value[g][c]
                                                                             : SQ_SCALED_NO_VALUE;
            words[at / 4] |= ((unsigned)v & 0xffu) << (at % 4 * 8);
        }
    return (enum sq_scaled_element)e;
}

enum sq_status sq_scaled_check_table(const struct sq_bs_table *t, struct sq_error *err)
{
    unsigned words[SQ_SCALED_TABLE_WORDS];
    SQ_FAIL_IF(t->sub_scale.bits, err, SQ_ERR_UNSUPPORTED,
               "format = %s: no RTL has blocks.1.scale of integers, need pow2", t->name);
    SQ_FAIL_IF(!sq_bs_is_multiplied(t), err, SQ_ERR_UNSUPPORTED,
               "format = %s: no RTL has blocks.0.zero = %s, need none or int, or min with scale "
               "f16 and grids with 0 and 1",
               t->name, t->zero == SQ_BS_ZERO_F16 ? "f16" : "min");
    SQ_FAIL_IF(4 * SQ_SCALED_TABLE_WORDS < t->n_grids * SQ_SCALED_TABLE_CODES, err,
               SQ_ERR_UNSUPPORTED,
               "format = %s: no RTL has elements.grids of %u lists, need at most %d", t->name,
               t->n_grids, 4 * SQ_SCALED_TABLE_WORDS / SQ_SCALED_TABLE_CODES);
    SQ_FAIL_IF(t->keep_m, err, SQ_ERR_UNSUPPORTED,
               "format = %s: no RTL has blocks.0.keep = [%u, %u], need none", t->name, t->keep_n,
               t->keep_m);
    SQ_FAIL_IF(t->lacks_zero, err, SQ_ERR_UNSUPPORTED,
               "format = %s: no RTL has elements.grids without 0, which fills its lines", t->name);
    if (sq_scaled_element_of_table(t, words) != SQ_SCALED_TABLE)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "format = %s: no RTL has elements.bits = %u with these grids: it has tables of "
                   "2..5 bits and values of at most 127, less zero points, in units of 2^-7 or "
                   "more, and without these grids int of 8, e2m3, e3m2 and e4m3",
                   t->name, t->bits);
}

static const enum sq_scaled_scale scales[SQ_BS_SCALE_TYPES] = {
    [SQ_BS_SCALE_E4M3] = SQ_SCALED_E4M3,   [SQ_BS_SCALE_E8M0] = SQ_SCALED_E8M0,
    [SQ_BS_SCALE_UE5M3] = SQ_SCALED_UE5M3, [SQ_BS_SCALE_E6M2] = SQ_SCALED_E6M2,
    [SQ_BS_SCALE_F16] = SQ_SCALED_F16,     [SQ_BS_SCALE_BF16] = SQ_SCALED_BF16,
    [SQ_BS_SCALE_F32] = SQ_SCALED_F32};

enum sq_scaled_scale sq_scaled_scale_of_table(const struct sq_bs_table *t)
{
    return scales[t->scale];
}

bool sq_scaled_is_described(enum sq_scaled_element e, enum sq_scaled_scale scale)
{
    return sq_scaled_is_table(e) || scale >= SQ_SCALED_UE5M3;
}

// The value of a code in units of the element; a lowest integer is itself.
static int value_of(enum sq_scaled_element e, const unsigned *words, unsigned grid, unsigned code)
{
    if (sq_scaled_is_table(e)) {
        const int v = sq_scaled_table_value(words, grid, code);
        return v == SQ_SCALED_NO_VALUE ? SQ_BS_NO_VALUE : v;
    }
    const int v = built_in(e, grid, (uint8_t)code);
    return v != SQ_BS_NO_VALUE ? v / (1 << (SQ_BS_TABLE_FRACTION - (int)type(e)->fraction))
           : type(e)->is_int   ? -(int)type(e)->lowest
                               : v;
}

struct sq_bs_table sq_scaled_description(enum sq_scaled_element e, const unsigned *words,
                                         enum sq_scaled_scale scale, unsigned bank)
{
    const struct sq_scaled_table of =
        sq_scaled_is_table(e) ? sq_scaled_table(e)
                              : (struct sq_scaled_table){.code_bits = sq_scaled_code_bits(e),
                                                         .fraction = sq_scaled_element_fraction(e),
                                                         .most = sq_scaled_element_max(e),
                                                         .n_grids = 1u + sq_scaled_has_sign(e),
                                                         .has_sign = sq_scaled_has_sign(e)};
    struct sq_bs_table t = {.bits = of.code_bits,
                            .n_grids = of.n_grids,
                            .fraction = of.fraction,
                            .length = bank,
                            .is_sign_grid = of.has_sign,
                            .leaf = bank,
                            .sub_bits = sq_scaled_sub_bits(e),
                            .zero = of.zero_bits ? SQ_BS_ZERO_INT : SQ_BS_ZERO_NONE,
                            .zero_bits = of.zero_bits,
                            .most = of.most};
    for (unsigned i = 0; i < SQ_BS_SCALE_TYPES; i++)
        if (scales[i] == scale)
            t.scale = (enum sq_bs_scale_type)i;
    for (unsigned l = 0; l < SQ_BS_TABLE_LEVELS && of.exponent_bits[l] > 0; l++) {
        t.level[l].length = t.leaf = bank >> of.log2_subs[l];
        t.level[l].bits = of.exponent_bits[l];
        t.n_levels = l + 1;
    }
    for (unsigned g = 0; g < of.n_grids; g++)
        for (unsigned c = 0; c < 1u << of.code_bits; c++)
            t.value[g][c] = value_of(e, words, g, c);
    return t;
}

enum sq_scaled_element sq_scaled_high_element(enum sq_scaled_high high,
                                              enum sq_scaled_element element)
{
    return high == SQ_SCALED_SPLIT     ? SQ_SCALED_INT4
           : element == SQ_SCALED_E2M1 ? SQ_SCALED_E4M3_ELEMENT
                                       : SQ_SCALED_INT8;
}

unsigned sq_scaled_pairs(enum sq_scaled_high high, bool has_weight_high)
{
    return high == SQ_SCALED_SPLIT ? 1 : has_weight_high ? 4 : 2;
}

static int64_t top(enum sq_scaled_scale s)
{
    return s == SQ_SCALED_E4M3 ? E4M3_TOP : s == SQ_SCALED_POW4 ? POW4_TOP : 1;
}

int64_t sq_scaled_limit(enum sq_scaled_element act, enum sq_scaled_element weight,
                        enum sq_scaled_scale act_scale, enum sq_scaled_scale weight_scale,
                        unsigned bank, unsigned high, unsigned k)
{
    const int64_t row =
        (int64_t)sq_scaled_element_max(act) * (bank - high) + (int64_t)SPLIT_LOWEST * high;
    int64_t limit = row;
    const int64_t by[] = {sq_scaled_element_max(weight), top(act_scale), top(weight_scale),
                          k / bank};
    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++)
        limit = limit < INT64_MAX / by[i] ? limit * by[i] : INT64_MAX;
    return limit;
}

unsigned sq_scaled_sum_bits(int64_t limit)
{
    unsigned bits = 1;
    while (bits <= 64 && (limit == INT64_MAX || (uint64_t)limit >> (bits - 1)))
        bits++;
    return bits;
}
