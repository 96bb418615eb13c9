// SPDX-License-Identifier: Apache-2.0
// sq_q4k_weight: codes, steps and minima of Q4_K blocks to weights in binary32; what was wrong in front
// goes with them.
#include <string.h>

#include "models/output/sq_combine.h"
#include "models/spqt/sq_q4k_dec.h"
#include "sim/block/output/sq_combine_draw.h"
#include "sim/block/spqt/sq_q4k_weight.block.h"

// A minimum of half or a quarter of the last bit of a product, or of a bit more than that: a tie.
static int32_t draw_tie(struct sq_rng *rng, float product)
{
    enum { PLACES = 24, FRACTION = 23 };
    const uint32_t exponent = sq_combine_bits(product) >> FRACTION & 0xff;
    const uint32_t more = sq_rng_below(rng, 2) << sq_rng_below(rng, FRACTION);
    const uint32_t down = PLACES + sq_rng_below(rng, 2);
    return exponent > down && exponent < 0xff ? (int32_t)((exponent - down) << FRACTION | more) : 0;
}

// Steps and minima as the decoder makes them: a binary16 number, not negative, times 0..63;
// illegal: any binary32 number, which the product and the sum have to round as well, and ties.
static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const size_t codes = 2 * (size_t)v[BYTES];
    (void)number;
    for (size_t i = 0; i < codes; i++)
        beat[1 + i] = kind == SQ_STIMULUS_EXTREME ? 15 * (int32_t)sq_rng_below(rng, 2)
                                                  : (int32_t)sq_rng_below(rng, 16);
    for (size_t i = 0; i < 4; i++) {
        const uint32_t fraction = sq_rng_below(rng, 1024);
        const uint32_t exponent = kind == SQ_STIMULUS_UNIFORM   ? 8 + sq_rng_below(rng, 8)
                                  : kind == SQ_STIMULUS_EXTREME ? (sq_rng_below(rng, 2) ? 30 : 0)
                                                                : sq_rng_below(rng, 31);
        const uint16_t half =
            (uint16_t)(kind == SQ_STIMULUS_FEW ? 15u << 10 : exponent << 10 | fraction);
        beat[1 + codes + i] = (int32_t)sq_q4k_scaled(half, sq_rng_below(rng, 64));
        if (kind == SQ_STIMULUS_ILLEGAL)
            beat[1 + codes + i] =
                sq_combine_draw_scale(rng, (enum sq_stimulus)sq_rng_below(rng, SQ_STIMULUS_RANDOM),
                                      sq_rng_below(rng, 2), i > 1);
    }
    beat[5 + codes] = (int32_t)sq_rng_below(rng, 2);
    for (size_t half = 0; kind == SQ_STIMULUS_ILLEGAL && half < 2; half++)
        if (sq_rng_below(rng, 2)) {
            const int32_t code = beat[1 + half * v[BYTES] + sq_rng_below(rng, v[BYTES])];
            beat[3 + codes + half] =
                draw_tie(rng, (float)code * sq_word_float(beat[1 + codes + half]));
        }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t bytes = v[BYTES], codes = 2 * bytes;
    for (uint32_t b = 0; b < in->len[0]; b++, out += codes + 2) {
        const int32_t *const beat = in->record + b * record_len(v);
        for (size_t i = 0; i < codes; i++) {
            const float step = sq_word_float(beat[1 + codes + i / bytes]);
            const float min = sq_word_float(beat[3 + codes + i / bytes]);
            out[i] = (int32_t)sq_combine_bits(sq_q4k_value(step, min, (unsigned)beat[1 + i]));
        }
        out[codes] = beat[0];
        out[codes + 1] = beat[5 + codes];
    }
    return in->len[0];
}
