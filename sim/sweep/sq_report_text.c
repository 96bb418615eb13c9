// SPDX-License-Identifier: Apache-2.0
// The report as text: ranges, Pareto fronts, bank x sparsity (sq_report.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_quote.h"
#include "sim/machine/sq_fair.h"
#include "sim/sweep/sq_report.h"
#include "sim/sweep/sq_sweep_export.h"

// Rows of one sweep, from `first` on, as a table: a value per row and column, NaN where there is
// none.
struct table {
    const struct sq_report_sweep *sweep;
    size_t first, n_columns, n_parameters, n_rows;
    char (*name)[40];
    bool *varies; // of parameters
    double *value;
    char (*text)[64]; // [rows][parameters], as printed
};

static double value_at(const struct table *t, size_t row, size_t column)
{
    return t->value[row * t->n_columns + column];
}

static size_t column_of(const struct table *t, const char *name)
{
    size_t c = 0;
    while (c < t->n_columns && strcmp(t->name[c], name) != 0)
        c++;
    return c;
}

// Columns are those of the first row; a later row adds none (its own measures are then not shown).
static void fill_row(struct table *t, size_t row, const struct sq_fields *p,
                     const struct sq_fields *m)
{
    for (size_t i = 0; i < p->n + m->n; i++) {
        const struct sq_field *f = i < p->n ? &p->field[i] : &m->field[i - p->n];
        char name[sizeof t->name[0]];
        sq_quote_text(name, sizeof name, f->name);
        const size_t c = column_of(t, name);
        if (c == t->n_columns)
            continue;
        t->value[row * t->n_columns + c] = f->value;
        if (c < t->n_parameters)
            sq_quote_text(t->text[row * t->n_parameters + c], sizeof t->text[0], f->text);
    }
}

static enum sq_status shape_table(struct table *t, const struct sq_fields *p,
                                  const struct sq_fields *m, struct sq_error *err)
{
    t->n_parameters = p->n;
    t->n_columns = p->n + m->n;
    t->name = calloc(t->n_columns + 1, sizeof *t->name);
    t->varies = calloc(t->n_columns + 1, sizeof *t->varies);
    t->value = calloc(t->n_rows * t->n_columns + 1, sizeof *t->value);
    t->text = calloc(t->n_rows * t->n_parameters + 1, sizeof *t->text);
    SQ_NEED(t->name && t->varies && t->value && t->text, err, "a report");
    for (size_t c = 0; c < t->n_columns; c++)
        sq_quote_text(t->name[c], sizeof t->name[c],
                      c < p->n ? p->field[c].name : m->field[c - p->n].name);
    for (size_t i = 0; i < t->n_rows * t->n_columns; i++)
        t->value[i] = NAN;
    return SQ_OK;
}

static enum sq_status read_row(struct table *t, size_t row, struct sq_error *err)
{
    SQ_CLOSED(sq_fields_free) struct sq_fields p = {0};
    SQ_CLOSED(sq_fields_free) struct sq_fields m = {0};
    SQ_TRY(sq_fields_read(&p, t->sweep->row[t->first + row].parameters, err));
    SQ_TRY(sq_fields_read(&m, t->sweep->row[t->first + row].measures, err));
    if (row == 0)
        SQ_TRY(shape_table(t, &p, &m, err));
    fill_row(t, row, &p, &m);
    return SQ_OK;
}

static enum sq_status read_table(struct table *t, const struct sq_report_sweep *s, size_t first,
                                 size_t n_rows, struct sq_error *err)
{
    *t = (struct table){.sweep = s, .first = first, .n_rows = n_rows};
    for (size_t i = 0; i < n_rows; i++)
        SQ_TRY(read_row(t, i, err));
    for (size_t i = 1; i < t->n_rows; i++)
        for (size_t c = 0; c < t->n_parameters; c++)
            if (strcmp(t->text[i * t->n_parameters + c], t->text[c]) != 0)
                t->varies[c] = true;
    return SQ_OK;
}

static void free_table(struct table *t)
{
    free(t->name);
    free(t->varies);
    free(t->value);
    free(t->text);
}

// ---- printing ---------------------------------------------------------------------------------

// "bank=32 sparsity=0.75": what tells the point from the others.
static void put_point(FILE *out, const struct table *t, size_t row)
{
    for (size_t c = 0; c < t->n_parameters; c++)
        if (t->varies[c] && t->text[row * t->n_parameters + c][0])
            fprintf(out, " %s=%s", t->name[c], t->text[row * t->n_parameters + c]);
}

static void put_number(FILE *out, double v)
{
    if (v == floor(v) && fabs(v) < 1e12)
        fprintf(out, " %14.0f", v);
    else
        fprintf(out, " %14.6g", v);
}

// The causes are parts of cycles: not shown one by one.
static bool is_cause(const char *name)
{
    return strncmp(name, "low_", 4) == 0 || strncmp(name, "high_", 5) == 0;
}

static void put_ranges(FILE *out, const struct table *t)
{
    fprintf(out, "\n%-24s %14s %14s   smallest at; largest at\n", "measure", "smallest", "largest");
    for (size_t c = t->n_parameters; c < t->n_columns; c++) {
        size_t low = t->n_rows, high = t->n_rows;
        for (size_t i = 0; i < t->n_rows && !is_cause(t->name[c]); i++) {
            const double v = value_at(t, i, c);
            if (isfinite(v) && (low == t->n_rows || v < value_at(t, low, c)))
                low = i;
            if (isfinite(v) && (high == t->n_rows || v > value_at(t, high, c)))
                high = i;
        }
        if (low == t->n_rows)
            continue;
        fprintf(out, "%-24s", t->name[c]);
        put_number(out, value_at(t, low, c));
        put_number(out, value_at(t, high, c));
        if (value_at(t, low, c) < value_at(t, high, c)) {
            fputs("  ", out);
            put_point(out, t, low);
            fputs(";", out);
            put_point(out, t, high);
        }
        fputc('\n', out);
    }
}

// No other point is at least as small in both and smaller in one.
static bool is_on_front(const struct table *t, size_t row, size_t x, size_t y)
{
    const double vx = value_at(t, row, x), vy = value_at(t, row, y);
    if (!isfinite(vx) || !isfinite(vy))
        return false;
    for (size_t i = 0; i < t->n_rows; i++) {
        const double ox = value_at(t, i, x), oy = value_at(t, i, y);
        if (ox <= vx && oy <= vy && (ox < vx || oy < vy))
            return false;
    }
    return true;
}

static void put_front(FILE *out, const struct table *t, const char *against)
{
    const size_t x = column_of(t, against), y = column_of(t, "relative_error");
    if (x == t->n_columns || y == t->n_columns || t->n_rows > 20000)
        return;
    fprintf(out, "\nPareto front of relative_error and %s\n%14s %14s\n", against, "relative_error",
            against);
    for (size_t i = 0; i < t->n_rows; i++)
        if (is_on_front(t, i, x, y)) {
            put_number(out, value_at(t, i, y));
            put_number(out, value_at(t, i, x));
            fputs("  ", out);
            put_point(out, t, i);
            fputc('\n', out);
        }
}

static double smallest_at(const struct table *t, size_t c, size_t bank, double b, size_t sparsity,
                          double s)
{
    double best = NAN;
    for (size_t i = 0; i < t->n_rows; i++)
        if (value_at(t, i, bank) == b && value_at(t, i, sparsity) == s &&
            !(value_at(t, i, c) >= best))
            best = isfinite(value_at(t, i, c)) ? value_at(t, i, c) : best;
    return best;
}

static void put_heat_map(FILE *out, const struct table *t, const char *measure)
{
    static const double sparsities[] = {.5, .75, .875, .9375};
    const size_t bank = column_of(t, "bank"), sparsity = column_of(t, "sparsity"),
                 c = column_of(t, measure);
    if (c == t->n_columns || bank == t->n_columns || !t->varies[bank] || sparsity == t->n_columns ||
        !t->varies[sparsity])
        return;
    fprintf(out, "\n%s, smallest of each bank and sparsity\n%6s", measure, "bank");
    for (unsigned j = 0; j < 4; j++)
        fprintf(out, " %14g", sparsities[j]);
    fputc('\n', out);
    for (double b = 4; b <= 128; b *= 2) {
        bool any = false;
        for (unsigned j = 0; j < 4; j++)
            any = any || !isnan(smallest_at(t, c, bank, b, sparsity, sparsities[j]));
        if (!any)
            continue;
        fprintf(out, "%6.0f", b);
        for (unsigned j = 0; j < 4; j++) {
            const double v = smallest_at(t, c, bank, b, sparsity, sparsities[j]);
            if (isnan(v))
                fprintf(out, " %14s", "-");
            else
                put_number(out, v);
        }
        fputc('\n', out);
    }
}

// What formats have in common on a machine, where there are several.
static void put_fair(FILE *out, const struct table *t)
{
    const size_t format = column_of(t, "format"), fair = column_of(t, "fair");
    if (format == t->n_columns || !t->varies[format] || column_of(t, "machine") == t->n_columns)
        return;
    if (fair < t->n_columns && t->varies[fair]) {
        fputs("formats of equal silicon or not, by axis fair\n", out);
        return;
    }
    const char *const name = fair < t->n_columns ? t->text[fair] : sq_fair_names[SQ_FAIR_NONE];
    for (size_t i = 0; sq_fair_names[i]; i++)
        if (strcmp(name, sq_fair_names[i]) == 0)
            fprintf(out, "formats %s\n", sq_fair_texts[i]);
}

static void put_head(FILE *out, const struct table *t)
{
    const struct sq_report_sweep *s = t->sweep;
    const struct sq_sweep_row first = {.sweep = s->name, .provenance = s->row[0].provenance};
    sq_csv_head(out, "report", &first);
    sq_put_text(out, s->title ? s->title : s->name);
    fprintf(out, "\n%zu points;", s->n_rows);
    for (unsigned pass = 0; pass < 2; pass++) {
        fputs(pass ? "; fixed:" : " varied:", out);
        for (size_t c = 0; c < t->n_parameters; c++)
            if (t->varies[c] == (pass == 0))
                fprintf(out, pass ? " %s=%s" : " %s", t->name[c], t->text[c]);
    }
    fputc('\n', out);
    put_fair(out, t);
    if (s->n_stale)
        fprintf(out, "%zu points that the specification no longer has are left out\n", s->n_stale);
    if (s->unchecked[0]) {
        fputs("not compared with the specification: ", out);
        sq_put_text(out, s->unchecked);
        fputc('\n', out);
    }
}

// Why measures are blank, and what is an expectation: each of the first few different notes with
// its number of points.
static enum sq_status put_notes(FILE *out, const struct sq_report_sweep *s, struct sq_error *err)
{
    enum { NOTES_MAX = 8 };
    struct {
        char text[400];
        size_t n;
    } note[NOTES_MAX] = {{{0}, 0}};
    size_t n_notes = 0, n_others = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        struct sq_fields m;
        char text[sizeof note[0].text];
        size_t f = 0, at = 0;
        SQ_TRY(sq_fields_read(&m, s->row[i].measures, err));
        while (f < m.n && strcmp(m.field[f].name, "notes") != 0)
            f++;
        snprintf(text, sizeof text, "%s", f < m.n ? m.field[f].text : "");
        sq_fields_free(&m);
        while (at < n_notes && strcmp(note[at].text, text) != 0)
            at++;
        if (!text[0])
            continue;
        if (at == NOTES_MAX) {
            n_others++;
            continue;
        }
        if (at == n_notes)
            memcpy(note[n_notes++].text, text, sizeof text);
        note[at].n++;
    }
    for (size_t i = 0; i < n_notes; i++) {
        fprintf(out, "of %zu points: ", note[i].n);
        sq_put_text(out, note[i].text);
        fputc('\n', out);
    }
    if (n_others > 0)
        fprintf(out, "of %zu points: other notes\n", n_others);
    return SQ_OK;
}

static void put_body(FILE *out, const struct table *t)
{
    static const char *const maps[] = {"relative_error", "cycles", "stored_bits", "pe_area_um2",
                                       "gather_area_um2"};
    put_ranges(out, t);
    put_front(out, t, "cycles");
    put_front(out, t, "stored_bits");
    put_front(out, t, "pe_area_um2");
    for (size_t j = 0; j < sizeof maps / sizeof maps[0]; j++)
        put_heat_map(out, t, maps[j]);
}

// Each pair by itself: what is best for one of them says nothing of another.
static enum sq_status put_pairs(FILE *out, const struct table *whole, struct sq_error *err)
{
    const struct sq_report_sweep *s = whole->sweep;
    for (size_t i = 0; i < s->n_pairs; i++) {
        struct table t;
        const enum sq_status status = read_table(&t, s, s->pair[i].first, s->pair[i].n_rows, err);
        if (status == SQ_OK) {
            fputs("\n==", out);
            for (size_t c = 0; c < t.n_parameters; c++)
                if (whole->varies[c] && !t.varies[c] && sq_report_is_of_pair(t.name[c]))
                    fprintf(out, " %s=%s", t.name[c], t.text[c]);
            fprintf(out, ": %zu points\n", t.n_rows);
            put_body(out, &t);
        }
        free_table(&t);
        SQ_TRY(status);
    }
    return SQ_OK;
}

enum sq_status sq_report_text(const struct sq_report *r, FILE *out, struct sq_error *err)
{
    for (size_t i = 0; i < r->n_sweeps; i++) {
        const struct sq_report_sweep *s = &r->sweep[i];
        struct table t;
        enum sq_status status = read_table(&t, s, 0, s->n_rows, err);
        if (status == SQ_OK) {
            fputs(i ? "\n" : "", out);
            put_head(out, &t);
            status = put_notes(out, s, err);
            if (status == SQ_OK && s->n_pairs == 1)
                put_body(out, &t);
            else if (status == SQ_OK && s->n_pairs <= SQ_REPORT_TEXT_PAIRS)
                status = put_pairs(out, &t, err);
            else if (status == SQ_OK) {
                put_ranges(out, &t);
                fprintf(out,
                        "\n%zu different workloads and machines: their fronts are in the page "
                        "(-o)\n",
                        s->n_pairs);
            }
        }
        free_table(&t);
        SQ_TRY(status);
    }
    return SQ_OK;
}
