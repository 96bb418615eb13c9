// SPDX-License-Identifier: Apache-2.0
// Runs one route of a product (sq_route.h) through cycle model and RTL. The operands of the product
// go into the block in place of random ones, with stalls and resets (sq_case_disturb) or without.
// The block's golden model must give the product's integers, and the RTL is compared with golden
// and cycle model in lock step.
#pragma once

#include "sim/cosim/sq_layer_cosim.h"
#include "sim/format/sq_route.h"
#include "sim/format/top/sq_chip_program.h"

struct sq_route_options {
    struct sq_core_config config;    // of the core, but for what the product's format says
    unsigned array_rows, array_cols; // of the arrays
    struct sq_chip chip;             // where a route goes to it
    bool netlist;
    bool is_free;  // streams do not stall, no reset comes; behind the chip's bus is an ideal memory
    uint64_t seed; // of lanes and registers without a value, of stalls and resets
    const char *home;
    // What all layers of the run multiply in RTL; 0: the product alone. RTL of few is compiled without passes.
    uint64_t macs;
};

struct sq_route_outcome {
    const char *block; // of the block
    char shape[400];   // of the block: its parameters, NAME=N, that the product or options chose
    struct sq_compared compared;
    uint64_t cycles; // of the RTL, equal to the model's
    uint64_t values; // integers of the product compared with the block's
    uint64_t value_mismatches, cycle_mismatches;
    // The first difference of RTL and models, shrunk; kind NONE if there is none.
    struct sq_result result;
    uint32_t failing_tile;
    struct sq_point point;
    struct sq_case stream; // what went in; of the core, where it failed
    // The first integer of the product that the block does not give.
    char difference[160]; // "": none
};

// *out is zeroed here and not moved afterwards (out->stream points into it); free it even after a
// failure. SQ_ERR_RANGE and SQ_ERR_SHAPE for a product that is too large for the block, and what
// sq_rtl_load says.
enum sq_status sq_route_cosim(const struct sq_route *route, struct sq_product *p,
                              const struct sq_route_options *o, struct sq_route_outcome *out,
                              struct sq_error *err);
// What goes into the block, without RTL: out->stream, whose golden outputs are compared with the
// product as above. Of the core it is at most `tiles` (> 0) tiles, spread over the product, a job
// each.
enum sq_status sq_route_operands(const struct sq_route *route, struct sq_product *p,
                                 const struct sq_route_options *o, uint32_t tiles,
                                 struct sq_route_outcome *out, struct sq_error *err);
// The same of a chip's engine alone (o->chip), for a format that has routes->chip.
enum sq_status sq_route_engine(const struct sq_format_routes *routes, struct sq_product *p,
                               const struct sq_route_options *o, struct sq_route_outcome *out,
                               struct sq_error *err);
// The layers of a program, which has at least one, as one ring with one interrupt. The sizes of the chip in *o are not
// looked at. The outcome must not live longer than the program.
enum sq_status sq_route_cosim_ring(const struct sq_chip_program *g,
                                   const struct sq_route_options *o, struct sq_route_outcome *out,
                                   struct sq_error *err);
void sq_route_outcome_free(struct sq_route_outcome *out);
