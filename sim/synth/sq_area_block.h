// SPDX-License-Identifier: Apache-2.0
// The blocks of the design that `sqsim area` prices: which module with which parameters, and how
// many weights one instance takes in per cycle.
#ifndef SQ_BLOCK_H
#define SQ_BLOCK_H

#include "models/sq_config.h"
#include "sim/synth/sq_area_table.h"
#include "sim/synth/sq_synth.h"

enum sq_block_kind {
    SQ_BLOCK_MUL,      // sq_mul: a_bits x b_bits
    SQ_BLOCK_MUL_STAR, // the same product as Yosys builds it from `*`, to compare
    SQ_BLOCK_DOT,      // sq_dot: low_lanes products a_bits x b_bits and their sum; dense baseline
    SQ_BLOCK_MAC_LOW,  // sq_mac_low: the low path of a PE, one step
    SQ_BLOCK_MAC_HIGH, // sq_mac_high: the high path of a PE, one step
    SQ_BLOCK_GATHER,   // sq_gather: one token, all k slots, with its pipeline registers
    SQ_BLOCK_GATHER_RANK,   // its three parts, combinational: once per column ...
    SQ_BLOCK_GATHER_SELECT, // ... the same ...
    SQ_BLOCK_GATHER_MUX,    // ... once per PE
    SQ_BLOCK_PE,            // sq_pe
    SQ_BLOCK_CORE,          // sq_core, without the cause counters
    SQ_BLOCK_UNIT,          // one of the table of sq_area_table.h
    SQ_N_BLOCK_KINDS
};

const char *sq_block_name(enum sq_block_kind kind); // "mul", ..., "gather_rank", ..., "unit"

struct sq_block {
    enum sq_block_kind kind;
    struct sq_core_config config;     // what the kind does not have is ignored
    unsigned a_bits, b_bits;          // SQ_BLOCK_MUL, _MUL_STAR, _DOT only
    const struct sq_block_unit *unit; // SQ_BLOCK_UNIT only; arrays take rows and cols of config
};

// Module and parameters of a block. The gather and its parts stand alone here: one bank per cycle.
struct sq_synth_block sq_block_synth(const struct sq_block *block);

// What a report calls it: the kind, or the name of the unit.
const char *sq_block_title(const struct sq_block *block);

// Weights that enter per cycle when nothing stalls: lanes, the bank for the gather, and for PE and
// core what the slower path lets through.
double sq_block_weights_per_cycle(const struct sq_block *block);

#endif
