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

float sq_bs_bfloat16(double x)
{
    int e;
    (void)frexp(x, &e);
    const int last = e - 8 > -133 ? e - 8 : -133; // the exponent of the last bit
    return (float)ldexp(rint(ldexp(x, -last)), last);
}

float sq_bs_reciprocal(float step)
{
    return sq_bs_bfloat16(1 / (double)step);
}

// The loops over rows decide, here of a row of one block.
static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    uint8_t code[SQ_BS_BLOCK_MAX], scale[sizeof *b->scale], sub[SQ_BS_SUBS];
    uint8_t dropped[SQ_BS_BLOCK_MAX];
    struct sq_bs c = {.f = *f,
                      .n = 1,
                      .k = f->block,
                      .k_orig = n,
                      .code = code,
                      .sub = sq_bs_sub_bits(f) > 0 ? sub : NULL,
                      .scale = {scale}};
    for (size_t i = 0; t->keep_m && i < f->block; i += t->keep_m) {
        float group[SQ_BS_TABLE_KEEP] = {0};
        for (size_t e = i; e < n && e < i + t->keep_m; e++)
            group[e - i] = x[e];
        sq_bs_dropped(t, group, 1, b->is_high + i);
    }
    if (amax[0] == 0)
        return;
    sq_bs_table_loops[sq_bs_level()].tile(&c, 0, 0, 1, x, global);
    memcpy(dropped, b->is_high, sizeof dropped);
    sq_bs_get_block(&c, 0, 0, b);
    memcpy(b->is_high, dropped, sizeof dropped);
}

// ---- elements -------------------------------------------------------------------------------

static unsigned leaf_of(const struct sq_bs_table *t, size_t i)
{
    return (unsigned)i / t->leaf;
}

// The exponent of the sub-block of element i.
static int exponent_of(const struct sq_bs_table *t, const struct sq_bs_block *b, size_t i)
{
    return t->n_levels > 0 ? (int)sq_bs_sub_exponent(b->sub[leaf_of(t, i)]) : 0;
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    const unsigned grid = sq_bs_grid_of(t, b->scale[0], sub);
    const struct sq_bs_sorted *s = &t->sorted[grid];
    const float step = ldexpf(sq_bs_step_at(t, b->sub, i, b->step[0]), exponent_of(t, b, i));
    const float own = step == 0 || b->is_high[i]  ? 0
                      : t->is_reciprocal          ? sq_bs_product_odd(x, sq_bs_reciprocal(step))
                      : t->n_levels > 0           ? x / step
                      : t->zero == SQ_BS_ZERO_INT ? q + (float)sq_bs_zero_of(t, b->sub)
                      : t->zero ? (x - sq_bs_offset_at(t, b->sub, i, b->offset)) / step
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
    const int32_t z = sq_bs_zero_of(t, b->sub) * (1 << t->fraction);
    const int32_t v = t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code] - z;
    return ldexpf((float)v, exponent_of(t, b, i) - (int)t->fraction);
}

static bool is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    const struct sq_bs_table *t = sq_bs_table_of(f);
    const uint8_t sub = b->sub[leaf_of(t, i)];
    return c.code < 1u << t->bits &&
           t->value[sq_bs_grid_of(t, b->scale[0], sub)][c.code] != SQ_BS_NO_VALUE;
}

static float scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    (void)part;
    return sq_bs_scale_decode(sq_bs_table_of(f)->scale,
                              sq_bs_table_of(f)->is_sign_grid ? code & 0x7fu : code);
}

static bool is_scale(const struct sq_bs_format *f, unsigned part, uint32_t code)
{
    return !isnan(scale(f, part, code));
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
