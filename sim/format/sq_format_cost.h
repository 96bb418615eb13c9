// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that machines read (sq_cost.h): which unit multiplies it, how much
// there is to do, and how many bytes move.
#ifndef SQ_FORMAT_COST_H
#define SQ_FORMAT_COST_H

#include "sim/format/sq_cost.h"

// The real work of an encoded layer, in place of random work (struct sq_own). Either the weights
// decide it, or the tokens.
struct sq_format_own {
    const char *text;                      // what is counted, for people: "kept groups"
    double *(*share)(struct sq_recipe *r); // of *r, which the counting sets
    // Counts what each row of weights has (kept groups, outliers) into *own, whose `before` the
    // caller frees, and sets the share of *r. NULL: the weights do not decide it.
    enum sq_status (*weights)(const void *state, struct sq_own *own, struct sq_recipe *r,
                              struct sq_error *err);
    // The work of a tile whose columns have count[u->lines] of it.
    void (*tile)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                 const uint32_t *count, struct sq_tile_work *tile, double *kept);
    // Counts, in the activations x[m][k] of the layer, what each tile of `rows` tokens needs: a row
    // of *own for each tile, one piece per element of K. NULL: the tokens do not decide it.
    enum sq_status (*tokens)(const void *state, const float *x, size_t m, unsigned rows,
                             struct sq_own *own, struct sq_recipe *r, struct sq_error *err);
    // The work of the tile of tokens in row `row` of *own, over `elements` of K from `first` on;
    // all of them exist.
    void (*tokens_tile)(const struct sq_recipe *r, const struct sq_cost_unit *u,
                        const struct sq_own *own, uint64_t row, uint64_t first, uint64_t elements,
                        struct sq_tile_work *tile, double *kept);
};

struct sq_format_cost {
    // Refuses a recipe that cannot be timed, by the name of the option.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);

    // ---- time
    bool is_core; // a core alone can run it: both paths of sq_core
    // Each column takes its own elements of K, and so needs other activations than its neighbours.
    bool has_own_columns;
    // Fills in the unit that multiplies m tokens by rows of k on the machine's core `has`. Before
    // the call *u is an array of plain operands that gives a result at the end of every group; its
    // span and lanes are 0.
    void (*unit)(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                 uint64_t k, struct sq_cost_unit *u);
    // The RTL modules of a PE with the lanes of *u, into *pe, which is all 0. It stays without
    // parts if RTL has no PE of so many lanes. NULL: RTL has no PE of the format.
    void (*pe)(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
    // The random work of one tile of columns over `elements` of K (its mean if rng is NULL), and in
    // *kept the share of its products that is made. NULL: every tile is the same.
    void (*draw)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                 uint64_t elements, struct sq_rng *rng, struct sq_tile_work *tile, double *kept);
    const char *law;                 // the law of this random work, for people
    const struct sq_format_own *own; // NULL: all layers of a shape take the same time
    // Cycles that a unit needs to find the active columns of a tile of tokens. NULL: the format has
    // no such unit.
    uint64_t (*scan)(const struct sq_recipe *r, uint64_t elements);
    // Cycles before anything can be fetched; NULL: none.
    uint64_t (*lead_in)(const struct sq_recipe *r, uint64_t k);
    // The i-th recipe, of two at most, whose jobs and transfers are never shorter than those of r,
    // whatever the blocks: r takes its plans as well. False: there are no more. May be NULL.
    bool (*slower)(const struct sq_recipe *r, unsigned i, struct sq_recipe *other);

    // The codes of the operand that has high and low elements; NULL: activations.
    const struct sq_grid *(*mixed)(const struct sq_recipe *r);

    // ---- traffic
    // Bytes of n output channels over the stretch, SQ_STREAM_LO to SQ_STREAM_SCALE, which are 0.
    void (*weight_nbytes)(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                          const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
    // Bytes that a buffer holds of weights which the DRAM moves as nbytes, where a decoder stands
    // in front of the buffer; NULL: as many.
    uint64_t (*held_nbytes)(const uint64_t nbytes[SQ_N_STREAMS]);
    double (*act_nbits)(const struct sq_recipe *r);       // of an activation; NULL: act bits
    unsigned (*n_act_scales)(const struct sq_recipe *r);  // FP32 a token; NULL: one
    double (*equivalent_bits)(const struct sq_recipe *r); // of a weight, no scales (SPEC A.5)
};

#endif
