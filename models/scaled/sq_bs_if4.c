// SPDX-License-Identifier: Apache-2.0
// IF4 (SPEC Q.5c): a block of 16 is E2M1 or INT4, whichever has the smaller squared error, at an E4M3
// scale of its own. The sign bit of the scale says which: 0 is E2M1, 1 is INT4.
#include <math.h>

#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

enum { SIGN = SQ_BS_SCALE_SIGN, NAN_CODE = 0x7f, INT4_MAX = 7 };

static enum sq_status check(const struct sq_bs_format *f, struct sq_error *err)
{
    if (f->element != SQ_ELEMENT_E2M1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "element = %s, need e2m1",
                       sq_element_name(f->element));
    return SQ_OK;
}

static enum sq_element element_of(uint8_t scale_code)
{
    return scale_code & SIGN ? SQ_ELEMENT_INT4 : SQ_ELEMENT_E2M1;
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

// The scale at which the largest element is the largest of its type, of both types.
static void choose(const struct sq_bs_format *f, const float *x, size_t n,
                   const float amax[SQ_BS_PARTS], const float global[SQ_BS_PARTS],
                   struct sq_bs_block *b)
{
    const uint8_t candidate[2] = {
        sq_e4m3_encode(amax[0] / 6.0f / global[0]),
        sq_e4m3_encode(amax[0] / (float)INT4_MAX / global[0]) | SIGN,
    };
    sq_bs_least_error(f, x, n, global, candidate, 2, b);
}

static struct sq_bs_code encode(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                                float x, float q)
{
    (void)f, (void)i, (void)x;
    return (struct sq_bs_code){sq_element_encode(element_of(b->scale[0]), q), 0};
}

static float element(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    (void)f, (void)i;
    return sq_element_decode(element_of(b->scale[0]), c.code);
}

static bool is_legal(const struct sq_bs_format *f, const struct sq_bs_block *b, size_t i,
                     struct sq_bs_code c)
{
    (void)f, (void)i;
    return sq_element_is_number(element_of(b->scale[0]), c.code);
}

// ---- rows ---------------------------------------------------------------------------------------

INLINE float as_e2m1(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    return sq_bs_e2m1_value(
        sq_bs_code_of(SQ_ELEMENT_E2M1, sq_bs_quotient(t->x[i][l], step), false));
}

INLINE float as_int4(const struct sq_bs_tile *t, unsigned i, unsigned l, float step)
{
    const float q = rintf(sq_bs_quotient(t->x[i][l], step)), most = INT4_MAX;
    return q > most ? most : q < -most ? -most : q;
}

INLINE void tile(const struct sq_bs_format *f, struct sq_bs_tile *t, unsigned block,
                 const float *global)
{
    struct sq_bs_least best;
    const int32_t above = ilogbf(global[0]);
    sq_bs_tile_amax(t, block, false);
    sq_bs_tile_scales(t, 0, 6.0f, global[0]);
    sq_bs_least_start(&best, 0, t->scale[0], t->step[0]);
    if (f->is_error_integer)
        sq_bs_integer_try(t, block, SQ_BS_OF_E2M1, t->scale[0], t->step[0], above, &best);
    else
        sq_bs_least_try(t, block, as_e2m1, t->scale[0], t->step[0], &best);
    sq_bs_tile_scales(t, 0, (float)INT4_MAX, global[0]);
    for (unsigned l = 0; l < LANES; l++)
        t->scale[0][l] |= SIGN;
    if (f->is_error_integer)
        sq_bs_integer_try(t, block, SQ_BS_OF_INT4, t->scale[0], t->step[0], above, &best);
    else
        sq_bs_least_try(t, block, as_int4, t->scale[0], t->step[0], &best);
    sq_bs_least_take(t, &best);
    for (unsigned i = 0; i < block; i++)
        for (unsigned l = 0; l < LANES; l++) {
            const float step = t->step[0][l], q = sq_bs_quotient(t->x[i][l], step);
            const int32_t e2m1 = sq_bs_code_of(SQ_ELEMENT_E2M1, q, false);
            const int32_t int4 = sq_bs_code_of(SQ_ELEMENT_INT4, q, false);
            t->code[i][l] = !(step > 0) ? 0 : t->scale[0][l] & SIGN ? int4 : e2m1;
        }
}

// Integers count twice: the unit is a half, that of E2M1.
INLINE void scaled(const struct sq_bs *c, size_t row, int16_t *x)
{
    const size_t block = c->f.block, n_blocks = c->k / block;
    const uint8_t *code = c->code + row * c->k, *scale_code = c->scale[0] + row * n_blocks;
    for (size_t j = 0; j < n_blocks; j++)
        for (size_t i = 0; i < block; i++) {
            const size_t at = j * block + i;
            const int16_t twice = (int16_t)(2 * (((code[at] & 15) ^ 8) - 8));
            x[at] = scale_code[j] & SIGN ? twice : x[at];
        }
}

SQ_BS_LOOPS_SCALED(loops, tile, scaled)

const struct sq_bs_kind sq_bs_if4 = {
    .name = "if4",
    .check = check,
    .choose = choose,
    .encode = encode,
    .element = element,
    .is_legal = is_legal,
    .scale = scale,
    .is_scale = is_scale,
    .most = 2 * INT4_MAX,
    .loops = loops,
};
