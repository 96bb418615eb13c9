// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --layers: every linear layer of a checkpoint, whole, through the verilated core.
#include <stdlib.h>
#include <string.h>

#include "sq_cmd_cosim.h"
#include "sq_layer.h"

// Streams of one piece of a layer stay below this.
#define PIECE_NBYTES (64u << 20)

struct visit {
    const struct sq_cosim_args *in;
    struct sq_layer_options options;
    const struct sq_rtl_api *rtl;
    struct sq_cosim_total total;
    size_t n_layers, done;
    bool failed; // a failure was printed
};

// What the RTL said about one layer.
struct layer_total {
    uint64_t beats, cycles, value_mismatches, cycle_mismatches;
};

static void print_layer(const struct visit *v, const struct sq_layer_run *r,
                        const struct layer_total *t)
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
    json_object_set_new(o, "layer", json_string(r->name));
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

static enum sq_status run_piece(struct visit *v, const struct sq_layer_run *r, uint32_t first,
                                uint32_t n_tiles, struct layer_total *t, struct sq_error *err)
{
    struct sq_owned_case o;
    struct sq_core_cosim_result result;
    SQ_TRY(sq_layer_case(r, &v->options.config, first, n_tiles, v->in->seed, &o, err));
    const uint64_t golden = sq_layer_case_check(r, &o, first);
    enum sq_status status = sq_core_cosim_run(&o.c, v->rtl, NULL, 0, &result, err);
    const enum sq_mismatch_kind kind = result.mismatch.kind;
    t->beats += result.beats;
    t->cycles += result.stats.cycles;
    t->value_mismatches += golden + (kind == SQ_MISMATCH_VALUE || kind == SQ_MISMATCH_MASK_ERROR);
    t->cycle_mismatches +=
        kind == SQ_MISMATCH_HANDSHAKE || kind == SQ_MISMATCH_COUNTER || kind == SQ_MISMATCH_HANG;
    if (status == SQ_OK && kind != SQ_MISMATCH_NONE && !v->failed && !v->in->is_json) {
        char label[96];
        snprintf(label, sizeof label, "%.60s-tile%u", r->name, first);
        status = sq_cosim_shrink(&o, v->rtl, sq_core_cosim_run, &result, err);
        const struct sq_cosim_failure f = {label, &o, &result};
        if (status == SQ_OK)
            sq_cosim_print_failure(v->in, &f);
        v->failed = true;
    }
    sq_owned_case_free(&o);
    return status;
}

static enum sq_status visit_layer(void *context, size_t index, const char *name, const float *x,
                                  const float *w, size_t m, size_t n, size_t k,
                                  struct sq_error *err)
{
    struct visit *v = context;
    const struct sq_core_config *g = &v->options.config;
    struct sq_layer_run r;
    struct layer_total t = {0};
    (void)index;

    SQ_TRY(sq_layer_compute(&r, &v->options, name, x, w, m, n, k, err));
    const uint32_t groups = (uint32_t)sq_n_groups(&r.w.m.format, r.w.m.k);
    const uint32_t tiles = r.job.groups / groups;
    const size_t tile_nbytes =
        r.w.m.k * g->rows + (r.w.m.k + sq_hi_row_codes(&r.w.m.format, r.w.m.k)) * g->cols;
    const size_t piece = tile_nbytes < PIECE_NBYTES ? PIECE_NBYTES / tile_nbytes : 1;
    enum sq_status status = SQ_OK;
    for (uint32_t first = 0; first < tiles && status == SQ_OK;) {
        const uint32_t n_tiles = tiles - first < piece ? tiles - first : (uint32_t)piece;
        status = run_piece(v, &r, first, n_tiles, &t, err);
        first += n_tiles;
    }
    // In one piece the RTL has run the very job that the fast engine timed.
    if (status == SQ_OK && tiles <= piece && t.cycles != r.stats.cycles)
        t.cycle_mismatches++;
    if (status == SQ_OK)
        print_layer(v, &r, &t);
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
    struct visit v = {.in = in,
                      .options = {.config = in->points[0].config,
                                  .format = in->format.format,
                                  .jobs = in->jobs,
                                  .integers = true}};
    const struct sq_rtl_point point = {
        .block = SQ_RTL_CORE, .config = in->points[0].config, .netlist = in->is_netlist};

    snprintf(embedded, sizeof embedded, "%.1000s/traces/tiny-llama", sq_cli_home());
    const char *model = in->model ? in->model : embedded;
    if (in->block != SQ_RTL_CORE) {
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
