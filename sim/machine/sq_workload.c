// SPDX-License-Identifier: Apache-2.0
// Reading and writing of workload tables (sq_workload.h); models are in sq_workload_model.c.
#include "sim/machine/sq_workload.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"

enum { MAX_COLUMNS = 16, MAX_LINE = 1023 };
static const size_t max_nbytes = 64u << 20;

// ---- cells ----------------------------------------------------------------------------------

struct reader {
    const char *what;
    struct sq_csv_reader csv;
    unsigned n; // cells of the row, without empty ones at the end
    struct sq_error *err;
};

// Blanks, tabs and the no-break spaces of UTF-8, which spreadsheets leave.
static size_t blank_len(const char *s)
{
    if (*s == ' ' || *s == '\t' || *s == '\r')
        return 1;
    return s[0] == '\xc2' && s[1] == '\xa0' ? 2 : 0;
}

static char *trim(char *s)
{
    while (blank_len(s))
        s += blank_len(s);
    char *end = s;
    for (char *at = s; *at;) {
        const size_t blank = blank_len(at);
        at += blank ? blank : 1;
        if (!blank)
            end = at;
    }
    *end = '\0';
    return s;
}

static enum sq_status fail_line(const struct reader *r, const char *sentence)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %.120s", sq_path_tail(r->what),
                   r->csv.line, sentence);
}

// The next line that holds something; *more = false at the end.
static enum sq_status next_line(struct reader *r, bool *more)
{
    do {
        SQ_TRY(sq_csv_next(&r->csv, more, r->err));
        if (!*more)
            return SQ_OK;
        r->n = r->csv.n;
        if (r->n > MAX_COLUMNS)
            return fail_line(r, "more than 16 columns");
        for (unsigned i = 0; i < r->n; i++)
            r->csv.cell[i] = trim(r->csv.cell[i]);
        while (r->n > 0 && r->csv.cell[r->n - 1][0] == '\0')
            r->n--;
    } while (r->n == 0);
    return SQ_OK;
}

void sq_workload_name(struct sq_workload_row *row, const char *name)
{
    const size_t n = strlen(name), most = sizeof row->name - 1;
    const bool is_long = n > most;
    snprintf(row->name, sizeof row->name, "%s%s", is_long ? ".." : "",
             is_long ? name + n - (most - 2) : name);
}

static enum sq_status number(const struct reader *r, const char *column, const char *text,
                             uint64_t max, uint64_t *value)
{
    char sentence[160], *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *value >= 1 &&
        *value <= max)
        return SQ_OK;
    snprintf(sentence, sizeof sentence, "%s = %.30s, need 1..%llu", column,
             text[0] ? text : "(nothing)", (unsigned long long)max);
    return fail_line(r, sentence);
}

// ---- the two forms --------------------------------------------------------------------------

struct form {
    bool is_conv;
    unsigned n_columns;
    bool has_name;           // in the first column
    unsigned m, n, k, count; // GEMM form: columns, from 1 on; 0 = none
};

// Where the column of that name is kept; NULL where it is none.
static unsigned *column_of(struct form *form, const char *name)
{
    return strcasecmp(name, "M") == 0       ? &form->m
           : strcasecmp(name, "N") == 0     ? &form->n
           : strcasecmp(name, "K") == 0     ? &form->k
           : strcasecmp(name, "Count") == 0 ? &form->count
                                            : NULL;
}

static enum sq_status read_header(const struct reader *r, struct form *form)
{
    char sentence[160];
    memset(form, 0, sizeof *form);
    form->n_columns = r->n;
    form->is_conv = r->n >= 2 && strncasecmp(r->csv.cell[1], "IFMAP", 5) == 0;
    if (form->is_conv) {
        if (r->n == 8 || (r->n == 9 && strcasecmp(r->csv.cell[8], "Batch Size") == 0))
            return SQ_OK;
        return fail_line(r, "a convolution table needs 8 columns, or 9 with Batch Size");
    }
    form->has_name = !column_of(form, r->csv.cell[0]);
    for (unsigned i = form->has_name; i < r->n; i++) {
        const char *name = r->csv.cell[i];
        unsigned *to = column_of(form, name);
        if (!to || *to) {
            snprintf(sentence, sizeof sentence,
                     "column %.30s %s; known are M, N, K and Count after the name", name,
                     to ? "is there twice" : "is not read");
            return fail_line(r, sentence);
        }
        *to = i + 1;
    }
    if (form->m && form->n && form->k)
        return SQ_OK;
    return fail_line(r, "no header with columns M, N and K (or IFMAP Height, ...)");
}

// Places of a filter that has `way` elements to go: SCALE-Sim rounds up, and counts a last place
// over the edge, where others drop it.
static uint64_t steps(uint64_t way, uint64_t stride)
{
    return (way + stride - 1) / stride + 1;
}

static enum sq_status read_conv(const struct reader *r, const struct form *form,
                                struct sq_workload_row *row)
{
    static const char *const names[] = {"IFMAP Height", "IFMAP Width", "Filter Height",
                                        "Filter Width", "Channels",    "Num Filter",
                                        "Strides",      "Batch Size"};
    uint64_t v[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    for (unsigned i = 0; i + 1 < form->n_columns; i++)
        SQ_TRY(number(r, names[i], r->csv.cell[i + 1], SQ_GEMM_MAX, &v[i]));
    if (v[2] > v[0] || v[3] > v[1])
        return fail_line(r, "the filter is larger than the input");
    const uint64_t pixels = steps(v[0] - v[2], v[6]) * steps(v[1] - v[3], v[6]);
    if (pixels > SQ_GEMM_MAX / v[7] || v[2] * v[3] > SQ_GEMM_MAX / v[4])
        return fail_line(r, "output pixels x batch, or filter x channels, exceed 16777216");
    row->gemm = (struct sq_gemm){pixels * v[7], v[5], v[2] * v[3] * v[4]};
    row->count = 1;
    return SQ_OK;
}

// index: of the row, from 0 on.
static enum sq_status read_row(const struct reader *r, const struct form *form, size_t index,
                               struct sq_workload_row *row)
{
    char sentence[80];
    memset(row, 0, sizeof *row);
    if (form->is_conv || form->has_name)
        sq_workload_name(row, r->csv.cell[0]);
    else
        snprintf(row->name, sizeof row->name, "gemm_%zu", index + 1);
    if (r->n != form->n_columns) {
        snprintf(sentence, sizeof sentence, "%u values, the header has %u columns", r->n,
                 form->n_columns);
        return fail_line(r, sentence);
    }
    if (form->is_conv)
        return read_conv(r, form, row);
    row->count = 1;
    SQ_TRY(number(r, "M", r->csv.cell[form->m - 1], SQ_GEMM_MAX, &row->gemm.m));
    SQ_TRY(number(r, "N", r->csv.cell[form->n - 1], SQ_GEMM_MAX, &row->gemm.n));
    SQ_TRY(number(r, "K", r->csv.cell[form->k - 1], SQ_GEMM_MAX, &row->gemm.k));
    if (form->count)
        return number(r, "Count", r->csv.cell[form->count - 1], SQ_WORKLOAD_COUNT_MAX, &row->count);
    return SQ_OK;
}

static enum sq_status add(const struct reader *r, struct sq_workload *w,
                          const struct sq_workload_row *row)
{
    if (w->n == SQ_WORKLOAD_ROWS_MAX)
        return fail_line(r, "more than 1000000 rows");
    SQ_TRY(SQ_GROW(w->row, w->n, r->err, "%zu rows", w->n));
    w->row[w->n++] = *row;
    return SQ_OK;
}

static enum sq_status parse_all(struct reader *r, struct sq_workload *w)
{
    struct sq_workload_row row;
    struct form form;
    bool more;
    SQ_TRY(next_line(r, &more));
    if (!more)
        return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' holds no rows", sq_path_tail(r->what));
    SQ_TRY(read_header(r, &form));
    for (;;) {
        SQ_TRY(next_line(r, &more));
        if (!more)
            break;
        if (form.is_conv && r->n == 1)
            continue; // a heading
        SQ_TRY(read_row(r, &form, w->n, &row));
        SQ_TRY(add(r, w, &row));
    }
    if (w->n == 0)
        return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' holds a header and no rows",
                       sq_path_tail(r->what));
    return SQ_OK;
}

enum sq_status sq_workload_parse(const char *text, size_t nbytes, const char *what,
                                 struct sq_workload *w, struct sq_error *err)
{
    struct reader r = {.what = what, .err = err};
    memset(w, 0, sizeof *w);
    if (nbytes > max_nbytes)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' has %zu bytes, need <= %zu", sq_path_tail(what),
                       nbytes, max_nbytes);
    SQ_TRY(sq_csv_reader_init(&r.csv, text, nbytes, what, MAX_LINE, err));
    const enum sq_status status = parse_all(&r, w);
    sq_csv_reader_free(&r.csv);
    if (status != SQ_OK)
        sq_workload_free(w);
    return status;
}

enum sq_status sq_workload_read(const char *path, struct sq_workload *w, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    memset(w, 0, sizeof *w);
    SQ_TRY(sq_file_map(path, &map, err));
    const char *text = map.data ? (const char *)map.data : "";
    return sq_workload_parse(text, map.nbytes, path, w, err);
}

void sq_workload_free(struct sq_workload *w)
{
    free(w->row);
    memset(w, 0, sizeof *w);
}

// In quotes where it would read as something else.
static void put_name(const char *name, FILE *out)
{
    const size_t n = strlen(name);
    if (strpbrk(name, ",\"\n") || (n > 0 && (blank_len(name) || blank_len(name + n - 1))))
        (void)csv_fwrite(out, name, n);
    else
        fputs(name, out);
}

bool sq_workload_has_lm_head(const struct sq_workload *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (strstr(w->row[i].name, "lm_head"))
            return true;
    return false;
}

void sq_workload_write(const struct sq_workload *w, FILE *out)
{
    fprintf(out, "Layer,M,N,K,Count,\n");
    for (size_t i = 0; i < w->n; i++) {
        put_name(w->row[i].name, out);
        fprintf(out, ",%llu,%llu,%llu,%llu,\n", (unsigned long long)w->row[i].gemm.m,
                (unsigned long long)w->row[i].gemm.n, (unsigned long long)w->row[i].gemm.k,
                (unsigned long long)w->row[i].count);
    }
}
