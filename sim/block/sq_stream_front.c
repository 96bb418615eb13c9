// SPDX-License-Identifier: Apache-2.0
// sq_spqr_dec, sq_spqt_idx and sq_gqsa_walk as stream blocks: what stands between the memory and
// the arrays for SpQR, SpQt and GQSA.
#include <assert.h>
#include <string.h>

#include "models/sq_gqsa_walk.h"
#include "models/sq_spqr_dec.h"
#include "models/sq_spqt_idx.h"
#include "sim/block/sq_stream_block.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])

// ---- spqr_dec -------------------------------------------------------------------------------

enum { SPQR_WORDS };

static const struct sq_stream_point spqr_points[] = {
    {"w1", true, {1}},  {"w2", false, {2}},   {"w4", true, {4}},
    {"w8", false, {8}}, {"w16", false, {16}},
};

static void spqr_shape(const unsigned *v, struct sq_stream_shape *s)
{
    const size_t words = v[SPQR_WORDS];
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_PIPE,
                                  .depth = 1,
                                  .n_in = 1,
                                  .n_out = 6,
                                  .in = {{"word", 2 * words, 32, true}},
                                  .out = {{"code", 16 * words, 3, true},
                                          {"scale", words, 3, true},
                                          {"zero", words, 3, true},
                                          {"second", 2, 32, true},
                                          {"last", 1, 1, true},
                                          {"error", 1, 3, true}}};
}

static void spqr_limits(const unsigned *v, size_t *records, size_t *outputs)
{
    *records = *outputs = SQ_SPQR_TILE / v[SPQR_WORDS];
}

// Second order of finite FP16 values.
static uint64_t draw_second(struct sq_rng *rng, enum sq_draw draw)
{
    uint64_t v = sq_rng_next(rng);
    for (unsigned i = 0; i < 64; i += 16)
        if ((v >> i & 0x7c00) == 0x7c00 || draw == SQ_DRAW_EXTREME)
            v = (v & ~(UINT64_C(0x7c00) << i)) | UINT64_C(0x7800) << i; // largest exponent
    return v;
}

// One thing wrong with a tile, whichever.
static void spoil_tile(struct sq_rng *rng, uint64_t word[SQ_SPQR_TILE])
{
    const unsigned r = sq_rng_below(rng, SQ_SPQR_TILE), half = sq_rng_below(rng, 4);
    switch (sq_rng_below(rng, 4)) {
    case 0:
        word[r] |= UINT64_C(1) << (62 + sq_rng_below(rng, 2));
        break;
    case 1:
        word[r] ^= UINT64_C(1) << (54 + sq_rng_below(rng, 8));
        break;
    case 2: // the exponent of one FP16: bits 10..14 lie in the upper of its two bytes
        for (unsigned i = 4 * half + 2; i < 4 * half + 4; i++)
            word[i] |= UINT64_C(0x7c) << 54;
        break;
    default: // any bits
        for (unsigned i = 0; i < SQ_SPQR_TILE; i++)
            word[i] = sq_rng_next(rng);
    }
}

static void spqr_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                      int32_t *record, uint32_t len[2])
{
    const uint64_t second = draw_second(rng, draw);
    uint64_t word[SQ_SPQR_TILE];
    (void)number;
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        uint64_t codes = sq_rng_next(rng);
        if (draw == SQ_DRAW_EXTREME || (draw == SQ_DRAW_FEW && sq_rng_below(rng, 2)))
            codes = sq_rng_below(rng, 2) ? UINT64_MAX : 0;
        word[r] = (codes & ((UINT64_C(1) << 54) - 1)) | (second >> (r / 2 * 8) & 0xff) << 54;
    }
    if (draw == SQ_DRAW_ILLEGAL)
        spoil_tile(rng, word);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        *record++ = sq_field_unsigned((uint32_t)word[r], 32);
        *record++ = sq_field_unsigned((uint32_t)(word[r] >> 32), 32);
    }
    len[0] = SQ_SPQR_TILE / v[SPQR_WORDS];
    len[1] = 0;
}

static size_t spqr_golden(const unsigned *v, const int32_t *record, const uint32_t len[2],
                          int32_t *out)
{
    const unsigned words = v[SPQR_WORDS];
    uint64_t word[SQ_SPQR_TILE];
    struct sq_spqr_tile tile;
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++)
        word[r] = (uint32_t)record[2 * r] | (uint64_t)(uint32_t)record[2 * r + 1] << 32;
    sq_spqr_dec_tile(word, &tile);
    for (unsigned r = 0; r < SQ_SPQR_TILE; r += words) {
        for (unsigned i = 0; i < words * SQ_SPQR_TILE; i++)
            *out++ = tile.code[r + i / SQ_SPQR_TILE][i % SQ_SPQR_TILE];
        for (unsigned i = 0; i < words; i++)
            *out++ = tile.scale[r + i];
        for (unsigned i = 0; i < words; i++)
            *out++ = tile.zero[r + i];
        for (unsigned i = 0; i < 4; i += 2)
            *out++ = sq_field_unsigned(tile.second[i] | (uint32_t)tile.second[i + 1] << 16, 32);
        *out++ = r + words == SQ_SPQR_TILE;
        *out++ = (int32_t)tile.error;
    }
    return len[0];
}

static void spqr_init(const unsigned *v, struct sq_flow_sim *sim)
{
    sq_flow_sim_init(sim, SQ_FLOW_TILE, SQ_SPQR_TILE / v[SPQR_WORDS]);
}

static void spqr_timing(const unsigned *v, unsigned stream, const int32_t *record,
                        struct sq_flow_beat *beat)
{
    (void)v;
    (void)stream;
    (void)record;
    (void)beat;
}

static const struct sq_flow spqr_flow = {{{1, "in"}}, spqr_limits, spqr_draw,
                                         spqr_golden, spqr_init,   spqr_timing};

const struct sq_stream_block sq_stream_spqr_dec = {
    "spqr_dec", "sq_spqr_dec", {"Words", NULL}, spqr_points, N_OF(spqr_points), spqr_shape,
    NULL,       NULL,          &spqr_flow,
};

// ---- spqt_idx -------------------------------------------------------------------------------

enum { SPQT_SEG, SPQT_LANES, SPQT_FP16, SPQT_INDEX_W };

// Segment, indices of a beat, FP16, index bits. all8: every mask of two segments; long: vectors
// beyond the range of the index.
static const struct sq_stream_point spqt_points[] = {
    {"all8", true, {8, 3, 0, 4}},     {"s8", false, {8, 1, 1, 16}},
    {"s16", false, {16, 16, 0, 16}},  {"s32", true, {32, 8, 0, 9}},
    {"s32f", false, {32, 4, 1, 16}},  {"s64", false, {64, 8, 0, 16}},
    {"s16f", false, {16, 16, 1, 12}}, {"wide", false, {8, 64, 0, 16}},
    {"long", true, {8, 4, 0, 6}},
};

static unsigned spqt_max_segments(const unsigned *v)
{
    const unsigned most = (1u << v[SPQT_INDEX_W]) / v[SPQT_SEG] + 4;
    return most < 16 ? most : 16;
}

static unsigned spqt_x_bits(const unsigned *v)
{
    return v[SPQT_FP16] ? 16 : 8;
}

static void spqt_shape(const unsigned *v, struct sq_stream_shape *s)
{
    unsigned n_bits = 0;
    while (1u << n_bits < v[SPQT_LANES] + 1)
        n_bits++;
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_PIPE,
                                  .depth = 1,
                                  .n_in = 3,
                                  .n_out = 5,
                                  .in = {{"x", v[SPQT_SEG], spqt_x_bits(v), false},
                                         {"theta", 1, v[SPQT_FP16] ? 15 : 8, true},
                                         {"last", 1, 1, true}},
                                  .out = {{"index", v[SPQT_LANES], v[SPQT_INDEX_W], true},
                                          {"n", 1, n_bits, true},
                                          {"total", 1, v[SPQT_INDEX_W] + 1, true},
                                          {"last", 1, 1, true},
                                          {"error", 1, 1, true}},
                                  .n_all = v[SPQT_SEG] == 8 && v[SPQT_LANES] == 3 ? 1u << 16 : 0};
}

static void spqt_limits(const unsigned *v, size_t *records, size_t *outputs)
{
    *records = spqt_max_segments(v);
    *outputs = *records * v[SPQT_SEG] / v[SPQT_LANES] + 2;
}

static bool spqt_is_legal(const unsigned *v, int32_t x)
{
    return v[SPQT_FP16] ? sq_spqt_is_legal_fp16((uint16_t)x) : sq_spqt_is_legal_int8((int8_t)x);
}

static bool spqt_keep(const unsigned *v, const int32_t *record, unsigned i)
{
    const unsigned theta = (unsigned)record[v[SPQT_SEG]];
    return v[SPQT_FP16] ? sq_spqt_keep_fp16((uint16_t)record[i], theta)
                        : sq_spqt_keep_int8((int8_t)record[i], theta);
}

static int32_t spqt_draw_x(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, unsigned theta)
{
    const unsigned bits = spqt_x_bits(v), max = v[SPQT_FP16] ? 0x7bff : 127;
    const int32_t sign = v[SPQT_FP16] ? -0x8000 : 0;
    if (draw == SQ_DRAW_ILLEGAL)
        return sq_draw_bits(rng, bits, false);
    uint32_t magnitude = sq_rng_below(rng, max + 1);
    if (draw != SQ_DRAW_UNIFORM) // around the threshold
        magnitude = theta + sq_rng_below(rng, 3) - (theta > 0);
    if (magnitude > max)
        magnitude = max;
    if (sq_rng_below(rng, 2))
        return (int32_t)magnitude;
    return v[SPQT_FP16] ? sign + (int32_t)magnitude : -(int32_t)magnitude;
}

static void spqt_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                      int32_t *record, uint32_t len[2])
{
    const unsigned seg = v[SPQT_SEG], max = v[SPQT_FP16] ? 0x7fff : 255;
    unsigned theta = sq_rng_below(rng, (draw == SQ_DRAW_ILLEGAL ? max : max / 2) + 1);
    if (draw == SQ_DRAW_EXTREME) // all, none, only zeros not
        theta = (unsigned[]){0, max, 1}[sq_rng_below(rng, 3)];
    len[0] = draw == SQ_DRAW_ALL ? 2 : 1 + sq_rng_below(rng, spqt_max_segments(v));
    len[1] = 0;
    for (uint32_t s = 0; s < len[0]; s++, record += seg + 2) {
        for (unsigned i = 0; i < seg; i++)
            record[i] = draw == SQ_DRAW_ALL ? (number >> (s * seg + i) & 1 ? -127 : 126)
                                            : spqt_draw_x(v, rng, draw, theta);
        record[seg] = draw == SQ_DRAW_ALL ? 127 : (int32_t)theta;
        record[seg + 1] = s + 1 == len[0];
    }
}

static size_t spqt_golden(const unsigned *v, const int32_t *record, const uint32_t len[2],
                          int32_t *out)
{
    static const size_t max_segments = 16;
    const unsigned seg = v[SPQT_SEG], lanes = v[SPQT_LANES];
    uint8_t mask[16 * 64];
    struct sq_spqt_beat beat[16 * 64 + 2];
    const size_t capacity = (size_t)1 << v[SPQT_INDEX_W];
    bool is_illegal = (size_t)len[0] * seg > capacity;
    assert(len[0] <= max_segments && seg <= 64);
    for (uint32_t s = 0; s < len[0]; s++)
        for (unsigned i = 0; i < seg; i++) {
            mask[s * seg + i] = spqt_keep(v, record + s * (seg + 2), i);
            is_illegal = is_illegal || !spqt_is_legal(v, record[s * (seg + 2) + i]);
        }
    const size_t n = sq_spqt_pack(mask, len[0], seg, lanes, beat);
    for (size_t b = 0; b < n; b++) {
        for (unsigned l = 0; l < lanes; l++)
            *out++ = sq_field_unsigned(beat[b].index[l], v[SPQT_INDEX_W]);
        *out++ = (int32_t)beat[b].n;
        *out++ = sq_field_unsigned(beat[b].total, v[SPQT_INDEX_W] + 1);
        *out++ = beat[b].last;
        *out++ = beat[b].last && is_illegal;
    }
    return n;
}

static void spqt_init(const unsigned *v, struct sq_flow_sim *sim)
{
    sq_flow_sim_init(sim, SQ_FLOW_PACK, v[SPQT_LANES]);
}

static void spqt_timing(const unsigned *v, unsigned stream, const int32_t *record,
                        struct sq_flow_beat *beat)
{
    (void)stream;
    for (unsigned i = 0; i < v[SPQT_SEG]; i++)
        beat->n += spqt_keep(v, record, i);
    beat->last = record[v[SPQT_SEG] + 1];
}

static const struct sq_flow spqt_flow = {{{3, "in"}}, spqt_limits, spqt_draw,
                                         spqt_golden, spqt_init,   spqt_timing};

const struct sq_stream_block sq_stream_spqt_idx = {
    "spqt_idx",
    "sq_spqt_idx",
    {"SegLen", "Lanes", "Fp16", "IndexW", NULL},
    spqt_points,
    N_OF(spqt_points),
    spqt_shape,
    NULL,
    NULL,
    &spqt_flow,
};

// ---- gqsa_walk ------------------------------------------------------------------------------

enum { WALK_GROUP, WALK_GROUP_W, WALK_AT_W, WALK_ROW_W };
enum { WALK_ROWS_MAX = 12, WALK_ROW_GROUPS_MAX = 8, WALK_FIELDS = 4, WALK_ALL_GROUPS = 4 };
enum { WALK_GROUPS_MAX = WALK_ROWS_MAX * WALK_ROW_GROUPS_MAX };

// G, bits of a group index, of an offset, of a row. all3x4: every matrix of 3 rows of 4 groups.
static const struct sq_stream_point walk_points[] = {
    {"all3x4", true, {16, 3, 8, 4}},
    {"g16", true, {16, 16, 32, 4}},
    {"g128", false, {128, 8, 24, 16}},
    {"g4", false, {4, 6, 7, 4}},
};

static void walk_shape(const unsigned *v, struct sq_stream_shape *s)
{
    unsigned shift = 0;
    while (1u << shift < v[WALK_GROUP])
        shift++;
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_PIPE,
                                  .depth = 1,
                                  .n_in = WALK_FIELDS,
                                  .n_out = 9,
                                  .in = {{"offset", 1, v[WALK_AT_W], true},
                                         {"limit", 1, v[WALK_GROUP_W] + 1, true},
                                         {"last", 1, 1, true},
                                         {"index", 1, v[WALK_GROUP_W], true}},
                                  .out = {{"row", 1, v[WALK_ROW_W], true},
                                          {"at", 1, v[WALK_AT_W], true},
                                          {"group", 1, v[WALK_GROUP_W], true},
                                          {"x", 1, v[WALK_GROUP_W] + shift, true},
                                          {"first", 1, 1, true},
                                          {"last", 1, 1, true},
                                          {"empty", 1, 1, true},
                                          {"end", 1, 1, true},
                                          {"error", 1, 3, true}},
                                  .n_all = v[WALK_GROUP_W] == 3 ? 1u << 12 : 0};
}

static void walk_limits(const unsigned *v, size_t *records, size_t *outputs)
{
    (void)v;
    *records = WALK_GROUPS_MAX + 1;
    *outputs = WALK_ROWS_MAX * (WALK_ROW_GROUPS_MAX + 1);
}

// Adds `n` ascending groups below `limit` (>= n); returns how many there are then.
static uint32_t add_groups(struct sq_rng *rng, int32_t *record, uint32_t count, uint32_t n,
                           uint32_t limit)
{
    uint32_t group = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t spare = limit - group - (n - i); // how many may be skipped
        group += sq_rng_below(rng, (spare < 3 || sq_rng_below(rng, 4) == 0 ? spare : 3) + 1);
        record[count++ * WALK_FIELDS + 3] = (int32_t)group++;
    }
    return count;
}

static void walk_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                      int32_t *record, uint32_t len[2])
{
    const uint32_t bits = v[WALK_GROUP_W], whole = 1u << bits;
    const bool is_all = draw == SQ_DRAW_ALL, is_illegal = draw == SQ_DRAW_ILLEGAL;
    const uint32_t rows = is_all ? 3 : 1 + sq_rng_below(rng, WALK_ROWS_MAX);
    uint32_t limit = WALK_ROW_GROUPS_MAX + sq_rng_below(rng, 20), count = 0, end = 0;
    if (is_all || draw == SQ_DRAW_EXTREME)
        limit = is_all ? WALK_ALL_GROUPS : whole;
    else if (draw == SQ_DRAW_UNIFORM && sq_rng_below(rng, 2))
        limit += sq_rng_below(rng, whole);
    if (limit > whole)
        limit = whole;
    if (is_illegal && sq_rng_below(rng, 2)) // row_index[0], anywhere where the others still fit
        end = sq_rng_below(rng, (UINT32_MAX >> (32 - v[WALK_AT_W])) - WALK_GROUPS_MAX);
    record[0] = (int32_t)end;
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t n = sq_rng_below(rng, WALK_ROW_GROUPS_MAX + 1), offset;
        if (draw == SQ_DRAW_FEW) // runs of empty rows and of single groups
            n = sq_rng_below(rng, 4) == 0;
        if (is_all) {
            n = 0;
            for (uint32_t i = 0; i < WALK_ALL_GROUPS; i++)
                if (number >> (r * WALK_ALL_GROUPS + i) & 1)
                    record[(count + n++) * WALK_FIELDS + 3] = (int32_t)i;
            count += n;
        } else {
            count = add_groups(rng, record, count, n, limit);
        }
        end += n;
        offset = end;
        if (is_illegal && n == 0 && end > 0 && sq_rng_below(rng, 2)) // decreases
            offset = sq_rng_below(rng, end);
        record[(r + 1) * WALK_FIELDS] = (int32_t)offset;
    }
    for (uint32_t i = 0; is_illegal && i < count; i++) // anywhere, often close to the limit
        if (sq_rng_below(rng, 4) == 0)
            record[i * WALK_FIELDS + 3] =
                (int32_t)((sq_rng_below(rng, 2) ? limit - 1 + sq_rng_below(rng, 3)
                                                : sq_rng_below(rng, whole)) &
                          (whole - 1));
    record[1] = (int32_t)limit;
    for (uint32_t r = 1; r <= rows; r++) // read with row_index[0] only
        record[r * WALK_FIELDS + 1] = (int32_t)sq_rng_below(rng, whole);
    record[rows * WALK_FIELDS + 2] = 1;
    len[0] = rows + 1;
    len[1] = count;
}

static size_t walk_golden(const unsigned *v, const int32_t *record, const uint32_t len[2],
                          int32_t *out)
{
    uint32_t offset[SQ_WALK_ROWS_MAX + 1]; // a given matrix is larger than those drawn
    uint16_t group[SQ_WALK_GROUPS_MAX];
    struct sq_gqsa_step step[SQ_WALK_ROWS_MAX + SQ_WALK_GROUPS_MAX];
    assert(len[0] <= SQ_WALK_ROWS_MAX + 1 && len[1] <= SQ_WALK_GROUPS_MAX);
    for (uint32_t i = 0; i < len[0]; i++)
        offset[i] = (uint32_t)record[i * WALK_FIELDS];
    for (uint32_t i = 0; i < len[1]; i++)
        group[i] = (uint16_t)record[i * WALK_FIELDS + 3];
    const size_t n = sq_gqsa_walk(offset, len[0] - 1, group, (uint32_t)record[1], step);
    for (const struct sq_gqsa_step *s = step; s < step + n; s++) {
        const int32_t beat[9] = {(int32_t)s->row,   (int32_t)s->at,
                                 (int32_t)s->group, (int32_t)(s->group * v[WALK_GROUP]),
                                 s->first,          s->last,
                                 s->empty,          s->end,
                                 (int32_t)s->error};
        memcpy(out, beat, sizeof beat);
        out += 9;
    }
    return n;
}

static void walk_init(const unsigned *v, struct sq_flow_sim *sim)
{
    (void)v;
    sq_flow_sim_init(sim, SQ_FLOW_WALK, 0);
}

static void walk_timing(const unsigned *v, unsigned stream, const int32_t *record,
                        struct sq_flow_beat *beat)
{
    (void)v;
    if (stream != 0)
        return;
    beat->n = (uint32_t)record[0];
    beat->last = record[2];
}

static const struct sq_flow walk_flow = {
    {{3, "in"}, {1, "group"}}, walk_limits, walk_draw, walk_golden, walk_init, walk_timing};

const struct sq_stream_block sq_stream_gqsa_walk = {
    "gqsa_walk",
    "sq_gqsa_walk",
    {"GroupLen", "GroupW", "AtW", "RowW", NULL},
    walk_points,
    N_OF(walk_points),
    walk_shape,
    NULL,
    NULL,
    &walk_flow,
};
