// SPDX-License-Identifier: Apache-2.0
// What a recipe demands of a machine for one GEMM, in numbers: what multiplies it, how many bytes of each
// stream a stretch of K takes, how the work of engines is distributed. A format says so once
// (sq_demand_of); plans and runs then read these numbers (sim/machine/sq_work.h) and ask nobody.
#pragma once

#include "models/core/sq_format.h"
#include "sim/format/sq_cost.h"

// Bytes of a channel over a stretch: whole bytes of its bits, and what scale groups and rows end with.
struct sq_demand_bytes {
    double element, bank; // bits for an element of K, for a bank
    uint32_t group, end;  // bytes for the end of a scale group, of a row
};

// The random work of one engine in a tile: of `times` trials for each `piece` elements of K those that succeed,
// each with probability p.
struct sq_demand_work {
    unsigned piece, times; // times = 0: every tile is the same
    double p;
    bool is_even;  // engines share the work of a tile evenly, in place of its channels
    bool is_fixed; // no chance: every tile has the mean
    bool
        is_share; // a tile makes the share of its products that its work is of `full` of the trials; else all
    double full;
};

// The product of an attention, whose W lies in a cache and whose other operands need not cross the DRAM.
struct sq_cached {
    double nbits;   // stored, of an element of W with all of its scales
    bool act_stays; // X comes from another unit of the chip
    bool out_stays; // Y goes to another unit of the chip
};

struct sq_demand {
    const char *format;       // its name, for messages
    uint64_t m, k;            // of the GEMM
    unsigned burst_nbytes;    // of the DRAM; 0: bytes are those that are needed, not those fetched
    struct sq_cost_unit cost; // what multiplies
    bool is_core;             // a core of these banks and bits of activations
    struct sq_format banks;   //
    unsigned act_bits;        //
    unsigned group, bank;     // elements of a scale group (0: the row), of a bank (0: none)
    double act_nbits;         // of an activation (sq_cost_act_nbits)
    unsigned n_act_scales;    // binary32 numbers of a token
    unsigned channels;        // that are stored as one: any number is rounded up to that
    bool is_joint;            // whole bytes of all channels together, not of each
    struct sq_demand_bytes of[SQ_N_STREAMS]; // of weights: SQ_STREAM_LO to SQ_STREAM_SCALE
    bool act_stays, out_stays;               // operands that cross no DRAM (struct sq_cached)
    struct sq_demand_work work;              // of engines side by side
    uint64_t lead_in;                        // cycles before anything can be fetched
    const struct sq_own
        *own; // the real work of a layer in place of random work; NULL: there is none
};

// The demand of a recipe on the core `has` of a machine. The recipe has passed sq_cost_check.
void sq_demand_of(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, unsigned burst_nbytes, struct sq_demand *d);
