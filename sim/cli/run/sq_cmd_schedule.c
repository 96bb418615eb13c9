// SPDX-License-Identifier: Apache-2.0
// sqsim schedule: how evenly the work of a real sparse layer falls on workers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_row.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_layer.h"

struct arguments {
    const char *path, *model;
    uint64_t workers, tile_rows, tokens;
    bool is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("model", "DIR", AT(model), "spqt: whose activations decide",
                .usual = "the embedded traces/tiny-llama", .found = SQ_HOME_MODEL),
    SQ_CLI_UINT("tokens", "N", 1, 65536, AT(tokens), "spqt: calibration tokens that are read"),
    SQ_CLI_UINT("workers", "P", 1, 65536, AT(workers), "workers that share a layer"),
    SQ_CLI_UINT("tile-rows", "R", 1, 65536, AT(tile_rows), "gqsa: rows of a slice-K tile"),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per layer, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("FILE", AT(path), .found = ""),
    SQ_CLI_END};

static const char doc[] =
    "Shares out the work of every layer of FILE, as `sqsim quantize` wrote it, to P workers, and "
    "prints what the slowest has: gqsa, groups by slice-K (a tile of rows to a worker, round robin "
    "or to the first that is free) and Stream-K (equal ranges of the list of groups); spqt, active "
    "columns in equal shares and in fixed slices of K, on the activations of the model; spqr, the "
    "outliers of a row as CSR and as PTCSR.\v"
    "Examples:\n"
    "  sqsim quantize --format gqsa -o tiny.gqsa.safetensors\n"
    "  sqsim schedule tiny.gqsa.safetensors --workers 32\n"
    "  sqsim quantize --format spqt -o tiny.spqt.safetensors\n"
    "  sqsim schedule tiny.spqt.safetensors --json\n";

// "gqsa|spqt": the formats whose rows have different work.
static const char *sharing_formats(char *list, size_t nbytes)
{
    *list = '\0';
    for (size_t i = 0; sq_formats[i]; i++) {
        const size_t at = strlen(list);
        if (sq_formats[i]->share)
            snprintf(list + at, nbytes - at, "%s%s", at ? "|" : "", sq_formats[i]->name);
    }
    return list;
}

static enum sq_status check(const struct arguments *in, struct sq_error *err)
{
    char list[160];
    if (in->path)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_ARG, "no file given, need one of `sqsim quantize --format %s`",
                   sharing_formats(list, sizeof list));
}

// ---- output ---------------------------------------------------------------------------------

enum { COLUMNS_MAX = 6 };

// What is printed of a layer: sums over its tokens, and the share by which each exceeds the ideal.
struct line {
    const char *name;
    size_t n, k;
    unsigned n_columns;
    const char *column[COLUMNS_MAX]; // "ideal" first
    double value[COLUMNS_MAX];
};

struct printer {
    const struct arguments *in;
    struct line sum;
    struct sq_cli_table table;
};

// Adds the value of every figure and, for people, by how much it exceeds the ideal.
static void add_columns(const struct line *l, char text[COLUMNS_MAX][32], struct sq_cli_column *row)
{
    for (unsigned c = 0; c < l->n_columns; c++) {
        const double loss = l->value[0] > 0 ? l->value[c] / l->value[0] - 1 : 0;
        const int64_t value = (int64_t)l->value[c];
        snprintf(text[c], sizeof text[c], "%12.0f %+7.1f %%", l->value[c], 100 * loss);
        *row++ = (struct sq_cli_column)SQ_KEYS(l->column[c], value);
        *row++ = c == 0 ? (struct sq_cli_column)SQ_COLUMN(NULL, value, l->column[c], 12)
                        : (struct sq_cli_column)SQ_COLUMN(NULL, text[c], l->column[c], 22);
    }
    *row = (struct sq_cli_column)SQ_COLUMNS_END;
}

static void put(struct printer *p, const struct line *l)
{
    char shape[48] = "", text[COLUMNS_MAX][32];
    if (l->n)
        snprintf(shape, sizeof shape, "%zux%zu", l->n, l->k);
    struct sq_cli_column row[2 * COLUMNS_MAX + 5] = {SQ_COLUMN("layer", l->name, "layer", -40),
                                                     SQ_KEYS("n", l->n, "k", l->k),
                                                     SQ_COLUMN(NULL, shape, "NxK", 11)};
    add_columns(l, text, row + 4);
    sq_cli_put(&p->table, row);
}

static void add(struct line *sum, const struct line *l)
{
    sum->n_columns = l->n_columns;
    for (unsigned c = 0; c < l->n_columns; c++) {
        sum->column[c] = l->column[c];
        sum->value[c] += l->value[c];
    }
}

static void put_sum(struct printer *p, const struct sq_format_ops *format, const char *data)
{
    const struct sq_format_share *share = format->share;
    char text[COLUMNS_MAX][32];
    struct sq_cli_column row[2 * COLUMNS_MAX + 4] = {
        SQ_KEYS("format", format->name, "workers", p->in->workers, "unit", share->unit),
        SQ_COLUMNS_END};
    add_columns(&p->sum, text, row + 3);
    if (p->in->is_json) {
        sq_cli_put_summary(row, sq_cli_provenance(data, "counted on the encoded layers", 0));
        return;
    }
    put(p, &p->sum);
    if (share->text)
        printf("%s\n", share->text);
    else
        printf("%s of the slowest of %llu workers, layer by layer%s\n", share->unit,
               (unsigned long long)p->in->workers,
               share->needs_tokens ? ", summed over tokens" : "");
}

// ---- layers ---------------------------------------------------------------------------------

struct visit {
    struct printer *p;
    const struct sq_weight_file *file;
};

// Layer i of the file, with its inputs x[m][k] where the format asks for them.
static enum sq_status put_layer(const struct visit *v, size_t i, const float *x, size_t m,
                                struct sq_error *err)
{
    const struct sq_weight_entry *e = &v->file->layer[i];
    const struct arguments *in = v->p->in;
    const struct sq_sharing how = {in->workers, in->tile_rows, x, m};
    struct line l = {.name = e->name, .n = e->n, .k = e->k_orig};
    struct sq_figure figure[SQ_FIGURES_MAX];
    struct sq_quant_layer q = {0};
    struct sq_error why;
    size_t n = 0;
    SQ_TRY(sq_weight_file_load(v->file, i, &q, err));
    const enum sq_status status = q.format->share->loads(q.state, &how, figure, &n, &why);
    sq_quant_layer_free(&q);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "layer %.60s: %.160s", e->name, why.text);
    for (; l.n_columns < n; l.n_columns++) {
        l.column[l.n_columns] = figure[l.n_columns].key;
        l.value[l.n_columns] = figure[l.n_columns].value;
    }
    put(v->p, &l);
    add(&v->p->sum, &l);
    return SQ_OK;
}

static enum sq_status visit_inputs(void *context, size_t index, const char *name, const float *x,
                                   const float *w, size_t m, size_t n, size_t k,
                                   struct sq_error *err)
{
    const struct visit *v = context;
    size_t i = 0;
    (void)index, (void)w;
    while (i < v->file->n_layers && strcmp(v->file->layer[i].name, name) != 0)
        i++;
    if (i == v->file->n_layers || v->file->layer[i].k_orig != k || v->file->layer[i].n != n)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s of %zu x %zu is not in the file", name, n,
                       k);
    return put_layer(v, i, x, m, err);
}

static enum sq_status put_model(struct visit *v, bool *is_real, struct sq_error *err)
{
    const struct arguments *in = v->p->in;
    struct sq_checkpoint ck;
    const char *model = sq_cli_model(in->model);
    enum sq_status status = sq_checkpoint_open(&ck, model, err);
    if (status == SQ_OK) {
        status = sq_model_visit(&ck, model, NULL, in->tokens, 1, visit_inputs, v, is_real, err);
        sq_checkpoint_close(&ck);
    }
    return status;
}

// ---- command --------------------------------------------------------------------------------

static enum sq_status schedule_file(struct printer *p, const struct sq_weight_file *f,
                                    struct sq_error *err)
{
    const struct sq_format_ops *format = f->recipe.format;
    struct visit v = {p, f};
    bool is_real = true;
    if (!format->share) {
        char list[160];
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "format %s has the same work in every row, need one of %s", format->name,
                       sharing_formats(list, sizeof list));
    }
    if (format->share->needs_tokens)
        SQ_TRY(put_model(&v, &is_real, err));
    else
        for (size_t i = 0; i < f->n_layers; i++)
            SQ_TRY(put_layer(&v, i, NULL, 0, err));
    put_sum(p, format, is_real ? "real" : "real weights, synthetic inputs");
    return SQ_OK;
}

int sq_cmd_schedule(int argc, char **argv)
{
    struct sq_error err;
    struct sq_weight_file f;
    static const struct sq_cli_line line = {rows, "FILE", doc};
    struct arguments in = {.workers = 64, .tile_rows = 16, .tokens = 64};
    struct printer p = {.in = &in, .sum = {.name = "all layers"}};
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK || check(&in, &err) != SQ_OK ||
        sq_weight_file_open(&f, in.path, &err) != SQ_OK)
        return sq_cli_fail("schedule", &err);
    p.table.is_json = in.is_json;
    const enum sq_status status = schedule_file(&p, &f, &err);
    sq_weight_file_close(&f);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("schedule", &err);
}
