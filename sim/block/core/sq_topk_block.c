// SPDX-License-Identifier: Apache-2.0
// sq_topk: the mask of the k largest magnitudes of a bank.
#include "models/core/sq_topk.h"
#include "sim/block/flow/sq_pipeline.h"

enum { BANK, K, MAG_W, ARCH };

// bank, k, magnitude bits, architecture. Those with at most 2^16 banks are exhausted: every tie,
// all equal and all zero among them.
static const struct sq_point points[] = {
    {"all4x2", true, {4, 1, 2, SQ_TOPK_RANK}},     {"all4x2r", true, {4, 1, 2, SQ_TOPK_RADIX}},
    {"all4x3", true, {4, 2, 3, SQ_TOPK_RANK}},     {"all4x3r", true, {4, 2, 3, SQ_TOPK_RADIX}},
    {"all8x2", false, {8, 2, 2, SQ_TOPK_RANK}},    {"all8x2r", true, {8, 4, 2, SQ_TOPK_RADIX}},
    {"all16x1", false, {16, 4, 1, SQ_TOPK_RANK}},  {"all16x1r", false, {16, 8, 1, SQ_TOPK_RADIX}},
    {"b8", true, {8, 1, 7, SQ_TOPK_RANK}},         {"b8r", false, {8, 2, 7, SQ_TOPK_RADIX}},
    {"b16", false, {16, 4, 8, SQ_TOPK_RANK}},      {"b16r", true, {16, 4, 8, SQ_TOPK_RADIX}},
    {"b32", false, {32, 8, 7, SQ_TOPK_RANK}},      {"b32r", false, {32, 8, 15, SQ_TOPK_RADIX}},
    {"b32f", false, {32, 2, 15, SQ_TOPK_RANK}},    {"b64r", false, {64, 4, 15, SQ_TOPK_RADIX}},
    {"all4x3t", true, {4, 1, 3, SQ_TOPK_TREE}},    {"all8x2t", true, {8, 2, 2, SQ_TOPK_TREE}},
    {"b16t", false, {16, 2, 15, SQ_TOPK_TREE}},    {"b32t", true, {32, 1, 15, SQ_TOPK_TREE}},
    {"b128r", false, {128, 64, 7, SQ_TOPK_RADIX}},
};

static void ports(const unsigned *value, struct sq_ports *p)
{
    const unsigned bank = value[BANK], bits = value[MAG_W];
    *p = (struct sq_ports){.stream = {{"in", 1}},
                           .n_in = 1,
                           .n_out = 1,
                           .in = {{"mag", bank, bits, true}},
                           .out = {{"mask", bank, 1, true}},
                           .n_all = bank * bits <= 16 ? UINT64_C(1) << (bank * bits) : 0};
}

static void draw_beat(const unsigned *value, struct sq_rng *rng, enum sq_stimulus kind,
                      uint64_t number, int32_t *beat)
{
    const unsigned bits = value[MAG_W], max = (1u << bits) - 1;
    const int32_t few[3] = {0, sq_draw_bits(rng, bits, true), (int32_t)max};
    const unsigned flips = sq_rng_below(rng, 3), bit = sq_rng_below(rng, bits);
    for (unsigned i = 0; i < value[BANK]; i++) {
        if (kind == SQ_STIMULUS_ALL)
            beat[i] = (int32_t)(number >> (i * bits) & max);
        else if (kind == SQ_STIMULUS_FEW)
            beat[i] = few[sq_rng_below(rng, 3)];
        else if (kind == SQ_STIMULUS_EXTREME && (flips == 0 || sq_rng_below(rng, 4) > 0))
            beat[i] = few[1]; // all equal, or some but for one bit, the same or not
        else if (kind == SQ_STIMULUS_EXTREME)
            beat[i] = few[1] ^ (int32_t)(1u << (flips == 1 ? bit : sq_rng_below(rng, bits)));
        else
            beat[i] = sq_draw_bits(rng, bits, true);
    }
}

static uint64_t golden(const unsigned *value, const struct sq_group *in, int32_t *out)
{
    const int32_t *beats = in->record;
    uint16_t mag[SQ_BANK_MAX];
    uint8_t mask[SQ_BANK_MAX];
    for (unsigned i = 0; i < value[BANK]; i++)
        mag[i] = (uint16_t)beats[i];
    sq_topk_bank(mag, value[BANK], value[K], mask);
    for (unsigned i = 0; i < value[BANK]; i++)
        out[i] = mask[i];
    return 1;
}

static void init(const unsigned *value, void *state)
{
    struct sq_chain *c = state;
    if (value[ARCH] == SQ_TOPK_TREE)
        sq_topk_tree_pipeline(&c->back, value[K]);
    else
        sq_topk_pipeline(&c->back, value[ARCH], value[MAG_W]);
}

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"topk_rank_b4", "sq_topk", 4, false, {{"BankLen", 4}, {"HighPerBank", 1}, {"MagW", 7}, {"Topk", 0}}},
    {"topk_radix_b4", "sq_topk", 4, false, {{"BankLen", 4}, {"HighPerBank", 1}, {"MagW", 7}, {"Topk", 1}}},
    {"topk_rank_b8", "sq_topk", 8, false, {{"BankLen", 8}, {"HighPerBank", 2}, {"MagW", 7}, {"Topk", 0}}},
    {"topk_radix_b8", "sq_topk", 8, false, {{"BankLen", 8}, {"HighPerBank", 2}, {"MagW", 7}, {"Topk", 1}}},
    {"topk_rank_b16", "sq_topk", 16, false, {{"BankLen", 16}, {"HighPerBank", 4}, {"MagW", 7}, {"Topk", 0}}},
    {"topk_radix_b16", "sq_topk", 16, false, {{"BankLen", 16}, {"HighPerBank", 4}, {"MagW", 7}, {"Topk", 1}}},
    {"topk_rank_b32", "sq_topk", 32, false, {{"BankLen", 32}, {"HighPerBank", 8}, {"MagW", 7}, {"Topk", 0}}},
    {"topk_radix_b32", "sq_topk", 32, false, {{"BankLen", 32}, {"HighPerBank", 8}, {"MagW", 7}, {"Topk", 1}}},
    {"topk_radix_b64", "sq_topk", 64, false, {{"BankLen", 64}, {"HighPerBank", 16}, {"MagW", 7}, {"Topk", 1}}},
    {"topk_radix_b128", "sq_topk", 128, false, {{"BankLen", 128}, {"HighPerBank", 32}, {"MagW", 7}, {"Topk", 1}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"b16", 50, 200}, {"b16r", 50, 200}};

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    (void)old;
    (void)given;
    if (v[ARCH] == SQ_TOPK_TREE && v[K] > 2)
        return SQ_FAIL(err, SQ_ERR_RANGE, "HighPerBank = %u of a tree, need 1..2", v[K]);
    return SQ_OK;
}

static const struct sq_free topk_free[] = {{"BankLen", 4, 128, true},
                                           {"HighPerBank", 1, 127, false},
                                           {"MagW", 1, 15, false},
                                           {NULL, 0, 0, false}};

const struct sq_block sq_topk_block = {
    .name = "topk",
    .top = "sq_topk",
    .group = "bank",
    .param = {"BankLen", "HighPerBank", "MagW", "Topk", NULL},
    .free = topk_free,
    .settle = settle,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 420,
    SQ_ROWS(faults),
    .ports = ports,
    .draw_beat = draw_beat,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
};
