// SPDX-License-Identifier: Apache-2.0
// sq_meta24: 2:4 metadata selects activations.
#include "models/array/sq_meta24.h"
#include "sim/block/sp24/sq_meta24.block.h"

static void draw_beat(const unsigned *value, struct sq_rng *rng, enum sq_stimulus kind,
                      uint64_t number, int32_t *beat)
{
    static const int32_t legal[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    const unsigned groups = value[GROUPS];
    for (unsigned g = 0; g < groups; g++)
        beat[g] = kind == SQ_STIMULUS_ALL       ? (int32_t)(number >> (4 * g) & 15)
                  : kind == SQ_STIMULUS_ILLEGAL ? sq_draw_bits(rng, 4, true)
                                                : legal[sq_rng_below(rng, 6)];
    sq_draw_codes(rng, value[ACT_W], kind == SQ_STIMULUS_ALL ? SQ_STIMULUS_ILLEGAL : kind,
                  (size_t)value[ROWS] * groups * 4, beat + groups);
}

static uint64_t golden(const unsigned *value, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const unsigned rows = value[ROWS], groups = value[GROUPS];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned g = 0; g < groups; g++) {
            int8_t act[4], taken[2];
            for (unsigned i = 0; i < 4; i++)
                act[i] = (int8_t)beats[groups + (r * groups + g) * 4 + i];
            const bool ok = sq_meta24_select((unsigned)beats[g], act, taken);
            out[(r * groups + g) * 2] = taken[0];
            out[(r * groups + g) * 2 + 1] = taken[1];
            out[rows * groups * 2 + g] = !ok;
        }
    return 1;
}

static size_t row_len(const unsigned *v, size_t f)
{
    return f == 0 ? 2 * (size_t)v[GROUPS] : 0;
}
