// SPDX-License-Identifier: Apache-2.0
// Layers on a machine: their shapes; of an encoded file also what their rows, or the tokens that
// they see, have of what is drawn elsewhere.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli.h"
#include "sim/llm/sq_encoded_visit.h"

// What the layer has of what is drawn elsewhere: by its weights, or by tokens x[m][k]; NULL: none
// are known.
static enum sq_status count_own(struct sq_run_layer *layer, const void *state, const float *x,
                                size_t m, struct sq_error *err)
{
    const struct sq_format_own *own = layer->recipe.format->cost->own;
    if (own && own->tokens && x)
        SQ_TRY(own->tokens(state, x, m, &layer->own, &layer->recipe, err));
    else if (own && own->weights)
        SQ_TRY(own->weights(state, &layer->own, &layer->recipe, err));
    return SQ_OK;
}

// Options that a file does not have are the request's.
static enum sq_status read_layer(const struct sq_weight_file *f, size_t i,
                                 const struct sq_recipe *asked, struct sq_run_layer *layer,
                                 struct sq_error *err)
{
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    layer->recipe = *asked;
    SQ_TRY(sq_weight_file_load(f, i, &q, err));
    layer->nbits = sq_quant_layer_nbits(&q);
    SQ_TRY(count_own(layer, q.state, NULL, 0, err));
    return sq_cost_check(&layer->recipe, err);
}

static enum sq_status read_layers(const struct sq_weight_file *f, const struct sq_run_request *in,
                                  struct sq_workload *w, struct sq_run_layer **layer,
                                  struct sq_error *err)
{
    if (f->recipe.format != in->recipe.format)
        return SQ_FAIL(err, SQ_ERR_ARG, "the file holds layers of format %s, need --format %s",
                       f->recipe.format->name, f->recipe.format->name);
    w->row = calloc(f->n_layers, sizeof *w->row);
    *layer = calloc(f->n_layers, sizeof **layer);
    SQ_NEED(w->row && *layer, err, "the layers");
    for (size_t i = 0; i < f->n_layers; i++) {
        struct sq_workload_row *row = &w->row[w->n++];
        sq_workload_name(row, f->layer[i].name);
        SQ_TRY(read_layer(f, i, &in->recipe, &(*layer)[i], err));
        row->count = 1;
        row->gemm = (struct sq_gemm){.m = in->gemm.m, .n = f->layer[i].n, .k = f->layer[i].k_orig};
        if ((*layer)[i].own.before)
            (*layer)[i].recipe.rows = &(*layer)[i].own;
    }
    return SQ_OK;
}

// Group and share of all layers together.
static void sum_up(const struct sq_workload *w, struct sq_run_layer *layer, struct sq_recipe *r)
{
    double *(*const share)(struct sq_recipe *) = r->format->cost->own->share;
    double weights = 0, sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        const double n = (double)w->row[i].gemm.n * (double)w->row[i].gemm.k;
        weights += n;
        sum += n * *share(&layer[i].recipe);
    }
    r->group = layer[0].recipe.group;
    *share(r) = sum / weights;
}

// ---- with the tokens that they see ----------------------------------------------------------

struct seen {
    const struct sq_run_request *in;
    struct sq_workload *w;
    struct sq_run_layer *layer;
};

static enum sq_status see_layer(void *context, size_t index, const struct sq_quant_layer *q,
                                const float *x, size_t m, struct sq_error *err)
{
    struct seen *v = context;
    struct sq_run_layer *const layer = &v->layer[index];
    layer->recipe = v->in->recipe;
    layer->nbits = sq_quant_layer_nbits(q);
    SQ_TRY(count_own(layer, q->state, x, m, err));
    if (layer->own.before)
        layer->recipe.rows = &layer->own;
    return sq_cost_check(&layer->recipe, err);
}

static enum sq_status see_layers(struct seen *v, const struct sq_checkpoint *ck, const char *model,
                                 const struct sq_layer_file *f, bool *is_real, struct sq_error *err)
{
    SQ_FREED uint8_t *all = malloc(ck->n_layers);
    v->w->row = calloc(ck->n_layers, sizeof *v->w->row);
    v->layer = calloc(ck->n_layers, sizeof *v->layer);
    SQ_NEED(all && v->w->row && v->layer, err, "the layers");
    for (size_t i = 0; i < ck->n_layers; i++) {
        struct sq_workload_row *row = &v->w->row[v->w->n++];
        all[i] = 1;
        sq_workload_name(row, ck->layer[i].name);
        row->count = 1;
        row->gemm = (struct sq_gemm){.m = v->in->gemm.m, .n = ck->layer[i].n, .k = ck->layer[i].k};
    }
    const struct sq_encoded_options o = {.recipe = &f->recipe,
                                         .model = model,
                                         .source = &v->in->source,
                                         .file = f,
                                         .m = (size_t)v->in->gemm.m,
                                         .seed = v->in->seed,
                                         .is_wanted = all};
    return sq_encoded_layers(ck, &o, see_layer, v, is_real, err);
}

static enum sq_status read_seen(const struct sq_run_request *in, struct sq_workload *w,
                                struct sq_run_layer **layer, const char **data,
                                struct sq_error *err)
{
    SQ_CLOSED(sq_layer_file_close) struct sq_layer_file f = {0};
    struct sq_checkpoint ck;
    struct seen v = {in, w, NULL};
    bool is_real = true;
    SQ_TRY(sq_layer_file_open(&f, in->weights, NULL, err));
    const char *model = sq_cli_model(in->model);
    enum sq_status status =
        f.recipe.format == in->recipe.format
            ? SQ_OK
            : SQ_FAIL(err, SQ_ERR_ARG, "the file holds layers of format %s, need --format %s",
                      f.recipe.format->name, f.recipe.format->name);
    SQ_THEN(status, sq_checkpoint_open(&ck, model, err));
    if (status == SQ_OK) {
        status = see_layers(&v, &ck, model, &f, &is_real, err);
        sq_checkpoint_close(&ck);
    }
    *layer = v.layer;
    *data = is_real ? "layers of a file, tokens of a model" : "layers of a file, synthetic inputs";
    return status;
}

// ---- either ---------------------------------------------------------------------------------

static enum sq_status read_file(const struct sq_run_request *in, struct sq_workload *w,
                                struct sq_run_layer **layer, const char **data,
                                struct sq_error *err)
{
    struct sq_safetensors st;
    SQ_CLOSED(sq_weight_file_close) struct sq_weight_file f = {0};
    const char *end = in->model ? strrchr(in->model, '.') : NULL;
    if (!end || strcmp(end, ".safetensors") != 0)
        return SQ_OK;
    SQ_TRY(sq_safetensors_open(&st, in->model, err));
    if (!sq_weight_file_is(&st)) {
        sq_safetensors_close(&st);
        return SQ_OK;
    }
    *data = "layers of a file";
    SQ_TRY(sq_weight_file_adopt(&f, &st, err));
    return read_layers(&f, in, w, layer, err);
}

enum sq_status sq_run_read_own(struct sq_run_request *in, struct sq_workload *w,
                               struct sq_run_layer **layer, const char **data, struct sq_error *err)
{
    *layer = NULL;
    *data = NULL;
    memset(w, 0, sizeof *w);
    const enum sq_status status =
        in->weights ? read_seen(in, w, layer, data, err) : read_file(in, w, layer, data, err);
    if (status == SQ_OK && w->n > 0 && (*layer)[0].own.before)
        sum_up(w, *layer, &in->recipe);
    if (status != SQ_OK) {
        sq_run_free_own(*layer, w->n);
        *layer = NULL;
    }
    return status;
}

void sq_run_free_own(struct sq_run_layer *layer, size_t n)
{
    for (size_t i = 0; layer && i < n; i++)
        free(layer[i].own.before);
    free(layer);
}

enum sq_status sq_run_shapes(const struct sq_run_request *in, const char *model,
                             struct sq_workload *w, struct sq_error *err)
{
    struct sq_checkpoint ck = {.n_layers = 1};
    memset(w, 0, sizeof *w);
    if (!in->gemm.n)
        SQ_TRY(sq_checkpoint_open(&ck, model, err));
    w->row = calloc(ck.n_layers, sizeof *w->row);
    w->n = w->row ? ck.n_layers : 0;
    for (size_t i = 0; i < w->n; i++) {
        sq_workload_name(&w->row[i], in->gemm.n ? "gemm" : ck.layer[i].name);
        w->row[i].gemm = (struct sq_gemm){.m = in->gemm.m,
                                          .n = in->gemm.n ? in->gemm.n : ck.layer[i].n,
                                          .k = in->gemm.n ? in->gemm.k : ck.layer[i].k};
        w->row[i].count = 1;
    }
    if (!in->gemm.n)
        sq_checkpoint_close(&ck);
    return SQ_HAVE(w->n, err, "the layers");
}
