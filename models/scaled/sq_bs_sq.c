// SPDX-License-Identifier: Apache-2.0
// Block-scaled SQ (SPEC Q.5): the k largest elements of a block have 8 bits. SQ gives them a code
// and a scale of their own; SPLIT adds a nibble to the code that all have, at one step.
#include <math.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

enum { CANDIDATES = 5, SPLIT_MIN = -136, SPLIT_MAX = 119 };

static enum sq_status check_high(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->high_per_block < 1 || f->high_per_block > f->block / 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "high-per-bank = %u, need 1..%u", f->high_per_block,
                       f->block / 2);
    return SQ_OK;
}

// ---- SQ -------------------------------------------------------------------------------------

static enum sq_status sq_check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->element != SQ_ELEMENT_INT4 && f->element != SQ_ELEMENT_E2M1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need int4 or e2m1",
                       sq_element_name(f->element));
    return check_high(f, err);
}

static void sq_limits(const struct sq_bs_format *f, float limit[SQ_BS_PARTS])
{
    limit[0] = SQ_E4M3_MAX * sq_bs_top(f, 0);
    limit[1] = (f->is_high_block ? SQ_E4M3_MAX : 1.0f) * sq_bs_top(f, 1);
}

static void sq_choose(const struct sq_bs_format *f, const float *x, size_t n,
                      const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                      struct sq_bs_block *b)
{
    (void)x, (void)n;
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        if (sq_bs_has_scale(f, p))
            b->scale[p] = sq_e4m3_encode(amax[p] / sq_bs_top(f, p) / global[p]);
}

static struct sq_bs_code sq_encode(const struct sq_bs_format *f, const struct sq_bs_block *b,
                                   size_t i, float x, float q)
{
    const enum sq_element e = b->is_high[i] ? sq_bs_high_element(f) : f->element;
    const uint8_t code = sq_bs_code_without_minus_zero(e, q);
    (void)x;
    return b->is_high[i] ? (struct sq_bs_code){0, code} : (struct sq_bs_code){code, 0};
}

static float sq_element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                        struct sq_bs_code c)
{
    return b->is_high[i] ? sq_element_decode(sq_bs_high_element(f), c.high)
                         : sq_element_decode(f->element, c.code);
}

static bool sq_is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                        struct sq_bs_code c)
{
    const enum sq_element e = sq_bs_high_element(f);
    if (!b->is_high[i])
        return sq_element_is_number(f->element, c.code);
    return sq_element_is_number(e, c.high) && (e != SQ_ELEMENT_E4M3 || c.high != 0x80);
}

INLINE void encode_two_floats(struct sq_bs_tile *t, unsigned block)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const bool is_high = t->is_high[i][l];
            const float step = is_high ? t->step[1][l] : t->step[0][l];
            const float q = sq_bs_quotient(t->x[i][l], step);
            const int32_t h = sq_bs_code_of(SQ_ELEMENT_E4M3, q, true);
            const int32_t c = sq_bs_code_of(SQ_ELEMENT_E2M1, q, true);
            t->high[i][l] = is_high && step > 0 ? h : 0;
            t->code[i][l] = !is_high && step > 0 ? c : 0;
        }
}

// INT4 and INT8: they differ in how far they reach.
INLINE void encode_two_integers(struct sq_bs_tile *t, unsigned block)
{
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const bool is_high = t->is_high[i][l];
            const float step = is_high ? t->step[1][l] : t->step[0][l];
            const int32_t c = sq_bs_integer_code(sq_bs_quotient(t->x[i][l], step),
                                                 is_high ? 127 : 7, is_high ? 0xff : 0xf);
            t->high[i][l] = is_high && step > 0 ? c : 0;
            t->code[i][l] = !is_high && step > 0 ? c : 0;
        }
}

INLINE void sq_tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                    const float *global)
{
    sq_bs_tile_amax(t, block, true);
    sq_bs_tile_scales(t, 0, sq_element_max(f->element), global[0]);
    if (f->is_high_block)
        sq_bs_tile_scales(t, 1, sq_element_max(sq_bs_high_element(f)), global[1]);
    for (unsigned l = 0; !f->is_high_block && l < LANES; l++)
        t->step[1][l] = global[1];
    if (f->element == SQ_ELEMENT_INT4)
        encode_two_integers(t, block);
    else
        encode_two_floats(t, block);
}

SQ_BS_LOOPS(sq_loops, sq_tile)

const struct sq_bs_kind sq_bs_sq = {
    .name = "sq",
    .has_two_parts = true,
    .marks = SQ_BS_SENTINEL,
    .high_bits = 8,
    .check = sq_check,
    .limits = sq_limits,
    .choose = sq_choose,
    .encode = sq_encode,
    .element = sq_element,
    .is_legal = sq_is_legal,
    .loops = sq_loops,
};

// ---- split codes ----------------------------------------------------------------------------

static enum sq_status split_check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->element != SQ_ELEMENT_INT4)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need int4 for split codes",
                       sq_element_name(f->element));
    return check_high(f, err);
}

static void split_limits(const struct sq_bs_format *f, float limit[SQ_BS_PARTS])
{
    limit[0] = SQ_E4M3_MAX * sq_bs_top(f, 0);
    limit[1] = SQ_E4M3_MAX * SPLIT_MAX;
}

// The step of a bank: the smallest at which nothing clips, t, or the best of five candidates: E4M3
// of t * (1, 15/16, 7/8, 13/16, 3/4), or five powers of two from above t downwards.
static void split_choose(const struct sq_bs_format *f, const float *x, size_t n,
                         const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                         struct sq_bs_block *b)
{
    uint8_t candidate[CANDIDATES];
    const float low = amax[0] / sq_bs_top(f, 0), high = amax[1] / (float)SPLIT_MAX;
    const float t = fmaxf(low, high);
    for (int i = 0; i < CANDIDATES; i++)
        candidate[i] = t == 0               ? 0
                       : f->is_power_of_two ? sq_e8m0_encode(sq_bs_ceil_exponent(t, 1) - i)
                                            : sq_e4m3_encode(t * (1 - (float)i / 16) / global[0]);
    sq_bs_least_error(f, x, n, global, candidate, f->is_by_maximum ? 1 : CANDIDATES, b);
}

// 16 H + L of x = q * step.
INLINE float split_code(float q, bool is_high)
{
    const float code = rintf(q), most = is_high ? SPLIT_MAX : 7, least = is_high ? SPLIT_MIN : -7;
    return code > most ? most : code < least ? least : code;
}

// L and H of a code.
INLINE int32_t lower(int32_t code)
{
    return ((code & 15) ^ 8) - 8;
}

INLINE int32_t upper(int32_t code)
{
    return (code - lower(code)) / 16; // exact
}

static struct sq_bs_code split_encode(const struct sq_bs_format *f, const struct sq_bs_block *b,
                                      size_t i, float x, float q)
{
    const int32_t code = (int32_t)split_code(q, b->is_high[i]);
    (void)f, (void)x;
    return (struct sq_bs_code){(uint8_t)(code & 15),
                               (uint8_t)(b->is_high[i] ? upper(code) & 15 : 0)};
}

static float split_element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                           struct sq_bs_code c)
{
    const float low = sq_element_decode(f->element, c.code);
    return b->is_high[i] ? 16 * sq_element_decode(f->element, c.high) + low : low;
}

static bool split_is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                           struct sq_bs_code c)
{
    return b->is_high[i] || sq_element_is_number(f->element, c.code);
}

INLINE float split_tile_element(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return split_code(sq_bs_quotient(t->x[i][l], step), t->is_high[i][l]);
}

// The exponent of the smallest power of two >= x > 0.
static int ceil_exponent(float x)
{
    int e;
    return frexpf(x, &e) > 0.5f ? e : e - 1;
}

INLINE void split_scales(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                         float global)
{
    struct sq_bs_least best;
    for (unsigned i = 0; i < (f->is_by_maximum ? 1 : CANDIDATES); i++) {
        int32_t scale[LANES];
        float step[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            const float low = t->amax[0][l] / 7, high = t->amax[1][l] / (float)SPLIT_MAX;
            const float most = low > high ? low : high;
            const float sixteenths = 1 - (float)i / 16;
            if (f->is_power_of_two) {
                scale[l] = most > 0 ? sq_e8m0_encode(ceil_exponent(most) - (int)i) : 0;
                step[l] = sq_bs_e8m0_value(scale[l]);
            } else {
                scale[l] = most > 0 ? sq_bs_e4m3_code(most * sixteenths / global) : 0;
                step[l] = sq_bs_e4m3_value(scale[l]) * global;
            }
        }
        sq_bs_least_start(&best, i, scale, step);
        if (!f->is_by_maximum)
            sq_bs_least_try(t, block, split_tile_element, scale, step, &best);
    }
    sq_bs_least_take(t, &best);
}

INLINE void split_tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                       const float *global)
{
    sq_bs_tile_amax(t, block, true);
    split_scales(f, t, block, global[0]);
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float step = t->step[0][l];
            const int32_t c = step > 0 ? (int32_t)split_tile_element(t, i, l, step) : 0;
            t->code[i][l] = c & 15;
            t->high[i][l] = t->is_high[i][l] ? upper(c) & 15 : 0;
        }
}

INLINE void split_marked(const uint8_t *code, const uint8_t *high, const uint8_t *is_high, size_t n,
                         int16_t *x)
{
    (void)code;
    for (size_t i = 0; i < n; i++)
        x[i] = (int16_t)(x[i] + (is_high[i] ? 16 * lower(high[i]) : 0));
}

SQ_BS_LOOPS_MARKED(split_loops, split_tile, split_marked)

const struct sq_bs_kind sq_bs_split = {
    .name = "split",
    .marks = SQ_BS_MASKED,
    .high_bits = 4,
    .offset = -128 - SPLIT_MIN,
    .check = split_check,
    .limits = split_limits,
    .choose = split_choose,
    .encode = split_encode,
    .element = split_element,
    .is_legal = split_is_legal,
    .most = -SPLIT_MIN,
    .loops = split_loops,
};
