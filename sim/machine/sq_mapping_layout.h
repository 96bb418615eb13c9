// SPDX-License-Identifier: Apache-2.0
// Makes one mapping from the sizes of its blocks: its jobs, loads and bytes. Only the search for a
// mapping (sq_mapping_search.c) calls it, once for each candidate.
#pragma once

#include "sim/machine/sq_mapping.h"

// Machine and demand, with what follows from them.
struct sq_mapping_context {
    const struct sq_machine *machine;
    const struct sq_demand *demand;
    struct sq_gemm gemm;
    struct sq_cost_unit cost;       // of the demand, with its output stage
    unsigned rows, cols;            // of a core
    uint64_t n_slices;              // of K, of cost.step elements
    struct sq_mapping_draws *draws; // what was drawn, for callers that lay out many plans; or NULL
};

// Random work by elements of K, number of tiles and how often a job takes them. Zero-initialised it is empty.
#define SQ_MAPPING_DRAWS 64u
struct sq_mapping_draws {
    struct sq_mapping_draw {
        uint64_t e, all, repeats; // all = 0: empty
        uint32_t n;
        double kept;
        struct sq_tile_work tile[SQ_TILES_DRAWN];
    } slot[SQ_MAPPING_DRAWS];
};

// What a core has: tiles of rows, tiles of columns, slices of K.
struct sq_mapping_extent {
    uint64_t m, n, k;
};

// Whether the buffers hold all of an operand that their cores need.
struct sq_mapping_residents {
    bool act, weight;
};

// The rest of a context that has machine, demand and GEMM. Refuses a format that does not fit the
// multipliers.
enum sq_status sq_mapping_settle(struct sq_mapping_context *c, struct sq_error *err);

// Whether the operands of a block fit into half of their buffers. For activations n does not
// matter, for weights m does not.
bool sq_mapping_operands_fit(const struct sq_mapping_context *c,
                             const struct sq_mapping_extent *block);
// Whether the outputs of a block fit into their buffer, and its job into the counters of the core.
bool sq_mapping_outputs_fit(const struct sq_mapping_context *c,
                            const struct sq_mapping_extent *block);
// Which operands the buffers of a core hold whole, if `all` is its part of the GEMM.
struct sq_mapping_residents sq_mapping_find_residents(const struct sq_mapping_context *c,
                                                      const struct sq_mapping_extent *all);
// The part of the GEMM that a core has, if so many cores share it in each direction.
struct sq_mapping_extent sq_mapping_all(const struct sq_mapping_context *c,
                                        const unsigned cores[3]);

// The three steps of making a mapping, in this order. lay_out: the blocks and the jobs of their
// steps, without random work. fill_loads: the bytes that the steps load. set_order: the order of
// the loops, which operands are loaded only once, when blocks leave, the estimate.
void sq_mapping_lay_out(const struct sq_mapping_context *c, const unsigned cores[3],
                        const struct sq_mapping_extent *block, struct sq_mapping *p);
void sq_mapping_fill_loads(const struct sq_mapping_context *c, struct sq_mapping *p);
void sq_mapping_set_order(const struct sq_mapping_context *c,
                          const struct sq_mapping_residents *whole, bool n_outer,
                          struct sq_mapping *p);

// Draws the random work of the tiles of every kind of step, and the time that the search for active
// columns takes. Kinds with equally many columns and slices of K get the same tiles. The estimate
// must then be set again.
void sq_mapping_draw_tiles(const struct sq_mapping_context *c, struct sq_mapping *p);
void sq_mapping_set_estimate(const struct sq_mapping_context *c, struct sq_mapping *p);

// Cycles of all jobs that are laid out, each with so many more. With SQ_JOB_OVERHEAD it is a lower bound of
// the estimate for any order of the loops, which needs no loads and rules out most blocks; with 1 one of
// the cycles.
uint64_t sq_mapping_work(const struct sq_mapping *p, uint64_t more);
