// SPDX-License-Identifier: Apache-2.0
// Adds up switching, internal energy and leakage over nets and gates (sq_energy.h).
#include "sim/energy/sq_energy.h"

#include <string.h>

// What a gate costs is added here.
struct sum {
    const struct sq_toggle *t;
    const struct sq_netlist *n;
    double volts, seconds; // of a cycle
    double *to;            // of the part of the gate
    double *pe;            // NULL: it is in none
};

static void add(struct sum *s, enum sq_energy_kind kind, double joules)
{
    s->to[kind] += joules;
    if (s->pe)
        s->pe[kind] += joules;
}

// ---- internal energy --------------------------------------------------------------------------

// The slew with which an input makes `edge` of an output.
static double slew_of(const struct sq_netlist *n, const struct sq_gate *g,
                      const struct sq_lib_pin *pin, unsigned related, unsigned edge)
{
    const double *slew = n->net[g->net[related]].slew;
    int cause = -1;
    for (size_t i = 0; i < pin->n_timing; i++)
        if (pin->timing[i].related == related) {
            const int found = sq_lib_cause(&pin->timing[i], edge);
            if (i > 0 && cause >= 0 && found != cause) { // both ways, by state
                cause = -1;
                break;
            }
            cause = found;
        }
    return cause >= 0 ? slew[cause] : (slew[0] + slew[1]) / 2;
}

static double group_energy(const struct sum *s, const struct sq_gate *g, unsigned pin,
                           const struct sq_lib_power *p, unsigned edge)
{
    const struct sq_lib_pin *own = &g->model->pin[pin];
    const struct sq_net *net = &s->n->net[g->net[pin]];
    const bool is_twice = g->model->is_listed_twice && own->is_output;
    const double slew =
        p->related >= 0 ? slew_of(s->n, g, own, (unsigned)p->related, edge) : net->slew[edge];
    const double load = own->is_output && !is_twice ? net->load : 0;
    return sq_lib_table_at(&p->table[edge], slew, load) * (is_twice ? .5 : 1);
}

// Each change of an output costs the mean of what the groups of its causes cost.
static double output_energy(const struct sum *s, const struct sq_gate *g, unsigned pin,
                            const uint64_t *count, unsigned edge, unsigned supply)
{
    const struct sq_lib_pin *own = &g->model->pin[pin];
    double sum = 0, weight = 0, plain = 0, groups = 0;
    for (size_t i = 0; i < own->n_power; i++) {
        const struct sq_lib_power *p = &own->power[i];
        if (p->supply != supply || p->table[edge].n_slew == 0)
            continue;
        const double joules = group_energy(s, g, pin, p, edge);
        const double n = (double)count[2 * i + edge];
        sum += n * joules;
        weight += n;
        plain += joules;
        groups++;
    }
    const double changes = (double)s->t->net[g->net[pin]][edge];
    return groups == 0 ? 0 : changes * (weight > 0 ? sum / weight : plain / groups);
}

static double input_energy(const struct sum *s, const struct sq_gate *g, unsigned pin,
                           const uint64_t *count, unsigned edge)
{
    const struct sq_lib_pin *own = &g->model->pin[pin];
    double sum = 0;
    for (size_t i = 0; i < own->n_power; i++)
        if (count[2 * i + edge])
            sum += (double)count[2 * i + edge] * group_energy(s, g, pin, &own->power[i], edge);
    return sum;
}

static void add_internal(struct sum *s, uint32_t number)
{
    const struct sq_gate *g = &s->n->gate[number];
    const struct sq_lib_model *c = g->model;
    const uint64_t *count = s->t->count + s->t->at[number];
    for (unsigned p = 0; p < c->n_pins; p++) {
        const bool is_clock = c->is_flop && p == c->clock;
        double joules = 0;
        for (unsigned e = 0; e < 2; e++)
            if (!c->pin[p].is_output)
                joules += input_energy(s, g, p, count, e);
            else
                for (unsigned supply = 0; supply < SQ_LIB_SUPPLIES; supply++)
                    joules += output_energy(s, g, p, count, e, supply);
        add(s, is_clock ? SQ_ENERGY_CLOCK : SQ_ENERGY_INTERNAL, joules);
        count += 2 * c->pin[p].n_power;
    }
}

// ---- leakage ----------------------------------------------------------------------------------

// Watts in the mean of the states; where none of them holds, those of the cell.
static double watts(const struct sum *s, uint32_t number)
{
    const struct sq_lib_model *c = s->n->gate[number].model;
    const uint64_t *count = s->t->count + s->t->at[number];
    const double looks = 2. * SQ_LANES * (double)s->t->cycles;
    double sum = 0, first = 0;
    for (size_t p = 0; p < c->n_pins; p++)
        count += 2 * c->pin[p].n_power;
    if (c->n_leak == 0 || looks == 0)
        return c->leakage;
    for (size_t i = 0; i < c->n_leak; i++) {
        const double share = (double)(count[2 * i] + count[2 * i + 1]) / looks;
        sum += share * c->leak[i].watts;
        first += c->leak[i].supply == c->leak[0].supply ? share : 0;
    }
    return first < 1 ? sum + (1 - first) * c->leakage : sum;
}

// ---- together ---------------------------------------------------------------------------------

static void add_net(struct sum *s, uint32_t net)
{
    const double changes = (double)(s->t->net[net][SQ_LIB_RISE] + s->t->net[net][SQ_LIB_FALL]);
    const struct sq_net *const n = &s->n->net[net];
    const double pins = n->load - n->wire;
    add(s, SQ_ENERGY_SWITCHING, changes * pins * s->volts * s->volts / 2);
    add(s, SQ_ENERGY_WIRES, changes * n->wire * s->volts * s->volts / 2);
}

// Nets of input ports.
static void add_ports(struct sum *s)
{
    for (size_t i = 0; i < s->n->n_ports; i++)
        for (size_t b = 0; s->n->port[i].is_input && b < s->n->port[i].n_bits; b++)
            if (s->n->port[i].net[b] != s->n->clock)
                add_net(s, s->n->port[i].net[b]);
}

// A rise of the clock in each cycle, by the pin that it drives.
static void add_clock_pin(struct sum *s, uint32_t number)
{
    const struct sq_lib_model *c = s->n->gate[number].model;
    const double cycles = (double)s->t->cycles * SQ_LANES;
    if (c->is_flop)
        add(s, SQ_ENERGY_CLOCK, cycles * c->pin[c->clock].cap * s->volts * s->volts);
}

void sq_energy_of(const struct sq_toggle *t, const struct sq_lib_models *models, double period,
                  const uint8_t *part, struct sq_energy *e)
{
    const struct sq_netlist *n = t->n;
    struct sum s = {.t = t, .n = n, .volts = models->volts};
    s.seconds = period * (double)t->cycles * SQ_LANES;
    memset(e, 0, sizeof *e);
    s.to = e->part[SQ_PART_INPUTS];
    add_ports(&s);
    for (uint32_t g = 0; g < n->n_gates; g++) {
        const struct sq_gate *gate = &n->gate[g];
        s.to = e->part[part[g] & ~SQ_PART_IN_PE];
        s.pe = part[g] & SQ_PART_IN_PE ? e->pe : NULL;
        add_internal(&s, g);
        add_clock_pin(&s, g);
        add(&s, SQ_ENERGY_LEAKAGE, watts(&s, g) * s.seconds);
        for (size_t p = 0; p < gate->model->n_pins; p++)
            if (gate->model->pin[p].is_output)
                add_net(&s, gate->net[p]);
    }
    for (unsigned p = 0; p < SQ_N_PARTS; p++)
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
            e->total += e->part[p][k];
    for (size_t i = 0; i < n->n_nets; i++)
        e->changes += (double)(t->net[i][SQ_LIB_RISE] + t->net[i][SQ_LIB_FALL]);
}
