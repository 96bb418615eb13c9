// SPDX-License-Identifier: Apache-2.0
// Says what codes stand for, of built-in elements and of tables alike (sq_scaled_codes.h).
#include "sim/block/scaled/sq_scaled_codes.h"

#include <math.h>
#include <stdlib.h>

#include "sim/block/flow/sq_block.h"

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
