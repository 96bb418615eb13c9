// SPDX-License-Identifier: Apache-2.0
// The steps of a placement: rows and ports around them, then one step after another (sq_place.h).
#include <math.h>
#include <stdlib.h>

#include "sim/place/sq_place.h"

// ---- ports ------------------------------------------------------------------------------------

// The middle of the cells of a net, but for one of them; false: there are none.
static bool middle_of(const struct sq_place *p, uint32_t net, uint32_t but, double at[2])
{
    unsigned n = 0;
    at[0] = at[1] = 0;
    for (uint32_t k = 0; k < p->net[net].n; k++) {
        const struct sq_place_pin *const pin = &p->pin[p->by_net[p->net[net].first + k]];
        if (!pin->lef || pin->cell == but)
            continue;
        at[0] += sq_place_x(p, pin);
        at[1] += sq_place_y(p, pin);
        n++;
    }
    at[0] /= n;
    at[1] /= n;
    return n > 0;
}

// A port by the angle at which the cells of its net lie, from the middle of the rows.
struct angle {
    double at;
    uint32_t cell;
};

static int by_angle(const void *a, const void *b)
{
    const struct angle *const x = a, *const y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : (x->cell > y->cell) - (x->cell < y->cell);
}

// The place at part `t` of the way around the rows, from the middle of the left side on, as angles grow from -pi.
static void around(const struct sq_place *p, double t, double *x, double *y)
{
    const double w = p->width, h = p->height, at = t * 2 * (w + h);
    *x = at < h / 2               ? 0
         : at < h / 2 + w         ? at - h / 2
         : at < 3 * h / 2 + w     ? w
         : at < 3 * h / 2 + 2 * w ? 3 * h / 2 + 2 * w - at
                                  : 0;
    *y = at < h / 2               ? h / 2 - at
         : at < h / 2 + w         ? 0
         : at < 3 * h / 2 + w     ? at - h / 2 - w
         : at < 3 * h / 2 + 2 * w ? h
                                  : 5 * h / 2 + 2 * w - at;
}

// Ports at equal distances around the rows, in the order of their angles; before there are places, as they are listed.
static enum sq_status put_ports(struct sq_place *p, bool has_places, struct sq_error *err)
{
    SQ_FREED struct angle *const order = calloc(p->n_ports + 1, sizeof *order);
    SQ_NEED(order, err, "a placement");
    for (uint32_t i = 0; i < p->n_ports; i++) {
        const struct sq_place_cell *const c = &p->cell[p->n_cells + i];
        double at[2];
        order[i] = (struct angle){0, (uint32_t)p->n_cells + i};
        if (has_places && c->n_pins && middle_of(p, p->pin[c->pin].net, SQ_PLACE_NONE, at))
            order[i].at = atan2(at[1] - p->height / 2, at[0] - p->width / 2);
    }
    qsort(order, p->n_ports, sizeof *order, by_angle);
    for (size_t i = 0; i < p->n_ports; i++) {
        struct sq_place_cell *const c = &p->cell[order[i].cell];
        around(p, ((double)i + .5) / (double)p->n_ports, &c->x, &c->y);
    }
    return SQ_OK;
}

// ---- blocks -----------------------------------------------------------------------------------

// The middle of what a block is wired to; the middle of the rows where that is nothing, or nothing is placed.
static void wanted(const struct sq_place *p, uint32_t block, bool has_places, double at[2])
{
    const struct sq_place_cell *const c = &p->cell[block];
    double sum[2] = {p->width / 2, p->height / 2}, n = 1;
    for (uint32_t i = 0; i < c->n_pins && has_places; i++) {
        double of[2];
        if (p->net[p->pin[c->pin + i].net].is_ideal ||
            !middle_of(p, p->pin[c->pin + i].net, block, of))
            continue;
        sum[0] += of[0];
        sum[1] += of[1];
        n++;
    }
    at[0] = sum[0] / n;
    at[1] = sum[1] / n;
}

// One side: columns away from the rows, each of as many as there is height for, at equal distances.
static void put_side(struct sq_place *p, struct angle *order, size_t n, bool is_left)
{
    const double gap = 2 * p->lef->row_height;
    if (n == 0)
        return;
    const struct sq_lef_macro *const m = p->cell[order[0].cell].macro;
    const size_t most = (size_t)fmax(1, floor(p->height / (m->height + gap)));
    const size_t n_columns = (n + most - 1) / most, in_column = (n + n_columns - 1) / n_columns;
    qsort(order, n, sizeof *order, by_angle);
    for (size_t i = 0; i < n; i++) {
        struct sq_place_cell *const c = &p->cell[order[i].cell];
        const double out = gap + (double)(i % n_columns) * (m->width + gap);
        const double slot = fmax(p->height / (double)in_column, m->height + gap);
        c->x = is_left ? -out - m->width : p->width + out;
        c->y = ((double)(i / n_columns) + .5) * slot - m->height / 2;
        c->is_flipped = is_left; // pins of a macro without LEF are on its left
    }
}

// Half of the blocks on each side, by where what they are wired to lies.
static enum sq_status put_blocks(struct sq_place *p, bool has_places, struct sq_error *err)
{
    SQ_FREED struct angle *const order = calloc(p->n_blocks + 1, sizeof *order);
    SQ_NEED(order, err, "a placement");
    double at[2];
    for (int axis = 0; axis < 2; axis++) {
        for (size_t i = 0; i < p->n_blocks; i++) {
            struct angle *const o = &order[i];
            if (axis == 0)
                o->cell = (uint32_t)(p->n_cells + p->n_ports + i);
            wanted(p, o->cell, has_places, at);
            o->at = at[axis];
        }
        if (axis == 0)
            qsort(order, p->n_blocks, sizeof *order, by_angle);
    }
    put_side(p, order, p->n_blocks / 2, true);
    put_side(p, order + p->n_blocks / 2, p->n_blocks - p->n_blocks / 2, false);
    return SQ_OK;
}

// ---- together ---------------------------------------------------------------------------------

// Rows of whole sites, as high as they are wide, of which the cells cover `utilisation`; or longer, as those of a few
// cells: while each row has less room left than the widest cell, all cells are in.
static void set_rows(struct sq_place *p, double utilisation)
{
    const double row = p->lef->row_height, site = p->lef->site_width;
    p->n_rows = (size_t)fmax(1, rint(sqrt(p->area / utilisation) / row));
    double widest = 0;
    for (size_t i = 0; i < p->n_cells; i++)
        widest = fmax(widest, p->cell[i].macro->width);
    p->height = row * (double)p->n_rows;
    const double least = p->area / p->height + (p->n_rows > 1 ? widest : 0);
    p->width = site * ceil(fmax(p->area / utilisation / p->height, least) / site - 1e-6);
}

enum sq_status sq_place_run(struct sq_place *p, double utilisation, uint64_t seed,
                            struct sq_error *err)
{
    set_rows(p, utilisation);
    SQ_TRY(put_blocks(p, false, err));
    SQ_TRY(put_ports(p, false, err));
    SQ_TRY(sq_place_global(p, seed, err));
    SQ_TRY(put_blocks(p, true, err));
    SQ_TRY(put_ports(p, true, err));
    SQ_TRY(sq_place_global(p, seed, err));
    SQ_TRY(sq_place_rows(p, err));
    SQ_TRY(sq_place_improve(p, err));
    return sq_place_check(p, err);
}

enum sq_status sq_place_again(struct sq_place *p, const struct sq_place *old, double utilisation,
                              struct sq_error *err)
{
    set_rows(p, utilisation);
    const double by[2] = {p->width / old->width, p->height / old->height};
    for (size_t i = 0; i < sq_place_n_all(p); i++) {
        struct sq_place_cell *const c = &p->cell[i];
        const bool is_new = i >= old->n_cells && i < p->n_cells;
        const struct sq_place_cell *const was =
            &old->cell[i < p->n_cells ? i : i - p->n_cells + old->n_cells];
        if (!is_new) {
            c->x = i < p->n_cells + p->n_ports ? by[0] * was->x // blocks stay beside the rows
                   : was->x > 0                ? was->x + p->width - old->width
                                               : was->x;
            c->y = by[1] * was->y;
            c->is_flipped = was->is_flipped;
        }
    }
    // A buffer in the middle of what it drives: cells, and buffers before it.
    for (size_t i = old->n_cells; i < p->n_cells; i++) {
        double at[2] = {0, 0};
        for (uint32_t k = 0; k < p->cell[i].n_pins; k++)
            if (p->pin[p->cell[i].pin + k].is_driver)
                (void)middle_of(p, p->pin[p->cell[i].pin + k].net, (uint32_t)i, at);
        p->cell[i].x = at[0];
        p->cell[i].y = at[1];
    }
    SQ_TRY(sq_place_rows(p, err));
    SQ_TRY(sq_place_improve(p, err));
    return sq_place_check(p, err);
}
