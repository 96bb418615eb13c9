// SPDX-License-Identifier: Apache-2.0
// Layers of an encoded file on a machine: their shapes, and what their rows have of what is drawn
// elsewhere.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cmd_run.h"
#include "sim/format/sq_weight_file.h"

// Options that a file does not have are the request's.
static enum sq_status read_layer(const struct sq_weight_file *f, size_t i,
                                 const struct sq_recipe *asked, struct sq_run_layer *layer,
                                 struct sq_error *err)
{
    struct sq_quant_layer q = {0};
    layer->recipe = *asked;
    if (!asked->format->own)
        return SQ_OK;
    SQ_TRY(sq_weight_file_load(f, i, &q, err));
    const enum sq_status status = asked->format->own(q.state, &layer->own, &layer->recipe, err);
    sq_quant_layer_free(&q);
    return status == SQ_OK ? sq_cost_check(&layer->recipe, err) : status;
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
    if (!w->row || !*layer)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for the layers");
    for (size_t i = 0; i < f->n_layers; i++) {
        struct sq_workload_row *row = &w->row[w->n++];
        snprintf(row->name, sizeof row->name, "%.63s", f->layer[i].name);
        SQ_TRY(read_layer(f, i, &in->recipe, &(*layer)[i], err));
        row->count = 1;
        row->gemm = (struct sq_gemm){.m = in->gemm.m, .n = f->layer[i].n, .k = f->layer[i].k_orig};
        if ((*layer)[i].own.before)
            (*layer)[i].recipe.rows = &(*layer)[i].own;
    }
    return SQ_OK;
}

// Group and shares of all layers together.
static void sum_up(const struct sq_workload *w, const struct sq_run_layer *layer,
                   struct sq_recipe *r)
{
    double weights = 0, sparsity = 0, outliers = 0;
    for (size_t i = 0; i < w->n; i++) {
        const double n = (double)w->row[i].gemm.n * (double)w->row[i].gemm.k;
        weights += n;
        sparsity += n * layer[i].recipe.sparsity;
        outliers += n * layer[i].recipe.outlier_share;
    }
    r->group = layer[0].recipe.group;
    r->sparsity = sparsity / weights;
    r->outlier_share = outliers / weights;
}

enum sq_status sq_run_read_own(struct sq_run_request *in, struct sq_workload *w,
                               struct sq_run_layer **layer, bool *is_file, struct sq_error *err)
{
    struct sq_safetensors st;
    struct sq_weight_file f;
    const char *end = in->model ? strrchr(in->model, '.') : NULL;
    *layer = NULL;
    *is_file = false;
    if (!end || strcmp(end, ".safetensors") != 0)
        return SQ_OK;
    SQ_TRY(sq_safetensors_open(&st, in->model, err));
    *is_file = sq_weight_file_is(&st);
    if (!*is_file) {
        sq_safetensors_close(&st);
        return SQ_OK;
    }
    memset(w, 0, sizeof *w);
    SQ_TRY(sq_weight_file_adopt(&f, &st, err));
    const enum sq_status status = read_layers(&f, in, w, layer, err);
    if (status == SQ_OK && in->recipe.format->own && w->n > 0)
        sum_up(w, *layer, &in->recipe);
    if (status != SQ_OK) {
        sq_run_free_own(*layer, w->n);
        *layer = NULL;
    }
    sq_weight_file_close(&f);
    return status;
}

void sq_run_free_own(struct sq_run_layer *layer, size_t n)
{
    for (size_t i = 0; layer && i < n; i++)
        free(layer[i].own.before);
    free(layer);
}
