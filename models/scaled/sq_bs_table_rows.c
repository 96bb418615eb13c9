// SPDX-License-Identifier: Apache-2.0
// Rows of formats that a table describes (sq_bs_table.h): 16 blocks beside each other, with the results of
// sq_bs_table.c; and the integers of a row, as products take them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"
#include "models/scaled/sq_bs_tile.h"

// ---- scales ---------------------------------------------------------------------------------

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// What the rule divides, of one block.
static float statistic_of(const struct sq_bs_table *t, const float *x)
{
    float m[SQ_BS_BLOCK_MAX];
    double sum = 0;
    for (unsigned i = 0; i < t->length; i++) {
        m[i] = fabsf(x[i]);
        sum += t->statistic == SQ_BS_MEAN ? (double)m[i] : (double)x[i] * (double)x[i];
    }
    if (t->statistic == SQ_BS_PERCENTILE) {
        qsort(m, t->length, sizeof *m, ascending);
        return m[(unsigned)ceil((double)t->percentile * t->length / 100) - 1];
    }
    return (float)(t->statistic == SQ_BS_L2     ? sqrt(sum)
                   : t->statistic == SQ_BS_MEAN ? sum / t->length
                                                : sqrt(sum / t->length));
}

// The same of all blocks, and their smallest elements.
INLINE void statistics(const struct sq_bs_table *t, const struct sq_bs_tile *tile, unsigned block,
                       float to[LANES], float lowest[LANES])
{
    float low[LANES], high[LANES];
    if (t->statistic == SQ_BS_AMAX || t->statistic == SQ_BS_LEAST_SQUARES)
        return;
    for (unsigned l = 0; t->statistic > SQ_BS_RANGE && l < LANES; l++) {
        float x[SQ_BS_BLOCK_MAX];
        for (unsigned i = 0; i < block; i++)
            x[i] = tile->x[i][l];
        to[l] = statistic_of(t, x);
    }
    if (t->statistic > SQ_BS_RANGE)
        return;
    for (unsigned l = 0; l < LANES; l++)
        low[l] = high[l] = t->zero == SQ_BS_ZERO_INT ? 0 : tile->x[0][l];
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            low[l] = tile->x[i][l] < low[l] ? tile->x[i][l] : low[l];
            high[l] = tile->x[i][l] > high[l] ? tile->x[i][l] : high[l];
        }
    for (unsigned l = 0; l < LANES; l++) {
        lowest[l] = low[l];
        to[l] = t->statistic == SQ_BS_RANGE ? high[l] - low[l]
                : high[l] >= -low[l]        ? high[l]
                                            : low[l];
    }
}

// The code of a scale of any type but E8M0, and its value times what is above it.
INLINE void scale_codes(enum sq_bs_scale_type type, const float x[LANES], int32_t code[LANES])
{
    for (unsigned l = 0; sq_bs_scale_is_float(type) && l < LANES; l++)
        code[l] = (int32_t)sq_bs_float_code(type, x[l]);
    for (unsigned l = 0; !sq_bs_scale_is_float(type) && l < LANES; l++)
        code[l] = sq_bs_scale_code(type, x[l]);
}

INLINE void steps_of(enum sq_bs_scale_type type, const int32_t code[LANES], float global,
                     float step[LANES])
{
    for (unsigned l = 0; sq_bs_scale_is_float(type) && l < LANES; l++)
        step[l] = sq_bs_float_value(type, (uint32_t)code[l]);
    for (unsigned l = 0; !sq_bs_scale_is_float(type) && l < LANES; l++)
        step[l] = sq_bs_scale_value(type, code[l]) * (type == SQ_BS_SCALE_E8M0 ? 1 : global);
}

// Codes of the scales of all blocks for try i, of x: what the rule divides.
INLINE void first_codes(const struct sq_bs_table *t, unsigned i, const struct sq_bs_tile *tile,
                        const float x[LANES], float global, int32_t code[LANES])
{
    const float divisor = t->tries[i].divisor;
    const uint32_t bits = sq_bits_of(divisor), fraction = (UINT32_C(1) << 23) - 1;
    const bool is_ceiling = t->rule == SQ_BS_CEILING;
    const uint32_t half = t->rule == SQ_BS_EVEN ? UINT32_C(1) << (22 - sq_bs_binade_bits(t, i)) : 0;
    const int32_t less = (int32_t)(bits >> 23) - SQ_E8M0_BIAS;
    if (t->is_reciprocal) {
        for (unsigned l = 0; l < LANES; l++)
            code[l] = (int32_t)sq_bs_scale_encode(
                t->scale, sq_bs_bfloat16((double)x[l] * (double)sq_bs_reciprocal(divisor)));
        return;
    }
    if (t->scale != SQ_BS_SCALE_E8M0) {
        float q[LANES];
        for (unsigned l = 0; l < LANES; l++)
            q[l] = x[l] / divisor / global;
        scale_codes(t->scale, q, code);
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

// How quotients are made: one block at one step; with exponents of sub-blocks; with reciprocals too; with
// zero points; with another rule than amax.
enum how { PLAIN, LEVELS, RECIPROCAL, ZERO, RULE };

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
    for (unsigned i = 0; i < sq_bs_leaves(t); i++)
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
    if (shape == SQ_BS_SHAPE_WHOLE) {
        const float least = s->value[0], odd = s->above[s->odd];
        const float below = s->value[s->odd], above = below + unit;
        for (unsigned l = 0; l < LANES; l++) {
            const float near = rintf(q[l] / unit) * unit;
            const float v = q[l] > odd     ? (near > above ? near : above)
                            : near < below ? near
                                           : below;
            value[l] = v > most ? most : v < least ? least : v;
            code[l] = ((int32_t)(value[l] / unit) + s->shift) & mask;
        }
    }
    if (shape != SQ_BS_SHAPE_ANY)
        return;
    int32_t at[LANES] = {0};
    const uint32_t magnitude = is_signed ? 0x7fffffffu : 0xffffffffu;
    for (unsigned l = 0; l < LANES; l++) {
        const uint32_t bits = sq_bits_of(q[l]) & magnitude;
        memcpy(&m[l], &bits, sizeof bits);
    }
    for (unsigned half = SQ_BS_TABLE_CODES / 2; s->n > 32 && half > 0; half /= 2)
#pragma GCC unroll 1
        for (unsigned l = 0; l < LANES; l++)
            at[l] += m[l] > s->above[at[l] + (int32_t)half - 1] ? (int32_t)half : 0;
    for (unsigned v = 0; v + 1 < s->n && s->n <= 32; v++) {
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
        const float up =
            how == PLAIN || how == ZERO || how == RULE ? 1 : up_of(sub[i / t->leaf][l]);
        own[l] = step[l] * up;
        q[l] = how == ZERO ? sq_bs_quotient(tile->x[i][l] - tile->offset[l], own[l]) + tile->zero[l]
                           : quotient(how, tile->x[i][l], own[l], by[l] / up);
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

// f for the shape of a grid; what is rarely asked for takes every grid as any.
#define BY_SHAPE(f, t, how, grid, ...)                                                             \
    do {                                                                                           \
        const enum sq_bs_shape shape_ = (t)->sorted[grid].shape;                                   \
        if ((how) == PLAIN && shape_ == SQ_BS_SHAPE_E2M1)                                          \
            f(t, how, grid, SQ_BS_SHAPE_E2M1, __VA_ARGS__);                                        \
        else if ((how) == PLAIN && shape_ == SQ_BS_SHAPE_INTEGERS)                                 \
            f(t, how, grid, SQ_BS_SHAPE_INTEGERS, __VA_ARGS__);                                    \
        else if ((how) != LEVELS && (how) != RECIPROCAL && shape_ == SQ_BS_SHAPE_WHOLE)            \
            f(t, how, grid, SQ_BS_SHAPE_WHOLE, __VA_ARGS__);                                       \
        else                                                                                       \
            f(t, how, grid, SQ_BS_SHAPE_ANY, __VA_ARGS__);                                         \
    } while (0)

// What the rule least_squares divides by what is above: sum(x v) / sum(v v); 0 without any v.
INLINE void fit_as(const struct sq_bs_table *t, enum how how, unsigned grid, enum sq_bs_shape shape,
                   const struct sq_bs_tile *tile, unsigned block, const float step[LANES],
                   float fit[LANES])
{
    double product[LANES] = {0}, square[LANES] = {0};
    (void)how;
    for (unsigned i = 0; i < block; i++) {
        float q[LANES], value[LANES];
        int32_t code[LANES];
        for (unsigned l = 0; l < LANES; l++)
            q[l] = sq_bs_quotient(tile->x[i][l], step[l]);
        nearest(t, grid, shape, q, value, code);
        for (unsigned l = 0; l < LANES; l++) {
            product[l] += (double)tile->x[i][l] * (double)value[l];
            square[l] += (double)value[l] * (double)value[l];
        }
    }
    for (unsigned l = 0; l < LANES; l++)
        fit[l] = step[l] != 0 && square[l] > 0 ? (float)(product[l] / square[l]) : 0;
}

INLINE void fit_codes(const struct sq_bs_table *t, unsigned grid, const struct sq_bs_tile *tile,
                      unsigned block, float global, int32_t code[LANES])
{
    for (unsigned i = 0; i < SQ_BS_FITS; i++) {
        float step[LANES], fit[LANES];
        int32_t next[LANES];
        steps_of(t->scale, code, global, step);
        BY_SHAPE(fit_as, t, RULE, grid, tile, block, step, fit);
        for (unsigned l = 0; l < LANES; l++)
            step[l] = fit[l] / global;
        scale_codes(t->scale, step, next);
        for (unsigned l = 0; l < LANES; l++)
            code[l] = fit[l] > 0 ? next[l] : code[l];
    }
}

// Zero points of the blocks whose smallest elements are lowest[].
INLINE void zeros_of(const struct sq_bs_table *t, const float step[LANES],
                     const float lowest[LANES], struct sq_bs_tile *tile)
{
    const float last = (float)((1 << t->zero_bits) - 1);
    const unsigned at = sq_bs_zero_at(t);
    for (unsigned l = 0; l < LANES; l++) {
        const float by = step[l] != 0 ? -lowest[l] / step[l] : 0, near = rintf(by);
        const float z = near < 0 ? 0 : near > last ? last : near;
        const uint32_t half =
            sq_bs_float_code(SQ_BS_SCALE_F16, (t->zero == SQ_BS_ZERO_F16 ? by : lowest[l]) + 0.0f);
        const float v = sq_bs_float_value(SQ_BS_SCALE_F16, half);
        const int32_t code = t->zero == SQ_BS_ZERO_INT ? (int32_t)z : (int32_t)half;
        tile->zero[l] = t->zero == SQ_BS_ZERO_INT ? z : 0;
        tile->offset[l] = t->zero == SQ_BS_ZERO_INT   ? 0
                          : t->zero == SQ_BS_ZERO_F16 ? -(v * step[l])
                                                      : v;
        tile->sub[0][l] = 0; // there is one sub-block, the block
        tile->sub[at][l] = tile->amax[0][l] > 0 ? code & 0xff : 0;
        tile->sub[at + 1][l] = tile->amax[0][l] > 0 ? code >> 8 : 0;
    }
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
            q[l] = own[l] != 0 ? q[l] : 0;
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
    for (unsigned g = 0; g < t->n_grids; g++)
        BY_SHAPE(codes_as, t, how, g, tile, block, by, of);
}

// ---- a tile ---------------------------------------------------------------------------------

INLINE void tile_as(const struct sq_bs_format *f, enum how how, struct sq_bs_tile *tile,
                    unsigned block, const float *global)
{
    const struct sq_bs_table *const t = sq_bs_table_of(f);
    const unsigned near = 1 + t->below + t->above;
    const int32_t last = (int32_t)sq_bs_scale_last(t->scale);
    const bool has_levels = how == LEVELS || how == RECIPROCAL;
    const bool is_chosen = t->n_tries * near > 1;
    int32_t grid[LANES] = {0}, sub[SQ_BS_SUBS][LANES];
    double least[LANES];
    float divided[LANES], lowest[LANES];
    sq_bs_tile_amax(tile, block, false);
    memcpy(divided, tile->amax[0], sizeof divided);
    if (how != PLAIN && how != RECIPROCAL)
        statistics(t, tile, block, divided, lowest);
    for (unsigned l = 0; l < LANES; l++)
        least[l] = (double)INFINITY;
    for (unsigned i = 0; i < t->n_tries; i++) {
        int32_t first[LANES];
        first_codes(t, i, tile, divided, global[0], first);
        if (how == RULE && t->statistic == SQ_BS_LEAST_SQUARES)
            fit_codes(t, t->tries[i].grid, tile, block, global[0], first);
        for (unsigned j = 0; j < near; j++) {
            const int32_t to = (int32_t)j - 1 - (int32_t)t->below, near_by = j ? to + (to >= 0) : 0;
            const unsigned g = t->tries[i].grid;
            int32_t code[LANES];
            float step[LANES], by[LANES] = {0};
            double error[LANES] = {0};
            for (unsigned l = 0; l < LANES; l++) {
                const int32_t c = first[l] + near_by;
                code[l] = near == 1 ? c : c < 0 ? 0 : c > last ? last : c;
            }
            steps_of(t->scale, code, global[0], step);
            reciprocals(how, step, by);
            if (has_levels)
                exponents(t, how, tile, step, by, sub);
            if (is_chosen && f->is_error_integer)
                integer_error_of(t, g, tile, code, ilogbf(global[0]), error);
            else if (how != ZERO && is_chosen)
                BY_SHAPE(error_as, t, how, g, tile, block, step, by, sub, error);
            int32_t is_less[LANES];
            for (unsigned l = 0; l < LANES; l++) {
                is_less[l] = error[l] < least[l] || i + j == 0;
                least[l] = is_less[l] ? error[l] : least[l];
                grid[l] = is_less[l] ? (int32_t)g : grid[l];
                tile->scale[0][l] = is_less[l] ? code[l] : tile->scale[0][l];
                tile->step[0][l] = is_less[l] ? step[l] : tile->step[0][l];
            }
            for (unsigned u = 0; has_levels && u < sq_bs_leaves(t); u++)
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
    for (unsigned u = 0; has_levels && u < sq_bs_leaves(t); u++)
        for (unsigned l = 0; l < LANES; l++)
            tile->sub[u][l] = tile->amax[0][l] > 0 ? tile->sub[u][l] : 0;
    if (how == ZERO)
        zeros_of(t, tile->step[0], lowest, tile);
    codes_of(t, how, tile, block, grid);
    for (unsigned l = 0; t->is_sign_grid && l < LANES; l++)
        tile->scale[0][l] |= grid[l] ? SQ_BS_SCALE_SIGN : 0;
    for (unsigned u = 0; how != ZERO && !t->is_sign_grid && t->sub_bits && u < sq_bs_leaves(t); u++)
        for (unsigned l = 0; l < LANES; l++)
            tile->sub[u][l] = (has_levels ? tile->sub[u][l] : 0) | grid[l] << 4;
}

// Nearest integers to x / step from 0, or from the lowest of as many bits, to `last`.
INLINE void integer_codes(const float x[LANES], const float step[LANES], bool is_signed,
                          int32_t last, int32_t code[LANES])
{
    for (unsigned l = 0; l < LANES; l++) {
        const float q = step[l] != 0 ? rintf(x[l] / step[l]) : 0;
        const float least = is_signed ? (float)(-last - 1) : 0;
        code[l] = (int32_t)(q > (float)last ? (float)last : q < least ? least : q);
    }
}

// The largest of all, over `last`, as a scale of that type: its code, and its value.
INLINE void above_integers(enum sq_bs_scale_type type, float x[][LANES], unsigned n, int32_t last,
                           int32_t code[LANES], float step[LANES])
{
    float most[LANES] = {0};
    for (unsigned u = 0; u < n; u++)
        for (unsigned l = 0; l < LANES; l++)
            most[l] = fabsf(x[u][l]) > most[l] ? fabsf(x[u][l]) : most[l];
    for (unsigned l = 0; l < LANES; l++)
        most[l] /= (float)last;
    scale_codes(type, most, code);
    steps_of(type, code, 1, step);
}

// What the rule makes of each sub-block, and how far its elements reach below 0.
INLINE void sub_scales(const struct sq_bs_table *t, const struct sq_bs_tile *tile,
                       float to[][LANES], float below[][LANES])
{
    for (unsigned u = 0; u < sq_bs_leaves(t); u++)
        for (unsigned l = 0; l < LANES; l++) {
            float low = t->zero ? 0 : tile->x[u * t->leaf][l], high = low;
            for (unsigned i = u * t->leaf; i < (u + 1) * t->leaf; i++) {
                low = tile->x[i][l] < low ? tile->x[i][l] : low;
                high = tile->x[i][l] > high ? tile->x[i][l] : high;
            }
            const float far = high >= -low ? high : low;
            const float of = t->zero ? high - low : t->statistic == SQ_BS_AMAX ? fabsf(far) : far;
            to[u][l] = of / t->tries[0].divisor;
            below[u][l] = t->zero ? 0 - low : 0;
        }
}

// Sub-blocks with integers that multiply the step of their block.
INLINE void integers_tile(const struct sq_bs_table *t, struct sq_bs_tile *tile)
{
    const unsigned leaves = sq_bs_leaves(t);
    const bool is_signed = t->sub_scale.is_signed;
    const int32_t mask = (1 << t->sub_scale.bits) - 1, last = is_signed ? mask >> 1 : mask;
    float wanted[SQ_BS_TABLE_SUBS][LANES], below[SQ_BS_TABLE_SUBS][LANES], least[LANES];
    int32_t half[LANES], integer[LANES];
    sub_scales(t, tile, wanted, below);
    above_integers(t->scale, wanted, leaves, last, tile->scale[0], tile->step[0]);
    above_integers(SQ_BS_SCALE_F16, below, leaves, last, half, least);
    for (unsigned u = 0; u < leaves; u++) {
        float own[LANES], less[LANES];
        integer_codes(wanted[u], tile->step[0], is_signed, last, integer);
        for (unsigned l = 0; l < LANES; l++) {
            tile->sub[u][l] = integer[l] & mask;
            own[l] = (float)integer[l] * tile->step[0][l];
        }
        integer_codes(below[u], least, false, last, integer);
        for (unsigned l = 0; l < LANES; l++) {
            less[l] = (float)integer[l] * least[l];
            if (t->zero)
                tile->sub[leaves + u][l] = integer[l];
        }
        for (unsigned i = u * t->leaf; i < (u + 1) * t->leaf; i++) {
            float q[LANES], value[LANES];
            for (unsigned l = 0; l < LANES; l++)
                q[l] = own[l] == 0 ? 0
                       : t->zero   ? (tile->x[i][l] + less[l]) / own[l]
                                   : tile->x[i][l] / own[l];
            nearest(t, 0, SQ_BS_SHAPE_ANY, q, value, tile->code[i]);
        }
    }
    const unsigned at = sq_bs_zero_at(t);
    for (unsigned l = 0; t->zero && l < LANES; l++) {
        tile->sub[at][l] = half[l] & 0xff;
        tile->sub[at + 1][l] = half[l] >> 8;
    }
}

INLINE bool is_plain(const struct sq_bs_table *t)
{
    return t->n_levels == 0 && !t->sub_scale.bits && !t->is_reciprocal &&
           t->statistic == SQ_BS_AMAX && !t->keep_m;
}

INLINE void plain_tile(const struct sq_bs_format *f, struct sq_bs_tile *tile, unsigned block,
                       const float *global)
{
    tile_as(f, PLAIN, tile, block, global);
}

// Elements that are not kept become 0.
INLINE void drop(const struct sq_bs_table *t, struct sq_bs_tile *tile)
{
    uint8_t is_dropped[SQ_BS_TABLE_KEEP];
    for (unsigned i = 0; t->keep_m && i < t->length; i += t->keep_m)
        for (unsigned l = 0; l < LANES; l++) {
            sq_bs_dropped(t, &tile->x[i][l], LANES, is_dropped);
            for (unsigned e = 0; e < t->keep_m; e++)
                tile->x[i + e][l] = is_dropped[e] ? 0 : tile->x[i + e][l];
        }
}

// What is rarely asked for: compiled once for all lengths of blocks.
INLINE void other_tile(const struct sq_bs_format *f, struct sq_bs_tile *tile, unsigned block,
                       const float *global)
{
    drop(sq_bs_table_of(f), tile);
    if (sq_bs_table_of(f)->sub_scale.bits)
        integers_tile(sq_bs_table_of(f), tile);
    else if (sq_bs_table_of(f)->is_reciprocal)
        tile_as(f, RECIPROCAL, tile, block, global);
    else if (sq_bs_table_of(f)->n_levels > 0)
        tile_as(f, LEVELS, tile, block, global);
    else if (sq_bs_table_of(f)->zero)
        tile_as(f, ZERO, tile, block, global);
    else
        tile_as(f, RULE, tile, block, global);
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
            const int32_t *const value =
                t->value[t->n_grids > 1 ? sq_bs_grid_of(t, c->scale[0][j], sub) : 0];
            const int32_t z = subs ? sq_bs_zero_of(t, c->sub + j * subs) * (1 << t->fraction) : 0;
            for (size_t e = 0; e < t->leaf; e++)
                x[e] = (int16_t)((value[code[e]] - z) * (1 << sq_bs_sub_exponent(sub)));
        }
    for (size_t i = c->k; (t->zero || t->lacks_zero) && i > c->k_orig;
         i--) // no value may be 0 there
        *--x = 0;
}

SQ_BS_TILES(plain_tile)
#define TABLE_TILE(level, target)                                                                  \
    target static void other_##level(struct sq_bs *c, size_t row, size_t j, size_t n,              \
                                     const float *x, const float *global)                          \
    {                                                                                              \
        sq_bs_tile_of_row(other_tile, sq_bs_tile_load, sq_bs_tile_store, c, row, j, n, c->f.block, \
                          x, global);                                                              \
    }                                                                                              \
    static void table_tile_##level(struct sq_bs *c, size_t row, size_t j, size_t n,                \
                                   const float *x, const float *global)                            \
    {                                                                                              \
        if (is_plain(sq_bs_table_of(&c->f)))                                                       \
            plain_tile_##level(c, row, j, n, x, global);                                           \
        else                                                                                       \
            other_##level(c, row, j, n, x, global);                                                \
    }
TABLE_TILE(portable, )
TABLE_TILE(avx2, SQ_LANES_AVX2)
TABLE_TILE(avx512, SQ_LANES_AVX512)
SQ_BS_SCALED_AT(integers, portable, )
SQ_BS_SCALED_AT(integers, avx2, SQ_LANES_AVX2)

#if defined(__x86_64__)
// The same, 32 codes at a time: the table of a grid is one vector.
SQ_LANES_AVX512 static void integers_avx512(const struct sq_bs *c, size_t row, int16_t *x)
{
    const struct sq_bs_table *const t = sq_bs_table_of(&c->f);
    const size_t block = c->f.block, blocks = c->k / block;
    const uint8_t *code = c->code + row * c->k;
    if (t->sub_bits || block < 16 || t->bits > 5 || t->lacks_zero) {
        integers(c, row, x);
        return;
    }
    for (size_t j = row * blocks; j < (row + 1) * blocks; j++) {
        const int32_t *const of =
            t->value[t->n_grids > 1 ? sq_bs_grid_of(t, c->scale[0][j], 0) : 0];
        const __m512i value = _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_loadu_si512(of))),
            _mm512_cvtepi32_epi16(_mm512_loadu_si512(of + 16)), 1);
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
