// SPDX-License-Identifier: Apache-2.0
// Dense: codes of 2 to 8 bits (on a machine to 16), a scale a group; activations of 4 to 8 bits, or
// binary16. With 16 bits on both sides eval takes the model as it is.
#include "sim/format/sq_grid_format.h"

#include <stdio.h>

static const char *const act_choice[] = {"4", "8", "16", NULL};

static const struct sq_format_option options[] = {
    SQ_GRID_HEAD,
    SQ_UINT("weight-bits", SQ_IN_EVAL, 0, 2, 8, 4, weight.low_bits,
            "bits of a weight; 16 leaves the model as it is", .also = 16,
            .absent = SQ_NO_BANKS " of a choice"),
    SQ_UINT("weight-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, 2, 16, 8, weight.low_bits,
            "bits of a weight"),
    SQ_GRID_GROUP(SQ_IN_EVAL | SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_EVAL | SQ_IN_RUN),
    {.name = "bank", .kind = SQ_OPTION_UINT, .shown = SQ_IN_EVAL, SQ_FIELD(bank)},
    SQ_GRID_TAIL,
    SQ_UINT("act-bits", SQ_IN_EVAL, 0, 4, 8, 8, act.low_bits,
            "bits of an activation; 16 is binary16", .also = 16),
    SQ_NUMBER("act-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, act_choice, 8, act.low_bits,
              "bits of an activation"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    if (scope == SQ_IN_EVAL && sq_recipe_is_reference(r) && (!r->is_act_f16 || r->is_smooth))
        return SQ_FAIL(err, SQ_ERR_ARG, "weight-bits = 16 needs --act-bits 16: the model as it is");
    return sq_grid_settle(r, given, err);
}

static void text(const struct sq_recipe *r, char out[96])
{
    snprintf(out, 96, "dense W%uA%u", r->weight.low_bits, sq_recipe_act_bits(r));
}

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    SQ_TRY(sq_cost_check_act(r, true, err));
    if (r->weight.low_bits < 2 || r->weight.low_bits > 16)
        return SQ_FAIL(err, SQ_ERR_RANGE, "weight-bits = %u, need 2..16", r->weight.low_bits);
    return SQ_OK;
}

static double cycles_per_element(const struct sq_recipe *r, const struct sq_core_config *core,
                                 uint64_t m, uint64_t k)
{
    (void)m, (void)k;
    return 1 / sq_cost_products(core, r->weight.low_bits, sq_recipe_act_bits(r));
}

static bool is_integer(const struct sq_recipe *r)
{
    return r->weight.low_bits <= 8 && sq_recipe_act_bits(r) <= 8;
}

static bool is_library(const struct sq_recipe *r)
{
    return r->weight.low_bits == sq_recipe_act_bits(r);
}

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    return r->weight.low_bits == 4 && sq_gpu_is_f16(s) == (sq_recipe_act_bits(r) == 16);
}

extern const struct sq_format_trace sq_dense_trace;

const struct sq_format_ops sq_format_dense = {
    .trace = &sq_dense_trace,
    .name = "dense",
    .option = options,
    .settle = settle,
    .text = text,
    SQ_GRID_VALUES,
    .check_cost = check_cost,
    .cycles_per_element = cycles_per_element,
    .weight_nbytes = sq_grid_weight_nbytes,
    .equivalent_bits = sq_grid_equivalent_bits,
    .is_gpu_integer = is_integer,
    .is_gpu_library = is_library,
    .gpu_name = "w4",
    .is_gpu_record = is_record,
};
