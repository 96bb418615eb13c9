// SPDX-License-Identifier: Apache-2.0
// One case: drawing, running, shrinking. Campaigns are in sq_stream_campaign.c.
#include "sim/cosim/sq_stream_cosim.h"

#include <stdlib.h>
#include <string.h>

#include "models/sq_format.h"
#include "sim/cosim/sq_flow_cosim.h"
#include "sim/cosim/sq_stream_port.h"

// ---- cases ----------------------------------------------------------------------------------

static size_t beat_len(const struct sq_stream_shape *s)
{
    return sq_field_offset(s->in, s->n_in);
}

enum sq_status sq_stream_case_alloc(struct sq_stream_case *c, struct sq_error *err)
{
    struct sq_stream_shape s;
    c->block->shape(c->point->value, &s);
    c->group_len = calloc(c->n_groups, sizeof *c->group_len);
    c->flow_len = c->block->flow ? calloc(c->n_groups, sizeof *c->flow_len) : NULL;
    c->beats = calloc(c->n_beats, beat_len(&s) * sizeof *c->beats);
    if (c->group_len && c->beats && (c->flow_len || !c->block->flow))
        return SQ_OK;
    sq_stream_case_free(c);
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu beats", c->n_beats);
}

void sq_stream_case_free(struct sq_stream_case *c)
{
    free(c->group_len);
    free(c->beats);
    free(c->flow_len);
    c->flow_len = NULL;
    c->group_len = NULL;
    c->beats = NULL;
}

// Free, one side stalled, or both.
static void random_stalls(struct sq_rng *r, struct sq_stall stall[2])
{
    const uint32_t mode = sq_rng_below(r, 4);
    for (unsigned i = 0; i < 2; i++) {
        stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
        if (!(mode >> i & 1))
            continue;
        stall[i].kind = (enum sq_stall_kind)sq_rng_below(r, SQ_N_STALL_KINDS);
        stall[i].n = 1 + sq_rng_below(r, sq_rng_below(r, 2) ? 4 : 40);
    }
}

// Groups and their lengths: single beats, or groups of 1 to 24.
static enum sq_status draw_groups(struct sq_stream_case *c, const struct sq_stream_shape *s,
                                  struct sq_rng *r, bool is_all, struct sq_error *err)
{
    const bool has_groups = s->kind == SQ_STREAM_ARRAY;
    const uint32_t most = has_groups ? 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 5 : 24) : 1;
    c->n_groups = is_all ? s->n_all : 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 40 : 400);
    c->n_beats = c->n_groups * most; // an upper bound
    SQ_TRY(sq_stream_case_alloc(c, err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        c->group_len[g] = most == 1 ? 1 : 1 + sq_rng_below(r, most);
        c->n_beats += c->group_len[g];
    }
    return SQ_OK;
}

enum sq_status sq_stream_case(const struct sq_stream_block *block,
                              const struct sq_stream_point *point, uint64_t seed, uint64_t number,
                              bool is_all, struct sq_stream_case *c, struct sq_error *err)
{
    struct sq_rng r = {seed * UINT64_C(0x100000001b3) + number};
    struct sq_stream_shape s;
    (void)sq_rng_next(&r);
    block->shape(point->value, &s);
    is_all = is_all && s.n_all > 0;
    memset(c, 0, sizeof *c);
    c->block = block;
    c->point = point;
    c->seed = sq_rng_next(&r);
    random_stalls(&r, c->stall);
    if (block->flow)
        return sq_flow_draw_case(c, &s, &r, is_all, err);
    SQ_TRY(draw_groups(c, &s, &r, is_all, err));
    const enum sq_draw draw = is_all ? SQ_DRAW_ALL : (enum sq_draw)sq_rng_below(&r, SQ_DRAW_RANDOM);
    int32_t *beat = c->beats;
    for (size_t g = 0; g < c->n_groups; g++)
        for (uint32_t b = 0; b < c->group_len[g]; b++, beat += beat_len(&s)) {
            block->draw(point->value, &r, draw, g, beat);
            if (s.kind == SQ_STREAM_ARRAY)
                beat[0] = b + 1 == c->group_len[g];
        }
    return SQ_OK;
}

// ---- a run ----------------------------------------------------------------------------------

struct run {
    const struct sq_stream_case *c;
    const struct sq_rtl_api *rtl;
    void *model;
    struct sq_stream_shape shape;
    struct sq_stream_chain sim;
    struct sq_source source, sink;
    size_t sent;            // beats
    size_t received, first; // groups, and the first beat of the next
    struct sq_stream_port in, out;
    int32_t *want;
    struct sq_core_cosim_result *result;
};

static bool alloc_run(struct run *run)
{
    const struct sq_stream_shape *s = &run->shape;
    const bool has_in = sq_port_alloc(&run->in, s->in, s->n_in);
    const bool has_out = sq_port_alloc(&run->out, s->out, s->n_out);
    run->want = calloc(sq_field_offset(s->out, s->n_out), sizeof *run->want);
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
        kind, run->result->cycles, run->received, (unsigned)field, (unsigned)element, what, got,
        want};
    return true;
}

static bool check_beat(struct run *run)
{
    const struct sq_stream_shape *s = &run->shape;
    const size_t len = run->c->group_len[run->received];
    struct sq_port_difference d;
    memset(run->want, 0, sq_field_offset(s->out, s->n_out) * sizeof *run->want);
    run->c->block->golden(run->c->point->value, run->c->beats + run->first * beat_len(s), len,
                          run->want);
    run->rtl->stream_beat(run->model, run->out.word);
    if (sq_port_differs(&run->out, run->want, &d))
        return !differ(run, SQ_MISMATCH_VALUE, s->out[d.field].name, d.field, d.element, d.got,
                       d.want);
    run->first += len;
    return true;
}

static bool cycle(struct run *run)
{
    const bool valid = sq_source_valid(&run->source), ready = sq_sink_ready(&run->sink);
    const int32_t *beat = valid ? run->c->beats + run->sent * beat_len(&run->shape) : NULL;
    struct sq_stream_out want;
    struct sq_rtl_stream_out got;

    if (valid)
        sq_port_put(&run->in, 0, run->shape.n_in, beat);
    sq_chain_comb(&run->sim, ready, &want);
    const struct sq_rtl_stream_in drive = {
        .in_valid = valid, .out_ready = ready, .field = (const uint32_t *const *)run->in.word};
    run->rtl->stream_comb(run->model, &drive, &got);
    if (differ(run, SQ_MISMATCH_HANDSHAKE, "in_ready_o", 0, 0, got.in_ready, want.in_ready) ||
        differ(run, SQ_MISMATCH_HANDSHAKE, "out_valid_o", 0, 0, got.out_valid, want.out_valid))
        return false;
    const bool in_fire = valid && want.in_ready, out_fire = want.out_valid && ready;
    if (out_fire && !check_beat(run))
        return false;
    const bool is_last = valid && run->shape.kind == SQ_STREAM_ARRAY && beat[0];
    sq_chain_clock(&run->sim, valid, is_last, ready);
    run->sent += in_fire;
    run->received += out_fire;
    run->result->beats += (uint64_t)in_fire + out_fire;
    run->result->tiles += out_fire;
    sq_source_clock(&run->source, in_fire);
    sq_sink_clock(&run->sink, out_fire);
    run->rtl->clock(run->model);
    run->result->cycles++;
    return true;
}

enum sq_status sq_stream_cosim_run(const struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                   const char *fst_path, uint64_t fst_from,
                                   struct sq_core_cosim_result *result, struct sq_error *err)
{
    struct run run = {.c = c, .rtl = rtl, .result = result};
    enum sq_status status = SQ_OK;

    if (c->block->flow)
        return sq_flow_cosim_run(c, rtl, fst_path, fst_from, result, err);
    memset(result, 0, sizeof *result);
    c->block->shape(c->point->value, &run.shape);
    sq_stream_sim_init(&run.sim.back, run.shape.kind, run.shape.depth);
    run.sim.has_front = run.shape.front_depth > 0;
    if (run.sim.has_front)
        sq_stream_sim_init(&run.sim.front, run.shape.front_kind, run.shape.front_depth);
    if (!alloc_run(&run)) {
        status = SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a co-simulation");
        goto out;
    }
    run.model = rtl->create(c->seed, fst_path, fst_from);
    if (!run.model) {
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write the trace %s", fst_path ? fst_path : "");
        goto out;
    }
    sq_source_init(&run.source, &c->stall[0], c->seed);
    sq_source_init(&run.sink, &c->stall[1], c->seed + 1);
    run.source.left = c->n_beats;
    while (run.received < c->n_groups && cycle(&run))
        continue;
out:
    free_run(&run);
    return status;
}

// ---- shrinking ------------------------------------------------------------------------------

// Groups [from, from + n) of *c, each with at most `most` beats (the last ones).
static enum sq_status cut_case(const struct sq_stream_case *c, size_t from, size_t n, uint32_t most,
                               struct sq_stream_case *out, struct sq_error *err)
{
    struct sq_stream_shape s;
    c->block->shape(c->point->value, &s);
    const size_t len = beat_len(&s);
    const int32_t *beat = c->beats;
    *out = *c;
    out->n_groups = n;
    SQ_TRY(sq_stream_case_alloc(out, err));
    if (c->flow_len)
        memcpy(out->flow_len, c->flow_len + from, n * sizeof *out->flow_len);
    out->n_beats = 0;
    for (size_t g = 0; g < from + n; beat += c->group_len[g] * len, g++) {
        if (g < from)
            continue;
        const uint32_t all = c->group_len[g], kept = all < most ? all : most;
        memcpy(out->beats + out->n_beats * len, beat + (all - kept) * len,
               kept * len * sizeof *beat);
        out->group_len[g - from] = kept;
        out->n_beats += kept;
    }
    return SQ_OK;
}

enum { N_WAYS = 8 };

// The stalls that way 4 and up take away.
static struct sq_stall *stall_of(struct sq_stream_case *c, unsigned way)
{
    return way < 6 ? &c->stall[way - 4] : way == 6 ? &c->second_stall : &c->third_stall;
}

// One way to make a case smaller; false where it does not apply.
static bool way_of(struct sq_stream_case *c, unsigned way, size_t *from, size_t *n, uint32_t *most)
{
    const size_t half = c->n_groups / 2;
    *from = way == 1 ? half : way == 2 ? 1 : 0;
    *n = way == 0 ? half : way == 1 ? c->n_groups - half : c->n_groups - (way == 2);
    *most = way == 3 ? 1 : UINT32_MAX;
    if (way < 3)
        return *n > 0 && *n < c->n_groups;
    if (way == 3) // the groups of a flow are whole
        return !c->flow_len && c->n_beats > c->n_groups;
    return stall_of(c, way)->kind != SQ_STALL_FREE;
}

enum sq_status sq_stream_shrink(struct sq_stream_case *c, const struct sq_rtl_api *rtl,
                                struct sq_core_cosim_result *result, struct sq_error *err)
{
    for (bool shrunk = true; shrunk;) {
        shrunk = false;
        for (unsigned way = 0; way < N_WAYS; way++) {
            struct sq_stream_case smaller;
            struct sq_core_cosim_result r;
            size_t from, n;
            uint32_t most;
            if (!way_of(c, way, &from, &n, &most))
                continue;
            SQ_TRY(cut_case(c, from, n, most, &smaller, err));
            if (way >= 4)
                *stall_of(&smaller, way) = (struct sq_stall){SQ_STALL_FREE, 1};
            const enum sq_status status = sq_stream_cosim_run(&smaller, rtl, NULL, 0, &r, err);
            if (status == SQ_OK && r.mismatch.kind != SQ_MISMATCH_NONE) {
                sq_stream_case_free(c);
                *c = smaller;
                *result = r;
                shrunk = true;
            } else {
                sq_stream_case_free(&smaller);
            }
            SQ_TRY(status);
        }
    }
    return SQ_OK;
}
