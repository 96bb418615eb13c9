// SPDX-License-Identifier: Apache-2.0
// sq_spqr_scale: decoded rows of SpQR tiles to weights in binary16; what was wrong in front goes with
// them.
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/spqr/sq_spqr.h"
#include "sim/block/spqr/sq_spqr_scale.block.h"

enum { ROW = SQ_SPQR_TILE };

// A number of second order: any finite one, around 1, or at the ends of the range; short fractions
// make ties. Illegal: infinity and NaN, too.
static uint32_t draw_second(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t any = (uint32_t)sq_rng_next(rng);
    const uint32_t fraction = any & 0x3ff & ~((UINT32_C(1) << sq_rng_below(rng, 11)) - 1);
    uint32_t exponent = 9 + sq_rng_below(rng, 10);
    if (kind == SQ_STIMULUS_EXTREME)
        exponent = (uint32_t[]){0, 1, 5, 15, 30}[sq_rng_below(rng, 5)];
    else if (kind == SQ_STIMULUS_ILLEGAL)
        exponent = sq_rng_below(rng, 32);
    if (kind == SQ_STIMULUS_FEW) // integers: differences of zero
        return (any >> 31) << 15 | (uint32_t[]){0, 0x3c00, 0x4000, 0x4400}[sq_rng_below(rng, 4)];
    return (any >> 31) << 15 | exponent << 10 | fraction;
}

// Scale and zero of second order: any two, a tiny scale, or those that give about the code itself,
// which another one may then nearly cancel.
static void draw_pair(struct sq_rng *rng, enum sq_stimulus kind, uint32_t *scale, uint32_t *zero)
{
    const uint32_t shape = sq_rng_below(rng, 3);
    *scale = draw_second(rng, kind);
    *zero = draw_second(rng, kind);
    if (shape == 1) {
        *scale &= 0x87ff; // the smallest exponents
    } else if (shape == 2) {
        *scale = 0x3bff + sq_rng_below(rng, 3);
        *zero &= 0x97ff;
    }
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const size_t codes = (size_t)v[WORDS] * (ROW + 2);
    uint32_t ss, sz, zs, zz;
    (void)number;
    for (size_t i = 1; i <= codes; i++)
        beat[i] = (int32_t)sq_rng_below(rng, 8);
    draw_pair(rng, kind, &ss, &sz);
    draw_pair(rng, kind, &zs, &zz);
    beat[1 + codes] = (int32_t)(zs << 16 | ss);
    beat[2 + codes] = (int32_t)(zz << 16 | sz);
    beat[3 + codes] = (int32_t)sq_rng_below(rng, 8);
}

// Every NaN (infinity times zero, of numbers that the encoder never writes) is 7e00.
static int32_t weight_of(float s, float z, unsigned code)
{
    const float w = sq_spqr_value(s, z, code);
    return w == w ? sq_f32_to_f16(w) : 0x7e00;
}

static void put_row(const unsigned *v, const int32_t *beat, unsigned row, int32_t *out)
{
    const int32_t *const code = beat + 1 + row * ROW;
    const int32_t *const scale = beat + 1 + v[WORDS] * ROW, *const zero = scale + v[WORDS];
    const int32_t *const second = zero + v[WORDS];
    struct sq_spqr_tile tile = {.scale = {(uint8_t)scale[row]}, .zero = {(uint8_t)zero[row]}};
    float s, z;
    for (unsigned i = 0; i < 4; i++)
        tile.second[i] = (uint16_t)((uint32_t)second[i / 2] >> (16 * (i % 2)));
    sq_spqr_row(&tile, 0, &s, &z);
    for (unsigned j = 0; j < ROW; j++)
        out[row * ROW + j] = weight_of(s, z, (unsigned)code[j]);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t len = record_len(v), out_len = (size_t)v[WORDS] * ROW + 2;
    for (uint32_t b = 0; b < in->len[0]; b++, out += out_len) {
        for (unsigned row = 0; row < v[WORDS]; row++)
            put_row(v, in->record + b * len, row, out);
        out[out_len - 2] = in->record[b * len];
        out[out_len - 1] = in->record[(b + 1) * len - 1];
    }
    return in->len[0];
}
