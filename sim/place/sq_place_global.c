// SPDX-License-Identifier: Apache-2.0
// Global placement (sq_place.h): springs between the pins of a net pull its cells together, a bisection spreads them
// where they are too dense, and anchors, which grow stronger, pull each cell to where it was spread to (SimPL: Kim, Lee,
// Markov 2012). The springs' lengths are half perimeters at the last places (bound to bound: Spindler 2008).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/place/sq_place.h"

enum { FIRST = 4, ROUNDS = 60, CG_MAX = 100 };
static const double CG_PART = 1e-4, ANCHOR = .012, DENSITY = .97, LEAF = 1.5;

struct spring {
    uint32_t a, b; // cells
    double k;
};

// The equations of one axis: for each cell `diagonal` less its springs times its middle is `force`.
struct work {
    struct sq_place *p;
    size_t n, n_springs, cap;
    struct spring *spring;
    double *diagonal, *force, *r, *d, *q; // of n cells; the last three of conjugate gradients
    double *at[2], *to[2]; // middles by axis: as they are pulled, and spread; ports too
    uint32_t *order;
    const double *key; // of the sort
    double density;    // that the bisection allows
    struct sq_error *err;
};

static double size_of(const struct sq_place_cell *c, int axis)
{
    return !c->macro ? 0 : axis ? c->macro->height : c->macro->width;
}

// ---- springs ----------------------------------------------------------------------------------

// From the middle of the cell; a row may be upside down, so that heights count from the middle alone.
static double offset(const struct work *w, uint32_t pin, int axis)
{
    const struct sq_place_pin *const at = &w->p->pin[pin];
    const struct sq_place_cell *const c = &w->p->cell[at->cell];
    if (at->cell >= w->n && at->lef) // a block
        return axis ? sq_place_y(w->p, at) - c->y - c->macro->height / 2
                    : sq_place_x(w->p, at) - c->x - c->macro->width / 2;
    return axis || !at->lef ? 0 : at->lef->x - c->macro->width / 2;
}

static void pull(struct work *w, uint32_t one, uint32_t other, double k, int axis)
{
    const uint32_t a = w->p->pin[one].cell, b = w->p->pin[other].cell;
    const double apart = offset(w, other, axis) - offset(w, one, axis);
    if (a == b)
        return;
    if (a < w->n) {
        w->diagonal[a] += k;
        w->force[a] += k * (apart + (b < w->n ? 0 : w->at[axis][b]));
    }
    if (b < w->n) {
        w->diagonal[b] += k;
        w->force[b] += k * ((a < w->n ? 0 : w->at[axis][a]) - apart);
    }
    if (a < w->n && b < w->n)
        w->spring[w->n_springs++] = (struct spring){a, b, k};
}

// Each pin is pulled to the two outermost ones, so that at these places the energy is the net's extent.
static void pull_net(struct work *w, const struct sq_place_net *net, int axis)
{
    const uint32_t *const pin = w->p->by_net + net->first;
    const double least = w->p->lef->row_height / 2;
    uint32_t low = 0, high = 0;
    double at_low = INFINITY, at_high = -INFINITY;
    for (uint32_t i = 0; i < net->n; i++) {
        const double at = w->at[axis][w->p->pin[pin[i]].cell] + offset(w, pin[i], axis);
        if (at < at_low)
            low = i, at_low = at;
        if (at >= at_high)
            high = i, at_high = at;
    }
    const double share = 1.0 / (net->n - 1);
    for (uint32_t i = 0; i < net->n; i++) {
        const double at = w->at[axis][w->p->pin[pin[i]].cell] + offset(w, pin[i], axis);
        if (i != low)
            pull(w, pin[low], pin[i], share / fmax(at - at_low, least), axis);
        if (i != low && i != high)
            pull(w, pin[high], pin[i], share / fmax(at_high - at, least), axis);
    }
}

static bool counts(const struct sq_place_net *net)
{
    return net->n > 1 && !net->is_ideal;
}

static void multiply(const struct work *w, const double *x, double *y)
{
    for (size_t i = 0; i < w->n; i++)
        y[i] = w->diagonal[i] * x[i];
    for (size_t i = 0; i < w->n_springs; i++) {
        const struct spring *const s = &w->spring[i];
        y[s->a] -= s->k * x[s->b];
        y[s->b] -= s->k * x[s->a];
    }
}

// Conjugate gradients, each equation by its diagonal; from the places that are there.
static void solve(struct work *w, double *x)
{
    double rz = 0, first = 0;
    multiply(w, x, w->q);
    for (size_t i = 0; i < w->n; i++) {
        w->r[i] = w->force[i] - w->q[i];
        w->d[i] = w->r[i] / w->diagonal[i];
        rz += w->r[i] * w->d[i];
    }
    first = rz;
    for (unsigned step = 0; step < CG_MAX && rz > CG_PART * CG_PART * first && rz > 1e-12; step++) {
        double dq = 0, next = 0;
        multiply(w, w->d, w->q);
        for (size_t i = 0; i < w->n; i++)
            dq += w->d[i] * w->q[i];
        for (size_t i = 0; i < w->n; i++) {
            x[i] += rz / dq * w->d[i];
            w->r[i] -= rz / dq * w->q[i];
            next += w->r[i] * w->r[i] / w->diagonal[i];
        }
        for (size_t i = 0; i < w->n; i++)
            w->d[i] = w->r[i] / w->diagonal[i] + next / rz * w->d[i];
        rz = next;
    }
}

// `anchor` is the strength of those to w->to; at first there are none, and a weak one holds what no port pulls.
static void pull_all(struct work *w, double anchor, int axis)
{
    const struct sq_place *const p = w->p;
    const double least = p->lef->row_height, middle = (axis ? p->height : p->width) / 2;
    memset(w->diagonal, 0, w->n * sizeof *w->diagonal);
    memset(w->force, 0, w->n * sizeof *w->force);
    w->n_springs = 0;
    for (size_t i = 0; i < p->n_nets; i++)
        if (counts(&p->net[i]))
            pull_net(w, &p->net[i], axis);
    for (size_t i = 0; i < w->n; i++) {
        const double to = anchor > 0 ? w->to[axis][i] : middle;
        const double k = anchor > 0 ? anchor / fmax(fabs(w->at[axis][i] - to), least) : 1e-6;
        w->diagonal[i] += k;
        w->force[i] += k * to;
    }
    solve(w, w->at[axis]);
}

// ---- bisection --------------------------------------------------------------------------------

static int by_key(const void *a, const void *b, void *context)
{
    const double *const key = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return key[x] != key[y] ? (key[x] < key[y] ? -1 : 1) : (x > y) - (x < y);
}

static double area_of(const struct work *w, uint32_t cell)
{
    const struct sq_lef_macro *const m = w->p->cell[cell].macro;
    return m->width * m->height;
}

// Halves a box of cells until it is a few rows high and wide. A half that holds more than it may gives its
// nearest cells to the other one, and the places on both sides of the cut are scaled into their halves.
static void bisect(struct work *w, uint32_t *cell, size_t n, const double low[2],
                   const double high[2])
{
    const double extent[2] = {high[0] - low[0], high[1] - low[1]};
    const int axis = extent[1] > extent[0];
    double *const at = w->to[axis];
    if (n == 0)
        return;
    if (extent[axis] <= LEAF * w->p->lef->row_height)
        return;
    const double middle = (low[axis] + high[axis]) / 2;
    const double most = w->density * extent[0] * extent[1] / 2;
    double all = 0, left = 0, cut = middle;
    qsort_r(cell, n, sizeof *cell, by_key, at);
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        all += area_of(w, cell[i]);
        if (at[cell[i]] < middle) {
            left += area_of(w, cell[i]);
            n_left++;
        }
    }
    const double room = fmax(most, all / 2);
    while (n_left > 0 && left > room) {
        left -= area_of(w, cell[--n_left]);
        cut = at[cell[n_left]];
    }
    while (n_left < n && all - left > room) {
        cut = at[cell[n_left]];
        left += area_of(w, cell[n_left++]);
    }
    const double below = fmax(cut - low[axis], 1e-9), above = fmax(high[axis] - cut, 1e-9);
    for (size_t i = 0; i < n && cut != middle; i++) {
        double *const x = &at[cell[i]];
        *x = i < n_left ? low[axis] + (*x - low[axis]) * (middle - low[axis]) / below
                        : high[axis] - (high[axis] - *x) * (high[axis] - middle) / above;
        *x = i < n_left ? fmin(*x, middle) : fmax(*x, middle);
    }
    const double low_half[2] = {axis ? high[0] : middle, axis ? middle : high[1]};
    const double high_half[2] = {axis ? low[0] : middle, axis ? middle : low[1]};
    bisect(w, cell, n_left, low, low_half);
    bisect(w, cell + n_left, n - n_left, high_half, high);
}

static void spread(struct work *w)
{
    const double low[2] = {0, 0}, high[2] = {w->p->width, w->p->height};
    for (uint32_t i = 0; i < w->n; i++) {
        for (int axis = 0; axis < 2; axis++)
            w->to[axis][i] = fmin(fmax(w->at[axis][i], 0), high[axis]);
        w->order[i] = i;
    }
    bisect(w, w->order, w->n, low, high);
}

// ---- together ---------------------------------------------------------------------------------

static void place(struct work *w, uint64_t seed)
{
    const struct sq_place *const p = w->p;
    struct sq_rng rng = {seed};
    for (size_t i = 0; i < sq_place_n_all(p); i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        w->at[0][i] =
            i < w->n ? p->width * (.45 + .1 * sq_rng_unit(&rng)) : c->x + size_of(c, 0) / 2;
        w->at[1][i] =
            i < w->n ? p->height * (.45 + .1 * sq_rng_unit(&rng)) : c->y + size_of(c, 1) / 2;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int axis = 0; axis < 2; axis++)
            pull_all(w, round < FIRST ? 0 : ANCHOR * (round - FIRST + 1), axis);
        spread(w);
    }
}

static enum sq_status allocate(struct work *w)
{
    const size_t n = sq_place_n_all(w->p) + 1;
    double **const all[] = {&w->diagonal, &w->force, &w->r,     &w->d,    &w->q,
                            &w->at[0],    &w->at[1], &w->to[0], &w->to[1]};
    bool has_all = true;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = calloc(n, sizeof **all[i]);
        has_all = has_all && *all[i];
    }
    w->spring = calloc(2 * w->p->n_pins + 1, sizeof *w->spring);
    w->order = calloc(n, sizeof *w->order);
    return SQ_HAVE(has_all && w->spring && w->order, w->err, "a placement");
}

enum sq_status sq_place_global(struct sq_place *p, uint64_t seed, struct sq_error *err)
{
    struct work w = {.p = p, .n = p->n_cells, .err = err};
    w.density = fmax(DENSITY, (1 + p->area / (p->width * p->height)) / 2);
    const enum sq_status status = allocate(&w);
    if (status == SQ_OK) {
        place(&w, seed);
        for (size_t i = 0; i < p->n_cells; i++) {
            p->cell[i].x = w.to[0][i] - size_of(&p->cell[i], 0) / 2;
            p->cell[i].y = w.to[1][i] - size_of(&p->cell[i], 1) / 2;
        }
    }
    double *const all[] = {w.diagonal, w.force, w.r, w.d, w.q, w.at[0], w.at[1], w.to[0], w.to[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(w.spring);
    free(w.order);
    return status;
}
