// SPDX-License-Identifier: Apache-2.0
// sq_meta24: 2:4 metadata selects activations.
#include "models/array/sq_meta24.h"
#include "sim/block/flow/sq_pipeline.h"

enum { ROWS, GROUPS, ACT_W };

// rows, groups, activation bits. One group: 16 nibbles; two: all 256 pairs of nibbles.
static const struct sq_point points[] = {
    {"g1", true, {1, 1, 8}},    {"g2", true, {2, 2, 8}},  {"g4", true, {2, 4, 8}},
    {"g4a4", false, {3, 4, 4}}, {"g8", false, {1, 8, 8}},
};

static void ports(const unsigned *value, struct sq_ports *p)
{
    const size_t rows = value[ROWS], groups = value[GROUPS];
    *p = (struct sq_ports){
        .stream = {{"in", 2}},
        .n_in = 2,
        .n_out = 2,
        .in = {{"meta", groups, 4, true}, {"act", rows * groups * 4, value[ACT_W], false}},
        .out = {{"act", rows * groups * 2, value[ACT_W], false}, {"error", groups, 1, true}},
        .n_all = groups <= 2 ? UINT64_C(1) << (4 * groups) : 0};
}

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

static void init(const unsigned *value, void *state)
{
    struct sq_chain *c = state;
    (void)value;
    sq_pipeline_init(&c->back, SQ_TIMING_PIPE, 2);
}

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"meta24", "sq_meta24", 16, false, {{"Groups", 4}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"g2", 100, 200}};

static size_t row_len(const unsigned *v, size_t f)
{
    return f == 0 ? 2 * (size_t)v[GROUPS] : 0;
}

static const struct sq_free meta24_free[] = {
    {"Rows", 1, 16, false}, {"Groups", 1, 16, false}, {NULL, 0, 0, false}};

const struct sq_block sq_meta24_block = {
    .name = "meta24",
    .top = "sq_meta24",
    .group = "beat",
    .param = {"Rows", "Groups", "ActW", NULL},
    .free = meta24_free,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 60,
    SQ_ROWS(faults),
    .ports = ports,
    .draw_beat = draw_beat,
    .golden = golden,
    .row_len = row_len,
    .timing = &sq_timing_chain,
    .init = init,
};
