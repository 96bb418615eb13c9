// SPDX-License-Identifier: Apache-2.0
// Which points of a database its specification still has (sq_report.h).
#include <stdlib.h>
#include <string.h>

#include "sim/sweep/sq_report_pair.h"
#include "sim/sweep/sq_sweep.h"

struct known {
    struct sq_report_row *row;
    bool is_current;
};

static int by_parameters(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->row->parameters,
                  ((const struct known *)b)->row->parameters);
}

// known[0..n-1], sorted: marks those that are points of the grid.
static void mark_current(const struct sq_sweep_grid *grid, struct known *known, size_t n)
{
    char parameters[SQ_PARAMETERS_SIZE];
    struct sq_report_row wanted = {.parameters = parameters};
    for (size_t i = 0; i < grid->n_points; i++) {
        struct sq_sweep_point p;
        sq_sweep_grid_point(grid, i, &p);
        sq_sweep_parameters(&p, parameters);
        struct known *found =
            bsearch(&(struct known){.row = &wanted}, known, n, sizeof *known, by_parameters);
        if (found)
            found->is_current = true;
    }
}

// The rows keep their order.
static enum sq_status keep_current(struct sq_report_sweep *s, const struct sq_sweep_grid *grid,
                                   struct sq_error *err)
{
    const size_t n_all = s->n_rows;
    struct known *known = calloc(n_all + 1, sizeof *known);
    bool *is_current = calloc(n_all + 1, sizeof *is_current);
    if (!known || !is_current) {
        free(known);
        free(is_current);
        return SQ_NO_MEMORY(err, "a report");
    }
    for (size_t i = 0; i < n_all; i++)
        known[i].row = &s->row[i];
    qsort(known, n_all, sizeof *known, by_parameters);
    mark_current(grid, known, n_all);
    for (size_t i = 0; i < n_all; i++)
        is_current[known[i].row - s->row] = known[i].is_current;
    s->n_rows = 0;
    for (size_t i = 0; i < n_all; i++)
        if (is_current[i])
            s->row[s->n_rows++] = s->row[i];
        else
            sq_report_row_free(&s->row[i]);
    s->n_stale = n_all - s->n_rows;
    free(known);
    free(is_current);
    if (s->n_rows == 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "sweep %.60s: none of its %zu points is of its specification, as it was "
                       "last run; run it again",
                       s->name, n_all);
    return sq_report_find_pairs(s, err);
}

enum sq_status sq_report_hide_stale(struct sq_report *r, const char *home, struct sq_error *err)
{
    for (size_t i = 0; i < r->n_sweeps; i++) {
        struct sq_report_sweep *s = &r->sweep[i];
        struct sq_sweep_grid grid;
        struct sq_error why;
        if (sq_sweep_grid_parse(&grid, s->spec, strlen(s->spec), s->name, home, &why) != SQ_OK) {
            snprintf(s->unchecked, sizeof s->unchecked, "%.199s", why.text);
            continue;
        }
        const enum sq_status status = keep_current(s, &grid, err);
        sq_sweep_grid_free(&grid);
        SQ_TRY(status);
    }
    return SQ_OK;
}
