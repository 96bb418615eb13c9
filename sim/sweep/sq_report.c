// SPDX-License-Identifier: Apache-2.0
// Loading a sweep database for a report and writing its files (sq_report.h).
#include "sim/sweep/sq_report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_export.h"

// ---- loading ----------------------------------------------------------------------------------

struct load {
    struct sq_report *report;
    const char *only; // this sweep; NULL: all
    size_t n_all;     // rows seen
};

// Numbers are >= 0: fixed width sorts them by value.
static char *order_of(const char *parameters, struct sq_error *err)
{
    struct sq_fields f;
    char *order = NULL;
    size_t nbytes;
    if (sq_fields_read(&f, parameters, err) != SQ_OK)
        return NULL;
    FILE *out = open_memstream(&order, &nbytes);
    for (size_t i = 0; out && i < f.n; i++)
        if (f.field[i].is_number)
            fprintf(out, "%020.8f ", f.field[i].value);
        else
            fprintf(out, "%s ", f.field[i].text);
    sq_fields_free(&f);
    if (!out || fclose(out) != 0) {
        (void)SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a report");
        return NULL;
    }
    return order;
}

static struct sq_report_sweep *sweep_of(struct sq_report *r, const char *name)
{
    if (r->n_sweeps && strcmp(r->sweep[r->n_sweeps - 1].name, name) == 0)
        return &r->sweep[r->n_sweeps - 1]; // rows come by sweep
    struct sq_report_sweep *grown = realloc(r->sweep, (r->n_sweeps + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    r->sweep = grown;
    r->sweep[r->n_sweeps] = (struct sq_report_sweep){.name = strdup(name)};
    return &r->sweep[r->n_sweeps++];
}

static enum sq_status add_row(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    struct load *load = context;
    load->n_all++;
    if (load->only && strcmp(load->only, row->sweep) != 0)
        return SQ_OK;
    SQ_TRY(sq_sweep_row_check(row, err)); // damage shows before anything is written
    struct sq_report_sweep *s = sweep_of(load->report, row->sweep);
    if (s && (s->n_rows & (s->n_rows + 1)) == 0) { // 0, 1, 3, 7, ..: room for twice as many
        void *grown = realloc(s->row, (2 * s->n_rows + 1) * sizeof *s->row);
        s->row = grown ? grown : s->row;
        s = grown ? s : NULL;
    }
    if (!s)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a report");
    struct sq_report_row *r = &s->row[s->n_rows++];
    *r = (struct sq_report_row){strdup(row->parameters), strdup(row->measures),
                                strdup(row->provenance), row->key, order_of(row->parameters, err)};
    if (!r->order)
        return err ? err->code : SQ_ERR_DAMAGED;
    return r->parameters && r->measures && r->provenance
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a report");
}

static int by_order(const void *a, const void *b)
{
    return strcmp(((const struct sq_report_row *)a)->order,
                  ((const struct sq_report_row *)b)->order);
}

// Title and specification may be missing, but what is there goes into JSON.
static enum sq_status check_text(const char *sweep, const char *field, const char *text,
                                 struct sq_error *err)
{
    json_t *string = text ? json_string(text) : NULL;
    const bool is_utf8 = !text || string;
    json_decref(string);
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
        status = sq_sweep_db_spec(db, s->name, &s->title, &s->spec, err);
        if (status == SQ_OK)
            status = check_text(s->name, "title", s->title, err);
        if (status == SQ_OK)
            status = check_text(s->name, "spec", s->spec, err);
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
        for (size_t j = 0; j < s->n_rows; j++) {
            free(s->row[j].parameters);
            free(s->row[j].measures);
            free(s->row[j].provenance);
            free(s->row[j].order);
        }
        free(s->row);
        free(s->name);
        free(s->title);
        free(s->spec);
    }
    free(r->sweep);
    *r = (struct sq_report){0};
}

// ---- writing ----------------------------------------------------------------------------------

// D3 of Debian's libjs-d3, made a C array by sim/rules.mk.
extern const unsigned char sq_d3[];
extern const size_t sq_d3_nbytes;

static void put_string(FILE *out, const char *text)
{
    json_t *string = json_string(text ? text : "");
    char *json = json_dumps(string, JSON_ENCODE_ANY);
    sq_put_script_json(out, json ? json : "\"\"");
    free(json);
    json_decref(string);
}

static void put_row(FILE *out, const struct sq_report_row *row, unsigned long provenance)
{
    char key[SQ_DIGEST_SIZE];
    sq_digest_hex(row->key, key);
    fprintf(out, "\n{\"key\":\"%s\",\"from\":%lu,\"p\":", key, provenance);
    sq_put_script_json(out, row->parameters);
    fputs(",\"m\":", out);
    sq_put_script_json(out, row->measures);
    fputc('}', out);
}

// Rows, then the different provenances that they refer to by index.
static void put_sweep(FILE *out, const struct sq_report_sweep *s)
{
    const size_t n = s->n_rows < SQ_REPORT_PAGE_ROWS ? s->n_rows : SQ_REPORT_PAGE_ROWS;
    const char *text[64];
    unsigned long n_texts = 0;
    fputs("{\"name\":", out);
    put_string(out, s->name);
    fputs(",\"title\":", out);
    put_string(out, s->title);
    fputs(",\"spec\":", out);
    put_string(out, s->spec);
    fprintf(out, ",\"points\":%zu,\"rows\":[", s->n_rows);
    for (size_t i = 0; i < n; i++) {
        unsigned long t = 0;
        while (t < n_texts && strcmp(text[t], s->row[i].provenance) != 0)
            t++;
        if (t == n_texts && n_texts < 64)
            text[n_texts++] = s->row[i].provenance;
        if (i)
            fputc(',', out);
        put_row(out, &s->row[i], t);
    }
    fputs("],\"provenance\":[", out);
    for (unsigned long t = 0; t < n_texts; t++) {
        fputs(t ? ",\n" : "\n", out);
        sq_put_script_json(out, text[t]);
    }
    fputs("]}", out);
}

static void put_data(FILE *out, const struct sq_report *r)
{
    fputs("{\"measures\":{", out);
    for (size_t i = 0; i < sq_n_measures; i++)
        fprintf(out, "%s\n\"%s\":{\"unit\":\"%s\",\"basis\":\"%s\"}", i ? "," : "",
                sq_measures[i].name, sq_measures[i].unit, sq_measures[i].basis);
    fputs("},\n\"sweeps\":[", out);
    for (size_t i = 0; i < r->n_sweeps; i++) {
        if (i)
            fputs(",\n", out);
        put_sweep(out, &r->sweep[i]);
    }
    fputs("]}", out);
}

// The template with data and library in the places of their marks.
static enum sq_status write_page(FILE *out, const struct sq_report *r, const char *page,
                                 struct sq_error *err)
{
    static const char data[] = "@DATA@", library[] = "@D3@";
    struct sq_file_view map;
    SQ_TRY(sq_file_map(page, &map, err));
    const char *text = (const char *)map.data, *const end = text + map.nbytes;
    const char *first = map.nbytes ? memmem(text, map.nbytes, data, sizeof data - 1) : NULL;
    const char *rest = first ? first + sizeof data - 1 : NULL;
    const char *second =
        rest ? memmem(rest, (size_t)(end - rest), library, sizeof library - 1) : NULL;
    if (second) {
        fwrite(text, 1, (size_t)(first - text), out);
        put_data(out, r);
        fwrite(rest, 1, (size_t)(second - rest), out);
        fwrite(sq_d3, 1, sq_d3_nbytes, out);
        second += sizeof library - 1;
        fwrite(second, 1, (size_t)(end - second), out);
    }
    sq_file_unmap(&map);
    return second ? SQ_OK
                  : SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' has no place for data and library",
                            sq_path_tail(page));
}

static struct sq_sweep_row row_of(const struct sq_report_sweep *s, size_t i)
{
    const struct sq_report_row *r = &s->row[i];
    return (struct sq_sweep_row){s->name, r->parameters, r->key, r->measures, r->provenance};
}

static enum sq_status write_csv(FILE *out, const struct sq_report_sweep *s, struct sq_error *err)
{
    struct sq_csv csv = {.out = out};
    enum sq_status status = SQ_OK;
    for (size_t i = 0; i < s->n_rows && status == SQ_OK; i++) {
        const struct sq_sweep_row row = row_of(s, i);
        status = sq_csv_row(&csv, &row, err);
    }
    sq_csv_free(&csv);
    return status;
}

static void write_json(FILE *out, const struct sq_report *r)
{
    const char *comma = "";
    fputs("[", out);
    for (size_t i = 0; i < r->n_sweeps; i++)
        for (size_t j = 0; j < r->sweep[i].n_rows; j++) {
            const struct sq_report_row *row = &r->sweep[i].row[j];
            char key[SQ_DIGEST_SIZE];
            sq_digest_hex(row->key, key);
            fprintf(out,
                    "%s\n{\"sweep\":\"%s\",\"key\":\"%s\",\"parameters\":%s,\"measures\":%s,"
                    "\"provenance\":%s}",
                    comma, r->sweep[i].name, key, row->parameters, row->measures, row->provenance);
            comma = ",";
        }
    fputs("\n]\n", out);
}

enum file { PAGE, JSON, CSV };

// All of a file but its name; *out is the caller's to commit or abort.
static enum sq_status write_file(const struct sq_report *r, const char *dir, const char *name,
                                 enum file kind, const struct sq_report_sweep *s, const char *page,
                                 struct sq_outfile *out, struct sq_error *err)
{
    char path[2048];
    snprintf(path, sizeof path, "%.1900s/%.100s", dir, name);
    SQ_TRY(sq_outfile_open(out, path, err));
    if (kind == PAGE)
        SQ_TRY(write_page(out->stream, r, page, err));
    else if (kind == JSON)
        write_json(out->stream, r);
    else
        SQ_TRY(write_csv(out->stream, s, err));
    return sq_outfile_flush(out, err);
}

static enum sq_status write_files(const struct sq_report *r, const char *dir, const char *page,
                                  struct sq_outfile *out, struct sq_error *err)
{
    for (size_t i = 0; i < r->n_sweeps; i++) {
        char name[80];
        snprintf(name, sizeof name, "%.70s.csv", r->sweep[i].name);
        SQ_TRY(write_file(r, dir, name, CSV, &r->sweep[i], page, &out[i], err));
    }
    SQ_TRY(write_file(r, dir, "results.json", JSON, NULL, page, &out[r->n_sweeps], err));
    return write_file(r, dir, "index.html", PAGE, NULL, page, &out[r->n_sweeps + 1], err);
}

enum sq_status sq_report_write(const struct sq_report *r, const char *dir, const char *page,
                               struct sq_error *err)
{
    const bool is_new = mkdir(dir, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(dir), strerror(errno));
    const size_t n = r->n_sweeps + 2;
    struct sq_outfile *out = calloc(n, sizeof *out);
    enum sq_status status = out ? write_files(r, dir, page, out, err)
                                : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a report");
    // All are on disk before the first has its name; the page, last, links to the others.
    for (size_t i = 0; i < n && status == SQ_OK; i++)
        status = sq_outfile_commit(&out[i], err);
    for (size_t i = 0; out && i < n; i++)
        sq_outfile_abort(&out[i]);
    free(out);
    if (status != SQ_OK && is_new)
        rmdir(dir); // where nothing is in it
    return status;
}
