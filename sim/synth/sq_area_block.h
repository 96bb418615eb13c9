// SPDX-License-Identifier: Apache-2.0
// The blocks of the design that `sqsim area` prices: which module with which parameters, and how
// many weights one instance takes in per cycle.
#pragma once

#include "models/core/sq_config.h"
#include "sim/block/flow/sq_block.h"
#include "sim/synth/sq_synth.h"

enum sq_area_kind {
    SQ_AREA_MUL,         // sq_mul: a_bits x b_bits
    SQ_AREA_MUL_STAR,    // the same product as Yosys builds it from `*`, to compare
    SQ_AREA_DOT,         // sq_dot: low_lanes products a_bits x b_bits and their sum; dense baseline
    SQ_AREA_MAC_LOW,     // sq_mac_low: the low path of a PE, one step
    SQ_AREA_MAC_HIGH,    // sq_mac_high: the high path of a PE, one step
    SQ_AREA_GATHER,      // sq_gather: one token, all k slots, with its pipeline registers
    SQ_AREA_GATHER_RANK, // its three parts, combinational: once per column ...
    SQ_AREA_GATHER_SELECT, // ... the same ...
    SQ_AREA_GATHER_MUX,    // ... once per PE
    SQ_AREA_PE,            // sq_pe
    SQ_AREA_CORE,          // sq_core, without the cause counters
    SQ_AREA_UNIT,          // a row of the blocks' tables (sim/block/flow/sq_block.h)
    SQ_AREA_SOURCE,        // a module of somebody else
    SQ_N_AREA_KINDS
};

const char *sq_area_kind_name(enum sq_area_kind kind); // "mul", ..., "gather_rank", ..., "unit"

struct sq_area_source {
    const char *top, *clock; // clock: input port, NULL = the only one
    size_t n_params;
    struct sq_synth_param param[SQ_SYNTH_MAX_PARAMS];
    double weights; // per cycle; 0 = not given
};

struct sq_area_item {
    enum sq_area_kind kind;
    struct sq_core_config config;    // what the kind does not have is ignored
    unsigned a_bits, b_bits;         // SQ_AREA_MUL, _MUL_STAR, _DOT only
    const struct sq_area_unit *unit; // SQ_AREA_UNIT only; arrays take rows and cols of config
    // of a unit whose source is written (struct sq_synth_block); NULL: it lies in rtl/
    const char *(*source_of)(const unsigned *value, FILE *out);
    const unsigned *value;
    bool is_chip;                        // of a unit that is sq_top: its parts stay, and have paths
    const struct sq_synth_macro *macro;  // its memories; NULL: flip-flops
    const struct sq_area_source *source; // SQ_AREA_SOURCE only
};

// Module and parameters of a block. The gather and its parts stand alone here: one bank per cycle.
struct sq_synth_block sq_area_synth(const struct sq_area_item *block);

// What a report calls it: the kind, the name of the unit or the module.
const char *sq_area_title(const struct sq_area_item *block);

// Weights that enter per cycle when nothing stalls: lanes, the bank for the gather, and for PE and
// core what the slower path lets through; 0 where nobody said.
double sq_area_weights_per_cycle(const struct sq_area_item *block);
