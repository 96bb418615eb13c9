// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that machines read: which unit multiplies it (sq_cost.h), how much there is to do
// and how many bytes move (sq_demand.h).
#pragma once

#include "sim/format/sq_demand.h"

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

struct sq_format_unit; // sq_format_unit.h

struct sq_format_cost {
    // Refuses a recipe that cannot be timed, by the name of the option.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);

    // ---- time
    bool is_core; // a core alone can run it: both paths of sq_core
    // Fills in a demand on the machine's core `has`. Before the call m, k and burst_nbytes are those of the GEMM,
    // the unit is an array of plain operands that gives a result at the end of every group, whose span and lanes
    // are 0, tokens have one scale and tiles are equal. A format of engines sets what is said of them.
    void (*demand)(const struct sq_recipe *r, const struct sq_core_config *has,
                   struct sq_demand *d);
    // The RTL modules of a PE with the lanes of *u, into *pe, which is all 0. It stays without
    // parts if RTL has no PE of so many lanes. NULL: RTL has no PE of the format.
    void (*pe)(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
    // The modules of RTL that a block of both operands passes, for prices, into unit[SQ_FORMAT_UNITS]; returns how
    // many. NULL, or 0: none is of this format alone.
    size_t (*units)(const struct sq_recipe *r, struct sq_format_unit *unit);
    const char *law;                 // the law of random work, for people; NULL: nothing is random
    const struct sq_format_own *own; // NULL: all layers of a shape take the same time
    // The i-th recipe, of two at most, whose jobs and transfers are never shorter than those of r,
    // whatever the blocks: r takes its plans as well. False: there are no more. May be NULL.
    bool (*slower)(const struct sq_recipe *r, unsigned i, struct sq_recipe *other);

    // The codes of the operand that has high and low elements; NULL: activations.
    const struct sq_grid *(*mixed)(const struct sq_recipe *r);

    double (*act_nbits)(const struct sq_recipe *r);       // of an activation; NULL: act bits
    double (*equivalent_bits)(const struct sq_recipe *r); // of a weight, no scales (SPEC A.5)
};
