// SPDX-License-Identifier: Apache-2.0
// sq_gqsa_scale: sums of kept groups to the outputs of rows.
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/gqsa/sq_gqsa_scale.block.h"
#include "sim/block/output/sq_combine_draw.h"

// A sum: the largest, small ones (whose P often is 0), or any.
static int32_t draw_sum(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind)
{
    const int32_t most = 1 << (v[SUM_W] - 1);
    if (kind == SQ_STIMULUS_EXTREME)
        return sq_rng_below(rng, 2) ? -most : most - 1;
    if (kind == SQ_STIMULUS_FEW)
        return (int32_t)sq_rng_below(rng, 5) - 2;
    return sq_draw_bits(rng, v[SUM_W], false) >> sq_rng_below(rng, v[SUM_W]);
}

// A scale that is finite: those of encoders, subnormal ones, any.
static int32_t draw_scale(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t fraction = (uint32_t)sq_rng_next(rng) & 0x3ff;
    if (kind == SQ_STIMULUS_EXTREME)
        return (int32_t)(sq_rng_below(rng, 2) ? 30 << 10 | fraction : fraction);
    if (kind == SQ_STIMULUS_ILLEGAL)
        return (int32_t)(sq_rng_below(rng, 2) << 15 | sq_rng_below(rng, 31) << 10 | fraction);
    return (int32_t)((6 + sq_rng_below(rng, 10)) << 10 | fraction);
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const size_t lanes = v[LANES];
    (void)number;
    len[0] = 1 + sq_rng_below(rng, GROUPS_MAX);
    for (uint32_t g = 0; g < len[0]; g++, record += record_len(v)) {
        record[0] = g + 1 == len[0];
        for (size_t i = 1; i <= 2 * lanes; i++)
            record[i] = draw_sum(v, rng, kind);
        record[1 + 2 * lanes] = (int32_t)sq_rng_below(rng, 16);
        record[2 + 2 * lanes] = draw_scale(rng, kind);
        for (size_t l = 0; l < lanes; l++)
            record[3 + 2 * lanes + l] = sq_combine_draw_scale(rng, kind, false, true);
        record[3 + 3 * lanes] = (int32_t)sq_rng_below(rng, 2);
    }
    if (len[0] == 1 && sq_rng_below(rng, 2)) // a row without groups
        memset(record - record_len(v) + 1, 0, (2 + 2 * lanes) * sizeof *record);
}

// The output of a row leaves with the tag of its last group.
static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t lanes = v[LANES];
    for (size_t l = 0; l < lanes; l++) {
        const int32_t *r = in->record;
        float y = 0.0f, s_a = 0.0f;
        for (uint32_t g = 0; g < in->len[0]; g++, r += record_len(v)) {
            const int32_t p = r[1 + l] - r[1 + 2 * lanes] * r[1 + lanes + l];
            const float s = sq_half_to_float((uint16_t)r[2 + 2 * lanes]);
            y = sq_combine_group(SQ_COMBINE_ONE, y, p, 0, s, 1.0f, 1.0f);
            memcpy(&s_a, &r[3 + 2 * lanes + l], sizeof s_a);
        }
        out[l] = (int32_t)sq_combine_bits(sq_combine_end(SQ_COMBINE_ONE, y, s_a));
    }
    out[lanes] = in->record[in->len[0] * record_len(v) - 1];
    return 1;
}
