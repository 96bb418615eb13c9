// SPDX-License-Identifier: Apache-2.0
// Makes one mapping from the sizes of its blocks: its jobs, loads and bytes. Only the search for a
// mapping (sq_mapping_search.c) calls it, once for each candidate.
#ifndef SQ_MAPPING_LAYOUT_H
#define SQ_MAPPING_LAYOUT_H

#include "sim/machine/sq_mapping.h"

// Format and machine, with what follows from them.
struct sq_mapping_context {
    const struct sq_machine *machine;
    const struct sq_recipe *recipe;
    struct sq_gemm gemm;
    struct sq_cost_unit cost;
    unsigned rows, cols; // of a core
    uint64_t n_slices;   // of K, of cost.step elements
    uint64_t index_cycles;
};

// Per core: tiles in each direction and units of K.
struct sq_mapping_extent {
    uint64_t m, n, k;
};

// Operands of which the buffers hold all, of the cores that use them.
struct sq_mapping_residents {
    bool act, weight;
};

// The rest of a context that has machine, recipe and GEMM. Refuses a format that does not fit the
// multipliers.
enum sq_status sq_mapping_settle(struct sq_mapping_context *c, struct sq_error *err);

// Whether the operands of a block fit into half their buffers. Activations take no account of n,
// weights none of m.
bool sq_mapping_operands_fit(const struct sq_mapping_context *c,
                             const struct sq_mapping_extent *block);
// Whether the outputs of a block fit, and its job into the counters of the core.
bool sq_mapping_outputs_fit(const struct sq_mapping_context *c,
                            const struct sq_mapping_extent *block);
// What the buffers of a core hold of `all` that it has of the GEMM.
struct sq_mapping_residents sq_mapping_find_residents(const struct sq_mapping_context *c,
                                                      const struct sq_mapping_extent *all);
// What a core has of the GEMM, if so many share it in each direction.
struct sq_mapping_extent sq_mapping_all(const struct sq_mapping_context *c,
                                        const unsigned cores[3]);

// In this order: blocks of a size and the jobs of their steps (nothing that is drawn); what the
// steps load; the order of the loops, what is loaded once in it, when blocks leave, the estimate.
void sq_mapping_lay_out(const struct sq_mapping_context *c, const unsigned cores[3],
                        const struct sq_mapping_extent *block, struct sq_mapping *p);
void sq_mapping_fill_loads(const struct sq_mapping_context *c, struct sq_mapping *p);
void sq_mapping_set_order(const struct sq_mapping_context *c,
                          const struct sq_mapping_residents *whole, bool n_outer,
                          struct sq_mapping *p);

// Draws the tiles of every kind of step, and times what finds their columns. Steps with as many
// columns over as much of K are alike. The estimate is then another one.
void sq_mapping_draw_tiles(const struct sq_mapping_context *c, struct sq_mapping *p);
void sq_mapping_set_estimate(const struct sq_mapping_context *c, struct sq_mapping *p);

// Of every order of the loops: the jobs alone, none waiting for the DRAM. Needs no loads: most
// blocks are out by this.
uint64_t sq_mapping_least_estimate(const struct sq_mapping *p);

#endif
