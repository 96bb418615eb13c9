// SPDX-License-Identifier: Apache-2.0
// sq_hadamard: activations to rotated ones.
#include <string.h>

#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs.h"
#include "sim/block/output/sq_hadamard.block.h"

// Whether an odd number of bits is set.
static bool is_odd(size_t bits)
{
    return bits > 0 && (bits % 2) != is_odd(bits / 2);
}

// A finite bfloat16 with the exponent field e, 0..254.
static int32_t draw_number(struct sq_rng *rng, unsigned e)
{
    return (int32_t)(sq_rng_below(rng, 2) << 15 | e << 7 | sq_rng_below(rng, 128));
}

// UNIFORM: as activations are, of a few binades; EXTREME: the ends of the exponent; FEW: values that
// cancel, and halves; ILLEGAL: any finite numbers, since others have no rotation. Sums of 32 numbers
// below 2^122 are finite. Integers: of all exponents, since their infinity is exact.
static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const unsigned MOST = v[BITS] ? 255 : 248;
    const unsigned first = kind == SQ_STIMULUS_EXTREME ? (sq_rng_below(rng, 2) ? MOST - 8 : 0)
                                                       : 1 + sq_rng_below(rng, MOST - 12);
    (void)number;
    for (size_t i = 0; i < v[LEN]; i++) {
        const unsigned e = first + sq_rng_below(rng, kind == SQ_STIMULUS_FEW ? 2 : 8);
        beat[i] = kind == SQ_STIMULUS_ILLEGAL ? draw_number(rng, sq_rng_below(rng, MOST))
                                              : draw_number(rng, e);
        if (kind == SQ_STIMULUS_FEW)
            beat[i] &= 0xffe0; // few fractions: sums that cancel, ties
        if (sq_rng_below(rng, 16) == 0)
            beat[i] &= 0x8000;
    }
    // One outlier far above the others, which leaves sticky bits behind.
    if (sq_rng_below(rng, 3) == 0)
        beat[sq_rng_below(rng, v[LEN])] =
            draw_number(rng, first + sq_rng_below(rng, MOST - first > 40 ? 40 : MOST - first));
}

// Sums of integers that a single bit rounds up: the last bit that stays is even, a half follows, and behind
// it one bit, in each place in turn, of each sum in turn. That sum has all elements with the same sign, one of
// them with steps of 1. Floating point: the same numbers.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    enum { EXPONENT = 140, KEPT = 8, FROM = 128 }; // of the largest; significand bits of a bfloat16
    const unsigned *const v = c->point->value;
    const unsigned len = v[LEN], bits = v[BITS] ? v[BITS] : SQ_BS_ROTATE_BITS;
    const unsigned below =
        bits - 1 + sq_bits_below(len) - KEPT; // bits of a sum that are rounded away
    const unsigned places = below > 1 ? below - 1 : 1;
    const uint32_t modulus = UINT32_C(2) << below;
    (void)number;
    SQ_TRY(sq_case_room(c, (size_t)places * len, 1, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *const x = c->beats + g * len;
        const uint32_t want = (UINT32_C(1) << below) / 2 + (UINT32_C(1) << g / len);
        uint32_t rest;
        do {
            uint32_t sum = 0;
            for (unsigned i = 1; i < len; i++) {
                const uint32_t fraction = 96 + sq_rng_below(rng, 32);
                x[i] = (int32_t)(EXPONENT << 7 | fraction);
                sum += (FROM + fraction) << (bits - 9);
            }
            rest = (want - sum) % modulus;
            while (rest < FROM)
                rest += modulus;
        } while (rest >= 2 * FROM);
        x[0] = (int32_t)((EXPONENT - (bits - 9)) << 7 | (rest - FROM));
        for (size_t i = 0; i < len; i++)
            x[i] |= is_odd(i & (g % len)) ? 0x8000 : 0;
        c->len[g][0] = 1;
    }
    return SQ_OK;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    float x[LEN_MAX];
    uint32_t bits[LEN_MAX] = {0};
    for (size_t i = 0; i < v[LEN]; i++)
        bits[i] = (uint32_t)in->record[i] << 16;
    memcpy(x, bits, sizeof x);
    if (v[BITS])
        sq_bs_rotate_integer(x, v[LEN], v[LEN], v[BITS]);
    else
        sq_bs_rotate(x, v[LEN], v[LEN]);
    memcpy(bits, x, sizeof x);
    for (size_t i = 0; i < v[LEN]; i++)
        out[i] = v[IS_BF16] ? sq_combine_bf16(bits[i]) : (int32_t)bits[i];
    return 1;
}

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)old, (void)given;
    if (v[BITS] && v[LEN] != 4 && v[LEN] != 16)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "Len = %u, need 4 or 16 of integers", v[LEN]);
    return SQ_OK;
}
