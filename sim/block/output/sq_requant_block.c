// SPDX-License-Identifier: Apache-2.0
// sq_requant: sums to codes.
#include "models/output/sq_requant.h"
#include "sim/block/output/sq_requant.block.h"

enum { SHIFT_W = 6 };

static void draw_lane(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *acc,
                      int32_t *mul, int32_t *shift)
{
    const unsigned acc_bits = v[ACC_W], mul_bits = v[MUL_W];
    const unsigned magnitude = sq_rng_below(rng, acc_bits); // bits of |acc|
    const int32_t acc_max = (int32_t)(UINT32_MAX >> (33 - acc_bits)), mul_one = 1 << (mul_bits - 2);
    *acc = (int32_t)(sq_rng_next(rng) & ((UINT64_C(1) << magnitude) - 1));
    if (sq_rng_below(rng, 2))
        *acc = -*acc;
    *mul = mul_one + (int32_t)sq_rng_below(rng, (uint32_t)mul_one);
    // Around the end of the range: product of magnitude + mul_bits - 1 bits to OUT_W - 1 of them.
    *shift = (int32_t)(magnitude + mul_bits - 4 + sq_rng_below(rng, 8)) - (int32_t)v[OUT_W];
    if (kind == SQ_STIMULUS_FEW) { // halves, exact or with a single one far below
        const unsigned places = 2 + sq_rng_below(rng, acc_bits - 4); // of acc, below the point
        const unsigned factor = sq_rng_below(rng, mul_bits - 1);     // log2 of mul
        const uint32_t below = sq_rng_below(rng, 2) << sq_rng_below(rng, places - 1);
        *acc = (int32_t)(((uint32_t)sq_rng_below(rng, 4) << places) | 1u << (places - 1) | below);
        *acc = sq_rng_below(rng, 2) ? -*acc : *acc;
        *mul = sq_rng_below(rng, 2) ? 1 << factor : -(1 << factor);
        *shift = (int32_t)(places + factor);
    } else if (kind == SQ_STIMULUS_EXTREME) {
        *acc = (int32_t[]){-acc_max - 1, acc_max, -1, 0}[sq_rng_below(rng, 4)];
        *mul = (int32_t[]){-2 * mul_one, 2 * mul_one - 1, -1, 1}[sq_rng_below(rng, 4)];
        *shift = (int32_t[]){0, 63, 47, 48}[sq_rng_below(rng, 4)];
    } else if (kind == SQ_STIMULUS_ILLEGAL) {
        *acc = acc_bits == 32 ? (int32_t)(uint32_t)sq_rng_next(rng)
                              : sq_draw_bits(rng, acc_bits, false);
        *mul = sq_draw_bits(rng, mul_bits, false);
        *shift = (int32_t)sq_rng_below(rng, 1u << SHIFT_W);
    }
    if (*shift < 0)
        *shift = 0;
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const unsigned lanes = v[LANES];
    (void)number;
    for (unsigned l = 0; l < lanes; l++)
        draw_lane(v, rng, kind, &beat[l], &beat[lanes + l], &beat[2 * lanes + l]);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const unsigned lanes = v[LANES];
    for (unsigned l = 0; l < lanes; l++)
        out[l] = sq_requant(beats[l], (int16_t)beats[lanes + l], (unsigned)beats[2 * lanes + l],
                            v[OUT_W]);
    return 1;
}
