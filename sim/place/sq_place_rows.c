// SPDX-License-Identifier: Apache-2.0
// Rows and sites for the cells of a global placement (sq_place.h), as Abacus does it (Spindler, Schlichtmann,
// Johannes 2008): from the left to the right, each cell into the row where it and those before it move least.
#include <math.h>
#include <stdlib.h>

#include "sim/place/sq_place.h"

// Cells that touch: they stand where the sum of the squares of their moves is least.
struct cluster {
    double x, width, weight, sum; // sum: of weight x (where a cell would like the cluster to begin)
    uint32_t first, n;            // of the row's cells
};

struct row {
    size_t n_cells, n_clusters;
    uint32_t *cell;          // owned
    struct cluster *cluster; // owned
    double used;             // width of its cells
};

struct work {
    struct sq_place *p;
    struct row *row;
    struct sq_error *err;
};

static double width_of(const struct work *w, uint32_t cell)
{
    return w->p->cell[cell].macro->width;
}

static double begin_of(const struct work *w, const struct cluster *c)
{
    return fmin(fmax(c->sum / c->weight, 0), w->p->width - c->width);
}

// Where the cell would stand at the end of the row; *last: the cluster that it would be in, of *n_merged old ones.
static double try_end(const struct work *w, const struct row *r, uint32_t cell,
                      struct cluster *last, size_t *n_merged)
{
    const double width = width_of(w, cell);
    *last = (struct cluster){0, width, width, width * w->p->cell[cell].x, (uint32_t)r->n_cells, 1};
    *n_merged = 0;
    for (;;) {
        last->x = begin_of(w, last);
        const size_t left = r->n_clusters - *n_merged;
        if (left == 0)
            break;
        const struct cluster *const c = &r->cluster[left - 1];
        if (c->x + c->width <= last->x)
            break;
        // A cluster's cells would like it to begin by their own distance from its begin earlier.
        *last = (struct cluster){0,
                                 c->width + last->width,
                                 c->weight + last->weight,
                                 c->sum + last->sum - last->weight * c->width,
                                 c->first,
                                 c->n + last->n};
        ++*n_merged;
    }
    return last->x + last->width - width;
}

static enum sq_status put(struct work *w, struct row *r, uint32_t cell)
{
    struct cluster last;
    size_t n_merged;
    (void)try_end(w, r, cell, &last, &n_merged);
    if (r->n_cells % 64 == 0) {
        void *const cells = realloc(r->cell, (r->n_cells + 64) * sizeof *r->cell);
        SQ_NEED(cells, w->err, "a placement");
        r->cell = cells;
        void *const clusters = realloc(r->cluster, (r->n_cells + 64) * sizeof *r->cluster);
        SQ_NEED(clusters, w->err, "a placement");
        r->cluster = clusters;
    }
    r->cell[r->n_cells++] = cell;
    r->n_clusters -= n_merged;
    r->cluster[r->n_clusters++] = last;
    r->used += width_of(w, cell);
    return SQ_OK;
}

// The row with the least move, looked for from the nearest on until the height alone is more.
static enum sq_status choose(struct work *w, uint32_t cell)
{
    const struct sq_place *const p = w->p;
    const struct sq_place_cell *const c = &p->cell[cell];
    const double height = p->lef->row_height;
    const long nearest = lrint(c->y / height), n = (long)p->n_rows;
    double least = INFINITY;
    struct row *best = NULL;
    for (long away = 0; away < 2 * n + labs(nearest) + 2; away++) {
        const long i = nearest + (away % 2 ? (away + 1) / 2 : -away / 2);
        if (fabs((double)(away / 2)) * height - height > least)
            break;
        if (i < 0 || i >= n || w->row[i].used + width_of(w, cell) > p->width + 1e-6)
            continue;
        struct cluster last;
        size_t n_merged;
        const double x = try_end(w, &w->row[i], cell, &last, &n_merged);
        const double cost = fabs(x - c->x) + fabs((double)i * height - c->y);
        if (cost < least)
            least = cost, best = &w->row[i];
    }
    return best ? put(w, best, cell)
                : SQ_FAIL(w->err, SQ_ERR_RANGE,
                          "no row has room for a cell of %g um: a lower utilisation is needed",
                          width_of(w, cell));
}

// Clusters begin at sites; their cells are whole sites wide. What is rounded over the end of the row, or upon the
// cluster before, is moved back.
static void settle(struct work *w, size_t number)
{
    const struct row *const r = &w->row[number];
    const double site = w->p->lef->site_width, n_sites = rint(w->p->width / site);
    double end = 0;
    for (size_t k = 0; k < r->n_clusters; k++) {
        const struct cluster *const c = &r->cluster[k];
        double x = fmin(fmax(rint(c->x / site), end), n_sites - rint(c->width / site));
        for (uint32_t i = 0; i < c->n; i++) {
            const uint32_t cell = r->cell[c->first + i];
            w->p->cell[cell].x = x * site;
            w->p->cell[cell].y = (double)number * w->p->lef->row_height;
            x += rint(width_of(w, cell) / site);
        }
        end = x;
    }
}

static int by_x(const void *a, const void *b, void *context)
{
    const struct sq_place *const p = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const double left = p->cell[x].x, right = p->cell[y].x;
    return left != right ? (left < right ? -1 : 1) : (x > y) - (x < y);
}

enum sq_status sq_place_rows(struct sq_place *p, struct sq_error *err)
{
    struct work w = {.p = p, .row = calloc(p->n_rows + 1, sizeof *w.row), .err = err};
    SQ_FREED uint32_t *const order = calloc(p->n_cells + 1, sizeof *order);
    enum sq_status status = SQ_HAVE(w.row && order, err, "a placement");
    for (uint32_t i = 0; i < p->n_cells && status == SQ_OK; i++)
        order[i] = i;
    if (status == SQ_OK)
        qsort_r(order, p->n_cells, sizeof *order, by_x, p);
    for (size_t i = 0; i < p->n_cells && status == SQ_OK; i++)
        status = choose(&w, order[i]);
    for (size_t i = 0; i < p->n_rows && w.row; i++) {
        if (status == SQ_OK)
            settle(&w, i);
        free(w.row[i].cell);
        free(w.row[i].cluster);
    }
    free(w.row);
    return status;
}
