// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --layers: every linear layer of a checkpoint, whole, through the verilated core.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cmd_cosim.h"
#include "sim/cosim/sq_layer_cosim.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/llm/sq_layer.h"

struct visit {
    const struct sq_cosim_args *in;
    struct sq_layer_options options;
    const struct sq_rtl_api *rtl;
    struct sq_cosim_total total;
    size_t n_layers, done;
    bool failed; // a failure was printed
};

static void print_layer(const struct visit *v, const struct sq_layer_run *r,
                        const struct sq_layer_cosim *t)
{
    const struct sq_core_config *g = &v->options.config;
    const double low = sq_utilisation_low(g, r->m, r->n, r->k, r->stats.cycles);
    const double high = sq_utilisation_high(g, r->m, r->n, r->k, r->stats.cycles);
    const double bits = sq_stored_bits_per_weight(&r->w.m);
    if (!v->in->is_json) {
        printf("%-34s %4zux%-4zu %7.4f %7.2f %9llu %7.1f%% %7.1f%% %9llu %5llu\n", r->name, r->n,
               r->k, bits, r->weight_sqnr_db, (unsigned long long)r->stats.cycles, 100 * low,
               100 * high, (unsigned long long)t->beats,
               (unsigned long long)(t->value_mismatches + t->cycle_mismatches));
        fflush(stdout);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", sq_cli_json_text(r->name));
    json_object_set_new(o, "m", json_integer((json_int_t)r->m));
    json_object_set_new(o, "n", json_integer((json_int_t)r->n));
    json_object_set_new(o, "k", json_integer((json_int_t)r->k));
    json_object_set_new(o, "k_padded", json_integer((json_int_t)r->w.m.k));
    json_object_set_new(o, "stored_bits_per_weight", json_real(bits));
    json_object_set_new(o, "weight_sqnr_db", json_real(r->weight_sqnr_db));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->stats.cycles));
    json_object_set_new(o, "rtl_cycles", json_integer((json_int_t)t->cycles));
    json_object_set_new(o, "utilisation_low", json_real(low));
    json_object_set_new(o, "utilisation_high", json_real(high));
    json_object_set_new(o, "beats", json_integer((json_int_t)t->beats));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)t->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)t->cycle_mismatches));
    sq_cli_json_line(o);
}

static enum sq_status visit_layer(void *context, size_t index, const char *name, const float *x,
                                  const float *w, size_t m, size_t n, size_t k,
                                  struct sq_error *err)
{
    struct visit *v = context;
    struct sq_layer_run r;
    struct sq_layer_cosim t;
    (void)index;

    SQ_TRY(sq_layer_compute(&r, &v->options, name, x, w, m, n, k, err));
    const bool is_shown = !v->failed && !v->in->is_json;
    const struct sq_layer_codes codes = {.m = m,
                                         .w = &r.w.m,
                                         .act = r.act,
                                         .p_lo = r.p_lo,
                                         .p_hi = r.p_hi,
                                         .job = r.job,
                                         .cycles = r.stats.cycles};
    const enum sq_status status =
        sq_layer_cosim_run(&codes, &v->options.config, v->rtl, v->in->seed, is_shown, &t, err);
    if (status == SQ_OK && t.result.mismatch.kind != SQ_MISMATCH_NONE) {
        char label[96];
        snprintf(label, sizeof label, "%.60s-tile%u", r.name, t.failing_tile);
        sq_cosim_print_failure(v->in, label, &t.failing, &t.result);
        v->failed = true;
    }
    if (status == SQ_OK)
        print_layer(v, &r, &t);
    sq_case_free(&t.failing);
    v->total.cases++;
    v->total.beats += t.beats;
    v->total.value_mismatches += t.value_mismatches;
    v->total.cycle_mismatches += t.cycle_mismatches;
    sq_layer_free(&r);
    sq_cli_progress("layers", ++v->done, v->n_layers);
    return status;
}

static void print_head(const struct sq_cosim_args *in, const struct visit *v, const char *model)
{
    char format[64];
    const struct sq_core_config *g = &v->options.config;
    if (in->is_json)
        return;
    sq_cli_format_text(&in->format.format, format);
    printf("%s, %s, INT%u activations of %zu tokens; core %ux%u PEs, L=%u, H=%u, %s gather\n",
           model, format, g->act_bits, in->m, g->rows, g->cols, g->low_lanes, g->high_lanes,
           g->gather == SQ_GATHER_LOG ? "log" : "crossbar");
    printf("%-34s %9s %7s %7s %9s %8s %8s %9s %5s\n", "layer", "NxK", "bits/w", "SQNR dB", "cycles",
           "low use", "high use", "RTL beats", "wrong");
}

int sq_cosim_model(const struct sq_cosim_args *in)
{
    char embedded[1024];
    struct sq_checkpoint ck;
    struct sq_rtl rtl;
    struct sq_error err;
    bool built, is_real = false;
    struct sq_core_config config;
    sq_core_get(in->points[0].value, &config);
    struct visit v = {
        .in = in,
        .options = {
            .config = config, .format = in->format.format, .jobs = in->jobs, .integers = true}};
    const struct sq_rtl_point point = {
        .block = &sq_core_block, .point = &in->points[0], .netlist = in->is_netlist};

    snprintf(embedded, sizeof embedded, "%.1000s/traces/tiny-llama", sq_cli_home());
    const char *model = in->model ? in->model : embedded;
    if (in->block != &sq_core_block) {
        (void)SQ_FAIL(&err, SQ_ERR_ARG, "--block = gather, need core with --layers");
        return sq_cli_fail("cosim", &err);
    }
    if (sq_checkpoint_open(&ck, model, &err) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    enum sq_status status = sq_rtl_load(&rtl, &point, sq_cli_home(), &built, &err);
    if (status == SQ_OK) {
        v.rtl = rtl.api;
        v.n_layers = ck.n_layers;
        print_head(in, &v, in->model ? in->model : "traces/tiny-llama");
        status = sq_model_visit(&ck, model, in->tokens, in->m, in->seed, visit_layer, &v, &is_real,
                                &err);
    }
    sq_rtl_unload(&rtl);
    sq_checkpoint_close(&ck);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    return sq_cosim_summary(in, "layers", v.done, &v.total, is_real ? "real" : "synthetic inputs");
}
