// SPDX-License-Identifier: Apache-2.0
// sq_combine: sums of scale groups to binary32 or bfloat16 outputs.
#include "models/output/sq_combine.h"
#include "sim/block/output/sq_combine.block.h"
#include "sim/block/output/sq_combine_draw.h"

// ---- input ----------------------------------------------------------------------------------

int32_t sq_combine_draw_sum(struct sq_rng *rng, enum sq_stimulus kind, bool is_tiny)
{
    const unsigned bits = sq_rng_below(rng, is_tiny ? 12 : 32);
    const int32_t magnitude = (int32_t)(sq_rng_next(rng) & ((UINT64_C(1) << bits) - 1));
    if (kind == SQ_STIMULUS_EXTREME && !is_tiny) // ends, and halves between two binary32 values
        return (int32_t[]){INT32_MIN,      INT32_MAX,      0,        -1, (1 << 24) + 1,
                           -(1 << 24) - 3, (1 << 30) + 64, 462422016}[sq_rng_below(rng, 8)];
    if (kind == SQ_STIMULUS_FEW) // sums that cancel, sums of one bit
        return (int32_t[]){0, 1, -1, 1 << 23, -(1 << 23), 3}[sq_rng_below(rng, 6)];
    return sq_rng_below(rng, 2) ? -magnitude : magnitude;
}

int32_t sq_combine_draw_float(struct sq_rng *rng, int32_t sum)
{
    return sq_rng_below(rng, 4) == 0 ? sum : (int32_t)sq_combine_bits((float)sum);
}

int32_t sq_combine_draw_scale(struct sq_rng *rng, enum sq_stimulus kind, bool is_tiny, bool is_end)
{
    // Short fractions make exact products, hence ties.
    const uint32_t fraction =
        (uint32_t)sq_rng_next(rng) & 0x7fffffu & (UINT32_MAX << sq_rng_below(rng, 24));
    uint32_t exponent = 110 + sq_rng_below(rng, 24);
    if (is_tiny) // first operand around the smallest normal value, the second moves it below
        return (int32_t)((is_end ? 64 + sq_rng_below(rng, 64) : 1 + sq_rng_below(rng, 4)) << 23 |
                         fraction);
    switch (kind) {
    case SQ_STIMULUS_EXTREME: // subnormal results, subnormal scales, results beyond the range
        exponent = (uint32_t[]){0, 1, 60, 104, 127, 200, 230, 254}[sq_rng_below(rng, 8)];
        return (int32_t)(exponent << 23 | (fraction | (exponent == 0)));
    case SQ_STIMULUS_FEW: // powers of two: ties, exact cancellation
        return (int32_t)((120 + sq_rng_below(rng, 4)) << 23);
    case SQ_STIMULUS_ILLEGAL: // any bits but NaN codes, whose payload is nobody's; zeros,
                              // infinities
        exponent = (uint32_t)sq_rng_next(rng);
        if (sq_rng_below(rng, 3) == 0)
            exponent &= exponent & 1 ? 0xff800000u : 0x80000000u;
        if (sq_rng_below(rng, 6) == 0)
            exponent |= 0x7f800000u;
        return (int32_t)((exponent & 0x7f800000u) == 0x7f800000u ? exponent & 0xff800000u
                                                                 : exponent);
    default:
        return (int32_t)(exponent << 23 | fraction);
    }
}

// Sums around the largest binary32 value and half a unit of its last place beside it, where
// rounding decides between that value and infinity.
static void draw_huge(struct sq_rng *rng, unsigned lanes, int32_t *lane)
{
    for (unsigned s = 0; s < 2; s++) {
        lane[s * lanes] = (int32_t[]){0xffffff, -0xffffff, 1, -1, 0}[sq_rng_below(rng, 5)];
        lane[(2 + s) * lanes] = (231 - (int32_t)sq_rng_below(rng, 2)) << 23;
    }
    lane[4 * lanes] = 127 << 23;
}

// Codes that one bit tells from zero, from infinity or from another power of two, infinities,
// zeros: each bit that the special cases look at decides alone.
static void draw_corner(struct sq_rng *rng, unsigned lanes, int32_t *lane)
{
    for (unsigned s = 0; s < 2; s++)
        lane[s * lanes] = (int32_t[]){0, 1, -1, 2, -2}[sq_rng_below(rng, 5)];
    for (unsigned s = 2; s < 5; s++) {
        const uint32_t bit = UINT32_C(1) << sq_rng_below(rng, 31);
        const uint32_t sign = UINT32_C(0x80000000) * sq_rng_below(rng, 2);
        lane[s * lanes] = (int32_t)(sign | (uint32_t[]){bit, bit, bit | 0x7f800000u, 0x7f800000u, 0,
                                                        127 << 23}[sq_rng_below(rng, 6)]);
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const unsigned lanes = v[LANES], slots = v[SLOTS];
    const bool is_corner = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 2);
    const unsigned n = 1 + sq_rng_below(rng, is_corner ? 2 : GROUPS_MAX); // NaN hides what follows
    const bool is_tiny = kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 2); // subnormal outputs
    const bool is_half = kind == SQ_STIMULUS_FEW && sq_rng_below(rng, 2); // between two bfloat16
    const bool is_huge = kind == SQ_STIMULUS_EXTREME && !is_tiny && sq_rng_below(rng, 2);
    (void)number;
    len[0] = n * slots;
    for (uint32_t i = 0; i < len[0]; i++) {
        *record++ = i / slots == n - 1;
        for (unsigned l = 0; l < lanes; l++) {
            record[l] = sq_combine_draw_sum(rng, kind, is_tiny);
            record[lanes + l] = sq_combine_draw_sum(rng, kind, is_tiny);
            for (unsigned s = 2; s < 5; s++)
                record[s * lanes + l] = sq_combine_draw_scale(rng, kind, is_tiny, s == 4);
            if (is_huge)
                draw_huge(rng, lanes, record + l);
            if (is_corner)
                draw_corner(rng, lanes, record + l);
            if (is_half) {
                record[l] = (int32_t[]){257, -259, 0}[sq_rng_below(rng, 3)];
                record[lanes + l] = 0;
            }
            if (v[FORM] == SQ_COMBINE_FLOAT)
                record[l] = sq_combine_draw_float(rng, record[l]);
        }
        record += 5 * (size_t)lanes;
        *record++ = (int32_t)sq_rng_below(rng, 2);
    }
}

// Way 0: one scale group less.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const size_t beat = record_len(v);
    if (way > 0 || len[0] <= v[SLOTS])
        return false;
    len[0] -= v[SLOTS];
    for (unsigned s = 1; s <= v[SLOTS]; s++)
        record[(len[0] - s) * beat] = 1;
    return true;
}

// ---- output ---------------------------------------------------------------------------------

static uint32_t output(const unsigned *v, const struct sq_group *in, unsigned slot, unsigned lane)
{
    const enum sq_combine_form form = (enum sq_combine_form)v[FORM];
    const unsigned lanes = v[LANES];
    const size_t beat = record_len(v);
    float y = 0.0f, s_a = 0.0f;
    for (size_t i = slot; i < in->len[0]; i += v[SLOTS]) {
        const int32_t *b = in->record + i * beat + 1 + lane;
        s_a = sq_word_float(b[4 * lanes]);
        y = sq_combine_group(form, y, b[0], b[lanes], sq_word_float(b[2 * lanes]),
                             sq_word_float(b[3 * lanes]), s_a);
    }
    const uint32_t bits = sq_combine_bits(sq_combine_end(form, y, s_a));
    return v[IS_BF16] ? sq_combine_bf16(bits) : bits;
}

// An output leaves with the tag of its last beat.
static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t beat = record_len(v);
    for (unsigned slot = 0; slot < v[SLOTS]; slot++) {
        for (unsigned l = 0; l < v[LANES]; l++)
            *out++ = (int32_t)output(v, in, slot, l);
        *out++ = in->record[(in->len[0] - v[SLOTS] + slot) * beat + beat - 1];
    }
    return v[SLOTS];
}
