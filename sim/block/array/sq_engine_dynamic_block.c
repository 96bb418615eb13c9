// SPDX-License-Identifier: Apache-2.0
// sq_engine_dynamic: jobs of sq_engine_array whose mask bits are made in front of it. What it computes
// and when is said by the blocks engine_array and topk.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "models/core/sq_topk.h"
#include "sim/block/array/sq_engine_array_sim.h"
#include "sim/block/array/sq_engine_dynamic.block.h"
#include "sim/block/flow/sq_engine.h"
#include "sim/block/output/sq_output_port.h"

enum { CODED = SQ_ENGINE_ARRAY_CODED, X = SQ_ENGINE_ARRAY_SCALE + 1 }; // streams
static const struct sq_block *const engine = &sq_engine_array_block;

// A record is one of engine_array without its mask bits, and behind it the magnitudes.
struct layout {
    struct sq_ports ports; // of engine_array
    size_t mask_field;
    size_t mask, n; // where mask bits stand in its record; how many there are
    size_t engine_len, mag, len;
    unsigned topk[4]; // parameters of sq_topk
};

static struct layout layout_of(const unsigned *v)
{
    struct layout l = {.ports = sq_ports_of(engine, v),
                       .topk = {v[BANK_LEN], v[HIGH_PER_BANK], v[MAG_W], v[TOPK]}};
    while (strcmp(l.ports.in[l.mask_field].name, "mask") != 0)
        l.mask_field++;
    l.mask = sq_field_offset(l.ports.in, l.mask_field);
    l.n = l.ports.in[l.mask_field].count;
    l.engine_len = sq_field_offset(l.ports.in, l.ports.n_in);
    l.mag = l.engine_len - l.n;
    l.len = l.mag + l.n;
    return l;
}

static void ports(const unsigned *v, struct sq_ports *p)
{
    const struct layout l = layout_of(v);
    *p = l.ports;
    p->stream[CODED].n_fields--;
    p->stream[X] = (struct sq_port){"x", 1};
    memmove(p->in + l.mask_field, p->in + l.mask_field + 1,
            (p->n_in - l.mask_field - 1) * sizeof *p->in);
    p->in[p->n_in - 1] = (struct sq_field){"mag", l.n, v[MAG_W], true};
}

// ---- values ---------------------------------------------------------------------------------

// Records of engine_array, to be freed: the mask bits are those of the magnitudes.
static int32_t *with_masks(const struct layout *l, const int32_t *record, size_t n)
{
    int32_t *const all = malloc(n * l->engine_len * sizeof *all), *to = all;
    assert(all);
    for (size_t i = 0; i < n; i++, record += l->len, to += l->engine_len) {
        memcpy(to, record, l->mask * sizeof *to);
        memcpy(to + l->mask + l->n, record + l->mask, (l->mag - l->mask) * sizeof *to);
        for (size_t b = 0; b < l->n; b += l->topk[0]) {
            const struct sq_group bank = {.record = record + l->mag + b};
            (void)sq_topk_block.golden(l->topk, &bank, to + l->mask + b);
        }
    }
    return all;
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct layout l = layout_of(v);
    SQ_FREED int32_t *const record = with_masks(&l, in->record, in->len[CODED]);
    const struct sq_group group = {.record = record, .len = in->len, .from = in->from};
    const uint64_t n = engine->golden(v, &group, out);
    return n;
}

// ---- cases ----------------------------------------------------------------------------------

// A record of engine_array; its magnitudes are drawn, or have the mask that stands there.
static void without_mask(const struct layout *l, struct sq_rng *rng, enum sq_stimulus kind,
                         bool keeps, const int32_t *from, int32_t *record)
{
    const int32_t most = (1 << l->topk[2]) - 1, least = (int32_t)sq_rng_below(rng, (uint32_t)most);
    memcpy(record, from, l->mask * sizeof *record);
    memcpy(record + l->mask, from + l->mask + l->n, (l->mag - l->mask) * sizeof *record);
    for (size_t b = 0; b < l->n; b += l->topk[0]) {
        int32_t *const mag = record + l->mag + b;
        if (!keeps)
            sq_topk_block.draw_beat(l->topk, rng, kind, 0, mag);
        for (unsigned i = 0; keeps && i < l->topk[0]; i++)
            mag[i] = from[l->mask + b + i]
                         ? least + 1 + (int32_t)sq_rng_below(rng, (uint32_t)(most - least))
                         : (int32_t)sq_rng_below(rng, (uint32_t)least + 1);
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const struct layout l = layout_of(v);
    SQ_FREED int32_t *const from = calloc(l.ports.records, l.engine_len * sizeof *from);
    assert(from);
    engine->draw_group(v, rng, kind, number, from, len);
    len[X] = len[CODED];
    const bool keeps = sq_rng_below(rng, 2);
    for (uint32_t i = 0; i < len[CODED]; i++)
        without_mask(&l, rng, kind, keeps, from + i * l.engine_len, record + i * l.len);
}

// Errors of engine_array; a mask with a wrong number of ones becomes another one.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const struct layout l = layout_of(c->point->value);
    SQ_CLOSED(sq_case_free) struct sq_case from = *c;
    from.block = engine;
    SQ_TRY(engine->draw_directed(&from, number, rng, err));
    c->n_groups = from.n_groups;
    c->n_beats = from.n_beats;
    SQ_TRY(sq_case_alloc(c, err));
    for (size_t g = 0; g < c->n_groups; g++) {
        memcpy(c->len[g], from.len[g], sizeof c->len[g]);
        c->len[g][X] = c->len[g][CODED];
    }
    for (size_t i = 0; i < c->n_beats; i++)
        without_mask(&l, rng, SQ_STIMULUS_UNIFORM, true, from.beats + i * l.engine_len,
                     c->beats + i * l.len);
    return SQ_OK;
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const bool is_cut = engine->cut(v, way, record, len); // the job, in front of all else
    len[X] = len[CODED];
    return is_cut;
}

// ---- time -----------------------------------------------------------------------------------

struct state {
    struct sq_chain topk; // all units at once
    struct sq_engine_array_sim engine;
};

static void init(const unsigned *v, void *state)
{
    const struct layout l = layout_of(v);
    struct state *const s = state;
    sq_topk_block.init(l.topk, &s->topk);
    engine->init(v, &s->engine);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    if (stream < X)
        engine->offer(v, stream, record, o);
}

// Codes go with their masks. h: of the engine; returns whether it takes both.
static bool between(const struct state *s, const struct sq_offer *in, bool out_ready,
                    struct sq_offer line[SQ_STREAMS_MAX], struct sq_handshake *h, bool *has_mask)
{
    struct sq_handshake topk = {.out_valid = false};
    sq_topk_block.timing->comb(&s->topk, &in[X], false, &topk);
    *has_mask = topk.out_valid;
    memcpy(line, in, SQ_STREAMS_MAX * sizeof *line);
    line[CODED].valid = in[CODED].valid && *has_mask;
    line[SQ_ENGINE_CARRY].valid = false;
    engine->timing->comb(&s->engine, line, out_ready, h);
    return h->in_ready[CODED] && in[CODED].valid;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake topk = {.out_valid = false};
    bool has_mask;
    const bool takes = between(s, in, out_ready, line, out, &has_mask);
    sq_topk_block.timing->comb(&s->topk, &in[X], takes, &topk);
    out->in_ready[CODED] = out->in_ready[CODED] && has_mask;
    out->in_ready[X] = topk.in_ready[0];
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    struct sq_offer line[SQ_STREAMS_MAX];
    struct sq_handshake h = {.out_valid = false};
    bool has_mask;
    const bool takes = between(s, in, out_ready, line, &h, &has_mask);
    engine->timing->clock(&s->engine, line, out_ready);
    sq_topk_block.timing->clock(&s->topk, &in[X], takes);
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};
