// SPDX-License-Identifier: Apache-2.0
// Formats that a table describes (SPEC Q.9), block by block: choice of scale, grid and exponents, codes and
// values; and the kinds that are such tables. sq_bs_table_rows.c has the same for rows.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_table.h"
#include "models/scaled/sq_bs_tile.h"

// ---- choice ---------------------------------------------------------------------------------

// The exponent of a scale of E8M0.
static int exponent_of(const struct sq_bs_table *t, unsigned i, float amax)
{
    const float divisor = t->tries[i].divisor;
    const int emax = sq_floor_log2(divisor);
    int e;
    if (t->rule == SQ_BS_CEILING)
        return sq_bs_ceil_exponent(amax, divisor);
    if (t->rule == SQ_BS_FLOOR)
        return sq_floor_log2(amax) - emax;
    const float mantissa = frexpf(amax, &e); // 1/2 .. 1
    const float up = (float)(2u << sq_bs_binade_bits(t, i));
    return (floorf(mantissa * up + 0.5f) >= up ? e : e - 1) - emax;
}

// The nearest bfloat16, ties to even.
static float bfloat16(double x)
{
    int e;
    (void)frexp(x, &e);
    const int last = e - 8 > -133 ? e - 8 : -133; // the exponent of the last bit
    return (float)ldexp(rint(ldexp(x, -last)), last);
}

float sq_bs_reciprocal(float step)
{
    return bfloat16(1 / (double)step);
}

uint8_t sq_bs_first_code(const struct sq_bs_table *t, unsigned i, float amax, float global)
{
    const float divisor = t->tries[i].divisor;
    if (t->scale == SQ_BS_SCALE_E8M0)
        return sq_e8m0_encode(exponent_of(t, i, amax));
    if (t->is_reciprocal)
        return sq_bs_scale_encode(t->scale,
                                  bfloat16((double)amax * (double)sq_bs_reciprocal(divisor)));
    return sq_bs_scale_encode(t->scale, amax / divisor / global);
}

// The exponents of the sub-blocks of a level into bits 2 * level of sub[].
static void set_exponents(const struct sq_bs_table *t, unsigned level, const float *x, size_t n,
                          float step, uint8_t *sub)
{
    const struct sq_bs_sub_level *l = &t->level[level];
    const size_t leaves = l->length / t->leaf;
    for (size_t first = 0; first < t->length; first += l->length, sub += leaves) {
        const size_t left = first < n ? n - first : 0;
        const float amax = sq_bs_amax(x + first, left < l->length ? left : l->length);
        const float own =
            t->is_reciprocal ? sq_bs_product_odd(amax, sq_bs_reciprocal(step)) : amax / step;
        const float reach = ldexpf(own, -(int)sq_bs_sub_exponent(*sub));
        unsigned e = 0;
        while (e < (1u << l->bits) - 1 && !(ldexpf(reach, -(int)e) < l->at))
            e++;
        for (size_t i = 0; i < leaves; i++)
            sub[i] |= (uint8_t)(e << 2 * level);
    }
}

// A candidate: what is stored beside the codes.
static void set_block(const struct sq_bs_format *f, const float *x, size_t n, unsigned grid,
                      uint8_t code, const float global[SQ_BS_PARTS], struct sq_bs_block *b)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    memset(b->sub, t->is_sign_grid ? 0 : (int)(grid << 4), sizeof b->sub);
    b->scale[0] = code | (uint8_t)(t->is_sign_grid && grid ? SQ_BS_SCALE_SIGN : 0);
    sq_bs_steps(f, global, b);
    for (unsigned i = 0; b->step[0] > 0 && i < t->n_levels; i++)
        set_exponents(t, i, x, n, b->step[0], b->sub);
}

// The error of an element in integers (SPEC Q.5d), |x| of q units: of the values with its sign.
static int32_t integer_error(const struct sq_bs_table *t, unsigned grid, int32_t q,
                             bool is_negative, int32_t step)
{
    const struct sq_bs_sorted *s = &t->sorted[grid];
    int32_t least = 2 * q;
    for (unsigned v = 0; v < s->n; v++)
        if (t->is_signed[grid] || (s->value[v] < 0) == is_negative)
            least = sq_bs_error_nearer(least, q, (int32_t)(2 * fabsf(s->value[v])), step);
    return sq_bs_error_held(least);
}

static double integer_error_of(const struct sq_bs_format *f, const float *x, size_t n,
                               unsigned grid, const float global[SQ_BS_PARTS], uint8_t scale)
{
    const int32_t e = sq_bs_exponent_of(sq_bs_amax(x, n));
    const int32_t step = sq_bs_error_step(scale, e, ilogbf(global[0]));
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t d =
            integer_error(sq_bs_table_of(f), grid, sq_bs_error_units(x[i], e), signbit(x[i]), step);
        sum += d * d;
    }
    return sum;
}

static double error_of(const struct sq_bs_format *f, const float *x, size_t n, unsigned grid,
                       const float global[SQ_BS_PARTS], const struct sq_bs_block *b)
{
    double sum = 0;
    if (f->is_error_integer)
        return integer_error_of(f, x, n, grid, global, b->scale[0]);
    for (size_t i = 0; i < n; i++) {
        const float value = sq_bs_value(f, b, i, sq_bs_encode(f, b, i, x[i]));
        const double e = (double)x[i] - (double)value;
        sum += sq_bs_table_of(f)->is_absolute ? fabs(e) : e * e;
    }
    return sum;
}

uint8_t sq_bs_near_code(const struct sq_bs_table *t, int code, unsigned i)
{
    const int last = sq_bs_scale_last(t->scale), below = (int)t->below;
    const int to = (int)i - 1 - below, c = i == 0 ? code : code + to + (to >= 0);
    return (uint8_t)(c < 0 ? 0 : c > last ? last : c);
}

static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const unsigned near = 1 + t->below + t->above;
    double least = INFINITY;
    if (amax[0] == 0)
        return;
    for (unsigned i = 0; i < t->n_tries; i++) {
        const uint8_t code = sq_bs_first_code(t, i, amax[0], global[0]);
        for (unsigned j = 0; j < near; j++) {
            struct sq_bs_block one = *b;
            set_block(f, x, n, t->tries[i].grid, sq_bs_near_code(t, code, j), global, &one);
            const double e =
                t->n_tries * near > 1 ? error_of(f, x, n, t->tries[i].grid, global, &one) : 0;
            if (e < least || i + j == 0) {
                least = e;
                *b = one;
            }
        }
    }
}

// ---- elements -------------------------------------------------------------------------------

static unsigned leaf_of(const struct sq_bs_table *t, size_t i)
{
    return (unsigned)i / t->leaf;
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    const unsigned grid = sq_bs_grid_of(t, b->scale[0], sub);
    const struct sq_bs_sorted *s = &t->sorted[grid];
    const float step = ldexpf(b->step[0], (int)sq_bs_sub_exponent(sub));
    const float own = !(step > 0)        ? 0
                      : t->is_reciprocal ? sq_bs_product_odd(x, sq_bs_reciprocal(step))
                      : t->n_levels > 0  ? x / step
                                         : q;
    const float m = t->is_signed[grid] ? fabsf(own) : own;
    unsigned v = 0;
    while (v + 1 < s->n && m > s->above[v])
        v++;
    const unsigned sign = t->is_signed[grid] && signbit(own) ? 1u << (t->bits - 1) : 0;
    return (struct sq_bs_code){(uint8_t)(s->code[v] | sign), 0};
}

static float element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    const int v = t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code];
    return ldexpf((float)v, (int)sq_bs_sub_exponent(sub) - (int)t->fraction);
}

static bool is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    return c.code < 1u << t->bits &&
           t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code] != SQ_BS_NO_VALUE;
}

static float scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)part;
    return sq_bs_scale_decode(sq_bs_table_of(f)->scale,
                              sq_bs_table_of(f)->is_sign_grid ? code & 0x7fu : code);
}

static bool is_scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)part;
    return (sq_bs_table_of(f)->is_sign_grid ? code & 0x7fu : code) <=
           sq_bs_scale_last(sq_bs_table_of(f)->scale);
}

static void limits(const struct sq_bs_format *f, float limit[SQ_BS_PARTS])
{
    limit[0] = sq_bs_scale_max(sq_bs_table_of(f)->scale) * sq_bs_table_of(f)->tries[0].divisor;
}

static enum sq_status check(const struct sq_bs_format *f, struct sq_error *err)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    if (f->kind->table && f->element != SQ_ELEMENT_E2M1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need e2m1",
                       sq_element_name(f->element));
    if (!t || t->length != f->block)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "block = %u, need %u", f->block, t ? t->length : 0);
    return SQ_OK;
}

// ---- kinds ----------------------------------------------------------------------------------

#define E2M1_MAGNITUDES 0, 1, 2, 3, 4, 6, 8, 12 // in halves
#define RAZER_VALUES(fifth)                                                                        \
    {                                                                                              \
        E2M1_MAGNITUDES, fifth, -1, -2, -3, -4, -6, -8, -12                                        \
    }

static struct sq_bs_table
    // SPEC Q.3: the largest element is 6 or 4.
    four_six = {.name = "nvfp4_46",
                .bits = 4,
                .n_grids = 1,
                .grid_name = {"e2m1"},
                .fraction = 1,
                .value = {{E2M1_MAGNITUDES, 0, -1, -2, -3, -4, -6, -8, -12}},
                .is_signed = {true},
                .length = 16,
                .n_tries = 2,
                .tries = {{0, 6}, {0, 4}},
                .has_global = true},
    // Q.5c: E2M1 or INT4 by block.
    if4 = {.name = "if4",
           .bits = 4,
           .n_grids = 2,
           .grid_name = {"e2m1", "int4"},
           .fraction = 1,
           .value = {{E2M1_MAGNITUDES, 0, -1, -2, -3, -4, -6, -8, -12},
                     {0, 2, 4, 6, 8, 10, 12, 14, SQ_BS_NO_VALUE, -14, -12, -10, -8, -6, -4, -2}},
           .is_signed = {true, false},
           .length = 16,
           .n_tries = 2,
           .tries = {{0, 6}, {1, 7}},
           .is_sign_grid = true,
           .has_global = true},
    // Q.5c: the code of -0 is a fifth value, +5 or -5 by block.
    razer = {.name = "razer",
             .bits = 4,
             .n_grids = 2,
             .grid_name = {"plus", "minus"},
             .fraction = 1,
             .value = {RAZER_VALUES(10), RAZER_VALUES(-10)},
             .length = 16,
             .n_tries = 2,
             .tries = {{0, 6}, {1, 6}},
             .is_sign_grid = true,
             .has_global = true};

// Runs before main, so that no thread sees a table that is not settled.
__attribute__((constructor)) static void settle_own(void)
{
    struct sq_bs_table *const own[] = {&four_six, &if4, &razer};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (sq_bs_table_settle(own[i], NULL) != SQ_OK)
            abort();
}

#define KIND(name_, table_)                                                                        \
    {                                                                                              \
        .name = (name_), .table = (table_), .check = check, .limits = limits, .choose = choose,    \
        .encode = encode, .element = element, .is_legal = is_legal, .scale = scale,                \
        .is_scale = is_scale, .loops = sq_bs_table_loops,                                          \
    }
const struct sq_bs_kind sq_bs_four_six = KIND("four_six", &four_six), sq_bs_if4 = KIND("if4", &if4),
                        sq_bs_razer = KIND("razer", &razer), sq_bs_of_table = KIND("table", NULL);
