// SPDX-License-Identifier: Apache-2.0
// sq_output: tiles of sums to outputs on a port.
#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "sim/block/output/sq_output_sim.h"

enum { ROWS, COLS, OUTPUT };
enum { GROUPS_MAX = 6 };

#define B32 SQ_OUTPUT_BINARY32
#define BF16 SQ_OUTPUT_BFLOAT16
// rows, cols, lanes, form, what leaves, outputs a word, beats of the queue, tiles held (2: for a short clock period)
static const struct sq_point points[] = {
    {"two", true, {2, 4, 2, SQ_COMBINE_TWO, B32, 1, 2, 0}},
    {"one", true, {3, 2, 2, SQ_COMBINE_ONE, BF16, 2, 4, 0}},
    {"scaled", true, {2, 3, 3, SQ_COMBINE_SCALED, B32, 1, 3, 1}},
    {"int8", true, {1, 4, 1, SQ_COMBINE_ONE, SQ_OUTPUT_INT8, 1, 2, 0}},
    {"float", true, {2, 2, 2, SQ_COMBINE_FLOAT, B32, 1, 2, 0}},
    {"all", true, {2, 2, 4, SQ_COMBINE_TWO, BF16, 2, 2, 1}},
    {"one_1", true, {1, 1, 1, SQ_COMBINE_ONE, B32, 1, 2, 0}},
    {"skid", true, {2, 2, 2, SQ_COMBINE_TWO, BF16, 1, 6, 2}},
    {"skid_1", true, {1, 2, 2, SQ_COMBINE_ONE, B32, 2, 17, 2}},
    {"skid_float", true, {2, 3, 1, SQ_COMBINE_FLOAT, SQ_OUTPUT_INT8, 1, 18, 2}},
    {"skid_scaled", true, {1, 4, 1, SQ_COMBINE_SCALED, BF16, 1, 2, 2}},
    {"int8_two", false, {2, 2, 2, SQ_COMBINE_TWO, SQ_OUTPUT_INT8, 2, 2, 1}},
    {"wide", false, {4, 4, 8, SQ_COMBINE_TWO, BF16, 4, 2, 1}},
    {"row", false, {2, 2, 1, SQ_COMBINE_SCALED, BF16, 1, 5, 0}},
};

static struct sq_output_config config_of(const unsigned *v)
{
    return sq_output_config(v[ROWS], v[COLS], v + OUTPUT);
}

static size_t tile_of(const unsigned *v)
{
    return (size_t)v[ROWS] * v[COLS];
}

// Numbers of a tile and of its scales, each with a tag behind it.
static size_t record_len(const unsigned *v)
{
    const struct sq_output_config c = config_of(v);
    return 2 * tile_of(v) + 1 + sq_output_scale_len(&c) + 1;
}

static const int32_t *scales_of(const unsigned *v, const int32_t *record)
{
    return record + 2 * tile_of(v) + 1;
}

static void ports(const unsigned *v, struct sq_ports *p)
{
    const struct sq_output_config c = config_of(v);
    const struct sq_field tag = {"tag", 1, 1, true};
    *p = (struct sq_ports){
        .stream = {{"in", 3}, {"scale", SQ_OUTPUT_SCALE_FIELDS + 1}},
        .n_in = 3 + SQ_OUTPUT_SCALE_FIELDS + 1,
        .n_out = 2,
        .in = {{"p_lo", tile_of(v), 32, false}, {"p_hi", tile_of(v), 32, false}, tag},
        .out = {sq_output_field(&c), tag},
        .records = GROUPS_MAX,
        .outputs = tile_of(v) / c.port_len};
    sq_output_scale_fields(&c, p->in + 3);
    p->in[3 + SQ_OUTPUT_SCALE_FIELDS] = tag;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const struct sq_output_config c = config_of(v);
    const uint32_t n = 1 + sq_rng_below(rng, sq_rng_below(rng, 2) ? GROUPS_MAX : 1);
    const size_t tile = tile_of(v);
    float y[SQ_OUTPUT_TILE_MAX] = {0};
    (void)number;
    for (uint32_t g = 0; g < n; g++, record += record_len(v)) {
        int32_t *const scale = record + 2 * tile + 1;
        record[2 * tile] = sq_rng_below(rng, 8) == 0;
        record[record_len(v) - 1] = sq_rng_below(rng, 8) == 0;
        for (size_t i = 0; i < 2 * tile; i++)
            record[i] = sq_output_draw_sum(&c, rng, kind);
        sq_output_draw_scale(&c, rng, kind, g + 1 == n, scale);
        sq_output_aim_scale(&c, rng, record, record + tile, y, scale);
        sq_output_add(&c, record, record + tile, scale, y);
    }
    len[0] = len[1] = n;
}

// Way 0: one scale group less.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    if (way > 0 || len[0] == 1)
        return false;
    len[0] = --len[1];
    record[(len[0] - 1) * record_len(v) + 2 * tile_of(v) + 1] = 1;
    return true;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct sq_output_config c = config_of(v);
    const size_t tile = tile_of(v);
    const int32_t *record = in->record;
    float y[SQ_OUTPUT_TILE_MAX] = {0};
    int32_t port[SQ_OUTPUT_TILE_MAX], tag = 0;
    for (uint32_t g = 0; g < in->len[0]; g++, record += record_len(v)) {
        sq_output_add(&c, record, record + tile, scales_of(v, record), y);
        tag |= record[2 * tile] | record[record_len(v) - 1];
    }
    const uint64_t words = sq_output_end(&c, scales_of(v, record - record_len(v)), y, port);
    for (uint64_t w = 0; w < words; w++, out += c.port_len + 1) {
        memcpy(out, port + w * c.port_len, c.port_len * sizeof *out);
        out[c.port_len] = tag;
    }
    return words;
}

// ---- time -----------------------------------------------------------------------------------

static void init(const unsigned *v, void *state)
{
    const struct sq_output_config c = config_of(v);
    sq_output_init(state, &c);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    if (stream == 1)
        o->last = *scales_of(v, record);
}

static struct sq_output_in stage_in(const struct sq_offer *in, bool out_ready)
{
    return (struct sq_output_in){in[0].valid, in[1].valid, in[1].last, out_ready,
                                 in[1].carry, in[1].keep,  in[2].valid};
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_output_in stage = stage_in(in, out_ready);
    struct sq_output_out o;
    sq_output_comb(state, &stage, &o);
    *out = (struct sq_handshake){{o.tile_ready, o.scale_ready, o.carry_ready}, o.out_valid};
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    const struct sq_output_in stage = stage_in(in, out_ready);
    sq_output_clock(state, &stage);
}

static const struct sq_timing timing = {sizeof(struct sq_output_sim), comb, clock};

// clang-format off
// A tile of 8 x 8 at 8 outputs a cycle; of its parts: the queue of a tile, and what a lane adds for
// INT8 (lanes of sq_requant with a multiplier of one). Outputs, not weights, per cycle.
#define PORT {"Rows", 8}, {"Cols", 8}, {"Lanes", 8}, {"PortLen", 8}, {"Depth", 8}
static const struct sq_area_unit area[] = {
    {"output_one", "sq_output", 8, false, {PORT, {"Form", 0}, {"OutKind", 1}}},
    {"output_two", "sq_output", 8, false, {PORT, {"Form", 1}, {"OutKind", 1}}},
    {"output_two_hold", "sq_output", 8, false, {PORT, {"Form", 1}, {"OutKind", 1}, {"Hold", 1}}},
    {"output_scaled", "sq_output", 8, false, {PORT, {"Form", 2}, {"OutKind", 1}}},
    {"output_two_int8", "sq_output", 8, false, {PORT, {"Form", 1}, {"OutKind", 2}}},
    {"output_queue", "sq_fifo", 8, false, {{"Width", 128}, {"Depth", 8}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"one_1", 20, 400}};

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    return sq_output_settle(v[ROWS], v[COLS], v + OUTPUT, old + OUTPUT, given >> OUTPUT, err);
}

static const struct sq_free output_free[] = {
    {"Rows", 1, 64, false}, {"Cols", 1, 64, false}, SQ_OUTPUT_FREE, {NULL, 0, 0, false}};

const struct sq_block sq_output_block = {
    .name = "output",
    .top = "sq_output",
    .group = "tile",
    .param = {"Rows", "Cols", SQ_OUTPUT_PARAM_NAMES, NULL},
    .free = output_free,
    .settle = settle,
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 200,
    SQ_ROWS(faults),
    .ports = ports,
    .draw_group = draw_group,
    .cut = cut,
    .golden = golden,
    .timing = &timing,
    .init = init,
    .offer = offer,
};
