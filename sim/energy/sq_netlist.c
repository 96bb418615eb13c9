// SPDX-License-Identifier: Apache-2.0
// Reads the netlist that Yosys wrote, sorts its gates, and finds slews and loads (sq_netlist.h).
#include "sim/energy/sq_netlist.h"

#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"

#define MAX_NBYTES (512u << 20)

struct reader {
    struct sq_netlist *n;
    struct sq_lib_models *models;
    json_t *module;
    struct sq_error *err;
};

static enum sq_status damaged(const struct reader *r, const char *what)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "the netlist of the synthesis %s", what);
}

static enum sq_status no_memory(const struct reader *r)
{
    return SQ_NO_MEMORY(r->err, "a netlist");
}

// ---- bits and ports ---------------------------------------------------------------------------

// A net is the number that Yosys gave it, from 2 on; 0, 1 (and x, which is 0) are constants.
static uint32_t net_of(const struct sq_netlist *n, const json_t *bit)
{
    const char *text = json_string_value(bit);
    if (text)
        return *text == '1';
    const json_int_t v = json_is_integer(bit) ? json_integer_value(bit) : -1;
    return v >= 2 && v < (json_int_t)n->n_nets ? (uint32_t)v : SQ_NET_NONE;
}

static void note_bits(struct sq_netlist *n, const json_t *bits)
{
    for (size_t i = 0; i < json_array_size(bits); i++) {
        const json_t *bit = json_array_get(bits, i);
        const json_int_t v = json_is_integer(bit) ? json_integer_value(bit) : 0;
        if (v >= (json_int_t)n->n_nets && v < INT32_MAX)
            n->n_nets = (size_t)v + 1;
    }
}

// Numbers of nets: those of cells and ports, then one for each pin that is not connected.
static enum sq_status count_nets(struct reader *r, size_t *n_pins)
{
    const char *key, *pin;
    json_t *item, *bits;
    r->n->n_nets = 2;
    json_object_foreach(json_object_get(r->module, "ports"), key, item)
    {
        note_bits(r->n, json_object_get(item, "bits"));
    }
    *n_pins = 0;
    json_object_foreach(json_object_get(r->module, "cells"), key, item)
    {
        const struct sq_lib_model *model;
        const char *type = json_string_value(json_object_get(item, "type"));
        if (!type)
            return damaged(r, "has a cell without a type");
        SQ_TRY(sq_lib_models_get(r->models, type, &model, r->err));
        *n_pins += model->n_pins;
        json_object_foreach(json_object_get(item, "connections"), pin, bits)
        {
            note_bits(r->n, bits);
        }
    }
    return SQ_OK;
}

static enum sq_status read_ports(struct reader *r)
{
    struct sq_netlist *n = r->n;
    json_t *ports = json_object_get(r->module, "ports"), *item;
    const char *key;
    n->port = calloc(json_object_size(ports) + 1, sizeof *n->port);
    if (!n->port)
        return no_memory(r);
    json_object_foreach(ports, key, item)
    {
        struct sq_netlist_port *p = &n->port[n->n_ports++];
        const json_t *bits = json_object_get(item, "bits");
        const char *direction = json_string_value(json_object_get(item, "direction"));
        p->name = key;
        p->is_input = direction && strcmp(direction, "input") == 0;
        p->n_bits = json_array_size(bits);
        p->net = calloc(p->n_bits + 1, sizeof *p->net);
        if (!p->net)
            return no_memory(r);
        for (size_t i = 0; i < p->n_bits; i++)
            if ((p->net[i] = net_of(n, json_array_get(bits, i))) == SQ_NET_NONE)
                return damaged(r, "has a port without a net");
    }
    return SQ_OK;
}

// ---- names ------------------------------------------------------------------------------------

// How good a name is among several of a net. The best is the name of the register that drives it, then
// the deepest that is no input of a part; a number of Yosys is no name.
static int rank(const char *name)
{
    const char *last = strrchr(name, '.'), *leaf = last ? last + 1 : name;
    const size_t len = strlen(leaf);
    int depth = 1;
    if (*leaf == '_' || strchr(name, '$'))
        return 0;
    for (const char *c = name; *c; c++)
        depth += *c == '.';
    if (strcmp(leaf + (len > 2 ? len - 2 : 0), "_i") == 0)
        return 1;
    const bool is_register = len > 2 && (strcmp(leaf + len - 2, "_q") == 0 || strstr(leaf, "_q2"));
    return 1 + depth + (is_register ? 1000 : 0);
}

static void read_names(struct reader *r)
{
    const char *key;
    json_t *item;
    for (size_t i = 0; i < r->n->n_nets; i++)
        r->n->net[i].name = "";
    json_object_foreach(json_object_get(r->module, "netnames"), key, item)
    {
        const json_t *bits = json_object_get(item, "bits");
        for (size_t i = 0; i < json_array_size(bits); i++) {
            const uint32_t net = net_of(r->n, json_array_get(bits, i));
            const char *had = net == SQ_NET_NONE ? NULL : r->n->net[net].name;
            if (had && rank(key) > (*had ? rank(had) : 0))
                r->n->net[net].name = key;
        }
    }
}

// ---- gates ------------------------------------------------------------------------------------

static enum sq_status connect(struct reader *r, struct sq_gate *g, const json_t *cell,
                              uint32_t *free_net)
{
    const json_t *connections = json_object_get(cell, "connections");
    for (uint32_t p = 0; p < g->model->n_pins; p++) {
        const json_t *bits = json_object_get(connections, g->model->pin[p].name);
        const bool is_output = g->model->pin[p].is_output;
        uint32_t net =
            json_array_size(bits) == 1 ? net_of(r->n, json_array_get(bits, 0)) : SQ_NET_NONE;
        if (net == SQ_NET_NONE)
            net = is_output ? (*free_net)++ : 0;
        g->net[p] = net;
        if (!is_output) {
            r->n->net[net].n_sinks++;
            r->n->net[net].load += g->model->pin[p].cap;
            continue;
        }
        if (net < 2 || r->n->net[net].gate != SQ_NET_NONE)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "two cells drive a net: one is %.60s",
                           g->name);
        r->n->net[net].gate = (uint32_t)(g - r->n->gate);
        r->n->net[net].pin = p;
    }
    return SQ_OK;
}

static enum sq_status read_gates(struct reader *r, uint32_t free_net)
{
    struct sq_netlist *n = r->n;
    const char *key;
    json_t *item;
    uint32_t *pins = n->pins;
    json_object_foreach(json_object_get(r->module, "cells"), key, item)
    {
        struct sq_gate *g = &n->gate[n->n_gates++];
        g->name = key;
        g->net = pins;
        SQ_TRY(sq_lib_models_get(r->models, json_string_value(json_object_get(item, "type")),
                                 &g->model, r->err));
        pins += g->model->n_pins;
        SQ_TRY(connect(r, g, item, &free_net));
    }
    return SQ_OK;
}

static void list_sinks(struct sq_netlist *n)
{
    uint32_t at = 0;
    for (size_t i = 0; i < n->n_nets; i++) {
        n->net[i].sink = at;
        at += n->net[i].n_sinks;
        n->net[i].n_sinks = 0;
    }
    for (uint32_t g = 0; g < n->n_gates; g++)
        for (uint32_t p = 0; p < n->gate[g].model->n_pins; p++)
            if (!n->gate[g].model->pin[p].is_output) {
                struct sq_net *net = &n->net[n->gate[g].net[p]];
                n->sink[net->sink + net->n_sinks++] = (struct sq_sink){g, p};
            }
}

// ---- order ------------------------------------------------------------------------------------

static enum sq_status find_clock(struct reader *r, const char *clock)
{
    struct sq_netlist *n = r->n;
    const struct sq_netlist_port *port = clock ? sq_netlist_port(n, clock) : NULL;
    n->clock = port && port->is_input && port->n_bits == 1 ? port->net[0] : SQ_NET_NONE;
    for (uint32_t g = 0; g < n->n_gates; g++)
        if (n->gate[g].model->is_flop) {
            n->flop[n->n_flops++] = g;
            if (n->gate[g].model->is_falling)
                return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                               "the flip-flop %.60s is loaded by the falling edge",
                               n->gate[g].name);
            if (n->gate[g].net[n->gate[g].model->clock] != n->clock)
                return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                               "the flip-flop %.60s has another clock than the port %.40s",
                               n->gate[g].name, clock ? clock : "(none)");
        }
    for (uint32_t s = 0; n->clock != SQ_NET_NONE && s < n->net[n->clock].n_sinks; s++) {
        const struct sq_sink *to = &n->sink[n->net[n->clock].sink + s];
        const struct sq_gate *g = &n->gate[to->gate];
        if (!g->model->is_flop || to->pin != g->model->clock)
            return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the clock is an operand of %.60s", g->name);
    }
    return SQ_OK;
}

// Kahn: a gate is ready when all that drive it are listed.
static enum sq_status sort(struct reader *r)
{
    struct sq_netlist *n = r->n;
    SQ_FREED uint32_t *missing = calloc(n->n_gates + 1, sizeof *missing);
    size_t done = 0;
    if (!missing)
        return no_memory(r);
    for (uint32_t g = 0; g < n->n_gates; g++) {
        const struct sq_gate *gate = &n->gate[g];
        if (gate->model->is_flop)
            continue;
        for (uint32_t p = 0; p < gate->model->n_pins; p++) {
            const uint32_t from = n->net[gate->net[p]].gate;
            missing[g] += !gate->model->pin[p].is_output && from != SQ_NET_NONE &&
                          !n->gate[from].model->is_flop;
        }
        if (missing[g] == 0)
            n->order[n->n_order++] = g;
    }
    for (; done < n->n_order; done++) {
        const struct sq_gate *gate = &n->gate[n->order[done]];
        for (uint32_t p = 0; p < gate->model->n_pins; p++) {
            const struct sq_net *net = &n->net[gate->net[p]];
            for (uint32_t s = 0; gate->model->pin[p].is_output && s < net->n_sinks; s++) {
                const uint32_t to = n->sink[net->sink + s].gate;
                if (!n->gate[to].model->is_flop && --missing[to] == 0)
                    n->order[n->n_order++] = to;
            }
        }
    }
    return n->n_order + n->n_flops == n->n_gates
               ? SQ_OK
               : SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED, "the netlist has a loop of gates");
}

// ---- slews ------------------------------------------------------------------------------------

int sq_lib_cause(const struct sq_lib_timing *t, enum sq_lib_edge edge)
{
    if (t->is_clock)
        return SQ_LIB_RISE;
    if (t->sense == SQ_LIB_NON_UNATE)
        return -1;
    return t->sense == SQ_LIB_POSITIVE ? (int)edge : 1 - (int)edge;
}

// The slowest of all ways in which an output may change, as static timing has it.
static void find_slew(struct sq_netlist *n, const struct sq_gate *g)
{
    for (uint32_t p = 0; p < g->model->n_pins; p++) {
        struct sq_net *net = &n->net[g->net[p]];
        const struct sq_lib_pin *pin = &g->model->pin[p];
        if (!pin->is_output)
            continue;
        net->slew[0] = net->slew[1] = 0;
        for (size_t i = 0; i < pin->n_timing; i++)
            for (unsigned e = 0; e < 2; e++) {
                const struct sq_lib_timing *t = &pin->timing[i];
                const double *in = n->net[g->net[t->related]].slew;
                const int cause = sq_lib_cause(t, e);
                const double from = cause >= 0 ? in[cause] : in[0] > in[1] ? in[0] : in[1];
                const double slew = sq_lib_table_at(&t->slew[e], from, net->load);
                net->slew[e] = slew > net->slew[e] ? slew : net->slew[e];
            }
    }
}

static void find_slews(struct sq_netlist *n, const struct sq_netlist_edge *edge)
{
    for (size_t i = 0; i < n->n_nets; i++)
        n->net[i].slew[0] = n->net[i].slew[1] = edge->slew;
    for (size_t i = 0; i < n->n_flops; i++)
        find_slew(n, &n->gate[n->flop[i]]);
    for (size_t i = 0; i < n->n_order; i++)
        find_slew(n, &n->gate[n->order[i]]);
}

// ---- together ---------------------------------------------------------------------------------

static enum sq_status allocate(struct reader *r, size_t n_pins)
{
    struct sq_netlist *n = r->n;
    const size_t n_cells = json_object_size(json_object_get(r->module, "cells")) + 1;
    n->n_nets += n_pins;
    n->net = calloc(n->n_nets, sizeof *n->net);
    n->gate = calloc(n_cells, sizeof *n->gate);
    n->order = calloc(n_cells, sizeof *n->order);
    n->flop = calloc(n_cells, sizeof *n->flop);
    n->pins = calloc(n_pins + 1, sizeof *n->pins);
    n->sink = calloc(n_pins + 1, sizeof *n->sink);
    if (!n->net || !n->gate || !n->order || !n->flop || !n->pins || !n->sink)
        return no_memory(r);
    for (size_t i = 0; i < n->n_nets; i++)
        n->net[i].gate = SQ_NET_NONE;
    return SQ_OK;
}

static enum sq_status read_module(struct reader *r, const char *clock,
                                  const struct sq_netlist_edge *edge)
{
    struct sq_netlist *n = r->n;
    size_t n_pins;
    SQ_TRY(count_nets(r, &n_pins));
    const uint32_t free_net = (uint32_t)n->n_nets;
    SQ_TRY(allocate(r, n_pins));
    SQ_TRY(read_ports(r));
    read_names(r);
    SQ_TRY(read_gates(r, free_net));
    list_sinks(n);
    for (size_t i = 0; edge->wire && i < n->n_nets && i < edge->n_wires; i++)
        n->net[i].load += n->net[i].wire = edge->wire[i];
    for (size_t i = 0; i < n->n_ports; i++)
        for (size_t b = 0; b < n->port[i].n_bits && !n->port[i].is_input; b++)
            n->net[n->port[i].net[b]].load += edge->output_load;
    SQ_TRY(find_clock(r, clock));
    SQ_TRY(sort(r));
    find_slews(n, edge);
    return SQ_OK;
}

enum sq_status sq_netlist_read(struct sq_netlist *n, const char *path, const char *clock,
                               struct sq_lib_models *models, const struct sq_netlist_edge *edge,
                               struct sq_error *err)
{
    json_t *root;
    *n = (struct sq_netlist){0};
    SQ_TRY(sq_json_load(path, MAX_NBYTES, &root, err));
    n->root = root;
    struct reader r = {.n = n, .models = models, .err = err};
    r.module = json_object_iter_value(json_object_iter(json_object_get(root, "modules")));
    enum sq_status status = json_object_size(json_object_get(root, "modules")) == 1
                                ? read_module(&r, clock, edge)
                                : damaged(&r, "is no single module");
    if (status != SQ_OK)
        sq_netlist_free(n);
    return status;
}

void sq_netlist_free(struct sq_netlist *n)
{
    for (size_t i = 0; i < n->n_ports; i++)
        free(n->port[i].net);
    free(n->net);
    free(n->gate);
    free(n->port);
    free(n->sink);
    free(n->order);
    free(n->flop);
    free(n->pins);
    json_decref(n->root);
    *n = (struct sq_netlist){0};
}

const struct sq_netlist_port *sq_netlist_port(const struct sq_netlist *n, const char *name)
{
    for (size_t i = 0; i < n->n_ports; i++)
        if (strcmp(n->port[i].name, name) == 0)
            return &n->port[i];
    return NULL;
}
