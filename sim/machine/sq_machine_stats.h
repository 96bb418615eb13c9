// SPDX-License-Identifier: Apache-2.0
// What a run of a planned GEMM on a machine counts.
#pragma once

#include "sim/block/flow/sq_unit.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_mapping.h"

struct sq_machine_stats {
    uint64_t cycles;
    uint64_t steps;
    // What each path did in every cycle: a cause of the core while it has a job; otherwise index
    // (the index unit collects columns, and nothing is loaded yet) or memory (it waits for
    // operands). sum(low) + index + memory = sum(high) + index + memory = cycles.
    uint64_t low[SQ_N_UNIT_CAUSES];
    uint64_t high[SQ_N_UNIT_CAUSES];
    uint64_t index, memory;
    uint64_t dram_busy; // cycles in which the DRAM moved something
    uint64_t nbytes[SQ_N_STREAMS];
    uint64_t sram_read_nbits,
        sram_write_nbits;      // of a chip: bits of its memories, in whole words; else 0
    struct sq_dram_stats dram; // of a DRAM that keeps time; else zeros
};
