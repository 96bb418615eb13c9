// SPDX-License-Identifier: Apache-2.0
// Time of the output stage behind a core or an array (rtl/output/sq_output.sv), without stepping it: tiles
// of sums go through combine units (SPEC R.1) to a port of so many bits a cycle.
//
//   slots   ceil(rows * cols / lanes) cycles in which the tile of a scale group is read; it stays
//   in
//           the PEs' registers for totals (sq_array) or in registers of the stage (`hold`: sq_core,
//           whose high totals have none), and the PEs work on the next group meanwhile
//   words   ceil(lanes * out_bits / port_bits) cycles of the port for what the units give at once
//   drain   slots * words cycles of the port for the tile of the last group, whose sums are outputs
//
// Beats of outputs wait for the port in a queue. What is said here is exact on a port that always
// takes, with a queue of at least `slots` beats, so that the next tile begins while one drains; a
// shorter queue takes longer.
#pragma once

#include <stdint.h>

#include "models/output/sq_combine.h"

// All at least 1. The RTL wants lanes that divide rows * cols, and words without a rest.
struct sq_output_port {
    uint32_t rows, cols, lanes;
    uint32_t form;      // enum sq_combine_form
    uint32_t out_bits;  // 32: binary32, 16: bfloat16, 8: INT8
    uint32_t port_bits; // of the port, a cycle
    uint32_t hold; // 1: tiles are moved to registers of the stage, a cycle more; 2 is not said here
};

static inline uint64_t sq_output_ceil(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static inline uint64_t sq_output_slots(const struct sq_output_port *p)
{
    return sq_output_ceil((uint64_t)p->rows * p->cols, p->lanes);
}

static inline uint64_t sq_output_words(const struct sq_output_port *p)
{
    return sq_output_ceil((uint64_t)p->lanes * p->out_bits, p->port_bits);
}

static inline uint64_t sq_output_drain(const struct sq_output_port *p)
{
    return sq_output_slots(p) * sq_output_words(p);
}

// Cycles from a tile of sums at the stage to the first word of its outputs on the port.
static inline uint64_t sq_output_latency(const struct sq_output_port *p)
{
    return sq_combine_stages((enum sq_combine_form)p->form, false) + 2 + (p->hold ? 1 : 0) +
           (p->out_bits == 8 ? 3 : 0);
}

// Cycles between tiles of sums where the PEs give one every group_cycles.
static inline uint64_t sq_output_beat(const struct sq_output_port *p, uint64_t group_cycles)
{
    const uint64_t slots = sq_output_slots(p);
    return slots > group_cycles ? slots : group_cycles;
}

// Cycles between tiles of outputs, each of `groups` scale groups. What is more than groups *
// group_cycles is stall of the PEs: the output is the cause.
static inline uint64_t sq_output_tile_cycles(const struct sq_output_port *p, uint64_t groups,
                                             uint64_t group_cycles)
{
    const uint64_t drain = sq_output_drain(p), sums = groups * sq_output_beat(p, group_cycles);
    return drain > sums ? drain : sums;
}

// Cycles of a job of `tiles` >= 1 tiles of outputs, the first tile of sums being offered in cycle
// `first`: up to and with the last word.
static inline uint64_t sq_output_job_cycles(const struct sq_output_port *p, uint64_t first,
                                            uint64_t tiles, uint64_t groups, uint64_t group_cycles)
{
    return first + (groups - 1) * sq_output_beat(p, group_cycles) + sq_output_latency(p) +
           (tiles - 1) * sq_output_tile_cycles(p, groups, group_cycles) + sq_output_drain(p);
}
