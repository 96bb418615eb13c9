// SPDX-License-Identifier: Apache-2.0
// sqsim cosim --layers: the layers of a checkpoint in a format, each through the blocks of it.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/cli/sq_cli_calib.h"
#include "sim/format/sq_format_ops.h"
#include "sim/llm/foreign/sq_as_stored.h"
#include "sim/llm/sq_encoded_visit.h"

struct visit {
    const struct sq_cosim_args *in;
    const struct sq_checkpoint *ck;
    struct sq_recipe r;
    struct sq_layer_file file; // --weights
    struct sq_route_options options;
    struct sq_cosim_total total; // of the format; cases: runs of a block
    uint64_t values, cycles;     // of the format
    size_t n_layers, done;
    bool failed;                  // a failure was printed
    struct sq_chip_program *ring; // --ring: the layers so far
    struct sq_cli_table table;
};

static void print_head(const struct visit *v, const char *model)
{
    const struct sq_core_config *g = &v->options.config;
    const bool is_all = v->in->options.is_all;
    char format[96] = "every format with a route to RTL";
    if (v->in->is_json)
        return;
    if (!is_all)
        sq_recipe_heading(&v->r, format);
    printf("%s, %s, %zu tokens; ", model, format, v->in->m);
    if (v->in->block == &sq_top_block)
        printf("chip of %ux%u PEs\n", v->options.array_rows, v->options.array_cols);
    else
        printf("core %ux%u PEs, L=%u, H=%u, %s gather; arrays %ux%u\n", g->rows, g->cols,
               g->low_lanes, g->high_lanes, g->gather == SQ_GATHER_LOG ? "log" : "crossbar",
               v->options.array_rows, v->options.array_cols);
}

// --format all: a line per format.
static void print_format(const struct visit *v, struct sq_cli_table *table)
{
    const struct sq_cosim_total *t = &v->total;
    if (v->in->is_json)
        return;
    const struct sq_cli_column row[] = {SQ_COLUMN(NULL, v->r.format->name, "format", -12),
                                        SQ_COLUMN(NULL, v->done, "layers", 6),
                                        SQ_COLUMN(NULL, t->blocks, "blocks", -38),
                                        SQ_COLUMN(NULL, v->values, "values", 9),
                                        SQ_COLUMN(NULL, t->compared.beats, "handshakes", 10),
                                        SQ_COLUMN(NULL, v->cycles, "cycles", 9),
                                        SQ_COLUMN(NULL, t->value_mismatches, "value", 5),
                                        SQ_COLUMN(NULL, t->cycle_mismatches, "cycle", 5),
                                        SQ_COLUMNS_END};
    sq_cli_put(table, row);
    fflush(stdout);
}

static void print_route(struct visit *v, const char *name, const struct sq_quant_layer *q,
                        const struct sq_route_outcome *out)
{
    char size[48];
    if (!v->in->is_json && v->in->options.is_all)
        return;
    snprintf(size, sizeof size, "%zux%zu", q->n, q->k_orig);
    const struct sq_cli_column first[] = {
        SQ_COLUMN("layer", name, "layer", -32), SQ_COLUMN(NULL, size, "NxK", 9),
        SQ_KEYS("format", v->r.format->name, "m", v->in->m),
        SQ_KEYS("n", q->n, "k", q->k_orig, "k_padded", q->k), SQ_COLUMNS_END};
    sq_cosim_put_route(&v->table, first, 16, 29, out);
}

static void print_difference(struct visit *v, const char *name, const struct sq_route_outcome *out)
{
    char label[96];
    if (v->in->is_json || v->failed)
        return;
    v->failed = *out->difference || out->result.mismatch.kind != SQ_MISMATCH_NONE;
    snprintf(label, sizeof label, "%.60s-%s-tile%u", name, out->block, out->failing_tile);
    sq_cosim_print_route(v->in, name, label, out);
}

static void add_route(struct visit *v, const struct sq_route_outcome *out)
{
    sq_cosim_add_route(&v->total, out);
    v->values += out->values;
    v->cycles += out->cycles;
}

static enum sq_status run_routes(struct visit *v, const char *name, const struct sq_quant_layer *q,
                                 struct sq_product *p, struct sq_error *err)
{
    const struct sq_format_routes *routes = q->format->routes;
    const bool is_chip = v->in->block == &sq_top_block;
    for (size_t i = 0; i < (is_chip ? 1 : routes->n_routes); i++) {
        const struct sq_route *route = is_chip ? routes->chip : &routes->route[i];
        struct sq_route_outcome out;
        if (route->takes && !route->takes(p))
            continue;
        const enum sq_status status = sq_route_cosim(route, p, &v->options, &out, err);
        if (status == SQ_OK) {
            print_route(v, name, q, &out);
            print_difference(v, name, &out);
        }
        add_route(v, &out);
        sq_route_outcome_free(&out);
        SQ_TRY(status);
    }
    return SQ_OK;
}

static enum sq_status visit_layer(void *context, size_t index, const struct sq_quant_layer *q,
                                  const float *x, size_t m, struct sq_error *err)
{
    struct visit *v = context;
    const char *name = v->ck->layer[index].name;
    struct sq_product p = {.source = name};
    sq_product_put_number(&p, "acc", v->options.chip.tail.acc);
    sq_product_put_number(&p, "aligned", v->options.chip.tail.aligned);
    const struct sq_recipe *r = sq_recipe_of_layer(&v->r, name);
    if (!q->format->routes || !q->format->routes->product)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "layer %.60s is kept as the values that its file stores, which no block takes: "
            "--layer leaves it out",
            name);
    enum sq_status status = v->ring ? sq_chip_program_add(v->ring, q, r, name, x, m, &p, err)
                                    : sq_route_product(q, r, x, m, &p, err);
    if (status == SQ_OK && !v->ring)
        status = run_routes(v, name, q, &p, err);
    sq_product_free(&p);
    sq_cli_progress("layers", ++v->done, v->n_layers);
    return status;
}

// ---- a ring of them -------------------------------------------------------------------------

static void print_ring(struct visit *v, const struct sq_route_outcome *out)
{
    const struct sq_chip_program *const g = v->ring;
    char name[32], size[48];
    const struct sq_cli_column head[] = {SQ_COLUMN("layer", name, "layer", -32),
                                         SQ_COLUMN(NULL, "", "NxK", 9),
                                         SQ_KEYS("format", v->r.format->name, "m", v->in->m),
                                         SQ_KEYS("slots", g->ring.size), SQ_COLUMNS_END};
    for (uint32_t i = 0; i < g->ring.n; i++) {
        const struct sq_product *const p = &g->layer[i].p;
        const uint64_t *const count = g->image[i].counted;
        snprintf(size, sizeof size, "%zux%zu", p->n, p->k);
        const struct sq_cli_column row[] = {SQ_COLUMN("layer", g->layer[i].name, "layer", -32),
                                            SQ_COLUMN(NULL, size, "NxK", 9),
                                            SQ_COLUMN("slot", i, "slot", 4),
                                            SQ_COLUMN("chip_cycles", count[0], "cycles", 9),
                                            SQ_COLUMN("chip_busy", count[1], "busy", 9),
                                            SQ_COLUMN("chip_wait", count[2], "wait", 9),
                                            SQ_COLUMN("chip_blocked", count[3], "blocked", 9),
                                            SQ_COLUMNS_END};
        sq_cli_put(&v->table, row);
    }
    v->table = (struct sq_cli_table){.is_json = v->in->is_json};
    snprintf(name, sizeof name, "ring of %u layers", g->ring.n);
    sq_cosim_put_route(&v->table, head, 16, 29, out);
}

static enum sq_status run_ring(struct visit *v, struct sq_error *err)
{
    SQ_CLOSED(sq_route_outcome_free) struct sq_route_outcome out = {0};
    const enum sq_status status = sq_route_cosim_ring(v->ring, &v->options, &out, err);
    if (status == SQ_OK) {
        print_ring(v, &out);
        print_difference(v, "ring", &out);
    }
    add_route(v, &out);
    return status;
}

// ---- options --------------------------------------------------------------------------------

// --block top: whole layers on the chip.
static bool has_products(const struct sq_cosim_args *in, const struct sq_format_ops *f)
{
    return f->routes && f->routes->product && (in->block != &sq_top_block || f->routes->chip);
}

static enum sq_status take_recipe(struct visit *v, const struct sq_format_ops *f,
                                  struct sq_error *err)
{
    const struct sq_cosim_args *in = v->in;
    if (in->weights)
        v->r = v->file.recipe;
    else
        SQ_TRY(sq_cli_recipe_of(&in->options, f, in->options.scope, &v->r, err));
    if (in->weights && sq_is_as_stored(&v->r))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "no format holds the codes of '%.60s' (%.150s): no block takes them",
                       in->weights, v->file.why);
    if (in->block == &sq_top_block)
        SQ_TRY(sq_route_on_chip(f, err));
    if (!has_products(in, f))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "--format = %s: no block takes its layers",
                       f->name);
    SQ_TRY(sq_cli_routes_check(&v->r, err));
    if (in->calib && !sq_recipe_needs_calibration(&v->r) && !in->options.is_all)
        sq_cli_note_calib("cosim");
    return SQ_OK;
}

// Every format takes its defaults: an option means something to some of them only.
static enum sq_status check_all(const struct sq_cosim_args *in, struct sq_error *err)
{
    if (in->options.is_all && in->options.given.n > 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s with --format all, need one format",
                       in->options.given.option[0].name);
    return SQ_OK;
}

static enum sq_status run(struct visit *v, const char *model, const uint8_t *is_wanted,
                          bool *is_real, struct sq_error *err)
{
    const struct sq_encoded_options o = {.recipe = &v->r,
                                         .model = model,
                                         .source = &v->in->source,
                                         .calib = v->in->calib,
                                         .file = v->in->weights ? &v->file : NULL,
                                         .m = v->in->m,
                                         .seed = v->in->seed,
                                         .is_wanted = is_wanted};
    return sq_encoded_layers(v->ck, &o, visit_layer, v, is_real, err);
}

// Every format with a route for its defaults, in turn; v->total, v->done: of all.
static enum sq_status run_all(struct visit *v, const char *model, const uint8_t *is_wanted,
                              bool *is_real, struct sq_error *err)
{
    struct sq_cosim_total sum = {.blocks = "all"};
    size_t done = 0;
    for (size_t i = 0; sq_formats[i]; i++) {
        struct visit one = *v;
        if (!has_products(v->in, sq_formats[i]))
            continue;
        const enum sq_status status = take_recipe(&one, sq_formats[i], err);
        if (status == SQ_ERR_UNSUPPORTED)
            continue;
        SQ_TRY(status);
        SQ_TRY(run(&one, model, is_wanted, is_real, err));
        print_format(&one, &v->table);
        sum.cases += one.total.cases;
        sq_compared_add(&sum.compared, &one.total.compared);
        sum.value_mismatches += one.total.value_mismatches;
        sum.cycle_mismatches += one.total.cycle_mismatches;
        done += one.done;
        v->failed = one.failed;
    }
    v->total = sum;
    v->done = done;
    return SQ_OK;
}

static enum sq_status run_model(struct visit *v, const char *model, bool *is_real,
                                struct sq_error *err)
{
    SQ_FREED uint8_t *is_wanted = NULL;
    SQ_TRY(sq_cli_layers(v->ck, v->in->layer, &is_wanted, &v->n_layers, err));
    for (size_t i = 0; i < v->ck->n_layers; i++)
        if (is_wanted[i])
            v->options.macs += (uint64_t)v->in->m * v->ck->layer[i].n * v->ck->layer[i].k;
    print_head(v, v->in->model ? v->in->model : "traces/tiny-llama");
    if (v->in->is_ring) {
        v->ring = calloc(1, sizeof *v->ring);
        if (!v->ring)
            return SQ_NO_MEMORY(err, "a ring of layers");
        v->ring->chip = v->options.chip;
        v->ring->source = (enum sq_program_source)v->in->encode;
        v->ring->chip.encodes = v->in->encode != SQ_PROGRAM_CODED;
        v->ring->chip.moves_codes = v->in->encode == SQ_PROGRAM_CODES;
        v->ring->rows = v->options.array_rows;
        v->ring->cols = v->options.array_cols;
    }
    enum sq_status status = v->in->options.is_all ? run_all(v, model, is_wanted, is_real, err)
                                                  : run(v, model, is_wanted, is_real, err);
    if (v->ring) {
        SQ_THEN(status, run_ring(v, err));
        sq_chip_program_free(v->ring);
        free(v->ring);
    }
    return status;
}

int sq_cosim_model(const struct sq_cosim_args *in)
{
    struct sq_checkpoint ck;
    struct sq_error err;
    bool is_real = false;
    struct visit v = {.in = in, .ck = &ck, .table.is_json = in->is_json};
    v.options = sq_cosim_route_options(in, &in->core.config);
    struct sq_cosim_args said = *in; // with what the file says
    if (!in->weights && sq_cli_has_own_weights(&in->options, in->model))
        said.weights = in->model;
    v.in = &said;
    if (check_all(in, &err) != SQ_OK ||
        (said.weights && sq_cli_weights_open(&said.options, said.weights, said.calib != NULL,
                                             &v.file, &err) != SQ_OK))
        return sq_cli_fail("cosim", &err);
    if (said.weights)
        said.options.format = v.file.recipe.format;
    if (take_recipe(&v, said.options.format, &err) != SQ_OK) {
        sq_layer_file_close(&v.file);
        return sq_cli_fail("cosim", &err);
    }
    omp_set_num_threads((int)in->jobs);
    const char *model = sq_cli_model(in->model);
    enum sq_status status = sq_checkpoint_open(&ck, model, &err);
    if (status == SQ_OK) {
        status = run_model(&v, model, &is_real, &err);
        if (status == SQ_OK && !said.weights)
            sq_cli_note_quantized("cosim", &ck);
        sq_checkpoint_close(&ck);
    }
    if (status == SQ_OK)
        sq_cli_note_weights("cosim", &v.file);
    sq_layer_file_close(&v.file);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    return sq_cosim_summary(&said, "layers", v.done, &v.total,
                            is_real ? "real" : "synthetic inputs");
}
