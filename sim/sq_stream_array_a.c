// SPDX-License-Identifier: Apache-2.0
// sq_act_split and sq_array_a as stream blocks: split codes on activations with a dynamic mask.
#include <string.h>

#include "sq_act_split.h"
#include "sq_array.h"
#include "sq_format.h"
#include "sq_stream_block.h"
#include "sq_topk.h"

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
};
