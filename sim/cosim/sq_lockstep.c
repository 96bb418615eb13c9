// SPDX-License-Identifier: Apache-2.0
// Steps model and RTL together, compares them in every cycle, and stops at the first difference
// (sq_lockstep.h).
#include "sim/cosim/sq_lockstep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/cosim/sq_env_run.h"
#include "sim/cosim/sq_feed.h"

#define QUIET_CYCLES 100000u // in lock step: far above the longest stall (16000 cycles)
#define PROBE_CYCLES (20 * SQ_HANG_CYCLES)
#define TAIL_CYCLES 64u // after the last output: deeper than any block; nothing may come any more

struct run {
    const struct sq_case *c;
    const struct sq_block *block;
    const unsigned *value;
    const struct sq_rtl_api *rtl;
    const struct sq_window *window; // NULL: none
    bool is_past;                   // a difference was found; the window is still to be filled
    void *model, *sim;
    struct sq_ports ports;
    size_t in_len, out_len, status_len;
    struct sq_feed input[SQ_STREAMS_MAX];
    unsigned n_inputs;
    struct sq_source sink;
    struct sq_rng noise;
    uint64_t now, next_reset; // cycles since the first reset, later ones included; of the next one
    size_t touched;           // groups of which an input beat was taken, and those before them
    size_t group, record;     // of the output: group, its first record
    uint64_t left, n_out;     // of the group: beats that have left, all
    size_t n_want;            // beats in want, the last of which is number left + n_want - at
    size_t at;
    int32_t *want; // [outputs][out_len]
    size_t outputs;
    bool is_packed; // `wanted` holds beat `at` of `want`
    int64_t limit[SQ_FIELDS_MAX];
    struct sq_port_words in, out, status, wanted, wanted_status;
    struct sq_env_run env;
    struct sq_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_ports *p = &run->ports;
    const bool has_in = sq_port_alloc(&run->in, p->in, p->n_in);
    const bool has_out = sq_port_alloc(&run->out, p->out, p->n_out);
    const bool has_status = sq_port_alloc(&run->status, p->status, p->n_status);
    const bool has_wanted = sq_port_alloc(&run->wanted, p->out, p->n_out) &&
                            sq_port_alloc(&run->wanted_status, p->status, p->n_status);
    run->want =
        calloc(run->outputs * run->out_len + 1, sizeof *run->want); // a block may have no output
    run->sim = mmap(NULL, run->block->timing->nbytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool has_env = sq_env_run_alloc(&run->env, run->c, p, run->rtl);
    return has_env && has_in && has_out && has_status && has_wanted && run->want &&
           run->sim != MAP_FAILED;
}

static void free_run(struct run *run)
{
    if (run->model)
        run->rtl->destroy(run->model);
    sq_port_free(&run->in);
    sq_port_free(&run->out);
    sq_port_free(&run->status);
    sq_port_free(&run->wanted);
    sq_port_free(&run->wanted_status);
    sq_env_run_free(&run->env);
    free(run->want);
    if (run->sim != MAP_FAILED)
        (void)munmap(run->sim, run->block->timing->nbytes);
}

static void differ(struct run *run, enum sq_mismatch_kind kind, const char *what, int64_t got,
                   int64_t want)
{
    struct sq_mismatch *m = &run->result->mismatch;
    *m = (struct sq_mismatch){.kind = kind,
                              .cycle = run->now,
                              .group = run->group,
                              .beat = run->result->n_out,
                              .got = got,
                              .want = want};
    snprintf(m->what, sizeof m->what, "%s", what);
}

// ---- input ----------------------------------------------------------------------------------

static void take(struct run *run, struct sq_feed *in)
{
    run->touched = in->group >= run->touched ? in->group + 1 : run->touched;
    sq_feed_take(in);
}

static void drive(struct run *run, struct sq_feed *in, bool is_valid, struct sq_offer *offer)
{
    sq_feed_drive(in, is_valid, &run->in, &run->noise, offer);
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
    run->is_packed = false;
    run->result->n_out++;
    return ++run->left == run->n_out;
}

static void next_group(struct run *run)
{
    run->record += sq_case_records(run->c, run->group++);
    run->left = run->n_out = run->n_want = run->at = 0;
}

// The status outputs of this cycle, and what they should be.
static bool check_status(struct run *run)
{
    const struct sq_group due = group_of(run, 0);
    struct sq_port_difference d;
    if (!run->block->status)
        return true;
    run->block->status(run->value, run->sim, &due, run->result->status);
    sq_port_put(&run->wanted_status, 0, run->ports.n_status, run->result->status);
    run->rtl->status(run->model, run->status.word);
    if (sq_port_same(&run->status, &run->wanted_status) ||
        !sq_port_differs(&run->status, run->result->status, &d))
        return true;
    const struct sq_field *const field = &run->ports.status[d.field];
    const bool has_causes = field->count == SQ_N_CAUSES;
    differ(run, field->width == 1 ? SQ_MISMATCH_VALUE : SQ_MISMATCH_COUNTER,
           has_causes ? sq_cause_name((enum sq_cause)d.element) : field->name, d.got, d.want);
    run->result->mismatch.is_status = true;
    run->result->mismatch.field = (unsigned)d.field;
    run->result->mismatch.index = (unsigned)d.element;
    return false;
}

// The beat that should be offered, packed.
static const int32_t *pack_beat(struct run *run)
{
    if (run->at == run->n_want)
        expect(run);
    const int32_t *const want = run->want + run->at * run->out_len;
    if (!run->is_packed)
        sq_port_put(&run->wanted, 0, run->ports.n_out, want);
    run->is_packed = true;
    return want;
}

// The beat that is offered, whether it is taken or not.
static bool check_beat(struct run *run)
{
    struct sq_port_difference d;
    if (run->group == run->c->n_groups) { // the golden model owes nothing
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", 1, 0);
        return false;
    }
    const int32_t *const want = pack_beat(run);
    run->rtl->beat(run->model, run->out.word);
    if (sq_port_same(&run->out, &run->wanted) || !sq_port_differs(&run->out, want, &d))
        return true;
    differ(run, SQ_MISMATCH_VALUE, run->ports.out[d.field].name, d.got, d.want);
    run->result->mismatch.field = (unsigned)d.field;
    run->result->mismatch.index = (unsigned)d.element;
    return false;
}

// How far the sums of a beat that leaves reach.
static void measure(struct run *run)
{
    const int32_t *value = run->want + run->at * run->out_len;
    for (size_t f = 0; f < run->ports.n_out; value += run->ports.out[f++].count) {
        struct sq_reach *const r = &run->result->reach[f];
        for (size_t i = 0; run->limit[f] > 0 && i < run->ports.out[f].count; i++) {
            r->low = value[i] < r->low ? value[i] : r->low;
            r->high = value[i] > r->high ? value[i] : r->high;
        }
    }
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
    if (got->out_valid != want->out_valid) {
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", got->out_valid, want->out_valid);
        return false;
    }
    const bool *differs = sq_env_run_handshake(&run->env, name);
    if (differs)
        differ(run, SQ_MISMATCH_HANDSHAKE, name, *differs, !*differs);
    return !differs;
}

// What is asked of the environment.
static bool check_asks(struct run *run)
{
    struct sq_port_difference d;
    char name[32];
    if (!sq_env_run_differs(&run->env, name, &d))
        return true;
    differ(run, SQ_MISMATCH_VALUE, name, d.got, d.want);
    run->result->mismatch.is_ask = true;
    run->result->mismatch.field = (unsigned)d.field;
    run->result->mismatch.index = (unsigned)d.element;
    return false;
}

static void rtl_comb(struct run *run, const struct sq_offer *offer, bool ready,
                     struct sq_handshake *out)
{
    uint8_t valid[SQ_STREAMS_MAX] = {0}, answer[SQ_STREAMS_MAX + 1] = {0};
    for (unsigned i = 0; i < run->n_inputs; i++)
        valid[i] = offer[i].valid;
    sq_env_run_drive_rtl(&run->env, run->model);
    run->rtl->comb(run->model, valid, ready, (const uint32_t *const *)run->in.word, answer);
    for (unsigned i = 0; i < run->n_inputs; i++)
        out->in_ready[i] = answer[i];
    out->out_valid = answer[run->n_inputs];
    sq_env_run_read_rtl(&run->env, run->model);
}

// What the models say of this cycle, into the waveform.
static void show(struct run *run, const struct sq_handshake *want)
{
    uint8_t answer[SQ_STREAMS_MAX + 1] = {0};
    const struct sq_group due = group_of(run, 0);
    for (unsigned i = 0; i < run->n_inputs; i++)
        answer[i] = want->in_ready[i];
    answer[run->n_inputs] = want->out_valid;
    if (want->out_valid && run->group < run->c->n_groups)
        (void)pack_beat(run);
    if (run->block->status) {
        run->block->status(run->value, run->sim, &due, run->result->status);
        sq_port_put(&run->wanted_status, 0, run->ports.n_status, run->result->status);
    }
    sq_env_run_show(&run->env, run->model);
    run->rtl->show(run->model, answer, (const uint32_t *const *)run->wanted.word,
                   (const uint32_t *const *)run->wanted_status.word, run->window->element);
}

// Whether output is to come or, with an environment, input is left or a reply is owed.
static bool is_owed(const struct run *run)
{
    bool is = run->group < run->c->n_groups || sq_env_run_is_busy(&run->env);
    for (unsigned i = 0; run->block->env && i < run->n_inputs; i++)
        is = is || run->input[i].source.left > 0;
    return is;
}

// The RTL alone, from the cycle on in which its valid or ready differed, whose signals are given:
// does it still move?
static void probe(struct run *run, struct sq_offer *offer, bool ready, struct sq_handshake *got)
{
    const uint64_t n_out = run->result->n_out;
    uint64_t quiet = 0;
    run->rtl->no_assertions(run->model);
    for (uint64_t n = 0; n < PROBE_CYCLES && quiet < SQ_HANG_CYCLES; n++) {
        if (!is_owed(run))
            break;
        bool moved = got->out_valid && ready;
        moved = sq_env_run_clock_alone(&run->env) || moved;
        if (got->out_valid && ready && run->group < run->c->n_groups) {
            if (run->at == run->n_want)
                expect(run);
            if (pass_output(run))
                next_group(run);
        }
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

// What fired moves on; how many beats did. Whether the group ended.
static bool move(struct run *run, const struct sq_offer *offer, const struct sq_handshake *h,
                 bool out_fire, unsigned *moved)
{
    const bool ends = out_fire && pass_output(run);
    *moved = out_fire;
    run->result->compared.beats += out_fire;
    for (unsigned i = 0; i < run->n_inputs; i++) {
        const bool fire = offer[i].valid && h->in_ready[i];
        if (fire)
            take(run, &run->input[i]);
        *moved += fire;
        run->result->compared.beats += fire && !(i == 0 && run->ports.has_jobs);
        sq_source_clock(&run->input[i].source, fire, h->in_ready[i]);
    }
    sq_sink_clock(&run->sink, out_fire);
    return ends;
}

// Handshakes, status and beat of a cycle. After a difference in valid or ready: does the RTL hang?
static bool check(struct run *run, struct sq_offer *offer, bool ready,
                  const struct sq_handshake *want, struct sq_handshake *got)
{
    if (run->is_past)
        return true;
    if (check_handshake(run, got, want))
        return check_status(run) && check_asks(run) && (!want->out_valid || check_beat(run));
    if (!run->window)
        probe(run, offer, ready, got);
    return false;
}

// Whether the run goes on after a difference.
static bool go_on(struct run *run)
{
    if (!run->is_past && run->window)
        run->rtl->no_assertions(run->model);
    run->is_past = run->window != NULL;
    return run->is_past;
}

// One cycle of both sides; how many beats moved. False: they differ.
static bool cycle(struct run *run, unsigned *moved)
{
    struct sq_compared *const n = &run->result->compared;
    const bool ready = sq_sink_ready(&run->sink);
    struct sq_offer offer[SQ_STREAMS_MAX] = {{0}};
    struct sq_handshake want = {{0}, false}, got = {{0}, false};
    for (unsigned i = 0; i < run->n_inputs; i++)
        drive(run, &run->input[i], sq_source_valid(&run->input[i].source), &offer[i]);
    sq_env_run_drive(&run->env, run->sim);
    run->block->timing->comb(run->sim, offer, ready, &want);
    sq_env_run_ask(&run->env, run->sim);
    if (run->window)
        show(run, &want);
    rtl_comb(run, offer, ready, &got);
    if (!check(run, offer, ready, &want, &got) && !go_on(run))
        return false;
    const bool out_fire = want.out_valid && ready && run->group < run->c->n_groups;
    if (out_fire)
        measure(run);
    run->block->timing->clock(run->sim, offer, ready);
    const bool ends = move(run, offer, &want, out_fire, moved);
    const char *complaint = NULL;
    const unsigned moved_env = sq_env_run_clock(&run->env, &complaint);
    *moved += moved_env;
    n->beats += moved_env;
    const char *assertion = run->rtl->clock(run->model);
    assertion = assertion ? assertion : complaint;
    if (assertion && !run->is_past) {
        differ(run, SQ_MISMATCH_ASSERTION, assertion, 0, 1);
        if (!go_on(run))
            return false;
    }
    n->cycles++;
    run->now++;
    if (run->ports.n_out == 0 && sq_env_run_is_busy(&run->env))
        run->result->end = n->cycles;
    if (out_fire) {
        run->result->end = n->cycles;
        n->tiles++;
        n->integers += run->out_len;
    }
    if (ends)
        next_group(run);
    return true;
}

// ---- reset ----------------------------------------------------------------------------------

// What is inside is lost: both sides go on with the first group of which nothing was taken, or, where
// groups come again, with the first that had not left. Beats of noise are offered meanwhile.
static void reset(struct run *run)
{
    struct sq_offer offer[SQ_STREAMS_MAX] = {{0}};
    struct sq_handshake unused;
    while (run->c->resets == 0 && run->group < run->touched)
        next_group(run);
    run->touched = run->group;
    run->left = run->n_out = run->n_want = run->at = 0;
    run->is_packed = false;
    for (unsigned i = 0; i < run->n_inputs; i++) {
        drive(run, &run->input[i], false, &offer[i]);
        offer[i].valid = true;
        sq_feed_seek(&run->input[i], run->group, run->record);
    }
    rtl_comb(run, offer, true, &unused);
    run->rtl->reset(run->model);
    // Zeros again, in place: of megabytes of a chip a case between two resets writes few pages.
    (void)madvise(run->sim, run->block->timing->nbytes, MADV_DONTNEED);
    run->block->init(run->value, run->sim);
    run->result->compared.active |= sq_env_run_has_done(&run->env);
    sq_env_run_reset(&run->env);
    memset(run->result->status, 0, sizeof run->result->status);
    run->now += SQ_RTL_RESET_CYCLES;
    run->next_reset = run->now + run->c->reset_every;
    run->result->compared.resets++;
}

static void run_to_end(struct run *run)
{
    const struct sq_case *c = run->c;
    uint32_t tail = TAIL_CYCLES;
    uint64_t quiet = 0;
    run->next_reset = c->reset_every;
    while (is_owed(run) || tail > 0) {
        unsigned moved = 0;
        const bool is_over = !is_owed(run);
        if (run->is_past && run->now >= run->window->to)
            return;
        tail = is_over ? tail - 1 : TAIL_CYCLES;
        const bool is_reset = c->reset_every > 0 && run->now == run->next_reset &&
                              (c->resets == 0 || run->result->compared.resets < c->resets);
        if (!is_over && is_reset)
            reset(run);
        if (!cycle(run, &moved))
            return;
        if (c->max_cycles > 0 && run->result->compared.cycles == c->max_cycles)
            return;
        quiet = moved > 0 || is_over ? 0 : quiet + 1;
        if (quiet == QUIET_CYCLES) {
            differ(run, SQ_MISMATCH_HANG, "progress", 0, 1);
            run->result->mismatch.quiet = quiet;
            if (!go_on(run))
                return;
        }
    }
}

enum sq_status sq_lockstep_run(const struct sq_case *c, const struct sq_rtl_api *rtl,
                               const struct sq_window *window, struct sq_result *result,
                               struct sq_error *err)
{
    const struct sq_window none = {NULL, 0, 0, 0}, *const w = window ? window : &none;
    struct run run = {.c = c,
                      .block = c->block,
                      .value = c->point->value,
                      .rtl = rtl,
                      .window = window,
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
    for (size_t f = 0; f < run.ports.n_out; f++)
        run.limit[f] = c->block->limit ? c->block->limit(run.value, f) : 0;
    if (!alloc_run(&run)) {
        status = SQ_NO_MEMORY(err, "a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, w->fst_path, w->from, w->to);
    if (!run.model) {
        status =
            SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", w->fst_path ? w->fst_path : "");
        goto out;
    }
    run.env.status = c->block->status ? result->status : NULL;
    c->block->init(run.value, run.sim);
    run.n_inputs = sq_feed_init(run.input, c, &run.ports);
    sq_source_init(&run.sink, &c->stall[SQ_SINK], c->stall_seed[SQ_SINK]);
    run_to_end(&run);
    result->compared.active |= result->compared.tiles > 0 || sq_env_run_has_done(&run.env);
out:
    free_run(&run);
    return status;
}
