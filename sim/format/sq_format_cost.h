// SPDX-License-Identifier: Apache-2.0
// What of a format a machine asks (sq_cost.h): what multiplies it, how much there is to do, and how
// many bytes move.
#ifndef SQ_FORMAT_COST_H
#define SQ_FORMAT_COST_H

#include "sim/format/sq_cost.h"

// The work of one very layer, in the place of a draw; of weights, or of tokens.
struct sq_format_own {
    const char *text;                      // what is counted, for people: "kept groups"
    double *(*share)(struct sq_recipe *r); // of *r, which the counting sets
    // Of the weights: counts what each row has (kept groups, outliers) into *own, whose `before`
    // the caller frees, and sets the share of *r. NULL: what differs does not come from the
    // weights.
    enum sq_status (*weights)(const void *state, struct sq_own *own, struct sq_recipe *r,
                              struct sq_error *err);
    // The work of a tile whose columns have count[u->lines] of it.
    void (*tile)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                 const uint32_t *count, struct sq_tile_work *tile, double *kept);
    // Of the tokens: from the activations x[m][k] of the layer, one row of *own for each tile of
    // `rows` tokens, one piece per element of K. NULL: no token decides anything.
    enum sq_status (*tokens)(const void *state, const float *x, size_t m, unsigned rows,
                             struct sq_own *own, struct sq_recipe *r, struct sq_error *err);
    // The work of the tile of tokens in row `row` of *own, over `elements` of K from `first` on;
    // all of them exist.
    void (*tokens_tile)(const struct sq_recipe *r, const struct sq_cost_unit *u,
                        const struct sq_own *own, uint64_t row, uint64_t first, uint64_t elements,
                        struct sq_tile_work *tile, double *kept);
};

struct sq_format_cost {
    // Fields outside what can be timed, by the name of the option.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);

    // ---- time
    bool is_core; // a core alone can run it: both paths of sq_core
    // What multiplies it for m tokens and rows of k, on a core that has `has`: into *u, which is an
    // array of plain operands that flushes at the end of every group, but has no span and lanes.
    void (*unit)(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                 uint64_t k, struct sq_cost_unit *u);
    // The RTL that multiplies with the lanes of *u, a PE, into *pe, which is all 0; no parts: there
    // is none of so many lanes. NULL: none at all.
    void (*pe)(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
    // The work of one tile of columns over `elements` of K, and in *kept the share of its products
    // that is made: a random draw, or the mean where rng is NULL. NULL: every tile is the same.
    void (*draw)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                 uint64_t elements, struct sq_rng *rng, struct sq_tile_work *tile, double *kept);
    const char *law;                 // by which it is drawn
    const struct sq_format_own *own; // NULL: all layers of a shape take the same time
    // Cycles that a unit needs to find the active columns of a tile of tokens. NULL: the format has
    // no such unit.
    uint64_t (*scan)(const struct sq_recipe *r, uint64_t elements);
    // Cycles before anything can be fetched; NULL: none.
    uint64_t (*lead_in)(const struct sq_recipe *r, uint64_t k);
    // The i-th recipe, of two at most, whose jobs and transfers are never shorter than those of r,
    // whatever the blocks: r takes its plans as well. False: there are no more. May be NULL.
    bool (*slower)(const struct sq_recipe *r, unsigned i, struct sq_recipe *other);

    // Codes of the operand with high and low ones; NULL: activations.
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
