// SPDX-License-Identifier: Apache-2.0
// sq_gqsa_scale: sums of kept groups to the outputs of rows.
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/output/sq_combine_draw.h"

enum { LANES, SUM_W };
enum { GROUPS_MAX = 10 };

// tokens, bits of a sum
static const struct sq_point points[] = {
    {"two", true, {2, 24}},
    {"one", true, {1, 20}},
    {"four", false, {4, 26}},
};

// last, p [lanes], sum [lanes], zero, scale, s_a [lanes], tag
static size_t record_len(const unsigned *v)
{
    return 4 + 3 * (size_t)v[LANES];
}

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t lanes = v[LANES];
    *p = (struct sq_ports){.stream = {{"in", 7}},
                           .n_in = 7,
                           .n_out = 2,
                           .in = {{"last", 1, 1, true},
                                  {"p", lanes, v[SUM_W], false},
                                  {"sum", lanes, v[SUM_W], false},
                                  {"zero", 1, 4, true},
                                  {"scale", 1, 16, true},
                                  {"s_a", lanes, 32, false},
                                  {"tag", 1, 1, true}},
                           .out = {{"y", lanes, 32, true}, {"tag", 1, 1, true}},
                           .records = GROUPS_MAX};
}

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

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    return way == 0 && sq_cut_to_last(record_len(v), record, len);
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

static void init(const unsigned *v, void *state)
{
    struct sq_chain *c = state;
    (void)v;
    c->has_front = true;
    sq_pipeline_init(&c->front, SQ_TIMING_PIPE, 1);
    sq_pipeline_init(&c->back, SQ_TIMING_ARRAY, 3);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)v, (void)stream;
    o->last = record[0];
}

// The unit that `sqsim area` prices serves one token: a group per cycle.
static const struct sq_area_unit area[] = {
    {"gqsa_scale", "sq_gqsa_scale", 16, false, {{"Lanes", 1}, {"SumW", 24}}},
};

static const struct sq_faults faults[] = {{"one", 20, 6000}};

static const struct sq_free gqsa_scale_free[] = {
    {"Lanes", 1, 16, false}, {"SumW", 8, 26, false}, {NULL, 0, 0, false}};

const struct sq_block sq_gqsa_scale_block = {
    .name = "gqsa_scale",
    .top = "sq_gqsa_scale",
    .group = "row",
    .param = {"Lanes", "SumW", NULL},
    .free = gqsa_scale_free,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 200,
    SQ_ROWS(faults),
    .ports = ports,
    .draw_group = draw_group,
    .cut = cut,
    .golden = golden,
    .timing = &sq_timing_chain,
    .init = init,
    .offer = offer,
};
