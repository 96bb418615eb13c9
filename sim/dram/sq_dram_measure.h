// SPDX-License-Identifier: Apache-2.0
// What a DRAM gives: the time of a read of an idle device, and the bandwidth of streams of one kind.
#pragma once

#include "sim/dram/sq_dram.h"

// Latencies from the clock in which a read comes to the end of its last beat.
enum sq_dram_case {
    SQ_DRAM_HIT,      // its row is open
    SQ_DRAM_EMPTY,    // its bank is closed
    SQ_DRAM_CONFLICT, // another row of its bank is open
    SQ_DRAM_CASES
};
enum sq_dram_pattern {
    SQ_DRAM_READS,  // one burst behind the other
    SQ_DRAM_WRITES, //
    SQ_DRAM_RANDOM, // reads, uniform over all banks and rows
    SQ_DRAM_ONE,    // reads of one bank, another row each time
    SQ_DRAM_MIXED,  // 16 reads and 16 writes in turn, one burst behind the other
    SQ_DRAM_PATTERNS
};
const char *sq_dram_pattern_name(enum sq_dram_pattern pattern);

// In clocks. SQ_ERR_MEMORY.
enum sq_status sq_dram_latency(const struct sq_dram_setup *setup, enum sq_dram_case c,
                               uint64_t *clocks, struct sq_error *err);

// `bursts` of them, as fast as they are taken; from clock 0 to the end of the last one. SQ_ERR_MEMORY.
struct sq_dram_rate {
    uint64_t clocks;
    double share;           // of the peak
    double nbytes_per_s;    //
    struct sq_dram_stats s; // up to then
};
enum sq_status sq_dram_measure(const struct sq_dram_setup *setup, enum sq_dram_pattern pattern,
                               uint32_t bursts, uint64_t seed, struct sq_dram_rate *rate,
                               struct sq_error *err);
