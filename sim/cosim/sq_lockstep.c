// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_lockstep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cosim/sq_port.h"

#define QUIET_CYCLES 100000u // in lock step: far above the longest stall (16000 cycles)
#define PROBE_CYCLES (20 * SQ_HANG_CYCLES)

bool sq_mismatch_is_value(const struct sq_mismatch *m)
{
    return m->kind == SQ_MISMATCH_VALUE;
}

// An input stream and the beat it is at.
struct input {
    struct sq_source source;
    size_t first_field, n_fields, offset; // of a record
    size_t group, record;                 // group, its first record
    uint32_t beat;
    bool is_fresh, is_noise; // the offered beat, or noise, is on the ports
    struct sq_offer offer;   // of that beat
};

struct run {
    const struct sq_case *c;
    const struct sq_block *block;
    const unsigned *value;
    const struct sq_rtl_api *rtl;
    void *model, *sim;
    struct sq_ports ports;
    size_t in_len, out_len, status_len;
    struct input input[SQ_STREAMS_MAX];
    unsigned n_inputs;
    struct sq_source sink;
    struct sq_rng noise;
    size_t group, record; // of the output: group, its first record
    uint64_t left, n_out; // of the group: beats that have left, all
    size_t n_want;        // beats in want, the last of which is number left + n_want - at
    size_t at;
    int32_t *want; // [outputs][out_len]
    size_t outputs;
    struct sq_port_words in, out, status;
    struct sq_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_ports *p = &run->ports;
    const bool has_in = sq_port_alloc(&run->in, p->in, p->n_in);
    const bool has_out = sq_port_alloc(&run->out, p->out, p->n_out);
    const bool has_status = sq_port_alloc(&run->status, p->status, p->n_status);
    run->want = calloc(run->outputs * run->out_len, sizeof *run->want);
    run->sim = calloc(1, run->block->timing->nbytes);
    return has_in && has_out && has_status && run->want && run->sim;
}

static void free_run(struct run *run)
{
    if (run->model)
        run->rtl->destroy(run->model);
    sq_port_free(&run->in);
    sq_port_free(&run->out);
    sq_port_free(&run->status);
    free(run->want);
    free(run->sim);
}

static void differ(struct run *run, enum sq_mismatch_kind kind, const char *what, int64_t got,
                   int64_t want)
{
    struct sq_mismatch *m = &run->result->mismatch;
    *m = (struct sq_mismatch){.kind = kind,
                              .cycle = run->result->cycles,
                              .group = run->group,
                              .beat = run->result->n_out,
                              .got = got,
                              .want = want};
    snprintf(m->what, sizeof m->what, "%s", what);
}

// ---- input ----------------------------------------------------------------------------------

// The record that an input offers.
static const int32_t *offered(const struct run *run, const struct input *in)
{
    const uint32_t wrap = run->c->wrap[in - run->input];
    const uint32_t beat = wrap > 0 ? in->beat % wrap : in->beat;
    return run->c->beats + (in->record + beat) * run->in_len;
}

static void take(struct run *run, struct input *in)
{
    const unsigned stream = (unsigned)(in - run->input);
    in->is_fresh = false;
    if (++in->beat < run->c->len[in->group][stream])
        return;
    do
        in->record += sq_case_records(run->c, in->group++);
    while (in->group < run->c->n_groups && run->c->len[in->group][stream] == 0);
    in->beat = 0;
}

// What stands on the ports in this cycle: the beat offered, or noise; of jobs a new one each cycle.
static void drive(struct run *run, struct input *in, bool is_valid, struct sq_offer *offer)
{
    *offer = (struct sq_offer){.valid = false};
    const bool is_job = in == run->input && run->ports.has_jobs;
    if (!is_valid && (!in->is_noise || is_job))
        sq_port_put_noise(&run->in, in->first_field, in->n_fields, &run->noise);
    in->is_noise = !is_valid;
    in->is_fresh = in->is_fresh && is_valid;
    if (!is_valid)
        return;
    if (!in->is_fresh) {
        const int32_t *record = offered(run, in);
        const unsigned stream = (unsigned)(in - run->input);
        sq_port_put(&run->in, in->first_field, in->n_fields, record + in->offset);
        in->offer = sq_offer_of(run->block, &run->ports, run->value, stream, record);
    }
    in->is_fresh = true;
    *offer = in->offer;
}

// ---- output ---------------------------------------------------------------------------------

static struct sq_group group_of(const struct run *run, uint64_t from)
{
    return (struct sq_group){.record = run->c->beats + run->record * run->in_len,
                             .len = run->c->len[run->group],
                             .wrap = run->c->wrap,
                             .from = from};
}

// The expected beats from the next one on; called where none is left.
static void expect(struct run *run)
{
    const struct sq_group in = group_of(run, run->left);
    memset(run->want, 0, run->outputs * run->out_len * sizeof *run->want);
    run->n_out = run->block->golden(run->value, &in, run->want);
    assert(run->n_out > run->left);
    const uint64_t n = run->n_out - run->left;
    run->n_want = n < run->outputs ? n : run->outputs;
    run->at = 0;
}

// Whether that was the last beat of its group.
static bool pass_output(struct run *run)
{
    run->at++;
    run->result->n_out++;
    return ++run->left == run->n_out;
}

static bool check_status(struct run *run)
{
    const struct sq_group done = group_of(run, 0);
    struct sq_port_difference d;
    if (!run->block->status)
        return true;
    run->block->status(run->value, run->sim, &done, run->result->status);
    run->rtl->status(run->model, run->status.word);
    if (!sq_port_differs(&run->status, run->result->status, &d))
        return true;
    const bool is_flag = run->ports.status[d.field].width == 1;
    differ(run, is_flag ? SQ_MISMATCH_VALUE : SQ_MISMATCH_COUNTER,
           run->block->status_name(d.field, d.element), d.got, d.want);
    run->result->mismatch.field = (unsigned)d.field;
    run->result->mismatch.index = (unsigned)d.element;
    return false;
}

static void next_group(struct run *run)
{
    run->record += sq_case_records(run->c, run->group++);
    run->left = run->n_out = run->n_want = run->at = 0;
}

static bool check_beat(struct run *run)
{
    struct sq_port_difference d;
    if (run->at == run->n_want)
        expect(run);
    run->rtl->beat(run->model, run->out.word);
    if (!sq_port_differs(&run->out, run->want + run->at * run->out_len, &d))
        return true;
    differ(run, SQ_MISMATCH_VALUE, run->ports.out[d.field].name, d.got, d.want);
    run->result->mismatch.field = (unsigned)d.field;
    run->result->mismatch.index = (unsigned)d.element;
    return false;
}

// ---- a cycle --------------------------------------------------------------------------------

static bool check_handshake(struct run *run, const struct sq_handshake *got,
                            const struct sq_handshake *want)
{
    char name[32];
    for (unsigned i = 0; i < run->n_inputs; i++)
        if (got->in_ready[i] != want->in_ready[i]) {
            snprintf(name, sizeof name, "%s_ready_o", run->ports.stream[i].name);
            differ(run, SQ_MISMATCH_HANDSHAKE, name, got->in_ready[i], want->in_ready[i]);
            return false;
        }
    if (got->out_valid == want->out_valid)
        return true;
    differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", got->out_valid, want->out_valid);
    return false;
}

static void rtl_comb(struct run *run, const struct sq_offer *offer, bool ready,
                     struct sq_handshake *out)
{
    uint8_t valid[SQ_STREAMS_MAX] = {0}, answer[SQ_STREAMS_MAX + 1] = {0};
    for (unsigned i = 0; i < run->n_inputs; i++)
        valid[i] = offer[i].valid;
    run->rtl->comb(run->model, valid, ready, (const uint32_t *const *)run->in.word, answer);
    for (unsigned i = 0; i < run->n_inputs; i++)
        out->in_ready[i] = answer[i];
    out->out_valid = answer[run->n_inputs];
}

// The RTL alone, from the cycle on in which its valid or ready differed, whose signals are given:
// does it still move?
static void probe(struct run *run, struct sq_offer *offer, bool ready, struct sq_handshake *got)
{
    const uint64_t n_out = run->result->n_out;
    uint64_t quiet = 0;
    run->rtl->no_assertions(run->model);
    for (uint64_t n = 0; n < PROBE_CYCLES && quiet < SQ_HANG_CYCLES; n++) {
        if (run->group == run->c->n_groups)
            break;
        bool moved = got->out_valid && ready;
        if (moved && run->at == run->n_want)
            expect(run);
        if (moved && pass_output(run))
            next_group(run);
        for (unsigned i = 0; i < run->n_inputs; i++)
            if (offer[i].valid && got->in_ready[i]) {
                take(run, &run->input[i]);
                run->input[i].source.left--;
                moved = true;
            }
        quiet = moved ? 0 : quiet + 1;
        run->rtl->clock(run->model);
        for (unsigned i = 0; i < run->n_inputs; i++)
            drive(run, &run->input[i], run->input[i].source.left > 0, &offer[i]);
        ready = true;
        rtl_comb(run, offer, ready, got);
    }
    run->result->n_out = n_out;
    if (quiet == SQ_HANG_CYCLES) {
        run->result->mismatch.kind = SQ_MISMATCH_HANG;
        run->result->mismatch.quiet = quiet;
    }
}

// One cycle of both sides; how many beats moved. False: they differ.
static bool cycle(struct run *run, unsigned *moved)
{
    const bool ready = sq_sink_ready(&run->sink);
    struct sq_offer offer[SQ_STREAMS_MAX] = {{0}};
    struct sq_handshake want = {{0}, false}, got = {{0}, false};
    bool ends = false;
    for (unsigned i = 0; i < run->n_inputs; i++)
        drive(run, &run->input[i], sq_source_valid(&run->input[i].source), &offer[i]);
    run->block->timing->comb(run->sim, offer, ready, &want);
    rtl_comb(run, offer, ready, &got);
    if (!check_handshake(run, &got, &want)) {
        probe(run, offer, ready, &got);
        return false;
    }
    const bool out_fire = want.out_valid && ready;
    if (out_fire && run->group == run->c->n_groups) { // both, and the golden model owes nothing
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", 1, 0);
        return false;
    }
    if (out_fire && !check_beat(run))
        return false;
    run->block->timing->clock(run->sim, offer, ready);
    *moved = out_fire;
    run->result->beats += out_fire;
    ends = out_fire && pass_output(run);
    for (unsigned i = 0; i < run->n_inputs; i++) {
        const bool fire = offer[i].valid && want.in_ready[i];
        if (fire)
            take(run, &run->input[i]);
        *moved += fire;
        run->result->beats += fire && !(i == 0 && run->ports.has_jobs);
        sq_source_clock(&run->input[i].source, fire, want.in_ready[i]);
    }
    sq_sink_clock(&run->sink, out_fire);
    run->rtl->clock(run->model);
    run->result->cycles++;
    if (ends && !check_status(run))
        return false;
    if (ends)
        next_group(run);
    return true;
}

static void run_to_end(struct run *run)
{
    const struct sq_case *c = run->c;
    uint32_t tail = c->tail;
    uint64_t quiet = 0;
    while (run->group < c->n_groups || tail > 0) {
        unsigned moved = 0;
        if (run->group == c->n_groups)
            tail--;
        if (!cycle(run, &moved))
            return;
        if (c->max_cycles > 0 && run->result->cycles == c->max_cycles)
            return;
        quiet = moved > 0 || run->group == c->n_groups ? 0 : quiet + 1;
        if (quiet == QUIET_CYCLES) {
            differ(run, SQ_MISMATCH_HANG, "progress", 0, 1);
            run->result->mismatch.quiet = quiet;
            return;
        }
    }
}

static void init_inputs(struct run *run)
{
    const struct sq_case *c = run->c;
    size_t field = 0;
    for (unsigned i = 0; i < SQ_STREAMS_MAX && run->ports.stream[i].n_fields > 0; i++) {
        struct input *in = &run->input[i];
        run->n_inputs = i + 1;
        in->first_field = field;
        in->n_fields = run->ports.stream[i].n_fields;
        in->offset = sq_field_offset(run->ports.in, field);
        field += in->n_fields;
        sq_source_init(&in->source, &c->stall[i], c->stall_seed[i]);
        for (size_t g = 0; g < c->n_groups; g++)
            in->source.left += c->len[g][i];
        while (in->group < c->n_groups && c->len[in->group][i] == 0)
            in->record += sq_case_records(c, in->group++);
    }
    assert(field == run->ports.n_in);
}

enum sq_status sq_lockstep_run(const struct sq_case *c, const struct sq_rtl_api *rtl,
                               const char *fst_path, uint64_t fst_from, struct sq_result *result,
                               struct sq_error *err)
{
    struct run run = {.c = c,
                      .block = c->block,
                      .value = c->point->value,
                      .rtl = rtl,
                      .noise = {c->seed},
                      .result = result};
    enum sq_status status = SQ_OK;
    memset(result, 0, sizeof *result);
    run.ports = sq_ports_of(c->block, run.value);
    run.outputs = run.ports.outputs < c->max_outputs ? c->max_outputs : run.ports.outputs;
    run.in_len = sq_field_offset(run.ports.in, run.ports.n_in);
    run.out_len = sq_field_offset(run.ports.out, run.ports.n_out);
    run.status_len = sq_field_offset(run.ports.status, run.ports.n_status);
    assert(run.status_len <= SQ_STATUS_LEN_MAX);
    if (!alloc_run(&run)) {
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, fst_path, fst_from);
    if (!run.model) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", fst_path ? fst_path : "");
        goto out;
    }
    c->block->init(run.value, run.sim);
    init_inputs(&run);
    sq_source_init(&run.sink, &c->stall[SQ_SINK], c->stall_seed[SQ_SINK]);
    run_to_end(&run);
out:
    free_run(&run);
    return status;
}
