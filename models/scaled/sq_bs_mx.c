// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 at a power of two: MX (SPEC Q.2), and PLUS (Q.4), whose largest element has two more
// fraction bits.
#include <math.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

enum { PLUS_STEPS = 8 }; // of the largest element, 4.0 .. 7.5 in halves: 8 .. 15

static uint8_t scale_of(const struct sq_bs_format *f, float amax)
{
    if (amax == 0)
        return 0;
    return sq_e8m0_encode(f->rule == SQ_BS_CEIL
                              ? sq_bs_ceil_exponent(amax, sq_bs_top(f, 0))
                              : sq_floor_log2(amax) - sq_element_emax(f->element));
}

// Powers of two of a tile: the exponent of amax less that of the largest element, one more where
// CEIL finds amax above it.
INLINE void scales(const struct sq_bs_format *f, struct sq_bs_tile *t)
{
    const uint32_t fraction = (UINT32_C(1) << 23) - 1, top = sq_bits_of(sq_element_max(f->element));
    const bool is_ceil = f->rule == SQ_BS_CEIL;
    const int32_t less =
        is_ceil ? (int32_t)(top >> 23) - SQ_E8M0_BIAS : sq_element_emax(f->element);
    for (unsigned l = 0; l < LANES; l++) {
        const float amax = t->amax[0][l];
        const bool is_small = amax < 0x1p-100f; // it may be subnormal
        const uint32_t bits = sq_bits_of(is_small ? amax * 0x1p24f : amax);
        const int32_t more = is_ceil && (bits & fraction) > (top & fraction);
        const int32_t code = (int32_t)(bits >> 23) - (is_small ? 24 : 0) - less + more;
        const int32_t most = SQ_E8M0_NAN - 1, scale = code < 0 ? 0 : code > most ? most : code;
        t->scale[0][l] = scale;
        t->step[0][l] = sq_bs_e8m0_value(scale);
    }
}

// ---- MX -------------------------------------------------------------------------------------

static void mx_choose(const struct sq_bs_format *f, const float *x, size_t n,
                      const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                      struct sq_bs_block *b)
{
    (void)x, (void)n, (void)global;
    b->scale[0] = scale_of(f, amax[0]);
}

INLINE void mx_tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                    const float *global)
{
    (void)global;
    sq_bs_tile_amax(t, block, false);
    scales(f, t);
    sq_bs_tile_elements(f->element, t, block);
}

SQ_BS_LOOPS(mx_loops, mx_tile)

const struct sq_bs_kind sq_bs_mx = {
    .name = "mx",
    .is_e8m0 = true,
    .choose = mx_choose,
    .encode = sq_bs_plain_encode,
    .element = sq_bs_plain_element,
    .loops = mx_loops,
};

// ---- PLUS -----------------------------------------------------------------------------------

static void plus_choose(const struct sq_bs_format *f, const float *x, size_t n,
                        const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                        struct sq_bs_block *b)
{
    (void)global;
    b->scale[0] = scale_of(f, amax[0]);
    if (b->scale[0] > 0)
        sq_bs_mark(f, x, n, b->is_high);
}

// The largest element of a block, 4 <= |x| / step < 8: the sign, and three fraction bits of
// 1.xxx * 4.
static struct sq_bs_code plus_encode(const struct sq_bs_format *f, const struct sq_bs_block *b,
                                     size_t i, float x, float q)
{
    if (!b->is_high[i])
        return sq_bs_plain_encode(f, b, i, x, q);
    const float steps = rintf(fabsf(q) * 2);
    const unsigned m = steps > 2 * PLUS_STEPS - 1 ? PLUS_STEPS - 1
                       : steps < PLUS_STEPS       ? 0
                                                  : (unsigned)steps - PLUS_STEPS;
    return (struct sq_bs_code){(uint8_t)(m | (signbit(q) ? 8u : 0)), 0};
}

static float plus_element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                          struct sq_bs_code c)
{
    if (!b->is_high[i])
        return sq_bs_plain_element(f, b, i, c);
    const float m = 4 + 0.5f * (float)(c.code & 7u);
    return c.code & 8u ? -m : m;
}

INLINE void plus_tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                      const float *global)
{
    (void)global;
    sq_bs_tile_amax(t, block, false);
    scales(f, t);
    sq_bs_tile_codes(t, block, SQ_ELEMENT_E2M1);
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float q = sq_bs_quotient(t->x[i][l], t->step[0][l]), steps = rintf(fabsf(q) * 2);
            const int32_t m = steps > 15 ? 7 : steps < 8 ? 0 : (int32_t)steps - 8;
            const int32_t code = m | (sq_bits_of(q) >> 31 ? 8 : 0);
            // Not in a block of scale code 0: its mark is taken away later.
            const bool is_plus = (t->is_high[i][l] != 0) & (t->scale[0][l] > 0);
            t->code[i][l] = is_plus ? code : t->code[i][l];
        }
}

INLINE void plus_marked(const uint8_t *code, const uint8_t *high, const uint8_t *is_high, size_t n,
                        int16_t *x)
{
    (void)high;
    for (size_t i = 0; i < n; i++) {
        const int m = PLUS_STEPS + (code[i] & 7), v = code[i] & 8 ? -m : m;
        x[i] = is_high[i] ? (int16_t)v : x[i];
    }
}

SQ_BS_LOOPS_MARKED(plus_loops, plus_tile, plus_marked)

const struct sq_bs_kind sq_bs_plus = {
    .name = "plus",
    .is_e8m0 = true,
    .marks = SQ_BS_PLACED,
    .choose = plus_choose,
    .encode = plus_encode,
    .element = plus_element,
    .most = 2 * PLUS_STEPS - 1,
    .loops = plus_loops,
};
