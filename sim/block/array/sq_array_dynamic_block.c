// SPDX-License-Identifier: Apache-2.0
// sq_array_dynamic: an array behind a mask unit for activations.
#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "sim/block/array/sq_split_act.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"

enum { ROWS, COLS, BANKS, BANK, HIGH, WEIGHT_W, TOPK, GATHER };

// rows, cols, banks a beat, bank, k, weight bits, TopK, log gather
static const struct sq_point points[] = {
    {"rank", true, {2, 2, 1, 8, 2, 4, SQ_TOPK_RANK, 0}},
    {"radix", true, {2, 1, 1, 8, 1, 4, SQ_TOPK_RADIX, 0}},
    {"rank_2b8", true, {2, 2, 2, 8, 1, 4, SQ_TOPK_RANK, 0}},
    {"radix_b16", false, {1, 1, 1, 16, 2, 4, SQ_TOPK_RADIX, 0}},
    {"rank_b16", false, {1, 1, 1, 16, 2, 4, SQ_TOPK_RANK, 1}},
};

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t beat = (size_t)v[BANKS] * v[BANK];
    *p = (struct sq_ports){.stream = {{"in", 3}},
                           .has_last = true,
                           .macs = (double)v[ROWS] * v[COLS] * (double)beat,
                           .n_in = 3,
                           .n_out = 1,
                           .in = {{"last", 1, 1, true},
                                  {"act", v[ROWS] * beat, 8, false},
                                  {"weight", v[COLS] * beat, v[WEIGHT_W], false}},
                           .out = {{"p", (size_t)v[ROWS] * v[COLS], 32, false}}};
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const size_t acts = (size_t)v[ROWS] * v[BANKS] * v[BANK];
    const size_t weights = (size_t)v[COLS] * v[BANKS] * v[BANK];
    (void)number;
    for (size_t i = 0; i < acts; i++)
        beat[1 + i] = sq_split_draw(rng, kind);
    sq_draw_codes(rng, v[WEIGHT_W], kind, weights, beat + 1 + acts);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const size_t n = in->len[0];
    const size_t line = (size_t)v[BANKS] * v[BANK];
    const size_t len = 1 + (v[ROWS] + v[COLS]) * line;
    for (unsigned r = 0; r < v[ROWS]; r++)
        for (unsigned c = 0; c < v[COLS]; c++) {
            uint32_t p = 0;
            for (size_t b = 0; b < n; b++) {
                const int32_t *beat = beats + b * len + 1;
                sq_split_add(v[BANKS], v[BANK], v[HIGH], beat + r * line,
                             beat + (v[ROWS] + c) * line, &p);
            }
            out[r * v[COLS] + c] = (int32_t)p;
        }
    return 1;
}

// ---- the ends of the sums -------------------------------------------------------------------

// K columns of the largest code and weight.
static int64_t limit(const unsigned *v, size_t f)
{
    (void)f;
    return SQ_K_MAX / v[BANK] * sq_split_bank_max(v[BANK], v[HIGH]) * sq_qmax(v[WEIGHT_W]);
}

static void fill(const unsigned *v, int sign, int32_t *beat)
{
    const size_t acts = (size_t)v[ROWS] * v[BANKS] * v[BANK];
    const size_t weights = (size_t)v[COLS] * v[BANKS] * v[BANK];
    for (size_t i = 0; i < acts; i++)
        beat[1 + i] = SQ_SPLIT_PORT_MIN;
    for (size_t i = 0; i < weights; i++)
        beat[1 + acts + i] = -sign * sq_qmax(v[WEIGHT_W]);
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    (void)number;
    (void)rng;
    const uint32_t need = SQ_K_MAX / (v[BANKS] * v[BANK]);
    return sq_case_sums(c, sq_case_sum_beats(need, limit(v, 0) / need), fill, err);
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    struct sq_ports p;
    ports(v, &p);
    return way == 0 && sq_cut_to_last(sq_field_offset(p.in, p.n_in), record, len);
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    c->has_front = true;
    sq_topk_pipeline(&c->front, v[TOPK], SQ_SPLIT_MAG_W);
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY, SQ_SPLIT_ARRAY_DEPTH);
}

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"array_split_a_rank", "sq_array_dynamic", 16, true, {{"HighPerBank", 4}, {"Topk", 0}}},
    {"array_split_a_radix", "sq_array_dynamic", 16, true, {{"HighPerBank", 4}, {"Topk", 1}}},
    {"array_split_a_k2_rank", "sq_array_dynamic", 16, true, {{"HighPerBank", 2}, {"Topk", 0}}},
    {"array_split_a_k2_radix", "sq_array_dynamic", 16, true, {{"HighPerBank", 2}, {"Topk", 1}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"rank", 100, 60}};

static const struct sq_free array_dynamic_free[] = {
    {"Rows", 1, 64, false},    {"Cols", 1, 64, false},         {"Banks", 1, 8, false},
    {"BankLen", 4, 128, true}, {"HighPerBank", 1, 127, false}, {NULL, 0, 0, false}};

const struct sq_block sq_array_dynamic_block = {
    .name = "array_dynamic",
    .top = "sq_array_dynamic",
    .group = "tile",
    .param = {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "WeightW", "Topk", "Gather", NULL},
    .free = array_dynamic_free,
    .points = points,
    .n_points = SQ_LEN(points),
    .area = area,
    .n_area = SQ_LEN(area),
    .coverage_cases = 60,
    .faults = faults,
    .n_faults = SQ_LEN(faults),
    .ports = ports,
    .draw_beat = draw_beat,
    .n_directed = 1,
    .draw_directed = draw_directed,
    .limit = limit,
    .cut = cut,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
};
