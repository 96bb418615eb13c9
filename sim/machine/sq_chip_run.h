// SPDX-License-Identifier: Apache-2.0
// A layer on the chip (rtl/top/sq_top.sv) behind an ideal memory: the cycle model of the chip itself
// (sim/block/top/sq_top_sim.h), which the co-simulation holds to the RTL in every signal of every cycle. It
// runs from the start in CONTROL to the response of the last write, as its own counters say.
#ifndef SQ_CHIP_RUN_H
#define SQ_CHIP_RUN_H

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_sim.h"

// The counters of the chip, not cut at 32 bits. busy + wait + blocked = cycles.
struct sq_chip_stats {
    uint64_t cycles;
    uint64_t busy;    // the engine takes a beat of both operands
    uint64_t wait;    // there is none
    uint64_t blocked; // the engine takes none that is there
    uint64_t read_beats, write_beats;
};

// value: the parameters of the block sq_top; memory: of kind 1 (sq_axi_memory.h). The layer is one that
// such a chip takes (sq_top_layer_decode), its regions placed. SQ_ERR_MEMORY.
//
// Every cycle, a call of the model each.
enum sq_status sq_chip_run_step(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err);
// The same in every counter: a block that begins with the same state as an earlier one repeats what
// happened since, until the last block of the loop comes near.
enum sq_status sq_chip_run_fast(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err);

#endif
