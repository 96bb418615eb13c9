// SPDX-License-Identifier: Apache-2.0
// sq_act_scale: blocks of activations to scales and codes.
#include <string.h>

#include "models/core/sq_topk.h"
#include "models/scaled/sq_bs.h"
#include "models/scaled/sq_scaled.h"
#include "sim/block/scaled/sq_act_scale.block.h"
#include "sim/block/scaled/sq_engine_scaled_draw.h"

enum { MAGNITUDE_BITS = 15, MASK_CODE = 8 };

struct sq_bs_format sq_act_scale_format(const unsigned *v)
{
    const bool is_e8m0 = v[SCALE] == SQ_SCALED_E8M0;
    return (struct sq_bs_format){.kind = v[HIGH_PER_BANK] > 0 && v[OWN_HIGH] ? SQ_BS_SQ
                                         : v[HIGH_PER_BANK] > 0              ? SQ_BS_SPLIT
                                         : is_e8m0                           ? SQ_BS_MX
                                         : v[ELEMENT] == SQ_SCALED_IF4       ? SQ_BS_IF4
                                         : v[ELEMENT] == SQ_SCALED_RAZER     ? SQ_BS_RAZER
                                         : v[CHOOSE] == SQ_SCALED_FOUR_SIX   ? SQ_BS_FOUR_SIX
                                                                             : SQ_BS_NV,
                                 .element = sq_scaled_element_of(v[ELEMENT]),
                                 .block = v[BANK_LEN],
                                 .rule = SQ_BS_OCP,
                                 .high_per_block = v[HIGH_PER_BANK],
                                 .is_power_of_two = is_e8m0,
                                 .is_by_maximum = true,
                                 .is_searched = v[CHOOSE] == SQ_SCALED_SEARCH,
                                 .is_error_integer = v[CHOOSE] != SQ_SCALED_LARGEST};
}

// ---- input ----------------------------------------------------------------------------------

static int32_t bfloat16(unsigned exponent, unsigned fraction)
{
    return (int32_t)((exponent > 254 ? 254 : exponent) << 7 | (fraction & 127u));
}

// Multiples of a step that make ties, m * step / 4: the step is the scale where the largest element
// is the format's largest; short significands otherwise.
static int32_t draw_tie(struct sq_rng *rng, unsigned exponent)
{
    const unsigned m = 1 + sq_rng_below(rng, 63);
    unsigned top = 0;
    while (m >> top > 1)
        top++;
    return bfloat16(exponent - 2 + top, (m << (7 - top)) & 127u);
}

// The magnitude that a scale gives the largest element: 119 with high codes, else the element's
// own.
static unsigned top_of(const unsigned *v)
{
    return v[HIGH_PER_BANK] > 0 ? 119 : (unsigned)sq_element_max(sq_scaled_element_of(v[ELEMENT]));
}

// n * 2^exponent in bfloat16, its low bits cut off.
static int32_t scaled(unsigned exponent, unsigned n)
{
    unsigned log = 0;
    while (n >> log > 1)
        log++;
    return bfloat16(exponent + log, log > 7 ? n >> (log - 7) : n << (7 - log));
}

// Two elements around a value whose scale lies half-way between two of E4M3: which of them is the
// larger one decides the scale.
static void draw_edge(const unsigned *v, struct sq_rng *rng, unsigned exponent, int32_t *beat)
{
    const int32_t edge = scaled(exponent - 3, top_of(v) * (17 + 2 * sq_rng_below(rng, 8)));
    for (unsigned i = 0; i < 2; i++)
        beat[sq_rng_below(rng, v[BANK_LEN])] = edge + (int32_t)sq_rng_below(rng, 3) - 1;
}

// Zeros but for at most k + 1 elements: so few that zeros are masked as well.
static void keep_few(const unsigned *v, struct sq_rng *rng, int32_t *beat)
{
    unsigned left = sq_rng_below(rng, v[HIGH_PER_BANK] + 2);
    for (unsigned i = 0; i < v[BANK_LEN]; i++) {
        const bool is_kept = sq_rng_below(rng, v[BANK_LEN] - i) < left;
        left -= is_kept;
        beat[i] &= is_kept ? 0xffff : 0x8000;
    }
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    // Scales of E4M3 are subnormal below 2^-6, and end at 448.
    const unsigned range = sq_rng_below(rng, 6), wide = sq_rng_below(rng, 4);
    const unsigned exponent = range == 0   ? 115 + sq_rng_below(rng, 10)
                              : range == 1 ? 134 + sq_rng_below(rng, 8)
                              : range == 2 ? sq_rng_below(rng, 12)
                                           : 122 + sq_rng_below(rng, 12);
    (void)number;
    for (unsigned i = 0; i < v[BANK_LEN]; i++) {
        const unsigned spread = sq_rng_below(rng, wide == 0 ? 12 : 4);
        int32_t x = bfloat16(exponent > spread ? exponent - spread : 0, sq_rng_below(rng, 128));
        if (kind == SQ_STIMULUS_ILLEGAL) // any finite number
            x = bfloat16(sq_rng_below(rng, 255), sq_rng_below(rng, 128));
        else if (kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 2))
            x = (int32_t[]){0, 1, 0x7f, 0x80, 0x7f7f, 0x4528, 0x45ff, 0x3c00}[sq_rng_below(rng, 8)];
        else if (kind == SQ_STIMULUS_FEW && exponent > 2)
            x = draw_tie(rng, exponent);
        beat[i] = x | (sq_rng_below(rng, 2) ? 0x8000 : 0);
    }
    if (kind == SQ_STIMULUS_FEW && exponent > 8) { // the scale is a power of two then
        if (sq_rng_below(rng, 2))
            beat[sq_rng_below(rng, v[BANK_LEN])] = scaled(exponent, top_of(v));
        else
            draw_edge(v, rng, exponent, beat);
    }
    if (kind == SQ_STIMULUS_UNIFORM && sq_rng_below(rng, 4) == 0) // one stands out
        beat[sq_rng_below(rng, v[BANK_LEN])] =
            bfloat16(exponent + 3 + sq_rng_below(rng, 6), sq_rng_below(rng, 128));
    if (sq_rng_below(rng, 8) == 0)
        keep_few(v, rng, beat);
}

// ---- output ---------------------------------------------------------------------------------

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct sq_bs_format f = sq_act_scale_format(v);
    const float global[SQ_BS_PARTS] = {v[OWN_HIGH] ? 1.0f / 16 : 1, 1};
    const unsigned bank = v[BANK_LEN], mask = v[HIGH_PER_BANK] > 0 ? bank : 1;
    struct sq_bs_block b;
    float x[SQ_BS_BLOCK_MAX] = {0};
    for (unsigned i = 0; i < bank; i++) {
        const uint32_t bits = (uint32_t)in->record[i] << 16;
        memcpy(&x[i], &bits, sizeof bits);
    }
    sq_bs_choose(&f, x, bank, global, &b);
    out[0] = (int32_t)b.scale[0];
    int32_t *const high = out + 1 + bank, *compact = high;
    for (unsigned i = 0; i < bank; i++) {
        const struct sq_bs_code c = sq_bs_encode(&f, &b, i, x[i]);
        out[1 + i] = v[OWN_HIGH] && b.is_high[i] ? MASK_CODE : c.code;
        if (v[HIGH_PER_BANK] > 0)
            high[(v[OWN_HIGH] ? v[HIGH_PER_BANK] : mask) + i] = b.is_high[i];
        if (v[OWN_HIGH] && b.is_high[i])
            *compact++ = c.high;
        else if (v[HIGH_PER_BANK] > 0 && !v[OWN_HIGH])
            high[i] = c.high;
    }
    return 1;
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    c->has_front = v[HIGH_PER_BANK] > 0;
    if (c->has_front && v[TOPK] == SQ_TOPK_TREE)
        sq_topk_tree_pipeline(&c->front, v[HIGH_PER_BANK]);
    else if (c->has_front)
        sq_topk_pipeline(&c->front, v[TOPK], MAGNITUDE_BITS);
    sq_pipeline_init(&c->back, SQ_TIMING_PIPE, v[CHOOSE] == SQ_SCALED_LARGEST ? 3 : 4);
}
