// SPDX-License-Identifier: Apache-2.0
// What changed between two sweep databases (sq_report.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sweep/sq_report.h"
#include "sim/sweep/sq_sweep_export.h"

static const struct sq_field *find(const struct sq_fields *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->field[i].name, name) == 0)
            return &f->field[i];
    return NULL;
}

static void note(struct sq_changes *c, const char *name, double a, double b, const char *sweep,
                 const char *parameters)
{
    const double relative = isfinite(a) && isfinite(b) && a != 0 ? fabs(b - a) / fabs(a) : INFINITY;
    size_t i = 0;
    while (i < c->n_measures && strcmp(c->measure[i].name, name) != 0)
        i++;
    if (i == SQ_CHANGES_MAX)
        return;
    if (i == c->n_measures) {
        c->n_measures++;
        memset(&c->measure[i], 0, sizeof c->measure[i]);
        snprintf(c->measure[i].name, sizeof c->measure[i].name, "%.39s", name);
        c->measure[i].relative = -1;
    }
    c->measure[i].n++;
    if (relative > c->measure[i].relative) {
        c->measure[i].relative = relative;
        c->measure[i].a = a;
        c->measure[i].b = b;
        c->measure[i].sweep = sweep;
        c->measure[i].parameters = parameters;
    }
}

static enum sq_status compare_row(const char *sweep, const struct sq_report_row *a,
                                  const struct sq_report_row *b, struct sq_changes *c,
                                  struct sq_error *err)
{
    SQ_CLOSED(sq_fields_free) struct sq_fields fa = {0};
    SQ_CLOSED(sq_fields_free) struct sq_fields fb = {0};
    if (strcmp(a->measures, b->measures) == 0) {
        c->same++;
        return SQ_OK;
    }
    c->changed++;
    SQ_TRY(sq_fields_read(&fa, a->measures, err));
    SQ_TRY(sq_fields_read(&fb, b->measures, err));
    for (size_t i = 0; i < fa.n; i++) {
        const struct sq_field *x = &fa.field[i], *y = find(&fb, x->name);
        if (!y || strcmp(x->text, y->text) != 0)
            note(c, x->name, x->value, y ? y->value : NAN, sweep, a->parameters);
    }
    for (size_t i = 0; i < fb.n; i++)
        if (!find(&fa, fb.field[i].name))
            note(c, fb.field[i].name, NAN, fb.field[i].value, sweep, a->parameters);
    return SQ_OK;
}

// Both are sorted by `order`: one pass.
static enum sq_status compare_sweep(const struct sq_report_sweep *a,
                                    const struct sq_report_sweep *b, struct sq_changes *c,
                                    struct sq_error *err)
{
    size_t i = 0, j = 0;
    while (i < a->n_rows && j < b->n_rows) {
        const int order = strcmp(a->row[i].order, b->row[j].order);
        if (order == 0)
            SQ_TRY(compare_row(a->name, &a->row[i], &b->row[j], c, err));
        c->only_a += order < 0;
        c->only_b += order > 0;
        i += order <= 0;
        j += order >= 0;
    }
    c->only_a += a->n_rows - i;
    c->only_b += b->n_rows - j;
    return SQ_OK;
}

enum sq_status sq_report_compare(const struct sq_report *a, const struct sq_report *b,
                                 struct sq_changes *c, struct sq_error *err)
{
    size_t i = 0, j = 0;
    memset(c, 0, sizeof *c);
    while (i < a->n_sweeps || j < b->n_sweeps) {
        const int order = i == a->n_sweeps   ? 1
                          : j == b->n_sweeps ? -1
                                             : strcmp(a->sweep[i].name, b->sweep[j].name);
        if (order == 0)
            SQ_TRY(compare_sweep(&a->sweep[i], &b->sweep[j], c, err));
        else if (order < 0)
            c->only_a += a->sweep[i].n_rows;
        else
            c->only_b += b->sweep[j].n_rows;
        i += order <= 0;
        j += order >= 0;
    }
    return SQ_OK;
}
