// SPDX-License-Identifier: Apache-2.0
// Verilog, DEF and SPEF of a placement (sq_spef.h).
#include "sim/place/sq_spef.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sim/place/sq_steiner.h"

// The port that gives a net its name, which is what drives it, if that is one; SQ_PLACE_NONE: none.
static uint32_t port_of(const struct sq_place *p, uint32_t net)
{
    const struct sq_place_net *const n = &p->net[net];
    uint32_t port = SQ_PLACE_NONE;
    for (uint32_t i = 0; i < n->n; i++) {
        const struct sq_place_pin *const pin = &p->pin[p->by_net[n->first + i]];
        if (!pin->lef && (port == SQ_PLACE_NONE || pin->is_driver))
            port = pin->cell - (uint32_t)p->n_cells;
    }
    return port;
}

static void put_net(FILE *out, const struct sq_place *p, uint32_t net)
{
    const uint32_t port = port_of(p, net);
    if (net < 2)
        fprintf(out, "1'b%u", net);
    else if (port != SQ_PLACE_NONE)
        fprintf(out, "p%u", port);
    else
        fprintf(out, "n%u", net);
}

// ---- Verilog ----------------------------------------------------------------------------------

// How many pins from number k on are one bus, "A[0]", "A[1]", ...
static uint32_t width_of(const struct sq_place *p, const struct sq_place_cell *c, uint32_t k)
{
    const struct sq_place_pin *const pin = p->pin + c->pin;
    const char *const name = pin[k].lef->name;
    const size_t length = strcspn(name, "[");
    uint32_t n = 1;
    while (name[length] && k + n < c->n_pins &&
           strncmp(pin[k + n].lef->name, name, length + 1) == 0)
        n++;
    return n;
}

void sq_spef_verilog(FILE *out, const struct sq_place *p, const char *module)
{
    fprintf(out, "module %s (", module);
    for (size_t i = 0; i < p->n_ports; i++)
        fprintf(out, "%sp%zu", i ? ", " : "", i);
    fprintf(out, ");\n");
    for (uint32_t i = 0; i < p->n_ports; i++) {
        const struct sq_place_pin *const pin = &p->pin[p->cell[p->n_cells + i].pin];
        fprintf(out, "%s p%u;\n", pin->is_driver ? "input" : "output", i);
        if (pin->net > 1 && port_of(p, pin->net) == i)
            continue;
        fprintf(out, "assign p%u = ", i);
        put_net(out, p, pin->net);
        fprintf(out, ";\n");
    }
    for (uint32_t i = 0; i < p->n_nets; i++)
        if (p->net[i].n > 0 && port_of(p, i) == SQ_PLACE_NONE)
            fprintf(out, "wire n%u;\n", i);
    for (size_t i = 0; i < sq_place_n_all(p); i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        if (!c->macro)
            continue;
        fprintf(out, "%s c%zu (", c->macro->name, i);
        for (uint32_t k = 0; k < c->n_pins;) {
            const uint32_t n = width_of(p, c, k);
            fprintf(out, "%s.%.*s(%s", k ? ", " : "",
                    (int)strcspn(p->pin[c->pin + k].lef->name, "["), p->pin[c->pin + k].lef->name,
                    n > 1 ? "{" : "");
            for (uint32_t b = n; b-- > 0;) {
                put_net(out, p, p->pin[c->pin + k + b].net);
                fputs(b ? ", " : n > 1 ? "}" : "", out);
            }
            fputc(')', out);
            k += n;
        }
        fprintf(out, ");\n");
    }
    fprintf(out, "endmodule\n");
}

// ---- DEF --------------------------------------------------------------------------------------

static long def_units(double um)
{
    return lrint(um * SQ_SPEF_DEF_UNITS);
}

static void put_def_cells(FILE *out, const struct sq_place *p)
{
    static const char *const orientation[2][2] = {{"N", "FN"}, {"FS", "S"}};
    fprintf(out, "COMPONENTS %zu ;\n", p->n_cells + p->n_blocks);
    for (size_t i = 0; i < sq_place_n_all(p); i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        const bool is_upside_down = i < p->n_cells && lrint(c->y / p->lef->row_height) % 2;
        if (c->macro)
            fprintf(out, "- c%zu %s + PLACED ( %ld %ld ) %s ;\n", i, c->macro->name,
                    def_units(c->x), def_units(c->y), orientation[is_upside_down][c->is_flipped]);
    }
    fprintf(out, "END COMPONENTS\nPINS %zu ;\n", p->n_ports);
    for (size_t i = 0; i < p->n_ports; i++) {
        const struct sq_place_cell *const c = &p->cell[p->n_cells + i];
        const struct sq_place_pin *const pin = &p->pin[c->pin];
        fprintf(out, "- p%zu + NET ", i);
        put_net(out, p, pin->net);
        fprintf(out, " + DIRECTION %s + USE SIGNAL + PLACED ( %ld %ld ) N ;\n",
                pin->is_driver ? "INPUT" : "OUTPUT", def_units(c->x), def_units(c->y));
    }
    fprintf(out, "END PINS\n");
}

void sq_spef_def(FILE *out, const struct sq_place *p, const char *module)
{
    const double site = p->lef->site_width;
    double extent[2];
    size_t n = 0;
    sq_place_extent(p, extent);
    fprintf(out,
            "VERSION 5.8 ;\nDIVIDERCHAR \"/\" ;\nBUSBITCHARS \"[]\" ;\nDESIGN %s ;\n"
            "UNITS DISTANCE MICRONS %d ;\nDIEAREA ( %ld 0 ) ( %ld %ld ) ;\n",
            module, SQ_SPEF_DEF_UNITS, def_units(extent[0]), def_units(extent[1]),
            def_units(p->height));
    for (size_t r = 0; r < p->n_rows; r++)
        fprintf(out, "ROW row%zu %s 0 %ld %s DO %ld BY 1 STEP %ld 0 ;\n", r, p->lef->site,
                def_units((double)r * p->lef->row_height), r % 2 ? "FS" : "N",
                lrint(floor(p->width / site + 1e-6)), def_units(site));
    put_def_cells(out, p);
    for (uint32_t i = 2; i < p->n_nets; i++)
        n += p->net[i].n > 0;
    fprintf(out, "NETS %zu ;\n", n);
    for (uint32_t i = 2; i < p->n_nets; i++) {
        const struct sq_place_net *const net = &p->net[i];
        if (net->n == 0)
            continue;
        fprintf(out, "- ");
        put_net(out, p, i);
        for (uint32_t k = 0; k < net->n; k++) {
            const struct sq_place_pin *const pin = &p->pin[p->by_net[net->first + k]];
            if (pin->lef)
                fprintf(out, " ( c%u %s )", pin->cell, pin->lef->name);
            else
                fprintf(out, " ( PIN p%zu )", pin->cell - p->n_cells);
        }
        fprintf(out, " ;\n");
    }
    fprintf(out, "END NETS\nEND DESIGN\n");
}

// ---- SPEF -------------------------------------------------------------------------------------

static void put_pin(FILE *out, const struct sq_place *p, const struct sq_place_pin *pin)
{
    if (pin->lef)
        fprintf(out, "c%u:%s", pin->cell, pin->lef->name);
    else
        fprintf(out, "p%zu", pin->cell - p->n_cells);
}

struct tree {
    const struct sq_place *p;
    uint32_t net, driver; // its place among the pins
    struct sq_steiner steiner;
};

// Node 0 is the driver, the others follow in the order of the net.
static const struct sq_place_pin *pin_of(const struct tree *t, size_t node)
{
    const size_t i = node == 0 ? t->driver : node <= t->driver ? node - 1 : node;
    return &t->p->pin[t->p->by_net[t->p->net[t->net].first + i]];
}

static void put_node(FILE *out, const struct tree *t, size_t node)
{
    if (node < t->steiner.n_pins) {
        put_pin(out, t->p, pin_of(t, node));
        return;
    }
    put_net(out, t->p, t->net);
    fprintf(out, ":%zu", node - t->steiner.n_pins + 1);
}

static enum sq_status grow(struct tree *t, struct sq_error *err)
{
    const struct sq_place_net *const net = &t->p->net[t->net];
    SQ_TRY(sq_steiner_reserve(&t->steiner, net->n, err));
    t->driver = 0;
    for (uint32_t i = 0; i < net->n; i++)
        if (t->p->pin[t->p->by_net[net->first + i]].is_driver)
            t->driver = i;
    for (uint32_t i = 0; i < net->n; i++) {
        const struct sq_place_pin *const pin = pin_of(t, i);
        t->steiner.node[i].x = sq_place_x(t->p, pin);
        t->steiner.node[i].y = sq_place_y(t->p, pin);
    }
    sq_steiner_make(&t->steiner);
    return SQ_OK;
}

// Half of the wires that end in a node, in femtofarads.
static double farads_at(const struct tree *t, size_t node, double per_um)
{
    double um = sq_steiner_wire(&t->steiner, node);
    for (size_t i = 0; i < t->steiner.n; i++)
        um += i != node && t->steiner.node[i].parent == node ? sq_steiner_wire(&t->steiner, i) : 0;
    return 1e15 * per_um * um / 2;
}

static void put_tree(FILE *out, const struct tree *t, const struct sq_spef_layer *layer,
                     double length)
{
    const double least = 1e-3; // ohm: OpenSTA has no node without one
    fprintf(out, "*D_NET ");
    put_net(out, t->p, t->net);
    fprintf(out, " %.6g\n*CONN\n", 1e15 * layer->farad_per_um * length);
    for (size_t i = 0; i < t->steiner.n_pins; i++) {
        const struct sq_place_pin *const pin = pin_of(t, i);
        const bool is_out = pin->lef ? pin->is_driver : !pin->is_driver;
        fprintf(out, pin->lef ? "*I " : "*P ");
        put_pin(out, t->p, pin);
        fprintf(out, " %c\n", is_out ? 'O' : 'I');
    }
    fprintf(out, "*CAP\n");
    for (size_t i = 0; i < t->steiner.n; i++) {
        fprintf(out, "%zu ", i + 1);
        put_node(out, t, i);
        fprintf(out, " %.6g\n", farads_at(t, i, layer->farad_per_um));
    }
    fprintf(out, "*RES\n");
    for (size_t i = 1; i < t->steiner.n; i++) {
        fprintf(out, "%zu ", i);
        put_node(out, t, t->steiner.node[i].parent);
        fputc(' ', out);
        put_node(out, t, i);
        fprintf(out, " %.6g\n", fmax(least, layer->ohm_per_um * sq_steiner_wire(&t->steiner, i)));
    }
    fprintf(out, "*END\n");
}

static bool has_wires(const struct sq_place *p, const struct sq_place_net *net)
{
    bool has_driver = false;
    for (uint32_t i = 0; i < net->n; i++)
        has_driver = has_driver || p->pin[p->by_net[net->first + i]].is_driver;
    return has_driver && net->n > 1 && !net->is_ideal;
}

enum sq_status sq_spef_write(FILE *out, const struct sq_place *p, const char *module,
                             const struct sq_spef_layer *layer, struct sq_spef_sum *sum,
                             struct sq_error *err)
{
    struct tree t = {.p = p};
    enum sq_status status = SQ_OK;
    *sum = (struct sq_spef_sum){.of_net = sum->of_net};
    if (out)
        fprintf(out,
                "*SPEF \"IEEE 1481-1998\"\n*DESIGN \"%s\"\n*DATE \"\"\n*VENDOR \"sqsim\"\n"
                "*PROGRAM \"sqsim\"\n*VERSION \"1\"\n*DESIGN_FLOW \"\"\n*DIVIDER /\n*DELIMITER :\n"
                "*BUS_DELIMITER [ ]\n*T_UNIT 1 NS\n*C_UNIT 1 FF\n*R_UNIT 1 OHM\n*L_UNIT 1 HENRY\n",
                module);
    for (t.net = 2; t.net < p->n_nets && status == SQ_OK; t.net++) {
        if (p->net[t.net].n < 2)
            continue;
        status = grow(&t, err);
        const double length = status == SQ_OK ? sq_steiner_length(&t.steiner) : 0;
        sum->length_um += length;
        if (status != SQ_OK || !has_wires(p, &p->net[t.net]))
            continue;
        sum->farads += layer->farad_per_um * length;
        sum->n_nets++;
        if (sum->of_net)
            sum->of_net[t.net] = layer->farad_per_um * length;
        if (out)
            put_tree(out, &t, layer, length);
    }
    sq_steiner_free(&t.steiner);
    return status;
}
