// SPDX-License-Identifier: Apache-2.0
// Loading a sweep database for a report (sq_report.h).
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/sweep/sq_report_pair.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_export.h"

struct load {
    struct sq_report *report;
    const char *only; // this sweep; NULL: all
    size_t n_all;     // rows seen
};

bool sq_report_is_of_pair(const char *parameter)
{
    static const enum sq_quantity axes[] = {SQ_AXIS_MODEL,   SQ_AXIS_WORKLOAD, SQ_AXIS_MACHINE,
                                            SQ_AXIS_M,       SQ_AXIS_N,        SQ_AXIS_K,
                                            SQ_AXIS_CONTEXT, SQ_AXIS_BATCH};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (strcmp(parameter, sq_quantity_name(axes[i])) == 0)
            return true;
    return false;
}

// Numbers are >= 0: fixed width sorts them by value. Those of the pair stand first.
static char *order_of(const struct sq_fields *f)
{
    char *order = NULL;
    size_t nbytes;
    FILE *out = open_memstream(&order, &nbytes);
    for (unsigned pass = 0; out && pass < 2; pass++)
        for (size_t i = 0; i < f->n; i++) {
            const struct sq_field *field = &f->field[i];
            if (sq_report_is_of_pair(field->name) == (pass == 1))
                continue;
            if (field->is_number)
                fprintf(out, "%020.8f ", field->value);
            else
                fprintf(out, "%s ", field->text);
        }
    if (out && fclose(out) == 0)
        return order;
    free(order);
    return NULL;
}

static char *pair_of(const struct sq_fields *f)
{
    json_auto_t *pair = json_object();
    for (size_t i = 0; i < f->n; i++)
        if (sq_report_is_of_pair(f->field[i].name))
            json_object_set(pair, f->field[i].name, json_object_get(f->owner, f->field[i].name));
    char *text = json_dumps(pair, JSON_COMPACT);
    return text;
}

static struct sq_report_sweep *sweep_of(struct sq_report *r, const char *name)
{
    if (r->n_sweeps && strcmp(r->sweep[r->n_sweeps - 1].name, name) == 0)
        return &r->sweep[r->n_sweeps - 1]; // rows come by sweep
    if (!sq_grow(&r->sweep, r->n_sweeps, sizeof *r->sweep))
        return NULL;
    r->sweep[r->n_sweeps] = (struct sq_report_sweep){.name = strdup(name)};
    return r->sweep[r->n_sweeps].name ? &r->sweep[r->n_sweeps++] : NULL;
}

static enum sq_status add_row(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    struct load *load = context;
    load->n_all++;
    if (load->only && strcmp(load->only, row->sweep) != 0)
        return SQ_OK;
    SQ_TRY(sq_sweep_row_check(row, err)); // damage shows before anything is written
    struct sq_report_sweep *s = sweep_of(load->report, row->sweep);
    SQ_NEED(s && sq_grow(&s->row, s->n_rows, sizeof *s->row), err, "a report");
    SQ_CLOSED(sq_fields_free) struct sq_fields f = {0};
    SQ_TRY(sq_fields_read(&f, row->parameters, err));
    struct sq_report_row *r = &s->row[s->n_rows++];
    *r = (struct sq_report_row){strdup(row->parameters),
                                strdup(row->measures),
                                strdup(row->provenance),
                                row->key,
                                order_of(&f),
                                pair_of(&f)};
    return SQ_HAVE(r->parameters && r->measures && r->provenance && r->order && r->pair, err,
                   "a report");
}

static int by_order(const void *a, const void *b)
{
    return strcmp(((const struct sq_report_row *)a)->order,
                  ((const struct sq_report_row *)b)->order);
}

enum sq_status sq_report_find_pairs(struct sq_report_sweep *s, struct sq_error *err)
{
    free(s->pair);
    s->n_pairs = 0;
    s->pair = calloc(s->n_rows + 1, sizeof *s->pair);
    SQ_NEED(s->pair, err, "a report");
    for (size_t i = 0; i < s->n_rows; i++) { // sorted: a pair's rows are neighbours
        if (i == 0 || strcmp(s->row[i].pair, s->pair[s->n_pairs - 1].of) != 0)
            s->pair[s->n_pairs++] = (struct sq_report_pair){s->row[i].pair, i, 0};
        s->pair[s->n_pairs - 1].n_rows++;
    }
    return SQ_OK;
}

void sq_report_row_free(struct sq_report_row *row)
{
    free(row->parameters);
    free(row->measures);
    free(row->provenance);
    free(row->order);
    free(row->pair);
}

// Title and specification may be missing, but what is there goes into JSON.
static enum sq_status check_text(const char *sweep, const char *field, const char *text,
                                 struct sq_error *err)
{
    json_auto_t *string = text ? json_string(text) : NULL;
    const bool is_utf8 = !text || string;
    return is_utf8 ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_DAMAGED, "%s of sweep %.60s = '%.60s', need UTF-8", field,
                             sweep, text);
}

static enum sq_status load_all(struct load *load, const char *path, struct sq_error *err)
{
    struct sq_sweep_db *db;
    struct sq_report *r = load->report;
    SQ_TRY(sq_sweep_db_open(&db, path, false, err));
    enum sq_status status = sq_sweep_db_each(db, add_row, load, err);
    for (size_t i = 0; i < r->n_sweeps && status == SQ_OK; i++) {
        struct sq_report_sweep *s = &r->sweep[i];
        qsort(s->row, s->n_rows, sizeof *s->row, by_order);
        status = sq_report_find_pairs(s, err);
        SQ_THEN(status, sq_sweep_db_spec(db, s->name, &s->title, &s->spec, err));
        SQ_THEN(status, check_text(s->name, "title", s->title, err));
        SQ_THEN(status, check_text(s->name, "spec", s->spec, err));
    }
    sq_sweep_db_close(db);
    return status;
}

enum sq_status sq_report_load(struct sq_report *r, const char *path, const char *sweep,
                              struct sq_error *err)
{
    struct sq_error inner;
    struct load load = {.report = r, .only = sweep};
    *r = (struct sq_report){0};
    enum sq_status status = load_all(&load, path, &inner);
    if (status == SQ_OK && load.n_all == 0)
        status = SQ_FAIL(&inner, SQ_ERR_RANGE, "database '%s' holds no points", sq_path_tail(path));
    else if (status == SQ_OK && r->n_sweeps == 0)
        status = SQ_FAIL(&inner, SQ_ERR_RANGE, "database '%s' holds no sweep '%.60s'",
                         sq_path_tail(path), sweep);
    if (status != SQ_OK) {
        sq_report_free(r);
        if (err)
            *err = inner;
    }
    return status;
}

void sq_report_free(struct sq_report *r)
{
    for (size_t i = 0; i < r->n_sweeps; i++) {
        struct sq_report_sweep *s = &r->sweep[i];
        for (size_t j = 0; j < s->n_rows; j++)
            sq_report_row_free(&s->row[j]);
        free(s->row);
        free(s->pair);
        free(s->name);
        free(s->title);
        free(s->spec);
    }
    free(r->sweep);
    *r = (struct sq_report){0};
}
