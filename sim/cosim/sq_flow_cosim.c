// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_flow_cosim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cosim/sq_stream_port.h"

// ---- cases ----------------------------------------------------------------------------------

// Of an input stream behind the first one.
static struct sq_stall draw_stall(const struct sq_flow *flow, unsigned stream, struct sq_rng *rng)
{
    struct sq_stall stall = {SQ_STALL_FREE, 1};
    if (flow->stream[stream].n_fields > 0 && sq_rng_below(rng, 2)) {
        stall.kind = (enum sq_stall_kind)sq_rng_below(rng, SQ_N_STALL_KINDS);
        stall.n = 1 + sq_rng_below(rng, 8);
    }
    return stall;
}

enum sq_status sq_flow_draw_case(struct sq_stream_case *c, const struct sq_stream_shape *s,
                                 struct sq_rng *rng, bool is_all, struct sq_error *err)
{
    const struct sq_flow *flow = c->block->flow;
    const size_t len = sq_field_offset(s->in, s->n_in);
    const enum sq_draw draw =
        is_all ? SQ_DRAW_ALL : (enum sq_draw)sq_rng_below(rng, SQ_DRAW_RANDOM);
    size_t records, outputs;
    flow->limits(c->point->value, &records, &outputs);
    c->n_groups = is_all ? s->n_all : 1 + sq_rng_below(rng, sq_rng_below(rng, 4) ? 8 : 40);
    c->second_stall = draw_stall(flow, 1, rng);
    c->third_stall = draw_stall(flow, 2, rng);
    c->n_beats = c->n_groups * records; // an upper bound
    SQ_TRY(sq_stream_case_alloc(c, err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        uint32_t *n = c->flow_len[g];
        flow->draw(c->point->value, rng, draw, g, c->beats + c->n_beats * len, n);
        for (unsigned i = 0; i < SQ_FLOW_STREAMS; i++)
            c->group_len[g] = n[i] > c->group_len[g] ? n[i] : c->group_len[g];
        assert(n[0] >= 1 && c->group_len[g] <= records);
        c->n_beats += c->group_len[g];
    }
    return SQ_OK;
}

// ---- a run ----------------------------------------------------------------------------------

// An input stream and the beat it is at.
struct input {
    struct sq_source source;
    size_t first_field, n_fields;
    size_t group, beat, record; // group, beat in it, first record of the group
};

struct run {
    const struct sq_stream_case *c;
    const struct sq_flow *flow;
    const struct sq_rtl_api *rtl;
    void *model;
    struct sq_stream_shape shape;
    size_t in_len, out_len;
    struct sq_flow_sim sim;
    struct input input[SQ_FLOW_STREAMS];
    unsigned n_inputs;
    struct sq_source sink;
    size_t group, record, n_want, received; // of the output: group, its first record, its beats
    int32_t *want;                          // [n_want][out_len]
    size_t outputs;                         // room in want
    struct sq_stream_port in, out;
    struct sq_core_cosim_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_stream_shape *s = &run->shape;
    const bool has_in = sq_port_alloc(&run->in, s->in, s->n_in);
    const bool has_out = sq_port_alloc(&run->out, s->out, s->n_out);
    run->want = calloc(run->outputs * run->out_len, sizeof *run->want);
    return has_in && has_out && run->want;
}

static void free_run(struct run *run)
{
    if (run->model)
        run->rtl->destroy(run->model);
    sq_port_free(&run->in);
    sq_port_free(&run->out);
    free(run->want);
}

static bool differ(struct run *run, enum sq_mismatch_kind kind, const char *what, size_t field,
                   size_t element, int64_t got, int64_t want)
{
    if (got == want)
        return false;
    run->result->mismatch = (struct sq_mismatch){
        kind, run->result->cycles, run->group, (unsigned)field, (unsigned)element, what, got, want};
    return true;
}

static const int32_t *offered(const struct run *run, const struct input *in)
{
    return run->c->beats + (in->record + in->beat) * run->in_len;
}

static void fill(struct run *run, const struct input *in)
{
    sq_port_put(&run->in, in->first_field, in->n_fields,
                offered(run, in) + sq_field_offset(run->shape.in, in->first_field));
}

// The expected beats of the group that leaves next.
static void expect_group(struct run *run)
{
    const struct sq_stream_case *c = run->c;
    memset(run->want, 0, run->outputs * run->out_len * sizeof *run->want);
    run->n_want = run->flow->golden(c->point->value, c->beats + run->record * run->in_len,
                                    c->flow_len[run->group], run->want);
    assert(run->n_want >= 1 && run->n_want <= run->outputs);
    run->received = 0;
}

static bool check_beat(struct run *run)
{
    struct sq_port_difference d;
    if (run->received == run->n_want)
        expect_group(run);
    run->rtl->stream_beat(run->model, run->out.word);
    if (sq_port_differs(&run->out, run->want + run->received * run->out_len, &d))
        return !differ(run, SQ_MISMATCH_VALUE, run->shape.out[d.field].name, d.field, d.element,
                       d.got, d.want);
    if (++run->received == run->n_want)
        run->record += run->c->group_len[run->group++];
    return true;
}

static void take(struct run *run, struct input *in, unsigned stream)
{
    if (++in->beat < run->c->flow_len[in->group][stream])
        return;
    do
        in->record += run->c->group_len[in->group++];
    while (in->group < run->c->n_groups && run->c->flow_len[in->group][stream] == 0);
    in->beat = 0;
}

static bool cycle(struct run *run)
{
    const bool ready = sq_sink_ready(&run->sink);
    struct sq_flow_beat beat[SQ_FLOW_STREAMS];
    struct sq_flow_out want;
    struct sq_rtl_stream_out got = {0};
    memset(beat, 0, sizeof beat);
    for (unsigned i = 0; i < run->n_inputs; i++)
        if (sq_source_valid(&run->input[i].source)) {
            fill(run, &run->input[i]);
            run->flow->timing(run->c->point->value, i, offered(run, &run->input[i]), &beat[i]);
            beat[i].valid = true;
        }
    sq_flow_comb(&run->sim, beat, ready, &want);
    const struct sq_rtl_stream_in drive = {
        beat[0].valid, ready, (const uint32_t *const *)run->in.word, beat[1].valid, beat[2].valid};
    run->rtl->stream_comb(run->model, &drive, &got);
    if (differ(run, SQ_MISMATCH_HANDSHAKE, "in_ready_o", 0, 0, got.in_ready, want.in_ready[0]) ||
        (run->n_inputs > 1 && differ(run, SQ_MISMATCH_HANDSHAKE, "second_ready_o", 0, 0,
                                     got.second_ready, want.in_ready[1])) ||
        (run->n_inputs > 2 && differ(run, SQ_MISMATCH_HANDSHAKE, "third_ready_o", 0, 0,
                                     got.third_ready, want.in_ready[2])) ||
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", 0, 0, got.out_valid, want.out_valid))
        return false;
    const bool out_fire = want.out_valid && ready;
    if (out_fire && !check_beat(run))
        return false;
    sq_flow_clock(&run->sim, beat, ready);
    for (unsigned i = 0; i < run->n_inputs; i++) {
        const bool fire = beat[i].valid && want.in_ready[i];
        if (fire)
            take(run, &run->input[i], i);
        run->result->beats += fire;
        sq_source_clock(&run->input[i].source, fire);
    }
    run->result->beats += out_fire;
    run->result->tiles += out_fire;
    sq_sink_clock(&run->sink, out_fire);
    run->rtl->clock(run->model);
    run->result->cycles++;
    return true;
}

static void init_inputs(struct run *run)
{
    const struct sq_stream_case *c = run->c;
    const struct sq_stall *const stall[SQ_FLOW_STREAMS] = {&c->stall[0], &c->second_stall,
                                                           &c->third_stall};
    size_t field = 0;
    for (unsigned i = 0; i < SQ_FLOW_STREAMS && run->flow->stream[i].n_fields > 0; i++) {
        struct input *in = &run->input[i];
        run->n_inputs = i + 1;
        in->first_field = field;
        in->n_fields = run->flow->stream[i].n_fields;
        field += in->n_fields;
        sq_source_init(&in->source, stall[i], c->seed + 2 * i);
        for (size_t g = 0; g < c->n_groups; g++)
            in->source.left += c->flow_len[g][i];
        while (in->group < c->n_groups && c->flow_len[in->group][i] == 0)
            in->record += c->group_len[in->group++];
    }
    assert(field == run->shape.n_in);
}

enum sq_status sq_flow_cosim_run(const struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                 const char *fst_path, uint64_t fst_from,
                                 struct sq_core_cosim_result *result, struct sq_error *err)
{
    struct run run = {.c = c, .flow = c->block->flow, .rtl = rtl, .result = result};
    size_t records;
    enum sq_status status = SQ_OK;

    memset(result, 0, sizeof *result);
    c->block->shape(c->point->value, &run.shape);
    run.flow->limits(c->point->value, &records, &run.outputs);
    if (run.outputs < c->max_outputs)
        run.outputs = c->max_outputs;
    run.in_len = sq_field_offset(run.shape.in, run.shape.n_in);
    run.out_len = sq_field_offset(run.shape.out, run.shape.n_out);
    run.flow->init(c->point->value, &run.sim);
    if (!alloc_run(&run)) {
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, fst_path, fst_from);
    if (!run.model) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", fst_path ? fst_path : "");
        goto out;
    }
    init_inputs(&run);
    sq_source_init(&run.sink, &c->stall[1], c->seed + 1);
    while (run.group < c->n_groups && cycle(&run))
        continue;
out:
    free_run(&run);
    return status;
}
