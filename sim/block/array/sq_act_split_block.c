// SPDX-License-Identifier: Apache-2.0
// sq_act_split: codes of activations split by a dynamic mask.
#include "models/core/sq_topk.h"
#include "sim/block/array/sq_split_act.h"
#include "sim/block/flow/sq_pipeline.h"

enum { BANK, K, ARCH };

// bank, k, TopK
static const struct sq_point points[] = {
    {"b8", true, {8, 1, SQ_TOPK_RANK}},
    {"b8r", false, {8, 2, SQ_TOPK_RADIX}},
    {"b16", false, {16, 2, SQ_TOPK_RANK}},
    {"b16r", true, {16, 4, SQ_TOPK_RADIX}},
};

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t bank = v[BANK];
    *p = (struct sq_ports){
        .stream = {{"in", 1}},
        .n_in = 1,
        .n_out = 3,
        .in = {{"code", bank, 8, false}},
        .out = {{"low", bank, 4, false}, {"high", bank, 4, false}, {"mask", bank, 1, true}}};
}

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    (void)number;
    for (unsigned i = 0; i < v[BANK]; i++)
        beat[i] = sq_split_draw(rng, kind);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    const unsigned bank = v[BANK];
    sq_split_bank(beats, bank, v[K], out, out + bank, out + 2 * bank);
    return 1;
}

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    sq_topk_pipeline(&c->back, v[ARCH], SQ_SPLIT_MAG_W);
}

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"mask_split_a_rank", "sq_act_split", 16, false, {{"HighPerBank", 4}, {"Topk", 0}}},
    {"mask_split_a_radix", "sq_act_split", 16, false, {{"HighPerBank", 4}, {"Topk", 1}}},
    {"mask_split_a_k2_rank", "sq_act_split", 16, false, {{"HighPerBank", 2}, {"Topk", 0}}},
    {"mask_split_a_k2_radix", "sq_act_split", 16, false, {{"HighPerBank", 2}, {"Topk", 1}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"b8", 100, 200}};

static const struct sq_free act_split_free[] = {
    {"BankLen", 4, 128, true}, {"HighPerBank", 1, 127, false}, {NULL, 0, 0, false}};

const struct sq_block sq_act_split_block = {
    .name = "act_split",
    .top = "sq_act_split",
    .group = "bank",
    .param = {"BankLen", "HighPerBank", "Topk", NULL},
    .free = act_split_free,
    .points = points,
    .n_points = SQ_LEN(points),
    .area = area,
    .n_area = SQ_LEN(area),
    .coverage_cases = 60,
    .faults = faults,
    .n_faults = SQ_LEN(faults),
    .ports = ports,
    .draw_beat = draw_beat,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
};
