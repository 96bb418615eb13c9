// SPDX-License-Identifier: Apache-2.0
// The tables of sq_topk and sq_meta24, and what all blocks share; sq_array has a file of its own.
#include "sim/block/sq_stream_block.h"

#include "models/sq_format.h"
#include "models/sq_meta24.h"
#include "models/sq_topk.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

size_t sq_field_offset(const struct sq_field *field, size_t f)
{
    size_t n = 0;
    for (size_t i = 0; i < f; i++)
        n += field[i].count;
    return n;
}

int32_t sq_draw_bits(struct sq_rng *rng, unsigned width, bool is_unsigned)
{
    const uint32_t v = (uint32_t)sq_rng_next(rng);
    return is_unsigned ? (int32_t)(v & ((1u << width) - 1u)) : sq_sign_extend(v, width);
}

int32_t sq_draw_code(struct sq_rng *rng, unsigned width, enum sq_draw draw)
{
    const int q = sq_qmax(width);
    if (draw == SQ_DRAW_ILLEGAL)
        return sq_draw_bits(rng, width, false);
    if (draw == SQ_DRAW_EXTREME)
        return sq_rng_below(rng, 2) ? q : -q;
    if (draw == SQ_DRAW_FEW)
        return (int)sq_rng_below(rng, 3) - 1;
    return (int)sq_rng_below(rng, (uint32_t)(2 * q + 1)) - q;
}

// ---- topk
// -----------------------------------------------------------------------------------

enum { TOPK_BANK, TOPK_K, TOPK_MAG, TOPK_ARCH };

// bank, k, magnitude bits, architecture. Those with at most 2^16 banks are exhausted: every tie,
// all equal and all zero among them.
static const struct sq_stream_point topk_points[] = {
    {"all4x2", true, {4, 1, 2, SQ_TOPK_RANK}},     {"all4x2r", true, {4, 1, 2, SQ_TOPK_RADIX}},
    {"all4x3", true, {4, 2, 3, SQ_TOPK_RANK}},     {"all4x3r", true, {4, 2, 3, SQ_TOPK_RADIX}},
    {"all8x2", false, {8, 2, 2, SQ_TOPK_RANK}},    {"all8x2r", true, {8, 4, 2, SQ_TOPK_RADIX}},
    {"all16x1", false, {16, 4, 1, SQ_TOPK_RANK}},  {"all16x1r", false, {16, 8, 1, SQ_TOPK_RADIX}},
    {"b8", true, {8, 1, 7, SQ_TOPK_RANK}},         {"b8r", false, {8, 2, 7, SQ_TOPK_RADIX}},
    {"b16", false, {16, 4, 8, SQ_TOPK_RANK}},      {"b16r", true, {16, 4, 8, SQ_TOPK_RADIX}},
    {"b32", false, {32, 8, 7, SQ_TOPK_RANK}},      {"b32r", false, {32, 8, 15, SQ_TOPK_RADIX}},
    {"b32f", false, {32, 2, 15, SQ_TOPK_RANK}},    {"b64r", false, {64, 4, 15, SQ_TOPK_RADIX}},
    {"b128r", false, {128, 64, 7, SQ_TOPK_RADIX}},
};

static void topk_shape(const unsigned *value, struct sq_stream_shape *s)
{
    const unsigned bank = value[TOPK_BANK], bits = value[TOPK_MAG];
    const bool is_rank = value[TOPK_ARCH] == SQ_TOPK_RANK;
    *s = (struct sq_stream_shape){.kind = is_rank ? SQ_STREAM_PIPE : SQ_STREAM_SERIAL,
                                  .depth = is_rank ? 2 : bits,
                                  .n_in = 1,
                                  .n_out = 1,
                                  .in = {{"mag", bank, bits, true}},
                                  .out = {{"mask", bank, 1, true}},
                                  .n_all = bank * bits <= 16 ? UINT64_C(1) << (bank * bits) : 0};
}

static void topk_draw(const unsigned *value, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                      int32_t *beat)
{
    const unsigned bits = value[TOPK_MAG], max = (1u << bits) - 1;
    const int32_t few[3] = {0, sq_draw_bits(rng, bits, true), (int32_t)max};
    for (unsigned i = 0; i < value[TOPK_BANK]; i++) {
        if (draw == SQ_DRAW_ALL)
            beat[i] = (int32_t)(number >> (i * bits) & max);
        else if (draw == SQ_DRAW_FEW)
            beat[i] = few[sq_rng_below(rng, 3)];
        else if (draw == SQ_DRAW_EXTREME) // all equal but for one bit
            beat[i] =
                few[1] ^ (int32_t)(sq_rng_below(rng, 4) == 0 ? 1u << sq_rng_below(rng, bits) : 0);
        else
            beat[i] = sq_draw_bits(rng, bits, true);
    }
}

static void topk_golden(const unsigned *value, const int32_t *beats, size_t n, int32_t *out)
{
    uint16_t mag[SQ_BANK_MAX];
    uint8_t mask[SQ_BANK_MAX];
    (void)n;
    for (unsigned i = 0; i < value[TOPK_BANK]; i++)
        mag[i] = (uint16_t)beats[i];
    sq_topk_bank(mag, value[TOPK_BANK], value[TOPK_K], mask);
    for (unsigned i = 0; i < value[TOPK_BANK]; i++)
        out[i] = mask[i];
}

const struct sq_stream_block sq_stream_topk = {
    "topk",      "sq_topk",         {"BankLen", "HighPerBank", "MagW", "Topk", NULL},
    topk_points, N_OF(topk_points), topk_shape,
    topk_draw,   topk_golden,       NULL,
};

// ---- meta24
// ---------------------------------------------------------------------------------

enum { META_ROWS, META_GROUPS, META_ACT };

// rows, groups, activation bits. One group: 16 nibbles; two: all 256 pairs of nibbles.
static const struct sq_stream_point meta24_points[] = {
    {"g1", true, {1, 1, 8}},    {"g2", true, {2, 2, 8}},  {"g4", true, {2, 4, 8}},
    {"g4a4", false, {3, 4, 4}}, {"g8", false, {1, 8, 8}},
};

static void meta24_shape(const unsigned *value, struct sq_stream_shape *s)
{
    const size_t rows = value[META_ROWS], groups = value[META_GROUPS];
    *s = (struct sq_stream_shape){
        .kind = SQ_STREAM_PIPE,
        .depth = 2,
        .n_in = 2,
        .n_out = 2,
        .in = {{"meta", groups, 4, true}, {"act", rows * groups * 4, value[META_ACT], false}},
        .out = {{"act", rows * groups * 2, value[META_ACT], false}, {"error", groups, 1, true}},
        .n_all = groups <= 2 ? UINT64_C(1) << (4 * groups) : 0};
}

static void meta24_draw(const unsigned *value, struct sq_rng *rng, enum sq_draw draw,
                        uint64_t number, int32_t *beat)
{
    static const int32_t legal[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    const unsigned groups = value[META_GROUPS];
    for (unsigned g = 0; g < groups; g++)
        beat[g] = draw == SQ_DRAW_ALL       ? (int32_t)(number >> (4 * g) & 15)
                  : draw == SQ_DRAW_ILLEGAL ? sq_draw_bits(rng, 4, true)
                                            : legal[sq_rng_below(rng, 6)];
    for (unsigned i = 0; i < value[META_ROWS] * groups * 4; i++)
        beat[groups + i] =
            sq_draw_code(rng, value[META_ACT], draw == SQ_DRAW_ALL ? SQ_DRAW_ILLEGAL : draw);
}

static void meta24_golden(const unsigned *value, const int32_t *beats, size_t n, int32_t *out)
{
    const unsigned rows = value[META_ROWS], groups = value[META_GROUPS];
    (void)n;
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
}

const struct sq_stream_block sq_stream_meta24 = {
    "meta24",      "sq_meta24",         {"Rows", "Groups", "ActW", NULL},
    meta24_points, N_OF(meta24_points), meta24_shape,
    meta24_draw,   meta24_golden,       NULL,
};

const struct sq_stream_block *const *sq_stream_blocks(size_t *n)
{
    static const struct sq_stream_block *const all[] = {
        &sq_stream_topk,    &sq_stream_meta24,    &sq_stream_array,    &sq_stream_act_split,
        &sq_stream_array_a, &sq_stream_spqr_dec,  &sq_stream_spqt_idx, &sq_stream_gqsa_walk,
        &sq_stream_requant, &sq_stream_act_store, &sq_stream_array_s,  &sq_stream_array_static,
        &sq_stream_core_a};
    *n = N_OF(all);
    return all;
}
