// SPDX-License-Identifier: Apache-2.0
// Rows of formats that a table describes (sq_bs_table.h): 16 blocks beside each other, with the results of
// sq_bs_table.c; and the integers of a row, as products take them.
#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"
#include "models/scaled/sq_bs_tile.h"

// ---- scales ---------------------------------------------------------------------------------

// Codes of the scales of all blocks for try i.
INLINE void first_codes(const struct sq_bs_table *t, unsigned i, const struct sq_bs_tile *tile,
                        float global, int32_t code[LANES])
{
    const float divisor = t->tries[i].divisor;
    const uint32_t bits = sq_bits_of(divisor), fraction = (UINT32_C(1) << 23) - 1;
    const bool is_ceiling = t->rule == SQ_BS_CEILING;
    const uint32_t half = t->rule == SQ_BS_EVEN ? UINT32_C(1) << (22 - sq_bs_binade_bits(t, i)) : 0;
    const int32_t less = (int32_t)(bits >> 23) - SQ_E8M0_BIAS;
    if (t->is_reciprocal) {
        for (unsigned l = 0; l < LANES; l++)
            code[l] = sq_bs_first_code(t, i, tile->amax[0][l], global);
        return;
    }
    if (t->scale != SQ_BS_SCALE_E8M0) {
        for (unsigned l = 0; l < LANES; l++)
            code[l] = sq_bs_scale_code(t->scale, tile->amax[0][l] / divisor / global);
        return;
    }
    for (unsigned l = 0; l < LANES; l++) {
        const bool is_small = tile->amax[0][l] < 0x1p-100f; // it may be subnormal
        const uint32_t amax =
            sq_bits_of(is_small ? tile->amax[0][l] * 0x1p24f : tile->amax[0][l]) + half;
        const int32_t more = is_ceiling && (amax & fraction) > (bits & fraction);
        const int32_t e = (int32_t)(amax >> 23) - (is_small ? 24 : 0) - less + more;
        code[l] = e < 0 ? 0 : e > SQ_E8M0_NAN - 1 ? SQ_E8M0_NAN - 1 : e;
    }
}

// ---- what loops are compiled for --------------------------------------------------------------

// How quotients are made: one block at one step; with exponents of sub-blocks; with reciprocals too.
enum how { PLAIN, LEVELS, RECIPROCAL };

// ---- sub-blocks -----------------------------------------------------------------------------

// x over step; where the table says so x times `by`, the bfloat16 of 1 / step.
INLINE float quotient(enum how how, float x, float step, float by)
{
    return how == RECIPROCAL ? sq_bs_product_odd(x, by) : sq_bs_quotient(x, step);
}

INLINE void reciprocals(enum how how, const float step[LANES], float by[LANES])
{
    for (unsigned l = 0; how == RECIPROCAL && l < LANES; l++)
        by[l] = step[l] > 0 ? sq_bs_reciprocal(step[l]) : 0;
}

// Exponents of all sub-blocks at step[], level after level.
INLINE void exponents(const struct sq_bs_table *t, enum how how, const struct sq_bs_tile *tile,
                      const float step[LANES], const float by[LANES], int32_t sub[][LANES])
{
    for (unsigned i = 0; i < t->length / t->leaf; i++)
        for (unsigned l = 0; l < LANES; l++)
            sub[i][l] = 0;
    for (unsigned level = 0; level < t->n_levels; level++) {
        const unsigned length = t->level[level].length, leaves = length / t->leaf;
        const int32_t last = (1 << t->level[level].bits) - 1;
        const float at = t->level[level].at;
        for (unsigned first = 0, u = 0; first < t->length; first += length, u += leaves) {
            float amax[LANES] = {0};
            int32_t e[LANES] = {0};
            for (unsigned i = first; i < first + length; i++)
                for (unsigned l = 0; l < LANES; l++) {
                    const float m = fabsf(tile->x[i][l]);
                    amax[l] = m > amax[l] ? m : amax[l];
                }
            for (unsigned l = 0; l < LANES; l++) {
                const int32_t outer = sub[u][l] & 3;
                const float down = outer == 0 ? 1 : outer == 1 ? .5f : outer == 2 ? .25f : .125f;
                const float reach = quotient(how, amax[l], step[l], by[l]) * down;
                const float r1 = reach * .5f, r2 = reach * .25f;
                const int32_t own = reach < at ? 0 : r1 < at ? 1 : r2 < at ? 2 : 3;
                e[l] = step[l] > 0 ? (own < last ? own : last) : 0;
            }
            for (unsigned i = 0; i < leaves; i++)
                for (unsigned l = 0; l < LANES; l++)
                    sub[u + i][l] |= e[l] << 2 * level;
        }
    }
}

// 2^e of the exponents of a sub-block.
INLINE float up_of(int32_t sub)
{
    return sq_float_of((uint32_t)(127 + (sub & 3) + (sub >> 2 & 3)) << 23);
}

// ---- elements -------------------------------------------------------------------------------

// The nearest value of a grid to the quotients of element i, and its code.
INLINE void nearest(const struct sq_bs_table *t, unsigned grid, enum sq_bs_shape shape,
                    const float q[LANES], float value[LANES], int32_t code[LANES])
{
    const struct sq_bs_sorted *s = &t->sorted[grid];
    const bool is_signed = t->is_signed[grid];
    const float unit = s->unit, most = s->value[s->n - 1];
    const int32_t mask = (1 << t->bits) - 1;
    float m[LANES];
    if (shape == SQ_BS_SHAPE_E2M1)
        for (unsigned l = 0; l < LANES; l++) {
            code[l] = sq_bs_code_of(SQ_ELEMENT_E2M1, q[l], false);
            value[l] = sq_bs_e2m1_value(code[l]);
        }
    if (shape == SQ_BS_SHAPE_INTEGERS)
        for (unsigned l = 0; l < LANES; l++) {
            const float near = rintf(q[l] / unit) * unit;
            value[l] = near > most ? most : near < -most ? -most : near;
            code[l] = (int32_t)(value[l] / unit) & mask;
        }
    if (shape != SQ_BS_SHAPE_ANY)
        return;
    int32_t at[LANES] = {0};
    const uint32_t magnitude = is_signed ? 0x7fffffffu : 0xffffffffu;
    for (unsigned l = 0; l < LANES; l++) {
        const uint32_t bits = sq_bits_of(q[l]) & magnitude;
        memcpy(&m[l], &bits, sizeof bits);
    }
    for (unsigned v = 0; v + 1 < s->n; v++) {
        const float above = s->above[v];
#pragma GCC unroll 1 // it becomes a vector, where it is not unrolled before
        for (unsigned l = 0; l < LANES; l++)
            at[l] += m[l] > above;
    }
#pragma GCC unroll 1
    for (unsigned l = 0; l < LANES; l++)
        value[l] = s->value[at[l]];
#pragma GCC unroll 1
    for (unsigned l = 0; l < LANES; l++)
        code[l] = s->code[at[l]];
    const uint32_t sign_of = is_signed ? UINT32_C(1) << 31 : 0;
    for (unsigned l = 0; l < LANES; l++) {
        const uint32_t sign = sq_bits_of(q[l]) & sign_of, bits = sq_bits_of(value[l]) ^ sign;
        memcpy(&value[l], &bits, sizeof bits);
        code[l] |= (int32_t)(sign >> (32 - t->bits));
    }
}

// Steps of the sub-block of element i, and its quotients.
INLINE void quotients(const struct sq_bs_table *t, enum how how, unsigned i,
                      const struct sq_bs_tile *tile, const float step[LANES], const float by[LANES],
                      int32_t sub[][LANES], float own[LANES], float q[LANES])
{
    for (unsigned l = 0; l < LANES; l++) {
        const float up = how == PLAIN ? 1 : up_of(sub[i / t->leaf][l]);
        own[l] = step[l] * up;
        q[l] = quotient(how, tile->x[i][l], own[l], by[l] / up);
    }
}

// The error of the tile by ascending index, in binary64.
INLINE void error_as(const struct sq_bs_table *t, enum how how, unsigned grid,
                     enum sq_bs_shape shape, const struct sq_bs_tile *tile, unsigned block,
                     const float step[LANES], const float by[LANES], int32_t sub[][LANES],
                     double error[LANES])
{
    const bool is_absolute = t->is_absolute;
    double sum[LANES] = {0};
    for (unsigned i = 0; i < block; i++) {
        float own[LANES], q[LANES], value[LANES];
        int32_t code[LANES];
        quotients(t, how, i, tile, step, by, sub, own, q);
        nearest(t, grid, shape, q, value, code);
        // Separate loops: each becomes vectors.
        float v[LANES];
        double e[LANES];
        for (unsigned l = 0; l < LANES; l++)
            v[l] = value[l] * own[l] + 0.0f; // of a step of 0: 0
        for (unsigned l = 0; l < LANES; l++)
            e[l] = (double)tile->x[i][l] - (double)v[l];
        for (unsigned l = 0; l < LANES; l++)
            e[l] = is_absolute ? fabs(e[l]) : e[l] * e[l];
        for (unsigned l = 0; l < LANES; l++)
            sum[l] += e[l];
    }
    memcpy(error, sum, sizeof sum);
}

INLINE void error_of(const struct sq_bs_table *t, enum how how, unsigned grid,
                     const struct sq_bs_tile *tile, unsigned block, const float step[LANES],
                     const float by[LANES], int32_t sub[][LANES], double error[LANES])
{
    const enum sq_bs_shape shape = t->sorted[grid].shape;
    if (shape == SQ_BS_SHAPE_E2M1)
        error_as(t, how, grid, SQ_BS_SHAPE_E2M1, tile, block, step, by, sub, error);
    else if (shape == SQ_BS_SHAPE_INTEGERS)
        error_as(t, how, grid, SQ_BS_SHAPE_INTEGERS, tile, block, step, by, sub, error);
    else
        error_as(t, how, grid, SQ_BS_SHAPE_ANY, tile, block, step, by, sub, error);
}

// The same in integers; the scale above the blocks is 2^above.
INLINE void integer_error_of(const struct sq_bs_table *t, unsigned grid,
                             const struct sq_bs_tile *tile, const int32_t scale[LANES],
                             int32_t above, double error[LANES])
{
    int32_t sum[LANES] = {0}, e[LANES], step[LANES];
    for (unsigned l = 0; l < LANES; l++) {
        e[l] = sq_bs_exponent_of(tile->amax[0][l]);
        step[l] = sq_bs_error_step(scale[l], e[l], above);
    }
    for (unsigned i = 0; i < t->length; i++) {
        int32_t q[LANES], least[LANES], sign[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            sign[l] = (int32_t)(sq_bits_of(tile->x[i][l]) >> 31);
            q[l] = sq_bs_error_units(tile->x[i][l], e[l]);
            least[l] = 2 * q[l];
        }
        for (unsigned v = 0; v < t->sorted[grid].n; v++) {
            const float value = t->sorted[grid].value[v];
            const int32_t halves = (int32_t)(2 * fabsf(value)), own = value < 0;
            for (unsigned l = 0; l < LANES; l++) {
                const int32_t near = sq_bs_error_nearer(least[l], q[l], halves, step[l]);
                least[l] = t->is_signed[grid] || own == sign[l] ? near : least[l];
            }
        }
        for (unsigned l = 0; l < LANES; l++)
            sum[l] += sq_bs_error_held(least[l]) * sq_bs_error_held(least[l]);
    }
    for (unsigned l = 0; l < LANES; l++)
        error[l] = sum[l];
}

// Codes of the blocks that have the grid.
INLINE void codes_as(const struct sq_bs_table *t, enum how how, unsigned grid,
                     enum sq_bs_shape shape, struct sq_bs_tile *tile, unsigned block,
                     const float by[LANES], const int32_t of[LANES])
{
    for (unsigned i = 0; i < block; i++) {
        float own[LANES], q[LANES], value[LANES];
        int32_t code[LANES];
        quotients(t, how, i, tile, tile->step[0], by, tile->sub, own, q);
        for (unsigned l = 0; l < LANES; l++)
            q[l] = own[l] > 0 ? q[l] : 0;
        nearest(t, grid, shape, q, value, code);
        for (unsigned l = 0; l < LANES; l++)
            tile->code[i][l] = of[l] == (int32_t)grid ? code[l] : tile->code[i][l];
    }
}

INLINE void codes_of(const struct sq_bs_table *t, enum how how, struct sq_bs_tile *tile,
                     unsigned block, const int32_t of[LANES])
{
    float by[LANES] = {0};
    reciprocals(how, tile->step[0], by);
    for (unsigned g = 0; g < t->n_grids; g++) {
        const enum sq_bs_shape shape = t->sorted[g].shape;
        if (shape == SQ_BS_SHAPE_E2M1)
            codes_as(t, how, g, SQ_BS_SHAPE_E2M1, tile, block, by, of);
        else if (shape == SQ_BS_SHAPE_INTEGERS)
            codes_as(t, how, g, SQ_BS_SHAPE_INTEGERS, tile, block, by, of);
        else
            codes_as(t, how, g, SQ_BS_SHAPE_ANY, tile, block, by, of);
    }
}

// ---- a tile ---------------------------------------------------------------------------------

INLINE void tile_as(const struct sq_bs_format *f, enum how how, struct sq_bs_tile *tile,
                    unsigned block, const float *global)
{
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    const unsigned near = 1 + t->below + t->above;
    const int32_t last = sq_bs_scale_last(t->scale);
    const bool is_chosen = t->n_tries * near > 1;
    int32_t grid[LANES] = {0}, sub[SQ_BS_SUBS][LANES];
    double least[LANES];
    sq_bs_tile_amax(tile, block, false);
    for (unsigned l = 0; l < LANES; l++)
        least[l] = (double)INFINITY;
    for (unsigned i = 0; i < t->n_tries; i++) {
        int32_t first[LANES];
        first_codes(t, i, tile, global[0], first);
        for (unsigned j = 0; j < near; j++) {
            const int32_t to = (int32_t)j - 1 - (int32_t)t->below, near_by = j ? to + (to >= 0) : 0;
            const unsigned g = t->tries[i].grid;
            int32_t code[LANES];
            float step[LANES], by[LANES] = {0};
            double error[LANES] = {0};
            for (unsigned l = 0; l < LANES; l++) {
                const int32_t c = first[l] + near_by;
                code[l] = c < 0 ? 0 : c > last ? last : c;
                step[l] = sq_bs_scale_value(t->scale, code[l]) *
                          (t->scale == SQ_BS_SCALE_E8M0 ? 1 : global[0]);
            }
            reciprocals(how, step, by);
            if (how != PLAIN)
                exponents(t, how, tile, step, by, sub);
            if (is_chosen && f->is_error_integer)
                integer_error_of(t, g, tile, code, ilogbf(global[0]), error);
            else if (is_chosen)
                error_of(t, how, g, tile, block, step, by, sub, error);
            int32_t is_less[LANES];
            for (unsigned l = 0; l < LANES; l++) {
                is_less[l] = error[l] < least[l] || i + j == 0;
                least[l] = is_less[l] ? error[l] : least[l];
                grid[l] = is_less[l] ? (int32_t)g : grid[l];
                tile->scale[0][l] = is_less[l] ? code[l] : tile->scale[0][l];
                tile->step[0][l] = is_less[l] ? step[l] : tile->step[0][l];
            }
            for (unsigned u = 0; how != PLAIN && u < t->length / t->leaf; u++)
                for (unsigned l = 0; l < LANES; l++)
                    tile->sub[u][l] = is_less[l] ? sub[u][l] : tile->sub[u][l];
        }
    }
    // A block of zeros has the first code of all.
    for (unsigned l = 0; l < LANES; l++) {
        const bool is_zero = !(tile->amax[0][l] > 0);
        tile->scale[0][l] = is_zero ? 0 : tile->scale[0][l];
        grid[l] = is_zero ? (int32_t)t->tries[0].grid : grid[l];
    }
    for (unsigned u = 0; how != PLAIN && u < t->length / t->leaf; u++)
        for (unsigned l = 0; l < LANES; l++)
            tile->sub[u][l] = tile->amax[0][l] > 0 ? tile->sub[u][l] : 0;
    codes_of(t, how, tile, block, grid);
    for (unsigned l = 0; t->is_sign_grid && l < LANES; l++)
        tile->scale[0][l] |= grid[l] ? SQ_BS_SCALE_SIGN : 0;
    for (unsigned u = 0; !t->is_sign_grid && t->sub_bits && u < t->length / t->leaf; u++)
        for (unsigned l = 0; l < LANES; l++)
            tile->sub[u][l] = (how != PLAIN ? tile->sub[u][l] : 0) | grid[l] << 4;
}

INLINE void table_tile(const struct sq_bs_format *f, struct sq_bs_tile *tile, unsigned block,
                       const float *global)
{
    if (sq_bs_table_of(f)->is_reciprocal)
        tile_as(f, RECIPROCAL, tile, block, global);
    else if (sq_bs_table_of(f)->n_levels > 0)
        tile_as(f, LEVELS, tile, block, global);
    else
        tile_as(f, PLAIN, tile, block, global);
}

// ---- products -------------------------------------------------------------------------------

// The integers of a row, code by code.
INLINE void integers(const struct sq_bs *c, size_t row, int16_t *x)
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    const size_t block = c->f.block, blocks = c->k / block, subs = sq_bs_n_subs(&c->f);
    const uint8_t *code = c->code + row * c->k;
    for (size_t j = row * blocks; j < (row + 1) * blocks; j++)
        for (size_t i = 0; i < block; i += t->leaf, code += t->leaf, x += t->leaf) {
            const uint8_t sub = subs ? c->sub[j * subs + i / t->leaf] : 0;
            const int16_t *const value = t->value[sq_bs_grid_of(t, c->scale[0][j], sub)];
            for (size_t e = 0; e < t->leaf; e++)
                x[e] = (int16_t)(value[code[e]] * (1 << sq_bs_sub_exponent(sub)));
        }
}

SQ_BS_TILES(table_tile)
SQ_BS_SCALED_AT(integers, portable, )
SQ_BS_SCALED_AT(integers, avx2, SQ_BS_AVX2_TARGET)

#if defined(__x86_64__)
// The same, 32 codes at a time: the table of a grid is one vector.
SQ_BS_AVX512_TARGET static void integers_avx512(const struct sq_bs *c, size_t row, int16_t *x)
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    const size_t block = c->f.block, blocks = c->k / block;
    const uint8_t *code = c->code + row * c->k;
    if (t->sub_bits || block < 16) {
        integers(c, row, x);
        return;
    }
    for (size_t j = row * blocks; j < (row + 1) * blocks; j++) {
        const __m512i value = _mm512_loadu_si512(t->value[sq_bs_grid_of(t, c->scale[0][j], 0)]);
        for (size_t i = 0; i < block; i += 16, code += 16, x += 16) {
            const __m256i at = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)code));
            const __m512i all = _mm512_permutexvar_epi16(_mm512_castsi256_si512(at), value);
            _mm256_storeu_si256((void *)x, _mm512_castsi512_si256(all));
        }
    }
}
#else
#define integers_avx512 integers_avx2
#endif

const struct sq_bs_loops sq_bs_table_loops[SQ_BS_LEVELS] = {
    {table_tile_portable, NULL, integers_portable},
    {table_tile_avx2, NULL, integers_avx2},
    {table_tile_avx512, NULL, integers_avx512}};
