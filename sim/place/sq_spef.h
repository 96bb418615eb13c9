// SPDX-License-Identifier: Apache-2.0
// A placed netlist for other tools: its cells as Verilog, its wires as SPEF, its places as DEF. In all, cell 7 is called c7, net 9 n9 and
// port 3 p3, by their numbers in struct sq_place (ports from 0 on), so that no name has to be quoted in any language.
#pragma once

#include <stdio.h>

#include "sim/place/sq_place.h"

// What a micrometre of wire has.
struct sq_spef_layer {
    double ohm_per_um, farad_per_um;
};

// What was written, of all nets.
struct sq_spef_sum {
    double *
        of_net; // in: farads of each net's wire go there, 0 of those that have none here; NULL: nowhere
    double length_um; // with those that are ideal
    double farads;    // without them
    size_t n_nets;    // with wires
};

enum {
    SQ_SPEF_DEF_UNITS = 1000
}; // of a micrometre: what the LEF of SG13G2 has, half of Nangate45's

void sq_spef_verilog(FILE *out, const struct sq_place *p, const char *module);
// Rows, cells, ports, nets. Ports have places and no shapes, as the LEF reader keeps no layers.
void sq_spef_def(FILE *out, const struct sq_place *p, const char *module);
// The tree of each net that is not ideal and has a driver and a pin beside it (sq_steiner.h), in ohms and femtofarads:
// half of a wire's capacitance at each of its ends. `out` NULL: only the sums. SQ_ERR_MEMORY.
enum sq_status sq_spef_write(FILE *out, const struct sq_place *p, const char *module,
                             const struct sq_spef_layer *layer, struct sq_spef_sum *sum,
                             struct sq_error *err);
