// SPDX-License-Identifier: Apache-2.0
// sqsim schedule: how evenly the work of a real sparse layer falls on workers.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_spqt.h"
#include "sim/cli/sq_cli.h"
#include "sim/format/sq_schedule.h"
#include "sim/format/sq_system_file.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_layer.h"

enum { KEY_JSON = 0x2000, KEY_MODEL, KEY_WORKERS, KEY_TILE_ROWS, KEY_TOKENS };

struct arguments {
    const char *path, *model;
    uint64_t workers, tile_rows, tokens;
    bool is_json;
    struct sq_error *err;
};

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "DIR", 0,
     "spqt: whose activations decide (the embedded traces/tiny-llama)", 0},
    {"tokens", KEY_TOKENS, "N", 0, "spqt: calibration tokens that are read, 1..65536 (64)", 0},
    {"workers", KEY_WORKERS, "P", 0, "workers that share a layer, 1..65536 (64)", 0},
    {"tile-rows", KEY_TILE_ROWS, "R", 0, "gqsa: rows of a slice-K tile, 1..65536 (16)", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object per layer, the summary last", 3},
    {0}};

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

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *in = state->input;
    enum sq_status status = SQ_OK;
    switch (key) {
    case KEY_JSON:
        in->is_json = true;
        break;
    case KEY_MODEL:
        in->model = arg;
        break;
    case KEY_TOKENS:
        status = sq_cli_uint("--tokens", arg, 1, 65536, &in->tokens, in->err);
        break;
    case KEY_WORKERS:
        status = sq_cli_uint("--workers", arg, 1, SQ_SPQT_WORKERS_MAX, &in->workers, in->err);
        break;
    case KEY_TILE_ROWS:
        status = sq_cli_uint("--tile-rows", arg, 1, 65536, &in->tile_rows, in->err);
        break;
    case ARGP_KEY_ARG:
        if (in->path)
            return ARGP_ERR_UNKNOWN;
        in->path = arg;
        break;
    case ARGP_KEY_END:
        if (!in->path)
            status = SQ_FAIL(in->err, SQ_ERR_ARG,
                             "no file given, need one of `sqsim quantize --format gqsa|spqt|spqr`");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
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
    const char *unit;
    struct line sum;
    bool has_head;
};

static double loss(const struct line *l, unsigned c)
{
    return l->value[0] > 0 ? l->value[c] / l->value[0] - 1 : 0;
}

static void print_text(struct printer *p, const struct line *l)
{
    if (!p->has_head) {
        printf("%-40s %11s", "layer", "NxK");
        for (unsigned c = 0; c < l->n_columns; c++)
            printf(c ? " %22s" : " %12s", l->column[c]);
        printf("\n");
        p->has_head = true;
    }
    char shape[32] = "";
    if (l->n)
        snprintf(shape, sizeof shape, "%zux%zu", l->n, l->k);
    printf("%-40.40s %11s %12.0f", l->name, shape, l->value[0]);
    for (unsigned c = 1; c < l->n_columns; c++)
        printf(" %12.0f %+7.1f %%", l->value[c], 100 * loss(l, c));
    printf("\n");
}

static void put(struct printer *p, const struct line *l)
{
    struct line *sum = &p->sum;
    sum->n_columns = l->n_columns;
    for (unsigned c = 0; c < l->n_columns; c++) {
        sum->column[c] = l->column[c];
        sum->value[c] += l->value[c];
    }
    if (!p->in->is_json) {
        print_text(p, l);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", sq_cli_json_text(l->name));
    json_object_set_new(o, "n", json_integer((json_int_t)l->n));
    json_object_set_new(o, "k", json_integer((json_int_t)l->k));
    for (unsigned c = 0; c < l->n_columns; c++)
        json_object_set_new(o, l->column[c], json_integer((json_int_t)l->value[c]));
    sq_cli_json_line(o);
}

static void put_sum(struct printer *p, const char *format, const char *data)
{
    const struct line *l = &p->sum;
    if (!p->in->is_json) {
        print_text(p, l);
        if (strcmp(format, "spqr") == 0)
            printf("bytes of the outliers: values and columns alone, with the offsets of CSR, "
                   "padded as PTCSR\n");
        else
            printf("%s of the slowest of %llu workers, layer by layer%s\n", p->unit,
                   (unsigned long long)p->in->workers,
                   strcmp(format, "spqt") == 0 ? ", summed over tokens" : "");
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "format", json_string(format));
    json_object_set_new(o, "workers", json_integer((json_int_t)p->in->workers));
    json_object_set_new(o, "unit", json_string(p->unit));
    for (unsigned c = 0; c < l->n_columns; c++)
        json_object_set_new(o, l->column[c], json_integer((json_int_t)l->value[c]));
    json_object_set_new(o, "provenance",
                        sq_cli_provenance(data, "counted on the encoded layers", 0));
    sq_cli_json_line(o);
}

// ---- layers ---------------------------------------------------------------------------------

static const struct sq_system_part *part_of(const struct sq_quant_layer *q, const char *name,
                                            struct sq_system_part part[SQ_SYSTEM_PARTS])
{
    const size_t n = q->ops->parts(q->state, part);
    for (size_t i = 0; i < n; i++)
        if (strcmp(part[i].name, name) == 0)
            return &part[i];
    return NULL;
}

// Counts per row from offsets[n + 1], in memory the caller frees.
static uint32_t *counts(const struct sq_system_part *offsets, size_t n, struct sq_error *err)
{
    const int32_t *at = offsets->data;
    uint32_t *count = malloc((n + 1) * sizeof *count);
    for (size_t i = 0; count && i < n; i++)
        count[i] = (uint32_t)(at[i + 1] - at[i]);
    if (!count)
        (void)SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu rows", n);
    return count;
}

static enum sq_status put_gqsa(struct printer *p, const struct sq_system_entry *e,
                               const struct sq_quant_layer *q, struct sq_error *err)
{
    struct sq_system_part part[SQ_SYSTEM_PARTS];
    struct line l = {e->name, e->n, e->k_orig, 4, {"ideal"}, {0}};
    uint32_t *nnz = counts(part_of(q, "row_index", part), e->n, err);
    enum sq_status status = nnz ? SQ_OK : SQ_ERR_MEMORY;
    for (unsigned kind = 0; status == SQ_OK && kind < SQ_SCHEDULES; kind++) {
        struct sq_schedule s;
        status = sq_schedule((enum sq_schedule_kind)kind, nnz, e->n, p->in->workers,
                             p->in->tile_rows, &s, NULL, err);
        l.column[1 + kind] = sq_schedule_name((enum sq_schedule_kind)kind);
        l.value[0] = (double)s.ideal;
        l.value[1 + kind] = (double)s.makespan;
    }
    free(nnz);
    if (status == SQ_OK)
        put(p, &l);
    return status;
}

// Bytes of the outliers: CSR 4 an outlier and 4 a row; PTCSR 4 a word, padded to the fullest of 16
// rows, and 4 a block (SPEC H.4).
static enum sq_status put_spqr(struct printer *p, const struct sq_system_entry *e,
                               const struct sq_quant_layer *q, struct sq_error *err)
{
    enum { BLOCK = 16 };
    struct sq_system_part part[SQ_SYSTEM_PARTS];
    struct line l = {e->name, e->n, e->k_orig, 3, {"outlier_bytes", "csr", "ptcsr"}, {0}};
    const struct sq_system_part *offsets = part_of(q, "row_offsets", part);
    if (offsets->dim[0] != e->n + 1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "layer %.60s holds PTCSR, need CSR", e->name);
    uint32_t *nnz = counts(offsets, e->n, err);
    if (!nnz)
        return SQ_ERR_MEMORY;
    double total = 0, padded = 0;
    for (size_t i = 0; i < e->n; i += BLOCK) {
        uint32_t most = 0;
        for (size_t r = i; r < e->n && r < i + BLOCK; r++) {
            total += nnz[r];
            most = nnz[r] > most ? nnz[r] : most;
        }
        padded += BLOCK * most;
    }
    free(nnz);
    l.value[0] = 4 * total;
    l.value[1] = 4 * total + 4 * (double)(e->n + 1);
    l.value[2] = 4 * padded + 4 * (double)((e->n + BLOCK - 1) / BLOCK + 1);
    put(p, &l);
    return SQ_OK;
}

// ---- spqt -----------------------------------------------------------------------------------

struct visit {
    struct printer *p;
    const struct sq_system_file *file;
};

static enum sq_status theta_of(const struct sq_system_file *f, size_t i, float *theta,
                               struct sq_error *err)
{
    struct sq_system_part part[SQ_SYSTEM_PARTS];
    struct sq_quant_layer q = {0};
    SQ_TRY(sq_system_file_load(f, i, &q, err));
    memcpy(theta, part_of(&q, "theta", part)->data, sizeof *theta);
    sq_quant_layer_free(&q);
    return SQ_OK;
}

static enum sq_status visit_spqt(void *context, size_t index, const char *name, const float *x,
                                 const float *w, size_t m, size_t n, size_t k, struct sq_error *err)
{
    const struct visit *v = context;
    const size_t workers = v->p->in->workers;
    struct line l = {name, n, k, 3, {"ideal", "balanced", "static"}, {0}};
    float theta;
    size_t i = 0;
    (void)index, (void)w;
    while (i < v->file->n_layers && strcmp(v->file->layer[i].name, name) != 0)
        i++;
    if (i == v->file->n_layers || v->file->layer[i].k_orig != k || v->file->layer[i].n != n)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "layer %.60s of %zu x %zu is not in the file", name, n,
                       k);
    SQ_TRY(theta_of(v->file, i, &theta, err));
    uint32_t *idx = malloc(k * sizeof *idx);
    if (!idx)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu columns", k);
    for (size_t t = 0; t < m; t++) {
        const size_t n_idx = sq_spqt_active(x + t * k, k, theta, SQ_SPQT_SEGMENT, idx);
        l.value[0] += (double)((n_idx + workers - 1) / workers);
        l.value[1] += (double)sq_schedule_columns(idx, n_idx, k, workers, false);
        l.value[2] += (double)sq_schedule_columns(idx, n_idx, k, workers, true);
    }
    free(idx);
    put(v->p, &l);
    return SQ_OK;
}

static enum sq_status put_spqt(struct printer *p, const struct sq_system_file *f, bool *is_real,
                               struct sq_error *err)
{
    struct sq_checkpoint ck;
    struct visit v = {p, f};
    char *embedded = sq_cli_home_path("traces/tiny-llama");
    if (!embedded)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a path");
    const char *model = p->in->model ? p->in->model : embedded;
    enum sq_status status = sq_checkpoint_open(&ck, model, err);
    if (status == SQ_OK) {
        status = sq_model_visit(&ck, model, NULL, p->in->tokens, 1, visit_spqt, &v, is_real, err);
        sq_checkpoint_close(&ck);
    }
    free(embedded);
    return status;
}

// ---- command --------------------------------------------------------------------------------

static enum sq_status schedule_file(struct printer *p, const struct sq_system_file *f,
                                    struct sq_error *err)
{
    const enum sq_system system = f->recipe.system;
    const char *format = sq_system_ops(system)->name;
    bool is_real = true;
    if (system == SQ_SYSTEM_SP24)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "format sp24 has the same work in every row, need gqsa, spqt or spqr");
    p->unit = system == SQ_SYSTEM_GQSA ? "groups" : system == SQ_SYSTEM_SPQT ? "columns" : "bytes";
    if (system == SQ_SYSTEM_SPQT)
        SQ_TRY(put_spqt(p, f, &is_real, err));
    for (size_t i = 0; system != SQ_SYSTEM_SPQT && i < f->n_layers; i++) {
        struct sq_quant_layer q = {0};
        SQ_TRY(sq_system_file_load(f, i, &q, err));
        const enum sq_status status = system == SQ_SYSTEM_GQSA ? put_gqsa(p, &f->layer[i], &q, err)
                                                               : put_spqr(p, &f->layer[i], &q, err);
        sq_quant_layer_free(&q);
        SQ_TRY(status);
    }
    put_sum(p, format, is_real ? "real" : "real weights, synthetic inputs");
    return SQ_OK;
}

int sq_cmd_schedule(int argc, char **argv)
{
    struct sq_error err;
    struct sq_system_file f;
    struct arguments in = {.workers = 64, .tile_rows = 16, .tokens = 64, .err = &err};
    const struct argp argp = {options, parse, "FILE", doc, NULL, NULL, NULL};
    struct printer p = {.in = &in, .sum = {.name = "all layers"}};
    if (sq_cli_parse(&argp, argc, argv, &in, &err) != SQ_OK ||
        sq_system_file_open(&f, in.path, &err) != SQ_OK)
        return sq_cli_fail("schedule", &err);
    const enum sq_status status = schedule_file(&p, &f, &err);
    sq_system_file_close(&f);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("schedule", &err);
}
