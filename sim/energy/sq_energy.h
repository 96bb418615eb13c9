// SPDX-License-Identifier: Apache-2.0
// Joules of what a netlist has counted (sq_toggle.h), by the formula that static power analysis has:
//
//   switching   C V^2 / 2 for each change of a net; C: the input pins that it drives
//   wires       the same of its wire, where the netlist was placed (sim/place); else 0
//   internal    a table for each change of a pin, at the slew that comes in and the load that it drives
//   leakage     watts of the state, times time
//
// An output changes at times because of several inputs at once. Then it costs the mean of their
// tables. Everything is shared out to parts, which sum up to the whole to the last digit: the whole is
// their sum.
//
// Not there: the clock tree, memories, what crosses the ports outside.
#pragma once

#include "sim/energy/sq_toggle.h"
#include "sim/synth/sq_synth.h"

// By the instance or register that a gate works for (sq_energy_part.c).
enum sq_energy_part {
    SQ_PART_PRODUCTS,
    SQ_PART_SUMS,
    SQ_PART_SCALE,
    SQ_PART_ACCUMULATOR,
    SQ_PART_SELECT,
    SQ_PART_PE_OTHER, // of a PE, none of these
    SQ_PART_DECODE,   // of coded operands
    SQ_PART_MASK,     // of activations
    SQ_PART_OPERANDS, // their registers
    SQ_PART_BUFFERS,  // of streams: skid registers, banks that are being filled
    SQ_PART_OUTPUT,
    SQ_PART_CONTROL,
    SQ_PART_INPUTS, // nets of input ports
    SQ_N_PARTS
};
const char *sq_energy_part_name(enum sq_energy_part part);

enum sq_energy_kind {
    SQ_ENERGY_SWITCHING,
    SQ_ENERGY_INTERNAL,
    SQ_ENERGY_CLOCK,
    SQ_ENERGY_LEAKAGE,
    SQ_ENERGY_WIRES,
    SQ_N_ENERGIES
};
const char *sq_energy_kind_name(enum sq_energy_kind kind);

// Joules of all cycles that were counted.
struct sq_energy {
    double part[SQ_N_PARTS][SQ_N_ENERGIES]; // clock: clock pins and their net
    double pe[SQ_N_ENERGIES];               // of it what lies inside of PEs
    double total;                           // sum of `part`, in its order
    double changes;                         // of nets, rises and falls, without the clock
};

// `period` is that of the clock, in seconds: leakage only. `part`: of sq_energy_parts.
void sq_energy_of(const struct sq_toggle *t, const struct sq_lib_models *models, double period,
                  const uint8_t *part, struct sq_energy *e);

// Slew of ports and of the clock, seconds.
#define SQ_ENERGY_SLEW 50e-12

// What cells take whatever their operands do: clock pins in a cycle, with the mean of their states; watts. Cells that
// the library of `models` does not have, as memories, count nothing. Errors of sq_lib_models_get.
struct sq_energy_idle {
    double clock, leak; // joules; watts
};
enum sq_status sq_energy_idle_of(struct sq_lib_models *models, const struct sq_synth_cells *cell,
                                 size_t n, struct sq_energy_idle *idle, struct sq_error *err);

// The part of each gate, bit 7: inside of a PE. The caller frees *part. SQ_ERR_MEMORY.
enum { SQ_PART_IN_PE = 0x80 };
enum sq_status sq_energy_parts(const struct sq_netlist *n, uint8_t **part, struct sq_error *err);
