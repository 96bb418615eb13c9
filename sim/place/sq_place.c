// SPDX-License-Identifier: Apache-2.0
// The netlist of a placement: reads it, measures its nets, checks that its places are legal (sq_place.h).
#include "sim/place/sq_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"
#include "sim/synth/sq_liberty_tree.h"

#define MAX_NBYTES ((size_t)2 << 30) // that of a chip is 600 MB
static const double EPSILON = 1e-6;  // um: places are sums of sites

// ---- the netlist ------------------------------------------------------------------------------

struct reader {
    struct sq_place *p;
    json_t *module;
    const char *clock;
    const struct sq_liberty *memory;
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

// Whether the library has the pin or bus of its first cell as an output.
static bool is_output(const struct sq_lib_tree *t, const char *label)
{
    static const char *const kinds[] = {"pin", "bus"};
    const struct sq_lib_node *const cell = sq_lib_child(t, t->node, "cell");
    for (size_t i = 0; i < 2 && cell; i++)
        for (const struct sq_lib_node *n = sq_lib_child(t, cell, kinds[i]); n;
             n = sq_lib_next(t, n, kinds[i])) {
            char name[SQ_LIB_NAME_LEN], way[16];
            sq_lib_unquote(n->text, name, sizeof name);
            if (strcmp(name, label) == 0)
                return sq_lib_string(t, n, "direction", way, sizeof way) &&
                       strcmp(way, "output") == 0;
        }
    return false;
}

// The pin of bit i of n of a connection: "A", or "A[3]" of a bus. false: it is too long.
static bool pin_name(char name[SQ_LIB_NAME_LEN], const char *label, size_t i, size_t n)
{
    return snprintf(name, SQ_LIB_NAME_LEN, n > 1 ? "%s[%zu]" : "%s", label, i) < SQ_LIB_NAME_LEN;
}

static enum sq_status add_memory_pins(struct reader *r, const struct sq_lib_tree *t,
                                      const json_t *connections)
{
    struct sq_lef_macro *const m = r->p->memory;
    const char *label;
    json_t *bits;
    json_object_foreach((json_t *)(uintptr_t)connections, label, bits)
    {
        for (size_t i = 0; i < json_array_size(bits); i++) {
            struct sq_lef_pin *const pin = &m->pin[m->n_pins++];
            if (!pin_name(pin->name, label, i, json_array_size(bits)))
                return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "a pin of %s has a longer name than %d",
                               m->name, SQ_LIB_NAME_LEN - 1);
            pin->is_output = is_output(t, label);
        }
    }
    for (size_t i = 0; i < m->n_pins; i++)
        m->pin[i].y = m->height * ((double)i + .5) / (double)m->n_pins;
    return SQ_OK;
}

// A macro that the LEF does not have: a square with a pin for each bit that the cell's netlist names.
static enum sq_status make_memory(struct reader *r, const json_t *connections)
{
    const struct sq_liberty *const lib = r->memory;
    struct sq_lef_macro *const m = r->p->memory = calloc(1, sizeof *m);
    SQ_CLOSED(sq_lib_tree_free) struct sq_lib_tree t = {0};
    const char *label;
    json_t *bits;
    size_t n = 0;
    SQ_NEED(m, r->err, "a placement");
    json_object_foreach((json_t *)(uintptr_t)connections, label, bits)
    {
        n += json_array_size(bits);
    }
    snprintf(m->name, sizeof m->name, "%s", lib->cell[0].name);
    m->width = m->height = sqrt(lib->cell[0].area);
    m->pin = calloc(n + 1, sizeof *m->pin);
    SQ_NEED(m->pin, r->err, "a placement");
    SQ_TRY(sq_lib_tree_read(&t, lib->text, lib->text + lib->nbytes, "timing", r->err));
    return add_memory_pins(r, &t, connections);
}

// That of a cell; NULL: there is none. A memory without one gets it.
static enum sq_status find_macro(struct reader *r, const json_t *cell,
                                 const struct sq_lef_macro **macro)
{
    const char *const type = json_string_value(json_object_get(cell, "type"));
    *macro = type ? sq_lef_find(r->p->lef, type) : NULL;
    const bool is_memory = type && r->memory && strcmp(type, r->memory->cell[0].name) == 0;
    if (!*macro && is_memory) {
        if (!r->p->memory)
            SQ_TRY(make_memory(r, json_object_get(cell, "connections")));
        *macro = r->p->memory;
    }
    if (!*macro)
        return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the LEF files have no macro %.60s",
                       type ? type : "(none)");
    if (!is_memory && fabs((*macro)->height - r->p->lef->row_height) > EPSILON)
        return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                       "the macro %.60s is %g um high, need %g as a row", type, (*macro)->height,
                       r->p->lef->row_height);
    return SQ_OK;
}

static bool is_block(const struct sq_place *p, const struct sq_lef_macro *macro)
{
    return macro->height > p->lef->row_height + EPSILON;
}

static enum sq_status allocate(struct reader *r)
{
    struct sq_place *const p = r->p;
    const char *key, *pin;
    json_t *item, *bits, *const ports = json_object_get(r->module, "ports"),
                                *const cells = json_object_get(r->module, "cells");
    const struct sq_lef_macro *macro;
    p->n_nets = 2;
    json_object_foreach(ports, key, item)
    {
        p->n_ports += count_bits(p, json_object_get(item, "bits"));
    }
    p->n_pins = p->n_ports;
    json_object_foreach(cells, key, item)
    {
        SQ_TRY(find_macro(r, item, &macro));
        p->n_blocks += is_block(p, macro);
        p->n_cells += !is_block(p, macro);
        json_object_foreach(json_object_get(item, "connections"), pin, bits)
        {
            p->n_pins += count_bits(p, bits);
        }
    }
    p->cell = calloc(sq_place_n_all(p) + 1, sizeof *p->cell);
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

// The pins of one connection, a bit each.
static enum sq_status read_connection(struct reader *r, uint32_t cell, const char *label,
                                      const json_t *bits)
{
    const struct sq_lef_macro *const macro = r->p->cell[cell].macro;
    const size_t n = json_array_size(bits);
    for (size_t i = 0; i < n; i++) {
        char name[SQ_LIB_NAME_LEN];
        const struct sq_lef_pin *const lef =
            pin_name(name, label, i, n) ? sq_lef_pin(macro, name) : NULL;
        if (!lef)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the LEF has no pin %.60s of %.60s", name,
                           macro->name);
        add_pin(r->p, cell, net_of(json_array_get(bits, i)), lef, lef->is_output);
    }
    return SQ_OK;
}

static enum sq_status read_cells(struct reader *r)
{
    struct sq_place *const p = r->p;
    const char *key, *label;
    json_t *item, *bits;
    uint32_t at = 0, block = (uint32_t)(p->n_cells + p->n_ports);
    json_object_foreach(json_object_get(r->module, "cells"), key, item)
    {
        const struct sq_lef_macro *macro;
        SQ_TRY(find_macro(r, item, &macro));
        const uint32_t number = is_block(p, macro) ? block++ : at++;
        struct sq_place_cell *const c = &p->cell[number];
        *c = (struct sq_place_cell){.name = key, .macro = macro, .pin = (uint32_t)p->n_pins};
        if (number < p->n_cells)
            p->area += macro->width * macro->height;
        json_object_foreach(json_object_get(item, "connections"), label, bits)
        {
            SQ_TRY(read_connection(r, number, label, bits));
        }
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
    for (size_t i = 0; i < r->p->n_nets; i++) // a clock that is made inside
        r->p->net[i].is_ideal = r->p->net[i].is_ideal || r->p->net[i].n > SQ_PLACE_NET_PINS;
    return r->p->n_cells ? SQ_OK : SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "a netlist without cells");
}

enum sq_status sq_place_read(struct sq_place *p, const char *path, const char *clock,
                             const struct sq_lef *lef, const struct sq_liberty *memory,
                             struct sq_error *err)
{
    json_t *root;
    *p = (struct sq_place){.lef = lef};
    SQ_TRY(sq_json_load(path, MAX_NBYTES, &root, err));
    return sq_place_take(p, root, clock, lef, memory, err);
}

enum sq_status sq_place_take(struct sq_place *p, json_t *root, const char *clock,
                             const struct sq_lef *lef, const struct sq_liberty *memory,
                             struct sq_error *err)
{
    *p = (struct sq_place){.lef = lef, .root = root};
    struct reader r = {.p = p, .clock = clock, .memory = memory, .err = err};
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
    if (p->memory)
        free(p->memory->pin);
    free(p->memory);
    json_decref(p->root);
    *p = (struct sq_place){0};
}

// ---- places -----------------------------------------------------------------------------------

double sq_place_y(const struct sq_place *p, const struct sq_place_pin *pin)
{
    const struct sq_place_cell *const c = &p->cell[pin->cell];
    if (!c->macro)
        return c->y;
    const bool is_upside_down =
        !is_block(p, c->macro) && (unsigned)lrint(c->y / p->lef->row_height) % 2;
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

void sq_place_extent(const struct sq_place *p, double at[2])
{
    at[0] = 0;
    at[1] = p->width;
    for (size_t i = p->n_cells + p->n_ports; i < sq_place_n_all(p); i++) {
        at[0] = fmin(at[0], p->cell[i].x);
        at[1] = fmax(at[1], p->cell[i].x + p->cell[i].macro->width);
    }
}

static enum sq_status check_blocks(const struct sq_place *p, struct sq_error *err)
{
    for (size_t i = p->n_cells + p->n_ports; i < sq_place_n_all(p); i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        if (c->x + c->macro->width > EPSILON && c->x < p->width - EPSILON)
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "block %.60s stands upon the rows", c->name);
        for (size_t k = p->n_cells + p->n_ports; k < i; k++) {
            const struct sq_place_cell *const d = &p->cell[k];
            if (fabs(c->x + c->macro->width / 2 - d->x - d->macro->width / 2) <
                    (c->macro->width + d->macro->width) / 2 - EPSILON &&
                fabs(c->y + c->macro->height / 2 - d->y - d->macro->height / 2) <
                    (c->macro->height + d->macro->height) / 2 - EPSILON)
                return SQ_FAIL(err, SQ_ERR_INTERNAL, "block %.60s stands upon %.60s", c->name,
                               d->name);
        }
    }
    return SQ_OK;
}

enum sq_status sq_place_check(const struct sq_place *p, struct sq_error *err)
{
    SQ_TRY(check_blocks(p, err));
    SQ_FREED const struct sq_place_cell **const order = calloc(p->n_cells + 1, sizeof *order);
    SQ_NEED(order, err, "a placement");
    for (size_t i = 0; i < p->n_cells; i++)
        order[i] = &p->cell[i];
    qsort(order, p->n_cells, sizeof *order, by_place);
    for (size_t i = 0; i < p->n_cells; i++) {
        const struct sq_place_cell *const c = order[i], *const left = i ? order[i - 1] : NULL;
        const double row = c->y / p->lef->row_height, site = c->x / p->lef->site_width;
        const bool is_inside = c->x >= -EPSILON && c->x + c->macro->width <= p->width + EPSILON &&
                               row >= -EPSILON && row < (double)p->n_rows - .5;
        if (!is_inside || fabs(row - rint(row)) > EPSILON || fabs(site - rint(site)) > EPSILON)
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "cell %.60s stands at %g, %g um, in no row",
                           c->name, c->x, c->y);
        if (left && left->y == c->y && left->x + left->macro->width > c->x + EPSILON)
            return SQ_FAIL(err, SQ_ERR_INTERNAL, "cell %.60s stands upon %.60s", c->name,
                           left->name);
    }
    return SQ_OK;
}
