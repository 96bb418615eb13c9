// SPDX-License-Identifier: Apache-2.0
// What energies need to know about the cells of a library: functions, registers, capacitances,
// delays and slews, internal energy, leakage. All of it in seconds, farads, joules and watts.
//
// How Liberty is meant, where files differ:
//   - the unit of internal_power is the unit of capacitance times V^2, not that of leakage_power
//   - a rise and a fall each cost what their table says, which may be negative: some libraries have
//     +-C V^2 / 2 of the load inside, which cancels only over both edges
//   - a group without `when` holds only in the states that no other group of the same pin, related
//     pin and supply names (`is_default`)
//   - groups of different supplies (related_pg_pin) add up
//   - a cell with two outputs splits its energy among them: they add up. Some flip-flops list all of
//     it on both, with the load of the other output in it (`is_listed_twice`): half of each counts,
//     at no load
#pragma once

#include "sim/synth/sq_liberty.h"
#include "sim/synth/sq_liberty_expr.h"

enum { SQ_LIB_MODEL_PINS = 24, SQ_LIB_SUPPLIES = 4 };

// value[slew * n_load + load], bilinear and beyond its ends extrapolated; nothing where n_slew = 0.
struct sq_lib_table {
    unsigned n_slew, n_load;
    double *slew, *load, *value; // owned; an axis that the table lacks has the one entry 0
};
double sq_lib_table_at(const struct sq_lib_table *t, double slew, double load);

enum sq_lib_edge { SQ_LIB_RISE, SQ_LIB_FALL };

enum sq_lib_sense { SQ_LIB_NON_UNATE, SQ_LIB_POSITIVE, SQ_LIB_NEGATIVE };

// internal_power of a pin. On an output: a change caused by `related`. On an input: a change of
// that pin itself, whatever the outputs do.
struct sq_lib_power {
    int related; // pin, -1: none
    bool has_when, is_default;
    struct sq_lib_expr when;
    unsigned supply;              // groups of different ones add up
    struct sq_lib_table table[2]; // by edge of the pin
};

struct sq_lib_timing {
    unsigned related;
    enum sq_lib_sense sense;
    bool is_clock;                         // rising_edge
    struct sq_lib_table delay[2], slew[2]; // by edge of the output
};

struct sq_lib_leak {
    bool has_when, is_default;
    struct sq_lib_expr when;
    unsigned supply;
    double watts;
};

struct sq_lib_pin {
    char name[SQ_LIB_NAME_LEN];
    bool is_output;
    double cap; // of an input
    bool has_function;
    struct sq_lib_expr function; // of pins, then the two states of a flip-flop
    size_t n_power, n_timing;
    struct sq_lib_power *power;   // owned
    struct sq_lib_timing *timing; // owned
};

// Variables of all expressions: pins by number, then the state and its complement.
struct sq_lib_model {
    char name[SQ_LIB_NAME_LEN];
    size_t n_pins;
    struct sq_lib_pin pin[SQ_LIB_MODEL_PINS];
    bool is_flop;
    unsigned clock;  // pin whose rising edge loads it
    bool is_falling; // ... whose falling edge
    struct sq_lib_expr next_state, clear, preset;
    bool has_clear, has_preset, is_listed_twice;
    size_t n_leak;
    struct sq_lib_leak *leak; // owned
    double leakage;           // cell_leakage_power, where no state of `leak` holds
    bool has_leakage;
};

struct sq_lib_models {
    double volts, time, cap, energy, power; // units of the file, in SI
    size_t n_models;
    struct sq_lib_model **model; // those asked for; owned
    // private
    const struct sq_liberty *lib;
    struct sq_lib_tree *tree;
    char supply[SQ_LIB_SUPPLIES][SQ_LIB_NAME_LEN];
    unsigned n_supplies;
};

// Units and voltage of a library, which must outlive *m. SQ_ERR_UNSUPPORTED without voltage.
enum sq_status sq_lib_models_open(struct sq_lib_models *m, const struct sq_liberty *lib,
                                  struct sq_error *err);
void sq_lib_models_close(struct sq_lib_models *m);

// The cell, read on first use; *model lives as long as *m. SQ_ERR_UNSUPPORTED for a cell that is
// not there, a latch or another register than a flip-flop of one edge, a table over
// something else than input slew and output load, a bus, more pins than SQ_LIB_MODEL_PINS.
enum sq_status sq_lib_models_get(struct sq_lib_models *m, const char *cell,
                                 const struct sq_lib_model **model, struct sq_error *err);

// The number of a pin; -1: none.
int sq_lib_model_pin(const struct sq_lib_model *model, const char *name);
