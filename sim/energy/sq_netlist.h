// SPDX-License-Identifier: Apache-2.0
// A mapped netlist (sq_synth_mapped) with the cells of its library: gates in the order in which they
// settle, what each net drives, and how fast it is.
#pragma once

#include <stdint.h>

#include "sim/synth/sq_liberty_power.h"

enum { SQ_NET_NONE = UINT32_MAX };

struct sq_net {
    const char *name; // of the part that drives it, where it has one; "" = only Yosys named it
    uint32_t gate;    // that drives it, SQ_NET_NONE: a port, or a constant
    uint32_t pin;
    uint32_t sink, n_sinks; // in sq_netlist.sink
    double load;            // farads: input pins, the wire and, of an output port, what ports drive
    double wire;            // farads of it
    double slew[2];         // seconds, by edge
};

struct sq_sink {
    uint32_t gate, pin;
};

struct sq_gate {
    const char *name; // with the path of its part
    const struct sq_lib_model *model;
    uint32_t *net; // of each pin
};

struct sq_netlist_port {
    const char *name;
    bool is_input;
    size_t n_bits;
    uint32_t *net; // bit 0 first; owned
};

struct sq_netlist {
    size_t n_nets, n_gates, n_ports, n_order, n_flops;
    struct sq_net *net; // 0 and 1 are the constants
    struct sq_gate *gate;
    struct sq_netlist_port *port;
    struct sq_sink *sink;
    uint32_t *order; // gates without state, each behind those that drive it
    uint32_t *flop;  // the others
    uint32_t clock;  // net of the clock, SQ_NET_NONE: there are no flip-flops
    // private
    uint32_t *pins;
    void *root; // of jansson, which owns the names
};

// What lies around the netlist, for loads and slews.
struct sq_netlist_edge {
    double slew;        // seconds, of ports and of the clock
    double output_load; // farads, of an output port
    const double *wire; // farads of each net, by the numbers of Yosys; NULL: nets have no wires
    size_t n_wires;
};

// Reads the JSON of sq_synth_mapped, in which `clock` is the port of the clock (NULL: no flip-flops
// may be there). SQ_ERR_UNSUPPORTED: cells that sq_lib_models_get refuses, flip-flops of the falling edge, a second clock, a loop of
// gates, two drivers of a net. SQ_ERR_DAMAGED, SQ_ERR_MEMORY, SQ_ERR_IO.
enum sq_status sq_netlist_read(struct sq_netlist *n, const char *path, const char *clock,
                               struct sq_lib_models *models, const struct sq_netlist_edge *edge,
                               struct sq_error *err);
void sq_netlist_free(struct sq_netlist *n);

// NULL: there is none.
const struct sq_netlist_port *sq_netlist_port(const struct sq_netlist *n, const char *name);

// The edge of the input that makes `edge` of the output of a delay: -1 where either does.
int sq_lib_cause(const struct sq_lib_timing *t, enum sq_lib_edge edge);
