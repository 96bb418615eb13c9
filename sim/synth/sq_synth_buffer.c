// SPDX-License-Identifier: Apache-2.0
// Trees of buffers in the mapped netlist of a chip. ABC maps one module at a time, and puts no buffer behind a
// flip-flop nor behind the ports of modules; so a register of 16x16 PEs would drive thousands of inputs, which no
// library allows (max_capacitance). In a placed netlist, larger cells and buffers where wires make a path too long.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_json.h"
#include "sim/synth/sq_liberty_tree.h"
#include "sim/synth/sq_synth_run.h"

enum { NETLIST_MAX_MIB = 8192 };

// The part of max_capacitance that an output drives, and the input of NAND2s that a port drives in its module.
static const double SHARE = .25, PORT_GATES = 16;
static const double LEAST = .09; // that is worth a buffer in a placed netlist

struct pin {
    char name[SQ_LIB_NAME_LEN];
    bool is_output, is_clock;
    double cap, most; // farads: of an input; that an output drives here
};

struct cell {
    char name[SQ_LIB_NAME_LEN];
    size_t n_pins;
    struct pin *pin;       // owned
    struct sq_digest gate; // the same for all sizes of it
    bool is_usable;
};

// What a module shows to the one around it: of each bit of a port what it costs, or may drive.
struct port {
    const char *name; // of the JSON tree
    size_t n;
    struct pin *bit; // owned
};

struct module {
    const char *name; // of the JSON tree
    size_t n_ports;
    struct port *port; // owned
};

struct buffer {
    size_t cell, in, out;   // of w->cell, of its pins
    double most, cap, area; // farads that it drives here, and costs
};

struct work {
    const struct sq_synth *s;
    const struct sq_synth_block *b;
    json_t *modules;
    size_t n_cells, n_done, n_kinds, n_made, n_sized;
    struct cell *cell;     // of the library and the macro, as far as they are there; owned
    struct module *done;   // modules that have their buffers; owned
    struct buffer *buffer; // by what they may drive; owned
    double port_most;      // that a port drives in its module
    double share;          // of max_capacitance
    const struct sq_synth_loads *loads; // NULL: of a chip
    size_t at_pin;                      // of loads: the pin that is walked over
    struct sq_error *err;
};

// Something that a net drives: bits[index] of a pin.
struct sink {
    json_t *bits;
    size_t index, net, place; // among all of the module
    double cap, order;        // order: below 0, a late one
};

struct net {
    double load, most; // 0: nothing drives it
    bool is_clock;
    size_t first, n_sinks;
    json_t *driver; // the cell
    const struct pin *pin;
    double slack;
};

// The nets of one module by the numbers that Yosys gives them; 0 and 1 are none.
struct nets {
    size_t n, n_sinks, n_bits;
    struct net *net;   // owned
    struct sink *sink; // by net; owned
};

// ---- the library ------------------------------------------------------------------------------

static bool has_text(const struct sq_lib_tree *t, const struct sq_lib_node *n, const char *name,
                     const char *want)
{
    char text[SQ_LIB_NAME_LEN];
    return sq_lib_string(t, n, name, text, sizeof text) && strcmp(text, want) == 0;
}

// Texts of a group, of what its children are called; one that is missing counts, too.
static void add_texts(struct sq_digest *d, const struct sq_lib_tree *t, const struct sq_lib_node *n)
{
    static const char *const keys[] = {"direction", "function", "next_state", "clocked_on",
                                       "clear",     "preset",   "enable",     "data_in"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct sq_lib_node *const c = sq_lib_child(t, n, keys[i]);
        sq_digest_add(d, c ? c->text.at : "", c ? c->text.n : 0);
    }
}

// Sizes of one gate have the same name but for its last digits, the same pins and functions.
static struct sq_digest gate_of(const struct sq_lib_tree *t, const struct cell *c)
{
    struct sq_digest d = {0};
    size_t n = strlen(c->name);
    while (n > 0 && c->name[n - 1] >= '0' && c->name[n - 1] <= '9')
        n--;
    sq_digest_add(&d, c->name, n);
    for (const struct sq_lib_node *g = sq_lib_child(t, t->node, "pin"); g;
         g = sq_lib_next(t, g, "pin")) {
        sq_digest_add(&d, g->text.at, g->text.n);
        add_texts(&d, t, g);
    }
    static const char *const states[] = {"ff", "latch"};
    for (size_t i = 0; i < 2; i++)
        if (sq_lib_child(t, t->node, states[i]))
            add_texts(&d, t, sq_lib_child(t, t->node, states[i]));
    return d;
}

static enum sq_status read_pins(const struct sq_lib_tree *t, double unit, double share,
                                struct cell *c, struct sq_error *err)
{
    static const char *const kinds[] = {"pin", "bus"};
    for (size_t k = 0; k < 2; k++)
        for (const struct sq_lib_node *n = sq_lib_child(t, t->node, kinds[k]); n;
             n = sq_lib_next(t, n, kinds[k])) {
            SQ_TRY(SQ_GROW(c->pin, c->n_pins, err, "a netlist"));
            struct pin *const p = &c->pin[c->n_pins++];
            *p = (struct pin){.is_output = has_text(t, n, "direction", "output"),
                              .is_clock = has_text(t, n, "clock", "true"),
                              .cap = unit * sq_lib_number(t, n, "capacitance", 0),
                              .most =
                                  share * unit * sq_lib_number(t, n, "max_capacitance", INFINITY)};
            sq_lib_unquote(n->text, p->name, sizeof p->name);
        }
    return SQ_OK;
}

// Whether the cell is a buffer that may be used.
static bool is_buffer(const struct sq_lib_tree *t, const struct cell *c)
{
    if (c->n_pins != 2 || !c->is_usable)
        return false;
    const struct pin *const out = &c->pin[c->pin[1].is_output];
    const struct pin *const in = &c->pin[!c->pin[1].is_output];
    const struct sq_lib_node *n = sq_lib_child(t, t->node, "pin");
    if (out == &c->pin[1])
        n = n ? sq_lib_next(t, n, "pin") : NULL;
    return n && out->is_output && !in->is_output && isfinite(out->most) && in->cap > 0 &&
           has_text(t, n, "function", in->name);
}

static int by_drive(const void *a, const void *b)
{
    const struct buffer *x = a, *y = b;
    return x->most != y->most ? (x->most < y->most ? -1 : 1)
                              : (x->area > y->area) - (x->area < y->area);
}

static enum sq_status add_buffer(struct work *w, const struct cell *c)
{
    const struct sq_lib_cell *own = sq_synth_cell(w->s, w->b, c->name);
    SQ_TRY(SQ_GROW(w->buffer, w->n_kinds, w->err, "a netlist"));
    const bool second = c->pin[1].is_output;
    if (own)
        w->buffer[w->n_kinds++] = (struct buffer){.cell = w->n_cells,
                                                  .in = !second,
                                                  .out = second,
                                                  .most = c->pin[second].most,
                                                  .cap = c->pin[!second].cap,
                                                  .area = own->area};
    return SQ_OK;
}

// Appends the cells of a library, and to the buffers those that are some.
static enum sq_status read_library(struct work *w, const struct sq_liberty *lib)
{
    SQ_CLOSED(sq_lib_tree_free) struct sq_lib_tree all = {0};
    const char *const end = lib->text + lib->nbytes;
    SQ_TRY(sq_lib_tree_read(&all, lib->text, end, "cell", w->err));
    const double unit = sq_lib_cap_unit(&all);
    if (lib == &w->s->lib)
        w->port_most = PORT_GATES * unit * lib->nand2_input_cap;
    enum sq_status status = SQ_OK;
    for (const struct sq_lib_node *n = sq_lib_child(&all, all.node, "cell"); n && status == SQ_OK;
         n = sq_lib_next(&all, n, "cell")) {
        SQ_CLOSED(sq_lib_tree_free) struct sq_lib_tree t = {0};
        status = SQ_GROW(w->cell, w->n_cells, w->err, "a netlist");
        if (status != SQ_OK)
            break;
        w->cell[w->n_cells] = (struct cell){.n_pins = 0};
        sq_lib_unquote(n->text, w->cell[w->n_cells].name, SQ_LIB_NAME_LEN);
        status = sq_lib_tree_read(&t, n->name.at, end, "timing", w->err);
        if (status != SQ_OK)
            break;
        struct cell *const c = &w->cell[w->n_cells];
        status = read_pins(&t, unit, w->share, c, w->err);
        c->gate = gate_of(&t, c);
        c->is_usable = !has_text(&t, t.node, "dont_use", "true");
        if (status == SQ_OK && is_buffer(&t, c))
            status = add_buffer(w, c);
        w->n_cells++;
    }
    return status;
}

// ---- what a pin is ----------------------------------------------------------------------------

static const struct module *find_done(const struct work *w, const char *name)
{
    for (size_t i = 0; i < w->n_done; i++)
        if (strcmp(w->done[i].name, name) == 0)
            return &w->done[i];
    return NULL;
}

static const struct cell *find_cell(const struct work *w, const char *type)
{
    for (size_t c = 0; c < w->n_cells; c++)
        if (strcmp(w->cell[c].name, type) == 0)
            return &w->cell[c];
    return NULL;
}

static const struct pin *pin_of(const struct cell *c, const char *name)
{
    for (size_t i = 0; c && i < c->n_pins; i++)
        if (strcmp(c->pin[i].name, name) == 0)
            return &c->pin[i];
    return NULL;
}

// Pin `name` of a cell or bit of a port of a module; NULL: there is none.
static const struct pin *find_pin(const struct work *w, const char *type, const char *name,
                                  size_t bit)
{
    const struct module *m = find_done(w, type);
    for (size_t i = 0; m && i < m->n_ports; i++)
        if (strcmp(m->port[i].name, name) == 0)
            return bit < m->port[i].n ? &m->port[i].bit[bit] : NULL;
    return m ? NULL : pin_of(find_cell(w, type), name);
}

// ---- the nets of a module ---------------------------------------------------------------------

// Called with each bit of each pin that is joined to a net, and with the bits of ports, which have no cell.
typedef enum sq_status each_bit(struct work *w, struct nets *n, json_t *cell, const char *pin,
                                json_t *bits, size_t index, size_t net);

static enum sq_status walk_bits(struct work *w, struct nets *n, json_t *cell, const char *pin,
                                json_t *bits, each_bit *each)
{
    for (size_t i = 0; i < json_array_size(bits); i++) {
        const json_t *const bit = json_array_get(bits, i);
        if (json_is_integer(bit))
            SQ_TRY(each(w, n, cell, pin, bits, i, (size_t)json_integer_value(bit)));
    }
    return SQ_OK;
}

static enum sq_status walk(struct work *w, struct nets *n, const json_t *module, each_bit *each)
{
    const char *name, *pin;
    json_t *cell, *bits;
    json_object_foreach(json_object_get(module, "ports"), name, cell)
    {
        const bool is_input =
            strcmp(json_string_value(json_object_get(cell, "direction")), "input") == 0;
        SQ_TRY(walk_bits(w, n, NULL, is_input ? name : NULL, json_object_get(cell, "bits"), each));
    }
    w->at_pin = 0;
    json_object_foreach(json_object_get(module, "cells"), name, cell)
    {
        json_object_foreach(json_object_get(cell, "connections"), pin, bits)
        {
            SQ_TRY(walk_bits(w, n, cell, pin, bits, each));
            w->at_pin++;
        }
    }
    return SQ_OK;
}

static enum sq_status count_bit(struct work *w, struct nets *n, json_t *cell, const char *pin,
                                json_t *bits, size_t index, size_t net)
{
    (void)w, (void)cell, (void)pin, (void)bits, (void)index;
    n->n = net >= n->n ? net + 1 : n->n;
    n->n_sinks++;
    return SQ_OK;
}

static enum sq_status add_bit(struct work *w, struct nets *n, json_t *cell, const char *pin,
                              json_t *bits, size_t index, size_t net)
{
    struct net *const at = &n->net[net];
    const struct sq_synth_loads *const l = w->loads;
    const double slack = l ? l->slack[w->at_pin] : 0;
    if (!cell) {
        at->most = pin ? w->port_most : at->most;
        return SQ_OK;
    }
    const char *const type = json_string_value(json_object_get(cell, "type"));
    const struct pin *const p = find_pin(w, type, pin, index);
    if (!p)
        return SQ_FAIL(w->err, SQ_ERR_UNSUPPORTED, "the library has no pin %.60s of %.60s", pin,
                       type);
    if (p->is_output) {
        at->most = p->most;
        at->driver = cell;
        at->pin = p;
        at->slack = slack;
        return SQ_OK;
    }
    at->load += p->cap;
    at->is_clock |= p->is_clock;
    at->n_sinks++;
    n->sink[n->n_sinks] = (struct sink){
        bits, index, net, n->n_sinks, p->cap, !l ? 0 : slack < l->late ? -1 : l->order[w->at_pin]};
    n->n_sinks++;
    return SQ_OK;
}

static int by_net(const void *a, const void *b)
{
    const struct sink *x = a, *y = b;
    return x->net != y->net       ? (x->net < y->net ? -1 : 1)
           : x->order != y->order ? (x->order < y->order ? -1 : 1)
                                  : (x->place < y->place ? -1 : 1);
}

static enum sq_status read_nets(struct work *w, const json_t *module, struct nets *n)
{
    SQ_TRY(walk(w, n, module, count_bit));
    n->net = calloc(n->n + 1, sizeof *n->net);
    n->sink = calloc(n->n_sinks + 1, sizeof *n->sink);
    n->n_bits = n->n;
    n->n_sinks = 0;
    SQ_NEED(n->net && n->sink, w->err, "a netlist");
    SQ_TRY(walk(w, n, module, add_bit));
    qsort(n->sink, n->n_sinks, sizeof *n->sink, by_net);
    for (size_t i = n->n_sinks; i-- > 0;) {
        struct net *const at = &n->net[n->sink[i].net];
        const double wire = w->loads ? fmax(w->loads->farads[n->sink[i].net], 0) : 0;
        at->first = i;
        n->sink[i].cap += wire / (double)at->n_sinks;
        at->load += wire / (double)at->n_sinks;
    }
    return SQ_OK;
}

// ---- trees ------------------------------------------------------------------------------------

static enum sq_status put_buffer(struct work *w, json_t *cells, const struct buffer *b, size_t from,
                                 size_t to, json_t **input)
{
    const struct cell *const c = &w->cell[b->cell];
    char name[40];
    snprintf(name, sizeof name, "$fanout$%zu", w->n_made++);
    *input = json_pack("[I]", (json_int_t)from);
    json_t *const cell =
        json_pack("{s:i, s:s, s:{}, s:{}, s:{s:s, s:s}, s:{s:O, s:[I]}}", "hide_name", 1, "type",
                  c->name, "parameters", "attributes", "port_directions", c->pin[b->in].name,
                  "input", c->pin[b->out].name, "output", "connections", c->pin[b->in].name, *input,
                  c->pin[b->out].name, (json_int_t)to);
    json_decref(*input);
    SQ_NEED(cell && json_object_set_new(cells, name, cell) == 0, w->err, "a netlist");
    return SQ_OK;
}

// Puts buffers behind a net, levels of equal shares, until what is left is not too much for its driver. Late sinks
// stay where they are, if the driver has as much for others.
static enum sq_status grow(struct work *w, json_t *cells, struct nets *n, size_t net)
{
    struct net *const at = &n->net[net];
    struct sink *const sink = n->sink + at->first;
    size_t count = at->n_sinks, kept = 0;
    double held = 0;
    while (kept < count && sink[kept].order < 0)
        held += sink[kept++].cap;
    if (kept == count || held > at->most / 2)
        kept = 0, held = 0;
    while (at->load > at->most && count > kept) {
        const struct buffer *b = w->buffer;
        while (b + 1 < w->buffer + w->n_kinds && b->most < at->load - held)
            b++;
        const double all = at->load - held, share = all / ceil(all / b->most) * (1 + 1e-9);
        double left = held;
        size_t made = kept;
        for (size_t i = kept; i < count;) {
            json_t *input;
            double load = 0;
            SQ_TRY(put_buffer(w, cells, b, net, n->n_bits, &input));
            do {
                load += sink[i].cap;
                json_array_set_new(sink[i].bits, sink[i].index,
                                   json_integer((json_int_t)n->n_bits));
                i++;
            } while (i < count && load + sink[i].cap <= share);
            n->n_bits++;
            sink[made++] = (struct sink){input, 0, net, 0, b->cap, 0};
            left += b->cap;
        }
        const bool is_less = left < at->load;
        at->load = left;
        count = made;
        if (!is_less)
            break;
    }
    return SQ_OK;
}

// The smallest larger size of a driver that drives so much, else the one that drives most.
static const struct cell *size_up(const struct work *w, const struct cell *c, const struct pin *pin,
                                  double load)
{
    const struct cell *best = NULL;
    double had = pin->most;
    for (size_t i = 0; i < w->n_cells; i++) {
        const struct cell *const d = &w->cell[i];
        if (!d->is_usable || !sq_digest_is_equal(d->gate, c->gate))
            continue;
        const double have = pin_of(d, pin->name)->most;
        if (have > pin->most && (!best || (had < load ? have > had : have >= load && have < had)))
            best = d, had = have;
    }
    return best;
}

// A net that is heavier than its driver may have it: a larger driver, and buffers for what that leaves.
static enum sq_status relieve(struct work *w, json_t *cells, struct nets *n, size_t net)
{
    struct net *const at = &n->net[net];
    const double size_for = w->loads ? at->load * w->share / w->loads->share : at->load;
    if (!(at->most > 0 && size_for > at->most) || at->is_clock)
        return SQ_OK;
    if (w->loads && (!at->driver || at->slack >= w->loads->late || w->loads->farads[net] < 0))
        return SQ_OK;
    const struct cell *const larger =
        w->loads ? size_up(w, find_cell(w, json_string_value(json_object_get(at->driver, "type"))),
                           at->pin, size_for)
                 : NULL;
    if (larger) {
        at->most = pin_of(larger, at->pin->name)->most;
        SQ_NEED(json_object_set_new(at->driver, "type", json_string(larger->name)) == 0, w->err,
                "a netlist");
        w->n_sized++;
    }
    return grow(w, cells, n, net);
}

// What the ports of the module cost the one around it, or may drive there.
static enum sq_status show_ports(struct work *w, const char *name, const json_t *module,
                                 const struct nets *n)
{
    const char *key;
    json_t *port;
    SQ_TRY(SQ_GROW(w->done, w->n_done, w->err, "a netlist"));
    struct module *const m = &w->done[w->n_done++];
    json_t *const ports = json_object_get(module, "ports");
    *m =
        (struct module){.name = name, .port = calloc(json_object_size(ports) + 1, sizeof *m->port)};
    SQ_NEED(m->port, w->err, "a netlist");
    json_object_foreach(ports, key, port)
    {
        json_t *const bits = json_object_get(port, "bits");
        struct port *const p = &m->port[m->n_ports++];
        *p = (struct port){key, json_array_size(bits),
                           calloc(json_array_size(bits) + 1, sizeof *p->bit)};
        SQ_NEED(p->bit, w->err, "a netlist");
        for (size_t i = 0; i < p->n; i++) {
            const struct net *const at = &n->net[json_integer_value(json_array_get(bits, i))];
            p->bit[i] = (struct pin){
                .is_output =
                    strcmp(json_string_value(json_object_get(port, "direction")), "output") == 0,
                .is_clock = at->is_clock,
                .cap = at->load,
                .most = fmax(at->most - at->load, w->buffer[0].cap)};
        }
    }
    return SQ_OK;
}

// A module whose instances hold cells; NULL: a cell, or a memory.
static json_t *inside(const struct work *w, const char *type)
{
    json_t *const module = json_object_get(w->modules, type);
    return json_object_get(json_object_get(module, "attributes"), "blackbox") ? NULL : module;
}

// The modules in it first: what their ports cost is known then.
static enum sq_status visit(struct work *w, const char *name, json_t *module)
{
    const char *key;
    json_t *cell, *const cells = json_object_get(module, "cells");
    json_object_foreach(cells, key, cell)
    {
        const char *const type = json_string_value(json_object_get(cell, "type"));
        json_t *const child = inside(w, type);
        if (child && !find_done(w, type))
            SQ_TRY(visit(w, type, child));
    }
    struct nets n = {.n = 2};
    enum sq_status status = read_nets(w, module, &n);
    for (size_t i = 2; i < n.n && status == SQ_OK; i++)
        status = relieve(w, cells, &n, i);
    SQ_THEN(status, show_ports(w, name, module, &n));
    free(n.net);
    free(n.sink);
    return status;
}

static void free_work(struct work *w)
{
    for (size_t i = 0; i < w->n_cells; i++)
        free(w->cell[i].pin);
    for (size_t i = 0; i < w->n_done; i++) {
        for (size_t p = 0; p < w->done[i].n_ports; p++)
            free(w->done[i].port[p].bit);
        free(w->done[i].port);
    }
    free(w->cell);
    free(w->done);
    free(w->buffer);
}

static enum sq_status change(struct work *w, json_t *root)
{
    const char *key;
    json_t *module;
    SQ_TRY(read_library(w, &w->s->lib));
    if (w->b->macro)
        SQ_TRY(read_library(w, &w->b->macro->lib));
    if (w->n_kinds == 0)
        return SQ_OK;
    qsort(w->buffer, w->n_kinds, sizeof *w->buffer, by_drive);
    w->modules = json_object_get(root, "modules");
    json_object_foreach(w->modules, key, module)
    {
        if (inside(w, key) && !find_done(w, key))
            SQ_TRY(visit(w, key, module));
    }
    return SQ_OK;
}

enum sq_status sq_synth_buffer(const struct sq_synth *s, const struct sq_synth_block *b,
                               const char *netlist, struct sq_error *err)
{
    json_auto_t *root = NULL;
    struct work w = {.s = s, .b = b, .share = SHARE, .err = err};
    SQ_TRY(sq_json_load(netlist, (size_t)NETLIST_MAX_MIB << 20, &root, err));
    enum sq_status status = change(&w, root);
    if (status == SQ_OK && json_dump_file(root, netlist, JSON_COMPACT) != 0)
        status = SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s'", sq_path_tail(netlist));
    free_work(&w);
    return status;
}

enum sq_status sq_synth_repair(const struct sq_synth *s, const struct sq_synth_block *b,
                               json_t *root, const struct sq_synth_loads *loads, size_t n[2],
                               struct sq_error *err)
{
    struct work w = {
        .s = s, .b = b, .share = fmax(loads->share, LEAST), .loads = loads, .err = err};
    // Names of buffers go on from those that are there.
    w.n_made = json_object_size(json_object_get(
        json_object_iter_value(json_object_iter(json_object_get(root, "modules"))), "cells"));
    const size_t had = w.n_made;
    const enum sq_status status = change(&w, root);
    n[0] = w.n_sized;
    n[1] = w.n_made - had;
    free_work(&w);
    return status;
}
