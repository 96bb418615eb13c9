// SPDX-License-Identifier: Apache-2.0
// sq_act_buffer: tiles of activations, each given several times.
#include "sim/block/array/sq_act_buffer.block.h"
#include "sim/block/array/sq_buffer_sim.h"

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    uint32_t passes;
    (void)number;
    len[0] = sq_buffer_draw_tile(rng, kind, v[DEPTH], PASSES_MAX, &passes);
    for (uint32_t i = 0; i < len[0]; i++, record += 3) {
        record[0] = sq_field_unsigned((uint32_t)sq_rng_next(rng), v[WIDTH]);
        record[1] = i + 1 == len[0];
        record[2] = (int32_t)(i + 1 == len[0] ? passes : sq_rng_below(rng, 1u << v[PASS_W]));
    }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    const uint32_t passes = (uint32_t)record[3 * len[0] - 1];
    (void)v;
    for (uint32_t p = 0; p < passes; p++)
        for (uint32_t i = 0; i < len[0]; i++) {
            *out++ = record[3 * i];
            *out++ = i + 1 == len[0];
        }
    return (size_t)passes * len[0];
}

// The most passes that the port can say, for a whole tile and for a single beat; then one pass.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t most = (1u << v[PASS_W]) - 1;
    const uint32_t len[3] = {v[DEPTH], 1, v[DEPTH]}, passes[3] = {most, most, 1};
    (void)number;
    c->n_groups = 3;
    c->n_beats = 2 * (size_t)v[DEPTH] + 1;
    c->max_outputs = (size_t)v[DEPTH] * most;
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t g = 0; g < 3; g++) {
        c->len[g][0] = len[g];
        for (uint32_t i = 0; i < len[g]; i++, record += 3) {
            record[0] = sq_field_unsigned((uint32_t)sq_rng_next(rng), v[WIDTH]);
            record[1] = i + 1 == len[g];
            record[2] = (int32_t)(record[1] ? passes[g] : 0);
        }
    }
    return SQ_OK;
}

static void init(const unsigned *v, void *state)
{
    (void)v;
    (void)state; // zeroed: empty
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    (void)in;
    (void)out_ready;
    out->in_ready[0] = sq_buffer_has_place(state);
    out->out_valid = sq_buffer_has_beat(state);
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    const bool write = in[0].valid && sq_buffer_has_place(state);
    sq_buffer_clock(state, write, in[0].last, in[0].n, sq_buffer_has_beat(state) && out_ready);
}

static const struct sq_timing timing = {sizeof(struct sq_buffer_sim), comb, clock};
