// SPDX-License-Identifier: Apache-2.0
// Encodes blocks as sq_act_scale does, and tokens as models/ do (sq_engine_scaled_encode.h).
#include "sim/block/scaled/sq_engine_scaled_encode.h"

#include <math.h>
#include <stdlib.h>

#include "models/core/sq_act_token.h"
#include "models/number/sq_bits.h"

enum { SMALLEST_EXPONENT = 1, LARGEST_EXPONENT = 254, LARGEST = 0x7f7f, SIGN = 0x8000 };

// High codes of the marked elements, in ascending position.
static void compact(unsigned bank, const int32_t *high, struct sq_es_stored *b)
{
    for (unsigned i = 0, n = 0; i < bank; i++)
        if (b->mask[i])
            b->compact[n++] = high[i];
    b->high = b->compact;
}

void sq_es_encode(const unsigned *encoder, const struct sq_es_side *s, const int32_t *x,
                  struct sq_es_stored *b)
{
    int32_t block[SQ_BS_BLOCK_MAX] = {0};
    bool is_finite = true;
    const bool is_split = s->high_kind == SQ_SCALED_SPLIT;
    for (unsigned i = 0; i < s->bank; i++)
        is_finite = is_finite && sq_bf16_is_finite((uint16_t)x[i]);
    if (is_finite)
        memcpy(block, x, s->bank * sizeof *x);
    const struct sq_group in = {.record = block};
    memset(b->encoded, 0, sizeof b->encoded);
    (void)sq_act_scale_block.golden(encoder, &in, b->encoded);
    b->scale = is_finite ? b->encoded[0] : s->scale_kind == SQ_SCALED_E8M0 ? 0xff : 0x7f;
    b->code = b->encoded + 1;
    b->high = b->code + s->bank;
    b->mask = b->high + (is_split ? s->bank : s->k);
    if (s->k > 0 && is_split)
        compact(s->bank, b->high, b);
}

void sq_es_put_stored(const struct sq_es_side *s, unsigned r, const struct sq_es_stored *b,
                      int32_t *record)
{
    memcpy(record + s->code + (size_t)r * s->bank, b->code, s->bank * sizeof *record);
    if (s->high != SQ_ES_NONE)
        memcpy(record + s->high + (size_t)r * s->k, b->high, s->k * sizeof *record);
    if (s->mask != SQ_ES_NONE)
        memcpy(record + s->mask + (size_t)r * s->bank, b->mask, s->bank * sizeof *record);
    record[s->scale + (int)r] = b->scale;
}

// ---- the scale above the blocks -----------------------------------------------------------------

static struct sq_bs_format format_of(const unsigned *encoder)
{
    struct sq_bs_format f = sq_act_scale_format(encoder);
    f.is_global_power_of_two = true;
    return f;
}

static float number(uint16_t x)
{
    return sq_float_of((uint32_t)x << 16);
}

void sq_es_global(const unsigned *encoder, uint16_t amax, float global[SQ_BS_PARTS])
{
    const struct sq_bs_format f = format_of(encoder);
    const float of_parts[SQ_BS_PARTS] = {number(amax), number(amax)};
    sq_bs_globals_of(&f, of_parts, global);
}

uint16_t sq_es_over(const unsigned *encoder, uint16_t x, const float global[SQ_BS_PARTS])
{
    const struct sq_bs_format f = format_of(encoder);
    if (!sq_bf16_is_finite(x))
        return 0;
    if (!sq_bs_has_global(&f, 0))
        return x;
    const int exponent = x >> 7 & 0xff, over = exponent - ilogbf(global[sq_bs_n_parts(&f) - 1]);
    const uint16_t sign = x & SIGN;
    if (exponent == 0 || over < SMALLEST_EXPONENT)
        return sign;
    return over > LARGEST_EXPONENT ? sign | LARGEST
                                   : (uint16_t)(sign | (unsigned)over << 7 | (x & 0x7f));
}

// ---- tokens -------------------------------------------------------------------------------------

// One token by models/, and memory for its blocks.
struct token {
    struct sq_bs c;
    float *x;
};

static void alloc_token(struct token *t, const unsigned *encoder, size_t blocks)
{
    const struct sq_bs_format f = format_of(encoder);
    const size_t k = blocks * f.block;
    *t = (struct token){.c = {.f = f, .n = 1, .k = k, .k_orig = k}};
    t->x = malloc(k * sizeof *t->x);
    t->c.code = calloc(k, 1);
    t->c.high = sq_bs_high_bits(&f) ? calloc(k, 1) : NULL;
    t->c.is_high = sq_bs_n_marks(&f) ? calloc(k, 1) : NULL;
    t->c.scale[0] = calloc(blocks, 1);
    bool ok = t->x && t->c.code && t->c.scale[0];
    ok = ok && (t->c.high || !sq_bs_high_bits(&f)) && (t->c.is_high || !sq_bs_n_marks(&f));
    for (unsigned p = 0; p < SQ_BS_PARTS; p++) {
        t->c.global[p] = calloc(1, sizeof(float));
        ok = ok && t->c.global[p];
    }
    if (!ok)
        abort();
}

static void free_token(struct token *t)
{
    free(t->x);
    free(t->c.code);
    free(t->c.high);
    free(t->c.is_high);
    free(t->c.scale[0]);
    for (unsigned p = 0; p < SQ_BS_PARTS; p++)
        free(t->c.global[p]);
}

// Its scales and codes. Elements that are too small for what is above their blocks count as zeros of their sign.
static void encode_token(struct token *t, const unsigned *encoder, const uint16_t *x)
{
    uint16_t amax = 0;
    float global[SQ_BS_PARTS];
    for (size_t i = 0; i < t->c.k; i++)
        amax = (x[i] & SQ_BF16_MAGNITUDE) > amax ? x[i] & SQ_BF16_MAGNITUDE : amax;
    sq_es_global(encoder, amax, global);
    for (size_t i = 0; i < t->c.k; i++)
        t->x[i] =
            number(sq_es_over(encoder, x[i], global) & SQ_BF16_MAGNITUDE ? x[i] : x[i] & SIGN);
    const enum sq_status status = sq_bs_globals(&t->c, t->x, false, NULL);
    if (status != SQ_OK)
        abort(); // they are finite
    sq_bs_encode_row(&t->c, 0, t->x);
}

// Block j of it as it is stored.
static void get_stored(const struct token *t, const struct sq_es_side *s, size_t j,
                       struct sq_es_stored *b)
{
    int32_t *const code = b->encoded, *const mask = code + s->bank, *const high = mask + s->bank;
    for (size_t i = 0; i < s->bank; i++) {
        const struct sq_bs_code c = sq_bs_get(&t->c, 0, j * s->bank + i);
        mask[i] = t->c.is_high ? t->c.is_high[j * s->bank + i] : 0;
        code[i] = mask[i] && s->mask == SQ_ES_NONE ? SQ_ES_MASK_CODE : c.code;
        high[i] = c.high;
    }
    b->code = code;
    b->mask = mask;
    compact(s->bank, high, b);
    b->scale = t->c.scale[0][j];
}

void sq_es_encode_tokens(const unsigned *encoder, const struct sq_es_layout *l, const uint16_t *x,
                         size_t blocks, int32_t *record, float *global)
{
    struct token t;
    struct sq_es_stored b;
    alloc_token(&t, encoder, blocks);
    for (unsigned r = 0; r < l->act.lines; r++) {
        encode_token(&t, encoder, x + r * t.c.k);
        for (unsigned p = 0; p < SQ_BS_PARTS; p++)
            global[p * l->act.lines + r] = *t.c.global[p];
        for (size_t j = 0; j < blocks; j++) {
            get_stored(&t, &l->act, j, &b);
            sq_es_put_stored(&l->act, r, &b, record + j * l->len);
        }
    }
    free_token(&t);
}
