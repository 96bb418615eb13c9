// SPDX-License-Identifier: Apache-2.0
// sqsim run --share: how evenly the work of a real sparse layer falls on workers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_layer.h"

struct share {
    const struct sq_run_request *in;
    const struct sq_weight_file *file;
    struct sq_figure sum[SQ_FIGURES_MAX]; // over layers; the first is the ideal
    size_t n_figures;
    struct sq_cli_table table;
};

// ---- output ---------------------------------------------------------------------------------

// Adds the value of every figure and, for people, by how much it exceeds the ideal.
static void add_columns(const struct share *s, const struct sq_figure *figure,
                        char text[SQ_FIGURES_MAX][32], struct sq_cli_column *row)
{
    for (size_t c = 0; c < s->n_figures; c++) {
        const double v = figure[c].value, loss = figure->value > 0 ? v / figure->value - 1 : 0;
        const char *key = figure[c].key;
        snprintf(text[c], sizeof text[c], "%12.0f %+7.1f %%", v, 100 * loss);
        *row++ = (struct sq_cli_column)SQ_KEYS(key, (int64_t)v);
        *row++ = c == 0 ? (struct sq_cli_column)SQ_COLUMN(NULL, (int64_t)v, key, 12)
                        : (struct sq_cli_column)SQ_COLUMN(NULL, text[c], key, 22);
    }
    *row = (struct sq_cli_column)SQ_COLUMNS_END;
}

static void put(struct share *s, const char *name, size_t n, size_t k,
                const struct sq_figure *figure)
{
    char shape[48] = "", text[SQ_FIGURES_MAX][32];
    if (n)
        snprintf(shape, sizeof shape, "%zux%zu", n, k);
    struct sq_cli_column row[2 * SQ_FIGURES_MAX + 5] = {SQ_COLUMN("layer", name, "layer", -40),
                                                        SQ_KEYS("n", n, "k", k),
                                                        SQ_COLUMN(NULL, shape, "NxK", 11)};
    add_columns(s, figure, text, row + 4);
    sq_cli_put(&s->table, row);
}

static void put_sum(struct share *s, const char *data)
{
    const struct sq_format_ops *format = s->file->recipe.format;
    const struct sq_format_share *share = format->share;
    char text[SQ_FIGURES_MAX][32];
    struct sq_cli_column row[2 * SQ_FIGURES_MAX + 4] = {
        SQ_KEYS("format", format->name, "workers", s->in->workers, "unit", share->unit),
        SQ_COLUMNS_END};
    add_columns(s, s->sum, text, row + 3);
    if (s->in->is_json) {
        sq_cli_put_summary(row, sq_cli_provenance(data, "counted on the encoded layers", 0));
        return;
    }
    put(s, "all layers", 0, 0, s->sum);
    if (share->text)
        printf("%s\n", share->text);
    else
        printf("%s of the slowest of %llu workers, layer by layer%s\n", share->unit,
               (unsigned long long)s->in->workers,
               share->needs_tokens ? ", summed over tokens" : "");
}

// ---- layers ---------------------------------------------------------------------------------

// Layer i of the file, with its inputs x[m][k] where the format asks for them.
static enum sq_status put_layer(struct share *s, size_t i, const float *x, size_t m,
                                struct sq_error *err)
{
    const struct sq_weight_entry *e = &s->file->layer[i];
    const struct sq_sharing how = {s->in->workers, s->in->tile_rows, x, m};
    struct sq_figure figure[SQ_FIGURES_MAX];
    struct sq_quant_layer q = {0};
    struct sq_error why;
    SQ_TRY(sq_weight_file_load(s->file, i, &q, err));
    const enum sq_status status =
        q.format->share->loads(q.state, &how, figure, &s->n_figures, &why);
    sq_quant_layer_free(&q);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "layer %.60s: %.160s", e->name, why.text);
    put(s, e->name, e->n, e->k_orig, figure);
    for (size_t c = 0; c < s->n_figures; c++)
        s->sum[c] = (struct sq_figure){figure[c].key, s->sum[c].value + figure[c].value};
    return SQ_OK;
}

static enum sq_status visit_inputs(void *context, size_t index, const char *name, const float *x,
                                   const float *w, size_t m, size_t n, size_t k,
                                   struct sq_error *err)
{
    struct share *s = context;
    size_t i = 0;
    (void)index, (void)w;
    while (i < s->file->n_layers && strcmp(s->file->layer[i].name, name) != 0)
        i++;
    if (i == s->file->n_layers || s->file->layer[i].k_orig != k || s->file->layer[i].n != n)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s of %zu x %zu is not in the file", name, n,
                       k);
    return put_layer(s, i, x, m, err);
}

static enum sq_status put_model(struct share *s, bool *is_real, struct sq_error *err)
{
    const struct sq_run_request *in = s->in;
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    const char *model = sq_cli_model(in->weights ? in->model : NULL);
    SQ_TRY(sq_checkpoint_open(&ck, model, err));
    return sq_model_visit(&ck, model, &in->source, in->gemm.m ? in->gemm.m : 64, in->seed,
                          visit_inputs, s, is_real, err);
}

static enum sq_status put_file(struct share *s, struct sq_error *err)
{
    const struct sq_format_ops *format = s->file->recipe.format;
    bool is_real = true;
    char list[200];
    if (!format->share)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "format %s has the same work in every row, need one of %s", format->name,
                       sq_cli_formats_with(offsetof(struct sq_format_ops, share), list));
    if (format->share->needs_tokens)
        SQ_TRY(put_model(s, &is_real, err));
    else
        for (size_t i = 0; i < s->file->n_layers; i++)
            SQ_TRY(put_layer(s, i, NULL, 0, err));
    put_sum(s, is_real ? "real" : "real weights, synthetic inputs");
    return SQ_OK;
}

enum sq_status sq_run_share(const struct sq_run_request *in, struct sq_error *err)
{
    const char *path = in->weights ? in->weights : in->model;
    SQ_CLOSED(sq_weight_file_close) struct sq_weight_file f = {0};
    struct share s = {.in = in, .file = &f, .table.is_json = in->is_json};
    char list[200];
    if (!path)
        return SQ_FAIL(err, SQ_ERR_ARG, "no file given, need one of `sqsim quantize --format %s`",
                       sq_cli_formats_with(offsetof(struct sq_format_ops, share), list));
    SQ_TRY(sq_weight_file_open(&f, path, err));
    return put_file(&s, err);
}
