// SPDX-License-Identifier: Apache-2.0
// sq_act_split, sq_array_a, sq_act_store and sq_array_s as stream blocks: split codes on
// activations with a dynamic mask, made for each use or stored.
#include <string.h>

#include "models/sq_act_split.h"
#include "models/sq_array.h"
#include "models/sq_format.h"
#include "models/sq_topk.h"
#include "sim/block/sq_stream_block.h"

enum { MAG_W = 8, CODE_MIN = -136, CODE_MAX = 119, BIAS = 8 };

// The code + 8 that the port carries: any 8-bit value is the code of something.
static int32_t draw_code(struct sq_rng *rng, enum sq_draw draw)
{
    const uint32_t kind = sq_rng_below(rng, 4);
    int code = (int)sq_rng_below(rng, 256) + CODE_MIN;
    if (draw == SQ_DRAW_EXTREME) // ends of the range, and around the clamp of the low part
        code = (int[]){CODE_MIN, CODE_MAX, -8, 8}[kind];
    else if (draw == SQ_DRAW_FEW)
        code = (int)kind * 8 - 16;
    else if (kind < 3) // mostly small, as activations are
        code = (int)sq_rng_below(rng, 21) - 10;
    return code + BIAS;
}

static void topk_timing(unsigned arch, enum sq_stream_kind *kind, unsigned *depth)
{
    *kind = arch == SQ_TOPK_RANK ? SQ_STREAM_PIPE : SQ_STREAM_SERIAL;
    *depth = arch == SQ_TOPK_RANK ? 2 : MAG_W;
}

// ---- act_split ------------------------------------------------------------------------------

enum { SPLIT_BANK, SPLIT_K, SPLIT_ARCH };

// bank, k, TopK
static const struct sq_stream_point split_points[] = {
    {"b8", true, {8, 1, SQ_TOPK_RANK}},
    {"b8r", false, {8, 2, SQ_TOPK_RADIX}},
    {"b16", false, {16, 2, SQ_TOPK_RANK}},
    {"b16r", true, {16, 4, SQ_TOPK_RADIX}},
};

static void split_shape(const unsigned *v, struct sq_stream_shape *s)
{
    const size_t bank = v[SPLIT_BANK];
    *s = (struct sq_stream_shape){
        .n_in = 1,
        .n_out = 3,
        .in = {{"code", bank, 8, false}},
        .out = {{"low", bank, 4, false}, {"high", bank, 4, false}, {"mask", bank, 1, true}}};
    topk_timing(v[SPLIT_ARCH], &s->kind, &s->depth);
}

static void split_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                       int32_t *beat)
{
    (void)number;
    for (unsigned i = 0; i < v[SPLIT_BANK]; i++)
        beat[i] = draw_code(rng, draw);
}

static void split_bank(const int32_t *biased, unsigned bank, unsigned k, int32_t *low,
                       int32_t *high, int32_t *mask)
{
    int32_t code[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++)
        code[i] = biased[i] - BIAS;
    sq_act_split_bank(code, bank, k, low, high, mask);
}

static void split_golden(const unsigned *v, const int32_t *beats, size_t n, int32_t *out)
{
    const unsigned bank = v[SPLIT_BANK];
    (void)n;
    split_bank(beats, bank, v[SPLIT_K], out, out + bank, out + 2 * bank);
}

const struct sq_stream_block sq_stream_act_split = {
    "act_split",
    "sq_act_split",
    {"BankLen", "HighPerBank", "Topk", NULL},
    split_points,
    sizeof split_points / sizeof split_points[0],
    split_shape,
    split_draw,
    split_golden,
    NULL,
};

// ---- array_a --------------------------------------------------------------------------------

enum { ROWS, COLS, BANKS, BANK, HIGH, WEIGHT_W, TOPK, GATHER };

// rows, cols, banks a beat, bank, k, weight bits, TopK, log gather
static const struct sq_stream_point points[] = {
    {"rank", true, {2, 2, 1, 8, 2, 4, SQ_TOPK_RANK, 0}},
    {"radix", true, {2, 1, 1, 8, 1, 4, SQ_TOPK_RADIX, 0}},
    {"rank_2b8", false, {1, 2, 2, 8, 1, 4, SQ_TOPK_RANK, 0}},
    {"radix_b16", false, {1, 1, 1, 16, 2, 4, SQ_TOPK_RADIX, 0}},
    {"rank_b16", false, {1, 1, 1, 16, 2, 4, SQ_TOPK_RANK, 1}},
};

static void shape(const unsigned *v, struct sq_stream_shape *s)
{
    const size_t beat = (size_t)v[BANKS] * v[BANK];
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_ARRAY,
                                  .depth = 3,
                                  .n_in = 3,
                                  .n_out = 1,
                                  .in = {{"last", 1, 1, true},
                                         {"act", v[ROWS] * beat, 8, false},
                                         {"weight", v[COLS] * beat, v[WEIGHT_W], false}},
                                  .out = {{"p", (size_t)v[ROWS] * v[COLS], 32, false}}};
    topk_timing(v[TOPK], &s->front_kind, &s->front_depth);
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                      int32_t *beat)
{
    const size_t acts = (size_t)v[ROWS] * v[BANKS] * v[BANK];
    const size_t weights = (size_t)v[COLS] * v[BANKS] * v[BANK];
    (void)number;
    for (size_t i = 0; i < acts; i++)
        beat[1 + i] = draw_code(rng, draw);
    for (size_t i = 0; i < weights; i++)
        beat[1 + acts + i] = sq_draw_code(rng, v[WEIGHT_W], draw);
}

// One (row, column) over one beat.
static void add_beat(const unsigned *v, const int32_t *act, const int32_t *weight, uint32_t *p)
{
    const unsigned bank = v[BANK], k = v[HIGH];
    const struct sq_array_config c = {.format = SQ_ARRAY_SPLIT,
                                      .one_acc = true,
                                      .bank = bank,
                                      .high_per_bank = k,
                                      .high_len = bank,
                                      .low_bits = 4,
                                      .high_bits = 4};
    int32_t low[SQ_BANK_MAX], high[SQ_BANK_MAX], mask[SQ_BANK_MAX];
    uint32_t unused = 0;
    for (unsigned b = 0; b < v[BANKS]; b++) {
        split_bank(act + b * bank, bank, k, low, high, mask);
        (void)sq_array_bank(&c, &(struct sq_array_line){low, high, mask}, weight + b * bank, p,
                            &unused);
    }
}

static void golden(const unsigned *v, const int32_t *beats, size_t n, int32_t *out)
{
    const size_t line = (size_t)v[BANKS] * v[BANK];
    const size_t len = 1 + (v[ROWS] + v[COLS]) * line;
    for (unsigned r = 0; r < v[ROWS]; r++)
        for (unsigned c = 0; c < v[COLS]; c++) {
            uint32_t p = 0;
            for (size_t b = 0; b < n; b++) {
                const int32_t *beat = beats + b * len + 1;
                add_beat(v, beat + r * line, beat + (v[ROWS] + c) * line, &p);
            }
            out[r * v[COLS] + c] = (int32_t)p;
        }
}

const struct sq_stream_block sq_stream_array_a = {
    "array_a",
    "sq_array_a",
    {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "WeightW", "Topk", "Gather", NULL},
    points,
    sizeof points / sizeof points[0],
    shape,
    draw_beat,
    golden,
    NULL,
};

// ---- act_store ------------------------------------------------------------------------------

enum { STORE_WIDTH, STORE_DEPTH, STORE_PASS_W };
enum { STORE_PASSES_MAX = 5 };

// bits, beats of a tile, bits of the number of passes
static const struct sq_stream_point store_points[] = {
    {"d4", true, {9, 4, 3}},
    {"d1", false, {12, 1, 8}},
    {"d7", false, {30, 7, 4}},
};

static void store_shape(const unsigned *v, struct sq_stream_shape *s)
{
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_PIPE,
                                  .depth = 1,
                                  .n_in = 3,
                                  .n_out = 2,
                                  .in = {{"data", 1, v[STORE_WIDTH], true},
                                         {"last", 1, 1, true},
                                         {"passes", 1, v[STORE_PASS_W], true}},
                                  .out = {{"data", 1, v[STORE_WIDTH], true}, {"last", 1, 1, true}}};
}

static void store_limits(const unsigned *v, size_t *records, size_t *outputs)
{
    *records = v[STORE_DEPTH];
    *outputs = (size_t)v[STORE_DEPTH] * STORE_PASSES_MAX;
}

// Full tiles used once, short ones used often, and all between.
static uint32_t draw_tile(struct sq_rng *rng, enum sq_draw draw, uint32_t depth, uint32_t *passes)
{
    *passes = 1 + sq_rng_below(rng, draw == SQ_DRAW_FEW ? 1 : STORE_PASSES_MAX);
    return draw == SQ_DRAW_EXTREME ? depth : 1 + sq_rng_below(rng, depth);
}

static void store_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                       int32_t *record, uint32_t len[2])
{
    uint32_t passes;
    (void)number;
    len[0] = draw_tile(rng, draw, v[STORE_DEPTH], &passes);
    len[1] = 0;
    for (uint32_t i = 0; i < len[0]; i++, record += 3) {
        record[0] = sq_field_unsigned((uint32_t)sq_rng_next(rng), v[STORE_WIDTH]);
        record[1] = i + 1 == len[0];
        record[2] = (int32_t)(i + 1 == len[0] ? passes : sq_rng_below(rng, 1u << v[STORE_PASS_W]));
    }
}

static size_t store_golden(const unsigned *v, const int32_t *record, const uint32_t len[2],
                           int32_t *out)
{
    const uint32_t passes = (uint32_t)record[3 * len[0] - 1];
    (void)v;
    for (uint32_t p = 0; p < passes; p++)
        for (uint32_t i = 0; i < len[0]; i++) {
            *out++ = record[3 * i];
            *out++ = i + 1 == len[0];
        }
    return (size_t)passes * len[0];
}

static void store_init(const unsigned *v, struct sq_flow_sim *sim)
{
    (void)v;
    sq_flow_sim_init(sim, SQ_FLOW_STORE, 0);
}

static void store_timing(const unsigned *v, unsigned stream, const int32_t *record,
                         struct sq_flow_beat *beat)
{
    (void)v;
    (void)stream;
    beat->last = record[1];
    beat->n = (uint32_t)record[2];
}

static const struct sq_flow store_flow = {{{3, "in"}},  store_limits, store_draw,
                                          store_golden, store_init,   store_timing};

const struct sq_stream_block sq_stream_act_store = {
    "act_store",
    "sq_act_store",
    {"Width", "Depth", "PassW", NULL},
    store_points,
    sizeof store_points / sizeof store_points[0],
    store_shape,
    NULL,
    NULL,
    &store_flow,
};

// ---- array_s --------------------------------------------------------------------------------

enum { S_ROWS, S_COLS, S_BANKS, S_BANK, S_HIGH, S_WEIGHT_W, S_TOPK, S_GATHER, S_DEPTH, S_PASS_W };
enum { S_PASSES_MAX = 12 };

// rows, cols, banks a beat, bank, k, weight bits, TopK, log gather, beats of a tile, bits of passes
static const struct sq_stream_point s_points[] = {
    {"radix", true, {2, 2, 1, 8, 2, 4, SQ_TOPK_RADIX, 0, 4, 4}},
    {"rank", true, {1, 2, 1, 8, 2, 4, SQ_TOPK_RANK, 0, 3, 4}},
    {"radix_2b8", false, {2, 1, 2, 8, 1, 4, SQ_TOPK_RADIX, 0, 6, 8}},
    {"radix_b16", false, {1, 1, 1, 16, 4, 4, SQ_TOPK_RADIX, 1, 1, 8}},
};

static void s_shape(const unsigned *v, struct sq_stream_shape *s)
{
    const size_t beat = (size_t)v[S_BANKS] * v[S_BANK];
    *s = (struct sq_stream_shape){.kind = SQ_STREAM_PIPE,
                                  .depth = 1,
                                  .n_in = 4,
                                  .n_out = 1,
                                  .in = {{"last", 1, 1, true},
                                         {"passes", 1, v[S_PASS_W], true},
                                         {"act", v[S_ROWS] * beat, 8, false},
                                         {"code", v[S_COLS] * beat, v[S_WEIGHT_W], false}},
                                  .out = {{"p", (size_t)v[S_ROWS] * v[S_COLS], 32, false}}};
}

static void s_limits(const unsigned *v, size_t *records, size_t *outputs)
{
    *records = (size_t)v[S_DEPTH] * S_PASSES_MAX;
    *outputs = S_PASSES_MAX;
}

static void s_draw(const unsigned *v, struct sq_rng *rng, enum sq_draw draw, uint64_t number,
                   int32_t *record, uint32_t len[2])
{
    const size_t acts = (size_t)v[S_ROWS] * v[S_BANKS] * v[S_BANK];
    const size_t weights = (size_t)v[S_COLS] * v[S_BANKS] * v[S_BANK];
    uint32_t passes;
    (void)number;
    len[0] = draw_tile(rng, draw, v[S_DEPTH], &passes);
    if (sq_rng_below(rng, 2)) // about as often as the radix unit needs
        passes = 1 + sq_rng_below(rng, S_PASSES_MAX);
    len[1] = len[0] * passes;
    for (uint32_t i = 0; i < len[1]; i++, record += 2 + acts + weights) {
        for (size_t w = 0; w < weights; w++)
            record[2 + acts + w] = sq_draw_code(rng, v[S_WEIGHT_W], draw);
        if (i >= len[0])
            continue;
        record[0] = i + 1 == len[0];
        record[1] = (int32_t)(i + 1 == len[0] ? passes : sq_rng_below(rng, 1u << v[S_PASS_W]));
        for (size_t a = 0; a < acts; a++)
            record[2 + a] = draw_code(rng, draw);
    }
}

static size_t s_golden(const unsigned *v, const int32_t *record, const uint32_t len[2],
                       int32_t *out)
{
    const unsigned a[] = {[ROWS] = v[S_ROWS], [COLS] = v[S_COLS],    [BANKS] = v[S_BANKS],
                          [BANK] = v[S_BANK], [HIGH] = v[S_HIGH],    [WEIGHT_W] = v[S_WEIGHT_W],
                          [TOPK] = v[S_TOPK], [GATHER] = v[S_GATHER]};
    const size_t line = (size_t)v[S_BANKS] * v[S_BANK];
    const size_t n = 2 + (v[S_ROWS] + v[S_COLS]) * line;
    for (uint32_t first = 0; first < len[1]; first += len[0])
        for (unsigned r = 0; r < v[S_ROWS]; r++)
            for (unsigned c = 0; c < v[S_COLS]; c++) {
                uint32_t p = 0;
                for (uint32_t i = 0; i < len[0]; i++)
                    add_beat(a, record + i * n + 2 + r * line,
                             record + (first + i) * n + 2 + (v[S_ROWS] + c) * line, &p);
                *out++ = (int32_t)p;
            }
    return len[1] / len[0];
}

static void s_init(const unsigned *v, struct sq_flow_sim *sim)
{
    enum sq_stream_kind kind;
    unsigned depth;
    topk_timing(v[S_TOPK], &kind, &depth);
    sq_flow_sim_init(sim, SQ_FLOW_STORE, 0);
    sq_flow_store_units(sim, kind, depth, 3);
}

static void s_timing(const unsigned *v, unsigned stream, const int32_t *record,
                     struct sq_flow_beat *beat)
{
    (void)v;
    if (stream != 0)
        return;
    beat->last = record[0];
    beat->n = (uint32_t)record[1];
}

static const struct sq_flow s_flow = {
    {{3, "in"}, {1, "weight"}}, s_limits, s_draw, s_golden, s_init, s_timing};

const struct sq_stream_block sq_stream_array_s = {
    "array_s",
    "sq_array_s",
    {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "WeightW", "Topk", "Gather", "Depth",
     "PassW", NULL},
    s_points,
    sizeof s_points / sizeof s_points[0],
    s_shape,
    NULL,
    NULL,
    &s_flow,
};
