// SPDX-License-Identifier: Apache-2.0
// sq_output: tiles of sums to outputs on a port.
#include <string.h>

#include "sim/block/output/sq_output.block.h"
#include "sim/block/output/sq_output_sim.h"

static struct sq_output_config config_of(const unsigned *v)
{
    return sq_output_config(v[ROWS], v[COLS], v + LANES);
}

static size_t tile_of(const unsigned *v)
{
    return (size_t)v[ROWS] * v[COLS];
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
        int32_t *const scale = record + at_last(v);
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
    record[(len[0] - 1) * record_len(v) + at_last(v)] = 1;
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
        sq_output_add(&c, record, record + tile, record + at_last(v), y);
        tag |= record[2 * tile] | record[record_len(v) - 1];
    }
    const uint64_t words = sq_output_end(&c, record - record_len(v) + at_last(v), y, port);
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

// A tile of 8 x 8 at 8 outputs a cycle; of its parts: the queue of a tile, and what a lane adds for
// INT8 (lanes of sq_requant with a multiplier of one). Outputs, not weights, per cycle.

static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    return sq_output_settle(v[ROWS], v[COLS], v + LANES, old + LANES, given >> LANES, err);
}
