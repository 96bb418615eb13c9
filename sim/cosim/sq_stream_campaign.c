// SPDX-License-Identifier: Apache-2.0
// Campaigns of stream blocks (sq_stream_cosim.h), and the waveform of a divergence.
#include <errno.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cosim/sq_stream_cosim.h"
#include "sim/io/sq_file.h"

#define WINDOW_CYCLES 200u // dumped before the divergent cycle

struct shared {
    const struct sq_stream_campaign *campaign;
    uint64_t done, total;
    enum sq_status status; // the first failure stops all points
};

static bool step_done(struct shared *s, uint64_t n)
{
    bool go_on;
#pragma omp critical(sq_stream_campaign)
    {
        s->done += n;
        if (n > 0 && s->campaign->progress)
            s->campaign->progress(s->campaign->progress_context, s->done, s->total);
        go_on = s->status == SQ_OK;
    }
    return go_on;
}

static enum sq_status run_case(const struct sq_stream_campaign *campaign,
                               const struct sq_stream_point *point, uint64_t number, bool is_all,
                               const struct sq_rtl_api *rtl, struct sq_stream_outcome *o,
                               struct sq_error *err)
{
    struct sq_stream_case c;
    struct sq_core_cosim_result r;
    SQ_TRY(sq_stream_case(campaign->block, point, campaign->seed, number, is_all, &c, err));
    const enum sq_status status = sq_stream_cosim_run(&c, rtl, NULL, 0, &r, err);
    const enum sq_mismatch_kind kind = r.mismatch.kind;
    o->cases++;
    o->cycles += r.cycles;
    o->beats += r.beats;
    o->value_mismatches += kind == SQ_MISMATCH_VALUE;
    o->cycle_mismatches += kind == SQ_MISMATCH_HANDSHAKE;
    const bool first = kind != SQ_MISMATCH_NONE && o->result.mismatch.kind == SQ_MISMATCH_NONE;
    if (status != SQ_OK || !first) {
        sq_stream_case_free(&c);
        return status;
    }
    o->failing_case = number;
    o->failing = c;
    o->result = r;
    return sq_stream_shrink(&o->failing, rtl, &o->result, err);
}

static enum sq_status run_point(struct shared *s, size_t i, struct sq_stream_outcome *o,
                                struct sq_error *err)
{
    const struct sq_stream_campaign *c = s->campaign;
    const struct sq_rtl_point point = {.block = SQ_RTL_STREAM,
                                       .netlist = c->netlist,
                                       .coverage = c->coverage != NULL,
                                       .stream = c->block,
                                       .stream_point = c->points[i]};
    struct sq_stream_shape shape;
    struct sq_rtl rtl;
    bool built;
    if (!step_done(s, 0))
        return SQ_OK;
    SQ_TRY(sq_rtl_load(&rtl, &point, c->home, &built, err));
    c->block->shape(c->points[i]->value, &shape);
    enum sq_status status = SQ_OK;
    bool go_on = step_done(s, 1);
    for (uint64_t n = i; n < c->cases && status == SQ_OK && go_on; n += c->n_points) {
        const bool is_all = n == i && shape.n_all > 0;
        status = run_case(c, c->points[i], n, is_all, rtl.api, o, err);
        o->is_exhausted = o->is_exhausted || is_all;
        go_on = step_done(s, 1);
    }
    if (status == SQ_OK && c->coverage)
        status = sq_rtl_write_coverage(&rtl, &point, c->coverage, err);
    sq_rtl_unload(&rtl);
    return status;
}

enum sq_status sq_stream_campaign_run(const struct sq_stream_campaign *campaign,
                                      struct sq_stream_outcome *out, struct sq_error *err)
{
    struct shared s = {campaign, 0, campaign->cases + campaign->n_points, SQ_OK};
    memset(out, 0, campaign->n_points * sizeof *out);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)campaign->jobs)
    for (size_t i = 0; i < campaign->n_points; i++) {
        struct sq_error mine;
        const enum sq_status status = run_point(&s, i, &out[i], &mine);
#pragma omp critical(sq_stream_campaign)
        if (status != SQ_OK && s.status == SQ_OK) {
            s.status = status;
            if (err)
                *err = mine;
        }
    }
    return s.status;
}

// ---- the window around a divergence ---------------------------------------------------------

// A group of the save file: valid, ready and the fields of a stream.
static void write_group(FILE *out, const char *top, const char *name, bool is_in,
                        const struct sq_field *field, size_t n_fields)
{
    fprintf(out, "@200\n-Stream %s\n", name);
    fprintf(out, "@28\n+{%s: valid} TOP.%s.%s_valid_%c\n", name, top, name, is_in ? 'i' : 'o');
    fprintf(out, "+{%s: ready} TOP.%s.%s_ready_%c\n", name, top, name, is_in ? 'o' : 'i');
    for (size_t f = 0; f < n_fields; f++) {
        const size_t bits = field[f].count * field[f].width;
        fprintf(out, "@22\n+{%s: %s} TOP.%s.%s_%s_%c", name, field[f].name, top, name,
                field[f].name, is_in ? 'i' : 'o');
        if (bits > 1)
            fprintf(out, "[%zu:0]", bits - 1);
        fprintf(out, "\n");
    }
}

// A GTKWave save file: a group per stream, a marker on the divergent cycle.
static enum sq_status write_gtkw(const struct sq_stream_case *c, const char *path, uint64_t time,
                                 struct sq_error *err)
{
    const struct sq_flow *flow = c->block->flow;
    const unsigned long long at = time;
    const char *top = c->block->top;
    struct sq_stream_shape s;
    struct sq_outfile out;
    c->block->shape(c->point->value, &s);
    SQ_TRY(sq_outfile_open(&out, path, err));
    fprintf(out.stream, "[dumpfile] \"wave.fst\"\n[timestart] %llu\n*-2.0 %llu -1\n",
            at > 40 ? at - 40 : 0, at);
    fprintf(out.stream, "[size] 1200 680\n[sst_width] 1\n[signals_width] 260\n[sst_expanded] 0\n");
    fprintf(out.stream, "@28\n+{clock} TOP.%s.clk_i\n+{reset (low)} TOP.%s.rst_ni\n", top, top);
    if (!flow)
        write_group(out.stream, top, "in", true, s.in, s.n_in);
    for (size_t i = 0, f = 0; flow && i < SQ_FLOW_STREAMS && flow->stream[i].n_fields > 0; i++) {
        write_group(out.stream, top, flow->stream[i].name, true, s.in + f,
                    flow->stream[i].n_fields);
        f += flow->stream[i].n_fields;
    }
    write_group(out.stream, top, "out", false, s.out, s.n_out);
    return sq_outfile_commit(&out, err);
}

enum sq_status sq_stream_dump(const struct sq_stream_case *c, bool netlist,
                              const struct sq_core_cosim_result *result, const char *home,
                              const char *dir, struct sq_error *err)
{
    const uint64_t at = result->mismatch.cycle;
    const struct sq_rtl_point point = {.block = SQ_RTL_STREAM,
                                       .netlist = netlist,
                                       .trace = true,
                                       .stream = c->block,
                                       .stream_point = c->point};
    struct sq_core_cosim_result again;
    struct sq_rtl rtl;
    bool built;
    char path[1200];

    if (strlen(dir) > 1000 || (mkdir(dir, 0777) != 0 && errno != EEXIST))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(dir), strerror(errno));
    SQ_TRY(sq_rtl_load(&rtl, &point, home, &built, err));
    snprintf(path, sizeof path, "%s/wave.fst", dir);
    const enum sq_status status = sq_stream_cosim_run(
        c, rtl.api, path, at > WINDOW_CYCLES ? at - WINDOW_CYCLES : 0, &again, err);
    sq_rtl_unload(&rtl);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%s/wave.gtkw", dir);
    return write_gtkw(c, path, 2 * (at + SQ_RTL_RESET_CYCLES) + 1, err);
}
