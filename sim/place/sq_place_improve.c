// SPDX-License-Identifier: Apache-2.0
// Local improvement of a legal placement (sq_place.h): cells move to where their nets would like them, or change places
// with one that stands there; three neighbours in a row change their order; a cell moves within its gap and is
// flipped. What makes the half perimeters shorter stays.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/place/sq_place.h"

#include "sim/io/sq_grow.h"

enum { ROUNDS = 12, AROUND = 4, NET_MAX = 64, BOUNDS = 128 };
static const double GAIN = .001; // of all wire, that a round has to bring

struct row {
    size_t n;
    uint32_t *cell; // from the left; owned
};

struct work {
    struct sq_place *p;
    struct row *row;
    uint32_t *seen; // by net: the last evaluation that counted it
    uint32_t now;
    struct sq_error *err;
};

static const double TINY = 1e-6;

static double width_of(const struct work *w, uint32_t cell)
{
    return w->p->cell[cell].macro->width;
}

static size_t row_of(const struct work *w, uint32_t cell)
{
    return (size_t)lrint(w->p->cell[cell].y / w->p->lef->row_height);
}

// ---- rows -------------------------------------------------------------------------------------

// The first cell of a row that begins at x or to the right of it.
static size_t find(const struct work *w, const struct row *r, double x)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (w->p->cell[r->cell[mid]].x < x - TINY)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static enum sq_status insert(struct work *w, uint32_t cell)
{
    struct row *const r = &w->row[row_of(w, cell)];
    const size_t at = find(w, r, w->p->cell[cell].x);
    SQ_TRY(SQ_GROW(r->cell, r->n, w->err, "a placement"));
    memmove(r->cell + at + 1, r->cell + at, (r->n - at) * sizeof *r->cell);
    r->cell[at] = cell;
    r->n++;
    return SQ_OK;
}

static void take_out(struct work *w, uint32_t cell)
{
    struct row *const r = &w->row[row_of(w, cell)];
    const size_t at = find(w, r, w->p->cell[cell].x);
    memmove(r->cell + at, r->cell + at + 1, (--r->n - at) * sizeof *r->cell);
}

// The free space of a row between the cell before number `from` and the cell after number `to` - 1.
static void gap_of(const struct work *w, const struct row *r, size_t from, size_t to, double *low,
                   double *high)
{
    const struct sq_place *const p = w->p;
    *low = from ? p->cell[r->cell[from - 1]].x + width_of(w, r->cell[from - 1]) : 0;
    *high = to < r->n ? p->cell[r->cell[to]].x : p->width;
}

// The site for a cell whose middle should be at `middle`, between low and high.
static double fit(const struct work *w, uint32_t cell, double middle, double low, double high)
{
    const double site = w->p->lef->site_width, width = width_of(w, cell);
    const double x = fmin(fmax(middle - width / 2, low), high - width);
    return fmin(fmax(rint(x / site) * site, low), high - width);
}

// ---- lengths ----------------------------------------------------------------------------------

static double add_nets(struct work *w, uint32_t cell)
{
    const struct sq_place_cell *const c = &w->p->cell[cell];
    double sum = 0;
    for (uint32_t i = 0; i < c->n_pins; i++) {
        const uint32_t net = w->p->pin[c->pin + i].net;
        if (w->seen[net] == w->now || w->p->net[net].n > NET_MAX || w->p->net[net].is_ideal)
            continue;
        w->seen[net] = w->now;
        sum += sq_place_half_perimeter(w->p, net);
    }
    return sum;
}

static double length_of(struct work *w, const uint32_t *cell, size_t n)
{
    double sum = 0;
    w->now++;
    for (size_t i = 0; i < n; i++)
        sum += add_nets(w, cell[i]);
    return sum;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Where the middle of a cell makes its nets shortest: the median of the bounds of their other pins.
static bool best_place(const struct work *w, uint32_t cell, double at[2])
{
    const struct sq_place *const p = w->p;
    const struct sq_place_cell *const c = &p->cell[cell];
    double bound[2][BOUNDS];
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_pins && n + 2 <= BOUNDS; i++) {
        const struct sq_place_net *const net = &p->net[p->pin[c->pin + i].net];
        double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
        if (net->n > NET_MAX || net->is_ideal)
            continue;
        for (uint32_t k = 0; k < net->n; k++) {
            const struct sq_place_pin *const pin = &p->pin[p->by_net[net->first + k]];
            if (pin->cell == cell)
                continue;
            const double x = sq_place_x(p, pin), y = sq_place_y(p, pin);
            box[0] = fmin(box[0], x);
            box[1] = fmin(box[1], y);
            box[2] = fmax(box[2], x);
            box[3] = fmax(box[3], y);
        }
        if (box[0] > box[2])
            continue;
        for (int axis = 0; axis < 2; axis++) {
            bound[axis][n] = box[axis];
            bound[axis][n + 1] = box[2 + axis];
        }
        n += 2;
    }
    for (int axis = 0; axis < 2 && n; axis++) {
        const double now = axis ? c->y + c->macro->height / 2 : c->x + c->macro->width / 2;
        qsort(bound[axis], n, sizeof(double), by_value);
        at[axis] = fmin(fmax(now, bound[axis][n / 2 - 1]), bound[axis][n / 2]);
    }
    return n > 0;
}

// ---- moves ------------------------------------------------------------------------------------

static void set(struct work *w, uint32_t cell, double x, double y)
{
    w->p->cell[cell].x = x;
    w->p->cell[cell].y = y;
}

// A way to a better place: alone into a gap, or in exchange with `other`.
struct change {
    double gain, x, y;
    uint32_t other;
    double other_x;
};

static void try_gap(struct work *w, uint32_t cell, const struct row *r, size_t at, double y,
                    double middle, struct change *best)
{
    const double x0 = w->p->cell[cell].x, y0 = w->p->cell[cell].y;
    double low, high;
    gap_of(w, r, at, at, &low, &high);
    if (high - low < width_of(w, cell) - TINY)
        return;
    const double before = length_of(w, &cell, 1), x = fit(w, cell, middle, low, high);
    set(w, cell, x, y);
    const double gain = before - length_of(w, &cell, 1);
    set(w, cell, x0, y0);
    if (gain > best->gain)
        *best = (struct change){gain, x, y, SQ_PLACE_NONE, 0};
}

static void try_exchange(struct work *w, uint32_t cell, const struct row *r, size_t at,
                         double middle, struct change *best)
{
    const uint32_t both[2] = {cell, r->cell[at]};
    const struct row *const own = &w->row[row_of(w, cell)];
    const size_t mine = find(w, own, w->p->cell[cell].x);
    double low[2], high[2], x[2], y[2];
    if (both[1] == cell || (own == r && (mine + 1 == at || at + 1 == mine)))
        return;
    gap_of(w, own, mine, mine + 1, &low[0], &high[0]);
    gap_of(w, r, at, at + 1, &low[1], &high[1]);
    if (high[1] - low[1] < width_of(w, cell) - TINY ||
        high[0] - low[0] < width_of(w, both[1]) - TINY)
        return;
    for (int i = 0; i < 2; i++)
        x[i] = w->p->cell[both[i]].x, y[i] = w->p->cell[both[i]].y;
    const double before = length_of(w, both, 2);
    const double to = fit(w, cell, middle, low[1], high[1]);
    const double other = fit(w, both[1], x[0] + width_of(w, cell) / 2, low[0], high[0]);
    set(w, cell, to, y[1]);
    set(w, both[1], other, y[0]);
    const double gain = before - length_of(w, both, 2);
    for (int i = 0; i < 2; i++)
        set(w, both[i], x[i], y[i]);
    if (gain > best->gain)
        *best = (struct change){gain, to, y[1], both[1], other};
}

static enum sq_status apply(struct work *w, uint32_t cell, const struct change *c)
{
    const double y = w->p->cell[cell].y;
    take_out(w, cell);
    if (c->other != SQ_PLACE_NONE) {
        take_out(w, c->other);
        set(w, c->other, c->other_x, y);
        SQ_TRY(insert(w, c->other));
    }
    set(w, cell, c->x, c->y);
    return insert(w, cell);
}

static enum sq_status move(struct work *w, uint32_t cell)
{
    const struct sq_place *const p = w->p;
    struct change best = {TINY, 0, 0, SQ_PLACE_NONE, 0};
    double at[2];
    if (!best_place(w, cell, at))
        return SQ_OK;
    const double height = p->lef->row_height;
    const long wanted = (long)floor(fmin(fmax(at[1], 0), p->height - TINY) / height);
    for (long r = wanted > 0 ? wanted - 1 : 0; r <= wanted + 1 && r < (long)p->n_rows; r++) {
        const struct row *const row = &w->row[r];
        const size_t middle = find(w, row, at[0] - width_of(w, cell) / 2);
        const size_t from = middle > AROUND ? middle - AROUND : 0;
        for (size_t i = from; i <= middle + AROUND && i <= row->n; i++) {
            try_gap(w, cell, row, i, (double)r * height, at[0], &best);
            if (i < row->n)
                try_exchange(w, cell, row, i, at[0], &best);
        }
    }
    return best.gain > TINY ? apply(w, cell, &best) : SQ_OK;
}

// Three neighbours in each order, the gaps between them as they were.
static void reorder(struct work *w, struct row *r, size_t at)
{
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct sq_place_cell *const cell = w->p->cell;
    const uint32_t was[3] = {r->cell[at], r->cell[at + 1], r->cell[at + 2]};
    const double first = cell[was[0]].x;
    const double gap[3] = {cell[was[1]].x - first - width_of(w, was[0]),
                           cell[was[2]].x - cell[was[1]].x - width_of(w, was[1]), 0};
    double least = INFINITY;
    unsigned best = 0;
    for (unsigned round = 0; round < 7; round++) { // the last one takes the best again
        const unsigned *const order = orders[round < 6 ? round : best];
        double x = first;
        for (unsigned i = 0; i < 3; i++) {
            cell[was[order[i]]].x = x;
            r->cell[at + i] = was[order[i]];
            x += width_of(w, was[order[i]]) + gap[i];
        }
        const double length = round < 6 ? length_of(w, was, 3) : least;
        if (length < least - TINY)
            least = length, best = round;
    }
}

// Within its gap to its best place, and flipped where that is shorter.
static void shift(struct work *w, const struct row *r, size_t at)
{
    const uint32_t cell = r->cell[at];
    struct sq_place_cell *const c = &w->p->cell[cell];
    double low, high, to[2];
    if (!best_place(w, cell, to))
        return;
    gap_of(w, r, at, at + 1, &low, &high);
    const double x = c->x, before = length_of(w, &cell, 1);
    c->x = fit(w, cell, to[0], low, high);
    const double moved = length_of(w, &cell, 1);
    if (moved >= before)
        c->x = x;
    c->is_flipped = !c->is_flipped;
    if (length_of(w, &cell, 1) >= fmin(before, moved) - TINY)
        c->is_flipped = !c->is_flipped;
}

// ---- together ---------------------------------------------------------------------------------

static double all_length(struct work *w)
{
    double sum = 0;
    for (size_t i = 0; i < w->p->n_nets; i++)
        if (!w->p->net[i].is_ideal)
            sum += sq_place_half_perimeter(w->p, i);
    return sum;
}

static enum sq_status rounds(struct work *w)
{
    double before = all_length(w);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < w->p->n_cells; i++)
            SQ_TRY(move(w, i));
        for (size_t r = 0; r < w->p->n_rows; r++) {
            for (size_t i = 0; i + 2 < w->row[r].n; i++)
                reorder(w, &w->row[r], i);
            for (size_t i = 0; i < w->row[r].n; i++)
                shift(w, &w->row[r], i);
        }
        const double after = all_length(w);
        if (before - after < GAIN * before)
            break;
        before = after;
    }
    return SQ_OK;
}

enum sq_status sq_place_improve(struct sq_place *p, struct sq_error *err)
{
    struct work w = {.p = p,
                     .row = calloc(p->n_rows + 1, sizeof *w.row),
                     .seen = calloc(p->n_nets + 1, sizeof *w.seen),
                     .err = err};
    enum sq_status status = SQ_HAVE(w.row && w.seen, err, "a placement");
    for (uint32_t i = 0; i < p->n_cells && status == SQ_OK; i++)
        status = insert(&w, i);
    SQ_THEN(status, rounds(&w));
    for (size_t i = 0; i < p->n_cells; i++) // sums of widths were rounded
        p->cell[i].x = rint(p->cell[i].x / p->lef->site_width) * p->lef->site_width;
    for (size_t i = 0; i < p->n_rows && w.row; i++)
        free(w.row[i].cell);
    free(w.row);
    free(w.seen);
    return status;
}
