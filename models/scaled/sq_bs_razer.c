// SPDX-License-Identifier: Apache-2.0
// RaZeR (SPEC Q.5c): E2M1 in blocks of 16, whose code of -0 stands for a fifth value, +5 or -5,
// whichever gives the block the smaller squared error. The sign bit of the block's E4M3 scale, which
// NVFP4 leaves unused, says which.
#include <math.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

enum { FIFTH = 8, SIGN = SQ_BS_SCALE_SIGN, NAN_CODE = 0x7f };

static enum sq_status check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->element != SQ_ELEMENT_E2M1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need e2m1",
                       sq_element_name(f->element));
    return SQ_OK;
}

static float scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)f, (void)part;
    return sq_e4m3_decode(code & NAN_CODE);
}

static bool is_scale(const struct sq_bs_format *f, unsigned part, uint8_t code)
{
    (void)f, (void)part;
    return (code & NAN_CODE) != NAN_CODE;
}

static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const uint8_t code = sq_e4m3_encode(amax[0] / 6.0f / global[0]);
    sq_bs_least_error(f, x, n, global, (const uint8_t[]){code, code | SIGN}, 2, b);
}

// The nearest of the values of E2M1 and the fifth; of two that are equally near that of E2M1. Zero has
// no sign.
INLINE int32_t code_of(float q, float fifth)
{
    const int32_t code = sq_bs_code_of(SQ_ELEMENT_E2M1, q, true);
    return fabsf(q - fifth) < fabsf(q - sq_bs_e2m1_value(code)) ? FIFTH : code;
}

INLINE float value_of(int32_t code, float fifth)
{
    return code == FIFTH ? fifth : sq_bs_e2m1_value(code);
}

static float fifth_of(uint8_t scale_code)
{
    return scale_code & SIGN ? -5.0f : 5.0f;
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    (void)f, (void)i, (void)x;
    return (struct sq_bs_code){(uint8_t)code_of(q, fifth_of(b->scale[0])), 0};
}

static float element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    (void)f, (void)i;
    return value_of(c.code, fifth_of(b->scale[0]));
}

static bool is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    (void)f, (void)b, (void)i;
    return c.code < 16;
}

// ---- rows ---------------------------------------------------------------------------------------

INLINE float with_plus(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return value_of(code_of(sq_bs_quotient(t->x[i][l], step), 5), 5);
}

INLINE float with_minus(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return value_of(code_of(sq_bs_quotient(t->x[i][l], step), -5), -5);
}

INLINE void tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                 const float *global)
{
    struct sq_bs_least best;
    int32_t minus[LANES];
    const int32_t above = ilogbf(global[0]);
    sq_bs_tile_amax(t, block, false);
    sq_bs_tile_scales(t, 0, 6.0f, global[0]);
    for (unsigned l = 0; l < LANES; l++)
        minus[l] = t->scale[0][l] | SIGN;
    sq_bs_least_start(&best, 0, t->scale[0], t->step[0]);
    if (f->is_error_integer) {
        sq_bs_integer_try(t, block, SQ_BS_OF_RAZER, t->scale[0], t->step[0], above, &best);
        sq_bs_integer_try(t, block, SQ_BS_OF_RAZER, minus, t->step[0], above, &best);
    } else {
        sq_bs_least_try(t, block, with_plus, t->scale[0], t->step[0], &best);
        sq_bs_least_try(t, block, with_minus, minus, t->step[0], &best);
    }
    sq_bs_least_take(t, &best);
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float fifth = t->scale[0][l] & SIGN ? -5.0f : 5.0f, step = t->step[0][l];
            t->code[i][l] = step > 0 ? code_of(sq_bs_quotient(t->x[i][l], step), fifth) : 0;
        }
}

INLINE void scaled(const struct sq_bs *c, size_t row, int16_t *x)
{
    const size_t block = c->f.block, n_blocks = c->k / block;
    const uint8_t *code = c->code + row * c->k, *scale_code = c->scale[0] + row * n_blocks;
    for (size_t j = 0; j < n_blocks; j++)
        for (size_t i = 0; i < block; i++) {
            const size_t at = j * block + i;
            const int16_t fifth = scale_code[j] & SIGN ? -10 : 10; // in halves
            x[at] = code[at] == FIFTH ? fifth : x[at];
        }
}

SQ_BS_LOOPS_SCALED(loops, tile, scaled)

const struct sq_bs_kind sq_bs_razer = {
    .name = "razer",
    .check = check,
    .choose = choose,
    .encode = encode,
    .element = element,
    .is_legal = is_legal,
    .scale = scale,
    .is_scale = is_scale,
    .loops = loops,
};
