// SPDX-License-Identifier: Apache-2.0
// Says what codes stand for, of built-in elements and of tables alike (sq_scaled_codes.h).
#include "sim/block/scaled/sq_scaled_codes.h"

#include <math.h>
#include <stdlib.h>

_Static_assert((int)SQ_TABLE_WORDS == (int)SQ_SCALED_TABLE_WORDS, "a point holds a table");

struct sq_scaled_codes sq_scaled_codes(const unsigned *v, unsigned element)
{
    return (struct sq_scaled_codes){(enum sq_scaled_element)element, v + SQ_PARAMS_MAX};
}

unsigned sq_scaled_grid(struct sq_scaled_codes e, int32_t scale, const int32_t *sub)
{
    if (sq_scaled_has_sign(e.element))
        return (scale & SQ_BS_SCALE_SIGN) != 0;
    unsigned grid = 0;
    for (unsigned i = 0; sub && i < sq_scaled_table(e.element).grid_bits; i++)
        grid |= (unsigned)sub[i] << i;
    return grid;
}

// Not of a table.
static enum sq_element element_of(struct sq_scaled_codes e, unsigned grid)
{
    return e.element == SQ_SCALED_IF4 && grid ? SQ_ELEMENT_INT4 : sq_scaled_element_of(e.element);
}

static int value(struct sq_scaled_codes e, unsigned grid, int32_t code)
{
    return sq_scaled_table_value(e.words, grid, (unsigned)code);
}

// The code of a table's grid whose value is the nearest one.
static uint8_t nearest(struct sq_scaled_codes e, unsigned grid, int to)
{
    unsigned best = 0;
    int least = INT16_MAX;
    for (unsigned c = 0; c < 1u << sq_scaled_code_bits(e.element); c++) {
        const int v = value(e, grid, (int32_t)c);
        if (v != SQ_SCALED_NO_VALUE && abs(v - to) < least) {
            least = abs(v - to);
            best = c;
        }
    }
    return (uint8_t)best;
}

bool sq_scaled_is_code(struct sq_scaled_codes e, unsigned grid, int32_t code)
{
    return sq_scaled_is_table(e.element) ? value(e, grid, code) != SQ_SCALED_NO_VALUE
                                         : sq_element_is_number(element_of(e, grid), (uint8_t)code);
}

uint8_t sq_scaled_zero(struct sq_scaled_codes e, unsigned grid)
{
    return sq_scaled_is_table(e.element) ? nearest(e, grid, 0) : 0;
}

uint8_t sq_scaled_taken(struct sq_scaled_codes e, unsigned grid, int32_t code)
{
    const bool is_int = !sq_scaled_is_table(e.element) && !sq_scaled_has_sign(e.element) &&
                        sq_element_is_int(element_of(e, grid));
    return is_int || sq_scaled_is_code(e, grid, code) ? (uint8_t)code : sq_scaled_zero(e, grid);
}

uint8_t sq_scaled_negative(struct sq_scaled_codes e, unsigned grid, int32_t code)
{
    return sq_scaled_is_table(e.element)
               ? nearest(e, grid, -value(e, grid, code))
               : sq_element_negative(sq_scaled_element_of(e.element), (uint8_t)code);
}

uint8_t sq_scaled_end(struct sq_scaled_codes e, bool is_negative, unsigned *grid)
{
    *grid = e.element == SQ_SCALED_IF4; // the end of IF4 is one of INT4
    if (!sq_scaled_is_table(e.element))
        return sq_scaled_element_end(e.element, is_negative);
    const int most = is_negative ? -SQ_BS_TABLE_MOST : SQ_BS_TABLE_MOST;
    for (unsigned g = 1; g < sq_scaled_table(e.element).n_grids; g++)
        if (abs(value(e, g, nearest(e, g, most))) > abs(value(e, *grid, nearest(e, *grid, most))))
            *grid = g;
    return nearest(e, *grid, most);
}

void sq_scaled_end_subs(struct sq_scaled_codes e, unsigned grid, bool is_negative, int32_t *sub)
{
    for (unsigned i = 0; i < sq_scaled_sub_bits(e.element); i++)
        sub[i] = i < sq_scaled_table(e.element).grid_bits ? (int32_t)(grid >> i & 1)
                 : sq_scaled_table(e.element).zero_bits   ? is_negative
                                                          : 1;
}

struct sq_bs_table sq_scaled_decoded(struct sq_scaled_codes e, enum sq_scaled_scale scale,
                                     unsigned bank)
{
    struct sq_bs_table t = sq_scaled_description(e.element, e.words, scale, bank);
    for (unsigned g = 0; g < t.n_grids; g++)
        for (unsigned c = 0; c < 1u << t.bits; c++)
            if (t.value[g][c] == SQ_BS_NO_VALUE)
                t.value[g][c] = 0;
    return t;
}

void sq_scaled_load_subs(struct sq_scaled_codes e, const int32_t *sub, bool is_scale, uint8_t *to)
{
    const struct sq_scaled_table t = sq_scaled_table(e.element);
    const unsigned log2_n = t.exponent_bits[1] ? t.log2_subs[1] : t.log2_subs[0];
    if (t.zero_bits) {
        to[0] = to[1] = 0;
        for (unsigned b = 0; is_scale && b < t.zero_bits; b++)
            to[1] = (uint8_t)(to[1] | (unsigned)sub[b] << b);
        return;
    }
    for (unsigned i = 0; i < 1u << log2_n; i++) {
        unsigned byte = sq_scaled_grid(e, 0, sub) << 4;
        const int32_t *level = sub + t.grid_bits;
        for (unsigned l = 0; l < SQ_BS_TABLE_LEVELS;
             level += t.exponent_bits[l] << t.log2_subs[l], l++)
            for (unsigned b = 0; b < t.exponent_bits[l]; b++)
                byte |= (unsigned)level[(i >> (log2_n - t.log2_subs[l])) * t.exponent_bits[l] + b]
                        << (2 * l + b);
        to[i] = (uint8_t)byte;
    }
}

int64_t sq_scaled_integer(const struct sq_bs *c, enum sq_scaled_element element, size_t row,
                          size_t i)
{
    struct sq_bs_block block;
    sq_bs_get_block(c, row, i / c->f.block, &block);
    const float v = sq_bs_element(&c->f, &block, i % c->f.block, sq_bs_get(c, row, i));
    return (int64_t)ldexpf(v, (int)sq_scaled_element_fraction(element));
}

// ---- as fields -------------------------------------------------------------------------------

int32_t sq_scaled_draw_scale(enum sq_scaled_scale s, struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t i = sq_rng_below(rng, 8);
    if (kind == SQ_STIMULUS_ILLEGAL) // 0xff is a scale of no kind
        return i == 0 ? 0xff : sq_draw_bits(rng, sq_scaled_scale_bits(s), true);
    if (s >= SQ_SCALED_BF16) { // products up to 2^126, and below the normal numbers
        const uint32_t code =
            kind == SQ_STIMULUS_EXTREME
                ? (uint32_t[]){0, 0x8000, 1, 0x80ff, 0x3f80, 0x5f00, 0xdf7f, 0x2000}[i]
            : kind == SQ_STIMULUS_FEW
                ? 0x3f00 + 0x80 * (i & 1) + 0x8000 * (i >> 2)
                : ((96 + sq_rng_below(rng, 64)) << 7) + sq_rng_below(rng, 128) + 0x8000 * (i & 1);
        return (int32_t)(s == SQ_SCALED_BF16
                             ? code
                             : code << 16 |
                                   (kind == SQ_STIMULUS_FEW ? 0 : sq_rng_below(rng, 1 << 16)));
    }
    if (s == SQ_SCALED_F16)
        return kind == SQ_STIMULUS_EXTREME
                   ? (int32_t[]){0, 0x8000, 1, 0x83ff, 0x400, 0x7bff, 0xfbff, 0xbc00}[i]
               : kind == SQ_STIMULUS_FEW
                   ? (int32_t)(0x3800 + 0x400 * (i & 3) + 0x8000 * (i >> 2))
                   : (int32_t)((sq_rng_below(rng, 31) << 10) +
                               (uint32_t)sq_draw_bits(rng, 10, true) + 0x8000 * (i & 1));
    if (s == SQ_SCALED_POW4)
        return (int32_t)(kind == SQ_STIMULUS_EXTREME ? 15 * (i & 1) : sq_rng_below(rng, 16));
    if (s == SQ_SCALED_E8M0) // sums that fall below and rise beyond binary32, and around it
        return kind == SQ_STIMULUS_EXTREME ? (int32_t[]){0, 1, 30, 62, 64, 127, 190, 254}[i]
               : kind == SQ_STIMULUS_FEW   ? (int32_t)(126 + (i & 1))
                                           : (int32_t)(96 + sq_rng_below(rng, 64));
    const bool is_whole = s == SQ_SCALED_UE5M3 || s == SQ_SCALED_E6M2; // without a bit for a sign
    // Zero, subnormals, the largest; powers of two, whose sums meet ties; all of them.
    return kind == SQ_STIMULUS_EXTREME
               ? (int32_t[]){0x00, 0x01, 0x07, 0x08, 0x38, 0x7e, 0x7d, 0x03}[i] +
                     (is_whole ? 0x80 * (i > 3) : 0)
           : kind == SQ_STIMULUS_FEW ? (int32_t)((is_whole ? 0x70 : 0x30) + 8 * (i & 3))
                                     : (int32_t)sq_rng_below(rng, is_whole ? 0xff : 0x7f);
}

int32_t sq_scaled_draw_element(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_stimulus kind)
{
    const unsigned bits = sq_scaled_code_bits(e.element);
    unsigned grid;
    if (kind == SQ_STIMULUS_FEW)
        return (int32_t)sq_rng_below(rng, 3);
    const bool is_negative = kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 2);
    const int32_t code = kind == SQ_STIMULUS_EXTREME ? sq_scaled_end(e, is_negative, &grid)
                                                     : sq_draw_bits(rng, bits, true);
    if (kind == SQ_STIMULUS_ILLEGAL || sq_scaled_is_table(e.element) ||
        sq_scaled_is_code(e, 0, code))
        return code;
    return sq_scaled_end(e, false, &grid) ^ (int32_t)sq_rng_below(rng, 2);
}

int32_t *sq_scaled_draw_elements(struct sq_scaled_codes e, struct sq_rng *rng,
                                 enum sq_stimulus kind, size_t n, int32_t *x)
{
    const bool are_equal = sq_rng_below(rng, 8) == 0;
    for (size_t i = 0; i < n; i++)
        x[i] = are_equal && i > 0 ? x[0] : sq_scaled_draw_element(e, rng, kind);
    return x + n;
}

void sq_scaled_draw_signs(struct sq_scaled_codes e, unsigned bank, struct sq_rng *rng,
                          enum sq_stimulus kind, size_t n, int32_t *scale, int32_t *sub,
                          int32_t *code)
{
    const bool has_sign = sq_scaled_has_sign(e.element);
    const unsigned bits = sq_scaled_sub_bits(e.element);
    if (!has_sign && !sq_scaled_is_table(e.element))
        return;
    for (size_t i = 0; i < n; i++, sub += sub ? bits : 0) {
        scale[i] ^= has_sign && sq_rng_below(rng, 2) ? SQ_BS_SCALE_SIGN : 0;
        for (unsigned b = 0; b < bits; b++)
            sub[b] = (int32_t)sq_rng_below(rng, 2);
        const unsigned drawn = sq_scaled_grid(e, scale[i], sub);
        const bool is_grid =
            kind == SQ_STIMULUS_ILLEGAL || sq_scaled_is_code(e, drawn, sq_scaled_zero(e, drawn));
        for (unsigned b = 0; !is_grid && b < sq_scaled_table(e.element).grid_bits; b++)
            sub[b] = 0; // three grids have two bits
        const unsigned grid = sq_scaled_grid(e, scale[i], sub);
        unsigned of;
        for (size_t j = i * bank; j < (i + 1) * bank && kind != SQ_STIMULUS_ILLEGAL; j++)
            if (!sq_scaled_is_code(e, grid, code[j]))
                code[j] = e.element == SQ_SCALED_IF4 ? sq_scaled_end(e, false, &of)
                                                     : sq_scaled_zero(e, grid);
    }
}

bool sq_scaled_spoil_code(struct sq_scaled_codes e, struct sq_rng *rng, int32_t *scale,
                          int32_t *sub, int32_t *code)
{
    const uint32_t n = 1u << sq_scaled_code_bits(e.element), first = sq_rng_below(rng, n);
    const uint32_t sign = sq_scaled_has_sign(e.element) ? SQ_BS_SCALE_SIGN : 0;
    for (uint32_t t = 0; t < 2 * n; t++) { // of either grid
        const int32_t of = (int32_t)((first + t) % n);
        const int32_t s = (int32_t)(t < n ? (uint32_t)*scale | sign : (uint32_t)*scale & ~sign);
        if (!sq_scaled_is_code(e, sq_scaled_grid(e, s, sub), of)) {
            *scale = s;
            *code = of;
            return true;
        }
    }
    return false;
}

bool sq_scaled_spoil_scale(struct sq_scaled_codes e, struct sq_rng *rng, enum sq_scaled_scale kind,
                           int32_t *scale)
{
    const uint32_t sign = sq_scaled_has_sign(e.element) ? SQ_BS_SCALE_SIGN : 0;
    const uint32_t infinite = sq_scaled_infinite(kind);
    for (uint32_t t = 0, code = sq_rng_below(rng, 256); t < 256; t++, code = (code + 1) % 256)
        if (!sq_scaled_is_scale(kind, (code | infinite) & ~sign)) {
            // With its sign, which says what the codes stand for.
            *scale = (int32_t)(((code | infinite) & ~sign) | ((uint32_t)*scale & sign));
            return true;
        }
    return false;
}
