// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_cosim.h"

#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cosim/sq_gather_cosim.h"
#include "sim/io/sq_file.h"

#define WINDOW_CYCLES 200u // dumped before the divergent cycle

sq_cosim_run_fn *sq_cosim_run_of(enum sq_rtl_block block)
{
    return block == SQ_RTL_GATHER ? sq_gather_cosim_run : sq_core_cosim_run;
}

// The gather has no columns of its own.
static struct sq_core_config block_config(enum sq_rtl_block block, const struct sq_core_config *c)
{
    struct sq_core_config config = *c;
    if (block == SQ_RTL_GATHER)
        config.cols = 1;
    return config;
}

struct shared {
    const struct sq_campaign *campaign;
    uint64_t done, total;
    enum sq_status status; // the first failure stops all points
    struct sq_error *err;
};

static void step_done(struct shared *s)
{
#pragma omp critical(sq_campaign)
    {
        s->done++;
        if (s->campaign->progress)
            s->campaign->progress(s->campaign->progress_context, s->done, s->total);
    }
}

static bool stopped(struct shared *s)
{
    bool stop;
#pragma omp critical(sq_campaign)
    stop = s->status != SQ_OK;
    return stop;
}

static enum sq_status run_case(const struct sq_campaign *c, const struct sq_core_config *config,
                               uint64_t number, const struct sq_rtl_api *rtl,
                               struct sq_campaign_point *p, struct sq_error *err)
{
    struct sq_owned_case o;
    struct sq_core_cosim_result r;
    sq_cosim_run_fn *const run = sq_cosim_run_of(c->block);

    SQ_TRY(sq_cosim_case(config, c->seed, number, &o, err));
    enum sq_status status = run(&o.c, rtl, NULL, 0, &r, err);
    p->cases++;
    p->cycles += r.cycles;
    p->beats += r.beats;
    const enum sq_mismatch_kind kind = r.mismatch.kind;
    p->value_mismatches += kind == SQ_MISMATCH_VALUE || kind == SQ_MISMATCH_MASK_ERROR;
    p->cycle_mismatches +=
        kind == SQ_MISMATCH_HANDSHAKE || kind == SQ_MISMATCH_COUNTER || kind == SQ_MISMATCH_HANG;
    const bool first = kind != SQ_MISMATCH_NONE && p->result.mismatch.kind == SQ_MISMATCH_NONE;
    if (status != SQ_OK || !first) {
        sq_owned_case_free(&o);
        return status;
    }
    p->failing_case = number;
    p->failing = o;
    p->result = r;
    return sq_cosim_shrink(&p->failing, rtl, run, &p->result, err);
}

static enum sq_status run_point(struct shared *s, size_t i, struct sq_campaign_point *p,
                                struct sq_error *err)
{
    const struct sq_campaign *c = s->campaign;
    const struct sq_rtl_point point = {.block = c->block,
                                       .config = block_config(c->block, &c->points[i].config),
                                       .netlist = c->netlist,
                                       .coverage = c->coverage != NULL};
    struct sq_rtl rtl;
    if (stopped(s))
        return SQ_OK;
    SQ_TRY(sq_rtl_load(&rtl, &point, c->home, &p->built, err));
    step_done(s);
    enum sq_status status = SQ_OK;
    for (uint64_t n = i; n < c->cases && status == SQ_OK && !stopped(s); n += c->n_points) {
        status = run_case(c, &point.config, n, rtl.api, p, err);
        step_done(s);
    }
    if (status == SQ_OK && c->coverage)
        status = sq_rtl_write_coverage(&rtl, &point, c->coverage, err);
    sq_rtl_unload(&rtl);
    return status;
}

enum sq_status sq_campaign_run(const struct sq_campaign *campaign, struct sq_campaign_point *out,
                               struct sq_error *err)
{
    struct shared s = {campaign, 0, campaign->cases + campaign->n_points, SQ_OK, err};
    memset(out, 0, campaign->n_points * sizeof *out);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)campaign->jobs)
    for (size_t i = 0; i < campaign->n_points; i++) {
        struct sq_error mine;
        const enum sq_status status = run_point(&s, i, &out[i], &mine);
#pragma omp critical(sq_campaign)
        if (status != SQ_OK && s.status == SQ_OK) {
            s.status = status;
            if (err)
                *err = mine;
        }
    }
    return s.status;
}

void sq_campaign_free(struct sq_campaign_point *out, size_t n_points)
{
    for (size_t i = 0; i < n_points; i++)
        sq_owned_case_free(&out[i].failing);
}

// ---- the window around a divergence ---------------------------------------------------------

// In reading order; without a path: a heading.
struct wave {
    const char *label, *path;
};
static const struct wave core_waves[] = {{"clock", "clk_i"},
                                         {"reset (low)", "rst_ni"},
                                         {"job: valid", "job_valid_i"},
                                         {"job: ready", "job_ready_o"},
                                         {"Streams in", NULL},
                                         {"activations: valid", "act_valid_i"},
                                         {"activations: ready", "act_ready_o"},
                                         {"low codes: valid", "lo_valid_i"},
                                         {"low codes: ready", "lo_ready_o"},
                                         {"high codes: valid", "hi_valid_i"},
                                         {"high codes: ready", "hi_ready_o"},
                                         {"Low path", NULL},
                                         {"step", "u_ctl.low_fire_o"},
                                         {"last step of its bank", "u_ctl.low_bank_last_o"},
                                         {"moves", "u_ctl.low_en_o"},
                                         {"cause", "u_ctl.low_cause_o[2:0]"},
                                         {"High path, one bank behind", NULL},
                                         {"bank waits for it", "u_ctl.bank_full_q"},
                                         {"step", "u_ctl.high_fire_o"},
                                         {"moves", "u_ctl.high_en_o"},
                                         {"cause", "u_ctl.high_cause_o[2:0]"},
                                         {"Totals out", NULL},
                                         {"low total", "u_ctl.low_result_q"},
                                         {"high total", "u_ctl.high_result_q"},
                                         {"valid", "out_valid_o"},
                                         {"ready", "out_ready_i"},
                                         {NULL, NULL}};
static const struct wave gather_waves[] = {{"clock", "clk_i"},        {"reset (low)", "rst_ni"},
                                           {"Stream in", NULL},       {"valid", "in_valid_i"},
                                           {"ready", "in_ready_o"},   {"Stages", NULL},
                                           {"mask found", "valid_q"}, {"selected", "valid_q2"},
                                           {"gathered", "valid_q3"},  {"Stream out", NULL},
                                           {"valid", "out_valid_o"},  {"ready", "out_ready_i"},
                                           {"error", "out_error_o"},  {NULL, NULL}};

// A GTKWave save file: groups of named signals, a marker on the divergent cycle.
static enum sq_status write_gtkw(enum sq_rtl_block block, const char *path, uint64_t time,
                                 struct sq_error *err)
{
    const char *top = block == SQ_RTL_GATHER ? "sq_gather" : "sq_core";
    const struct wave *w = block == SQ_RTL_GATHER ? gather_waves : core_waves;
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    fprintf(out.stream, "[dumpfile] \"wave.fst\"\n[timestart] %llu\n*-3.2 %llu -1\n",
            (unsigned long long)(time > 40 ? time - 40 : 0), (unsigned long long)time);
    fprintf(out.stream, "[size] 1200 680\n[sst_width] 1\n[signals_width] 260\n[sst_expanded] 0\n");
    for (; w->label; w++) {
        if (w->path)
            fprintf(out.stream, "%s\n+{%s} TOP.%s.%s\n", strchr(w->path, '[') ? "@24" : "@28",
                    w->label, top, w->path); // decimal, binary
        else
            fprintf(out.stream, "@200\n-%s\n", w->label);
    }
    return sq_outfile_commit(&out, err);
}

enum sq_status sq_cosim_dump(enum sq_rtl_block block, const struct sq_owned_case *o, bool netlist,
                             const struct sq_core_cosim_result *result, const char *home,
                             const char *dir, struct sq_error *err)
{
    const uint64_t cycle = result->mismatch.cycle;
    const uint64_t from = cycle > WINDOW_CYCLES ? cycle - WINDOW_CYCLES : 0;
    const struct sq_rtl_point point = {
        .block = block, .config = o->c.config, .netlist = netlist, .trace = true};
    struct sq_core_cosim_result again;
    struct sq_rtl rtl;
    bool built;
    char path[1200];

    if (strlen(dir) > 1000 || (mkdir(dir, 0777) != 0 && errno != EEXIST))
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make %s: %s", sq_path_tail(dir), strerror(errno));
    SQ_TRY(sq_rtl_load(&rtl, &point, home, &built, err));
    snprintf(path, sizeof path, "%s/wave.fst", dir);
    enum sq_status status = sq_cosim_run_of(block)(&o->c, rtl.api, path, from, &again, err);
    sq_rtl_unload(&rtl);
    SQ_TRY(status);
    snprintf(path, sizeof path, "%s/wave.gtkw", dir);
    return write_gtkw(block, path, 2 * (cycle + SQ_RTL_RESET_CYCLES) + 1, err);
}
