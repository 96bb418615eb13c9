// SPDX-License-Identifier: Apache-2.0
// The netlist of a placement: reads it, measures its nets, checks that its places are legal (sq_place.h).
#include "sim/place/sq_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"

#define MAX_NBYTES (512u << 20)
static const double EPSILON = 1e-6; // um: places are sums of sites

// ---- the netlist ------------------------------------------------------------------------------

struct reader {
    struct sq_place *p;
    json_t *module;
    const char *clock;
    struct sq_error *err;
};

// The net of a bit; 0 and 1 are constants.
static uint32_t net_of(const json_t *bit)
{
    const char *const text = json_string_value(bit);
    const json_int_t v = json_is_integer(bit) ? json_integer_value(bit) : 0;
    return text ? *text == '1' : v >= 2 && v < INT32_MAX ? (uint32_t)v : 0;
}

static size_t count_bits(struct sq_place *p, const json_t *bits)
{
    for (size_t i = 0; i < json_array_size(bits); i++) {
        const uint32_t net = net_of(json_array_get(bits, i));
        if (net >= p->n_nets)
            p->n_nets = net + 1;
    }
    return json_array_size(bits);
}

static enum sq_status allocate(struct reader *r)
{
    struct sq_place *const p = r->p;
    const char *key, *pin;
    json_t *item, *bits, *const ports = json_object_get(r->module, "ports"),
                                *const cells = json_object_get(r->module, "cells");
    p->n_cells = json_object_size(cells);
    p->n_nets = 2;
    json_object_foreach(ports, key, item)
    {
        p->n_ports += count_bits(p, json_object_get(item, "bits"));
    }
    p->n_pins = p->n_ports;
    json_object_foreach(cells, key, item)
    {
        json_object_foreach(json_object_get(item, "connections"), pin, bits)
        {
            p->n_pins += count_bits(p, bits);
        }
    }
    p->cell = calloc(p->n_cells + p->n_ports + 1, sizeof *p->cell);
    p->pin = calloc(p->n_pins + 1, sizeof *p->pin);
    p->by_net = calloc(p->n_pins + 1, sizeof *p->by_net);
    p->net = calloc(p->n_nets + 1, sizeof *p->net);
    p->n_pins = 0;
    return SQ_HAVE(p->cell && p->pin && p->by_net && p->net, r->err, "a placement");
}

static void add_pin(struct sq_place *p, uint32_t cell, uint32_t net, const struct sq_lef_pin *lef,
                    bool is_driver)
{
    p->pin[p->n_pins++] = (struct sq_place_pin){cell, net, lef, is_driver};
    p->cell[cell].n_pins++;
    p->net[net].n += net > 1;
}

static enum sq_status read_cells(struct reader *r)
{
    struct sq_place *const p = r->p;
    const char *key, *label;
    json_t *item, *bits;
    uint32_t at = 0;
    json_object_foreach(json_object_get(r->module, "cells"), key, item)
    {
        struct sq_place_cell *const c = &p->cell[at];
        const char *const type = json_string_value(json_object_get(item, "type"));
        c->name = key;
        c->macro = type ? sq_lef_find(p->lef, type) : NULL;
        c->pin = (uint32_t)p->n_pins;
        if (!c->macro)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the LEF files have no macro %.60s",
                           type ? type : "(none)");
        if (fabs(c->macro->height - p->lef->row_height) > EPSILON)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                           "the macro %.60s is %g um high, need %g as a row", type,
                           c->macro->height, p->lef->row_height);
        p->area += c->macro->width * c->macro->height;
        json_object_foreach(json_object_get(item, "connections"), label, bits)
        {
            const struct sq_lef_pin *const lef = sq_lef_pin(c->macro, label);
            if (!lef || json_array_size(bits) != 1)
                return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the LEF has no pin %.60s of %.60s",
                               label, type);
            add_pin(p, at, net_of(json_array_get(bits, 0)), lef, lef->is_output);
        }
        at++;
    }
    return SQ_OK;
}

static void read_ports(struct reader *r)
{
    struct sq_place *const p = r->p;
    const char *key;
    json_t *item;
    uint32_t at = (uint32_t)p->n_cells;
    json_object_foreach(json_object_get(r->module, "ports"), key, item)
    {
        const json_t *const bits = json_object_get(item, "bits");
        const char *const way = json_string_value(json_object_get(item, "direction"));
        const bool is_input = way && strcmp(way, "input") == 0;
        const bool is_clock = strcmp(key, r->clock) == 0;
        for (uint32_t b = 0; b < json_array_size(bits); b++, at++) {
            const uint32_t net = net_of(json_array_get(bits, b));
            p->cell[at] = (struct sq_place_cell){.name = key,
                                                 .bit = b,
                                                 .n_bits = (uint32_t)json_array_size(bits),
                                                 .pin = (uint32_t)p->n_pins};
            add_pin(p, at, net, NULL, is_input);
            if (net > 1 && is_input)
                p->net[net].is_ideal = is_clock || p->net[net].n > SQ_PLACE_PORT_SINKS + 1;
        }
    }
}

static void list_nets(struct sq_place *p)
{
    uint32_t at = 0;
    for (size_t i = 0; i < p->n_nets; i++) {
        p->net[i].first = at;
        at += p->net[i].n;
        p->net[i].n = 0;
    }
    for (uint32_t i = 0; i < p->n_pins; i++) {
        struct sq_place_net *const net = &p->net[p->pin[i].net];
        if (p->pin[i].net > 1)
            p->by_net[net->first + net->n++] = i;
    }
}

static enum sq_status read_module(struct reader *r)
{
    SQ_TRY(allocate(r));
    SQ_TRY(read_cells(r));
    read_ports(r);
    list_nets(r->p);
    return r->p->n_cells ? SQ_OK : SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "a netlist without cells");
}

enum sq_status sq_place_read(struct sq_place *p, const char *path, const char *clock,
                             const struct sq_lef *lef, struct sq_error *err)
{
    json_t *root;
    *p = (struct sq_place){.lef = lef};
    SQ_TRY(sq_json_load(path, MAX_NBYTES, &root, err));
    return sq_place_take(p, root, clock, lef, err);
}

enum sq_status sq_place_take(struct sq_place *p, json_t *root, const char *clock,
                             const struct sq_lef *lef, struct sq_error *err)
{
    *p = (struct sq_place){.lef = lef, .root = root};
    struct reader r = {.p = p, .clock = clock, .err = err};
    const json_t *const modules = json_object_get(root, "modules");
    r.module = json_object_iter_value(json_object_iter(json_object_get(root, "modules")));
    const enum sq_status status =
        json_object_size(modules) == 1
            ? read_module(&r)
            : SQ_FAIL(err, SQ_ERR_DAMAGED, "the netlist of the synthesis is no single module");
    if (status != SQ_OK)
        sq_place_free(p);
    return status;
}

void sq_place_free(struct sq_place *p)
{
    free(p->cell);
    free(p->pin);
    free(p->by_net);
    free(p->net);
    json_decref(p->root);
    *p = (struct sq_place){0};
}

// ---- places -----------------------------------------------------------------------------------

double sq_place_y(const struct sq_place *p, const struct sq_place_pin *pin)
{
    const struct sq_place_cell *const c = &p->cell[pin->cell];
    if (!c->macro)
        return c->y;
    const bool is_upside_down = (unsigned)lrint(c->y / p->lef->row_height) % 2;
    return c->y + (is_upside_down ? c->macro->height - pin->lef->y : pin->lef->y);
}

double sq_place_half_perimeter(const struct sq_place *p, size_t net)
{
    const struct sq_place_net *const n = &p->net[net];
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    for (uint32_t i = 0; i < n->n; i++) {
        const struct sq_place_pin *const pin = &p->pin[p->by_net[n->first + i]];
        const double x = sq_place_x(p, pin), y = sq_place_y(p, pin);
        x0 = x < x0 ? x : x0;
        x1 = x > x1 ? x : x1;
        y0 = y < y0 ? y : y0;
        y1 = y > y1 ? y : y1;
    }
    return n->n > 1 ? x1 - x0 + y1 - y0 : 0;
}

// ---- legal places ----------------------------------------------------------------------------

// By row, then from the left.
static int by_place(const void *a, const void *b)
{
    const struct sq_place_cell *const x = *(const struct sq_place_cell *const *)a;
    const struct sq_place_cell *const y = *(const struct sq_place_cell *const *)b;
    return x->y != y->y ? (x->y < y->y ? -1 : 1) : (x->x > y->x) - (x->x < y->x);
}

enum sq_status sq_place_check(const struct sq_place *p, struct sq_error *err)
{
    const struct sq_place_cell **const order = calloc(p->n_cells + 1, sizeof *order);
    SQ_NEED(order, err, "a placement");
    enum sq_status status = SQ_OK;
    for (size_t i = 0; i < p->n_cells; i++)
        order[i] = &p->cell[i];
    qsort(order, p->n_cells, sizeof *order, by_place);
    for (size_t i = 0; i < p->n_cells && status == SQ_OK; i++) {
        const struct sq_place_cell *const c = order[i], *const left = i ? order[i - 1] : NULL;
        const double row = c->y / p->lef->row_height, site = c->x / p->lef->site_width;
        const bool is_inside = c->x >= -EPSILON && c->x + c->macro->width <= p->width + EPSILON &&
                               row >= -EPSILON && row < (double)p->n_rows - .5;
        if (!is_inside || fabs(row - rint(row)) > EPSILON || fabs(site - rint(site)) > EPSILON)
            status = SQ_FAIL(err, SQ_ERR_INTERNAL, "cell %.60s stands at %g, %g um, in no row",
                             c->name, c->x, c->y);
        else if (left && left->y == c->y && left->x + left->macro->width > c->x + EPSILON)
            status =
                SQ_FAIL(err, SQ_ERR_INTERNAL, "cell %.60s stands upon %.60s", c->name, left->name);
    }
    free(order);
    return status;
}
