// SPDX-License-Identifier: Apache-2.0
// The steps of a placement: rows and ports around them, then one step after another (sq_place.h).
#include <math.h>
#include <stdlib.h>

#include "sim/place/sq_place.h"

// ---- ports ------------------------------------------------------------------------------------

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
    struct angle *const order = calloc(p->n_ports + 1, sizeof *order);
    SQ_NEED(order, err, "a placement");
    for (uint32_t i = 0; i < p->n_ports; i++) {
        const struct sq_place_cell *const c = &p->cell[p->n_cells + i];
        double x = 0, y = 0;
        unsigned n = 0;
        order[i] = (struct angle){0, (uint32_t)p->n_cells + i};
        const struct sq_place_net *const net = c->n_pins ? &p->net[p->pin[c->pin].net] : NULL;
        for (uint32_t k = 0; has_places && net && k < net->n; k++) {
            const struct sq_place_pin *const pin = &p->pin[p->by_net[net->first + k]];
            if (p->cell[pin->cell].macro) {
                x += sq_place_x(p, pin);
                y += sq_place_y(p, pin);
                n++;
            }
        }
        if (n > 0)
            order[i].at = atan2(y / n - p->height / 2, x / n - p->width / 2);
    }
    qsort(order, p->n_ports, sizeof *order, by_angle);
    for (size_t i = 0; i < p->n_ports; i++) {
        struct sq_place_cell *const c = &p->cell[order[i].cell];
        around(p, ((double)i + .5) / (double)p->n_ports, &c->x, &c->y);
    }
    free(order);
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
    SQ_TRY(put_ports(p, false, err));
    SQ_TRY(sq_place_global(p, seed, err));
    SQ_TRY(put_ports(p, true, err));
    SQ_TRY(sq_place_global(p, seed, err));
    SQ_TRY(sq_place_rows(p, err));
    SQ_TRY(sq_place_improve(p, err));
    return sq_place_check(p, err);
}
