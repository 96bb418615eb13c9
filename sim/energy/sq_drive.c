// SPDX-License-Identifier: Apache-2.0
// Puts the beats of 64 groups on a netlist, and compares what leaves it (sq_drive.h).
#include "sim/energy/sq_drive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cosim/sq_feed.h"

enum { RESET_CYCLES = 4, GROUP_BEATS = 16 };

struct lane {
    struct sq_feed input[SQ_STREAMS_MAX];
    struct sq_port_words in, out;
    void *sim;
    size_t group, record; // of the output
    uint64_t left, n_out; // of the group: beats that have left, all
    size_t n_want, at;
    int32_t *want; // [outputs][out_len]
    struct sq_offer offer[SQ_STREAMS_MAX];
    struct sq_handshake model;
};

// Nets of the ports.
struct pins {
    uint32_t valid[SQ_STREAMS_MAX], ready[SQ_STREAMS_MAX], out_valid, out_ready, reset;
    const struct sq_netlist_port *in[SQ_FIELDS_MAX], *out[SQ_FIELDS_MAX];
};

struct run {
    const struct sq_case *c;
    const struct sq_block *block;
    const unsigned *value;
    struct sq_ports ports;
    size_t in_len, out_len, outputs;
    unsigned n_inputs;
    struct pins pins;
    struct sq_toggle *const *toggle;
    size_t n_toggles;
    struct lane *lane;
    struct sq_drive *out;
    struct sq_error *err;
};

// ---- ports ------------------------------------------------------------------------------------

static enum sq_status find_port(struct run *r, const char *stream, const char *field,
                                const char *suffix, size_t bits,
                                const struct sq_netlist_port **port)
{
    char name[96];
    snprintf(name, sizeof name, "%s_%s%s", stream, field, suffix);
    *port = sq_netlist_port(r->toggle[0]->n, name);
    if (*port && (*port)->n_bits == bits)
        return SQ_OK;
    return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the netlist has no port %.60s of %zu bits", name,
                   bits);
}

static enum sq_status find_pin(struct run *r, const char *stream, const char *field,
                               const char *suffix, uint32_t *net)
{
    const struct sq_netlist_port *port;
    SQ_TRY(find_port(r, stream, field, suffix, 1, &port));
    *net = port->net[0];
    return SQ_OK;
}

static enum sq_status find_pins(struct run *r)
{
    const struct sq_ports *p = &r->ports;
    size_t f = 0;
    for (unsigned s = 0; s < r->n_inputs; s++) {
        const char *name = p->stream[s].name;
        SQ_TRY(find_pin(r, name, "valid", "_i", &r->pins.valid[s]));
        SQ_TRY(find_pin(r, name, "ready", "_o", &r->pins.ready[s]));
        for (size_t i = 0; i < p->stream[s].n_fields; i++, f++)
            SQ_TRY(find_port(r, name, p->in[f].name, "_i", p->in[f].count * p->in[f].width,
                             &r->pins.in[f]));
    }
    SQ_TRY(find_pin(r, "out", "valid", "_o", &r->pins.out_valid));
    SQ_TRY(find_pin(r, "out", "ready", "_i", &r->pins.out_ready));
    for (f = 0; f < p->n_out; f++)
        SQ_TRY(find_port(r, "out", p->out[f].name, "_o", p->out[f].count * p->out[f].width,
                         &r->pins.out[f]));
    return find_pin(r, "rst", "ni", "", &r->pins.reset);
}

static void set(struct run *r, uint32_t net, uint64_t lanes)
{
    for (size_t i = 0; i < r->n_toggles; i++)
        sq_toggle_set(r->toggle[i], net, lanes);
}

// The fields of a stream in one lane.
static void put_beat(struct run *r, const struct lane *l, unsigned number, unsigned stream)
{
    const struct sq_feed *f = &l->input[stream];
    const uint64_t bit = UINT64_C(1) << number;
    for (size_t i = f->first_field; i < f->first_field + f->n_fields; i++)
        for (size_t b = 0; b < r->pins.in[i]->n_bits; b++) {
            const uint32_t net = r->pins.in[i]->net[b];
            const uint64_t had = r->toggle[0]->next[net];
            const bool is_set = l->in.word[i][b / 32] >> (b % 32) & 1;
            set(r, net, is_set ? had | bit : had & ~bit);
        }
}

// ---- a lane -----------------------------------------------------------------------------------

// Its next beats, and what the cycle model says of the cycle.
static void offer(struct run *r, struct lane *l, unsigned number)
{
    for (unsigned s = 0; s < r->n_inputs; s++) {
        struct sq_feed *f = &l->input[s];
        const bool is_new = !f->is_fresh;
        sq_feed_drive(f, true, &l->in, NULL, &l->offer[s]);
        if (is_new)
            put_beat(r, l, number, s);
    }
    r->block->timing->comb(l->sim, l->offer, true, &l->model);
}

static struct sq_group group_of(const struct run *r, const struct lane *l)
{
    return (struct sq_group){.record = r->c->beats + l->record * r->in_len,
                             .len = r->c->len[l->group],
                             .wrap = r->c->wrap,
                             .from = l->left};
}

static void differ(struct run *r, const char *what, unsigned lane, long long got, long long want)
{
    if (!r->out->mismatch[0])
        snprintf(r->out->mismatch, sizeof r->out->mismatch,
                 "%s of lane %u: netlist %lld, model %lld", what, lane, got, want);
}

static void compare_beat(struct run *r, struct lane *l, unsigned number)
{
    struct sq_port_difference d;
    if (l->at == l->n_want) {
        const struct sq_group in = group_of(r, l);
        memset(l->want, 0, r->outputs * r->out_len * sizeof *l->want);
        l->n_out = r->block->golden(r->value, &in, l->want);
        const uint64_t n = l->n_out - l->left;
        l->n_want = n < r->outputs ? (size_t)n : r->outputs;
        l->at = 0;
    }
    for (size_t f = 0; f < r->ports.n_out; f++) {
        const struct sq_netlist_port *p = r->pins.out[f];
        memset(l->out.word[f], 0, sq_beat_words(p->n_bits) * sizeof *l->out.word[f]);
        for (size_t b = 0; b < p->n_bits; b++)
            l->out.word[f][b / 32] |= (uint32_t)(r->toggle[0]->value[p->net[b]] >> number & 1)
                                      << (b % 32);
    }
    if (sq_port_differs(&l->out, l->want + l->at * r->out_len, &d))
        differ(r, r->ports.out[d.field].name, number, d.got, d.want);
    r->out->outputs++;
    l->at++;
    if (++l->left < l->n_out)
        return;
    l->left = l->at = l->n_want = 0;
    l->record += sq_case_records(r->c, l->group);
    if (++l->group == r->c->n_groups)
        l->group = l->record = 0;
}

static void take(struct run *r, struct sq_feed *f)
{
    sq_feed_take(f);
    if (f->group == r->c->n_groups)
        sq_feed_seek(f, 0, 0);
}

// Behind the edge: handshakes against the model, beats that leave, beats that were taken.
static unsigned finish(struct run *r, struct lane *l, unsigned number)
{
    const uint64_t *value = r->toggle[0]->value;
    unsigned taken = 0;
    for (unsigned s = 0; s < r->n_inputs; s++) {
        const bool ready = value[r->pins.ready[s]] >> number & 1;
        if (ready != l->model.in_ready[s])
            differ(r, "ready", number, ready, l->model.in_ready[s]);
    }
    const bool valid = value[r->pins.out_valid] >> number & 1;
    if (valid != l->model.out_valid)
        differ(r, "valid", number, valid, l->model.out_valid);
    if (l->model.out_valid)
        compare_beat(r, l, number);
    r->block->timing->clock(l->sim, l->offer, true);
    for (unsigned s = 0; s < r->n_inputs; s++)
        if (l->offer[s].valid && l->model.in_ready[s]) {
            take(r, &l->input[s]);
            taken += s == r->ports.mac_stream;
        }
    return taken;
}

// ---- all lanes --------------------------------------------------------------------------------

static enum sq_status step(struct run *r, bool is_counted)
{
    for (size_t i = 0; i < r->n_toggles; i++)
        SQ_TRY(sq_toggle_step(r->toggle[i], is_counted, r->err));
    return SQ_OK;
}

static enum sq_status cycle(struct run *r, bool is_counted)
{
    uint64_t taken = 0;
    for (unsigned i = 0; i < SQ_LANES; i++)
        offer(r, &r->lane[i], i);
    SQ_TRY(step(r, is_counted));
    for (unsigned i = 0; i < SQ_LANES; i++)
        taken += finish(r, &r->lane[i], i);
    if (is_counted) {
        r->out->beats += taken;
        r->out->cycles += SQ_LANES;
    }
    return SQ_OK;
}

static enum sq_status reset(struct run *r)
{
    set(r, r->pins.reset, 0);
    for (unsigned i = 0; i < RESET_CYCLES; i++)
        SQ_TRY(step(r, false));
    set(r, r->pins.reset, UINT64_MAX);
    set(r, r->pins.out_ready, UINT64_MAX);
    for (unsigned s = 0; s < r->n_inputs; s++)
        set(r, r->pins.valid[s], UINT64_MAX);
    return SQ_OK;
}

// Lane i begins in group i * n_groups / 64.
static enum sq_status open_lanes(struct run *r)
{
    size_t group = 0, record = 0;
    for (unsigned i = 0; i < SQ_LANES; i++) {
        struct lane *l = &r->lane[i];
        const bool has_ports = sq_port_alloc(&l->in, r->ports.in, r->ports.n_in);
        SQ_NEED(sq_port_alloc(&l->out, r->ports.out, r->ports.n_out) && has_ports, r->err,
                "the lanes of a netlist");
        l->want = calloc(r->outputs * r->out_len, sizeof *l->want);
        l->sim = calloc(1, r->block->timing->nbytes);
        SQ_NEED(l->want && l->sim, r->err, "the lanes of a netlist");
        while (group < i * r->c->n_groups / SQ_LANES)
            record += sq_case_records(r->c, group++);
        r->block->init(r->value, l->sim);
        r->n_inputs = sq_feed_init(l->input, r->c, &r->ports);
        for (unsigned s = 0; s < r->n_inputs; s++)
            sq_feed_seek(&l->input[s], group, record);
        l->group = group;
        l->record = record;
    }
    return SQ_OK;
}

static void close_lanes(struct run *r)
{
    for (unsigned i = 0; i < SQ_LANES; i++) {
        sq_port_free(&r->lane[i].in);
        sq_port_free(&r->lane[i].out);
        free(r->lane[i].want);
        free(r->lane[i].sim);
    }
    free(r->lane);
}

static enum sq_status check_case(const struct run *r)
{
    if (r->block->env)
        return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                       "%s works with an environment, which no netlist has", r->block->name);
    for (unsigned s = 0; s < SQ_STREAMS_MAX && r->ports.stream[s].n_fields > 0; s++) {
        uint64_t beats = 0;
        for (size_t g = 0; g < r->c->n_groups; g++)
            beats += r->c->len[g][s];
        if (beats == 0)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "stream %s of %s has no beat",
                           r->ports.stream[s].name, r->block->name);
    }
    return SQ_OK;
}

enum sq_status sq_drive_run(const struct sq_case *c, struct sq_toggle *const *toggle, size_t n,
                            uint64_t cycles, struct sq_drive *out, struct sq_error *err)
{
    struct run r = {.c = c,
                    .block = c->block,
                    .value = c->point->value,
                    .ports = sq_ports_of(c->block, c->point->value),
                    .toggle = toggle,
                    .n_toggles = n,
                    .out = out,
                    .err = err};
    *out = (struct sq_drive){0};
    r.in_len = sq_field_offset(r.ports.in, r.ports.n_in);
    r.out_len = sq_field_offset(r.ports.out, r.ports.n_out);
    r.outputs = r.ports.outputs < c->max_outputs ? c->max_outputs : r.ports.outputs;
    SQ_TRY(check_case(&r));
    r.lane = calloc(SQ_LANES, sizeof *r.lane);
    SQ_NEED(r.lane, err, "the lanes of a netlist");
    enum sq_status status = open_lanes(&r);
    SQ_THEN(status, find_pins(&r));
    SQ_THEN(status, reset(&r));
    for (uint64_t i = 0; status == SQ_OK && i < SQ_DRIVE_FILL + cycles && !out->mismatch[0]; i++)
        status = cycle(&r, i >= SQ_DRIVE_FILL);
    out->macs = (double)out->beats * r.ports.macs;
    close_lanes(&r);
    return status;
}

// ---- operands ---------------------------------------------------------------------------------

enum sq_status sq_drive_draw(const struct sq_block *block, const struct sq_point *point,
                             uint64_t seed, size_t beats, struct sq_case *c, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(block, point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    const size_t most = block->draw_group ? p.records : p.has_last ? GROUP_BEATS : 1;
    struct sq_rng rng = {seed};
    *c = (struct sq_case){.block = block, .point = point, .seed = seed};
    for (unsigned i = 0; i < SQ_SIDES; i++)
        c->stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
    c->n_groups = (beats + most - 1) / most;
    c->n_groups = c->n_groups < SQ_LANES ? SQ_LANES : c->n_groups;
    if (block->draw_uniform)
        return block->draw_uniform(c, c->n_groups, &rng, err);
    if (block->draw_case || block->env)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no operands are drawn for %s", block->name);
    c->n_beats = c->n_groups * most;
    SQ_TRY(sq_case_alloc(c, err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        int32_t *at = c->beats + c->n_beats * len;
        if (block->draw_group) {
            block->draw_group(point->value, &rng, SQ_STIMULUS_UNIFORM, g, at, c->len[g]);
            c->n_beats += sq_case_records(c, g);
            continue;
        }
        c->len[g][0] = (uint32_t)most;
        for (size_t b = 0; b < most; b++, at += len, c->n_beats++) {
            block->draw_beat(point->value, &rng, SQ_STIMULUS_UNIFORM, g, at);
            if (p.has_last)
                at[0] = b + 1 == most;
        }
    }
    return SQ_OK;
}
