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
    // Counts, in the activations x[m][k] of the layer, what each token needs: a row of *own for each.
    // NULL: the tokens do not decide it.
    enum sq_status (*tokens)(const void *state, const float *x, size_t m, struct sq_own *own,
                             struct sq_recipe *r, struct sq_error *err);
};

struct sq_format_cost {
    // Refuses a recipe that cannot be timed, by the name of the option.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);

    // ---- time
    bool is_core; // a core alone can run it: both paths of sq_core
    // Fills in the unit that multiplies m tokens by rows of k on the machine's core `has`. Before
    // the call *u is an array of plain operands that gives a result at the end of every group; its
    // span and lanes are 0. A format of engines sets what is said of them.
    void (*unit)(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                 uint64_t k, struct sq_cost_unit *u);
    // The RTL modules of a PE with the lanes of *u, into *pe, which is all 0. It stays without
    // parts if RTL has no PE of so many lanes. NULL: RTL has no PE of the format.
    void (*pe)(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
    // The random work of one engine in a tile over `elements` of K (its mean if rng is NULL). NULL:
    // every tile is the same.
    uint32_t (*draw)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                     struct sq_rng *rng);
    // The share of its products that a tile of this mean work makes; NULL: all.
    double (*kept)(const struct sq_recipe *r, uint64_t elements, double mean);
    // Whether engines share the work of a tile evenly, in place of its channels. NULL: they do not.
    bool (*is_even)(const struct sq_recipe *r);
    const char *law;                 // the law of this random work, for people
    const struct sq_format_own *own; // NULL: all layers of a shape take the same time
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
    double (*act_nbits)(const struct sq_recipe *r);       // of an activation; NULL: act bits
    unsigned (*n_act_scales)(const struct sq_recipe *r);  // FP32 a token; NULL: one
    double (*equivalent_bits)(const struct sq_recipe *r); // of a weight, no scales (SPEC A.5)
};

#endif
