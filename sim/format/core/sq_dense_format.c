// SPDX-License-Identifier: Apache-2.0
// Dense: codes of 2 to 8 bits (on a machine to 16), a scale a group; activations of 4 to 8 bits, or
// binary16. With 16 bits on both sides eval takes the model as it is.
#include "sim/format/core/sq_grid_format.h"

#include <stdio.h>

static const char *const act_choice[] = {"4", "8", "16", NULL};
static const char *const element_choice[] = {"int", "fp8", NULL};
static const char *const like_choice[] = {"spec", "ggml", NULL};

static const struct sq_format_option options[] = {
    SQ_GRID_HEAD,
    SQ_UINT("weight-bits", SQ_GRID_CODED, 0, 2, 8, 4, SQ_GRID_FIELD(weight.low_bits),
            "bits of a weight; 16 leaves the model as it is", .also = 16,
            .absent = SQ_NO_BANKS " of a choice"),
    SQ_UINT("weight-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, 2, 16, 4,
            SQ_GRID_FIELD(weight.low_bits), "bits of a weight"),
    SQ_GRID_GROUP(SQ_GRID_CODED | SQ_IN_RUN | SQ_IN_SWEEP, SQ_GRID_SEEN | SQ_IN_RUN),
    {.name = "bank", .kind = SQ_OPTION_UINT, .shown = SQ_GRID_SEEN, SQ_FIELD(bank)},
    SQ_GRID_TAIL,
    SQ_UINT("act-bits", SQ_IN_EVAL | SQ_IN_FILE, 0, 4, 8, 8, SQ_FIELD(act.low_bits),
            "bits of an activation; 16 is binary16", .also = 16),
    SQ_WORD("act-element", SQ_IN_EVAL, SQ_IN_EVAL, element_choice, 0, 0, SQ_GRID_FIELD(is_act_fp8),
            "codes of activations; fp8 (E4M3, a scale a token) needs --operand act"),
    SQ_WORD("like", SQ_GRID_CODED, SQ_GRID_CODED, like_choice, 0, 0, SQ_GRID_FIELD(is_like_ggml),
            "weights with the arithmetic of ggml's Q8_0 (--weight-bits 8 --group 32 --algorithm "
            "rtn)"),
    SQ_NUMBER("act-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    SQ_FAIL_IF(scope == SQ_IN_QUANTIZE && sq_recipe_is_reference(r), err, SQ_ERR_ARG,
               "weight-bits = 16 is no encoding, need 2..8");
    SQ_FAIL_IF(scope == SQ_IN_EVAL && sq_recipe_is_reference(r) && (!r->is_act_f16 || r->is_smooth),
               err, SQ_ERR_ARG, "weight-bits = 16 needs --act-bits 16: the model as it is");
    SQ_FAIL_IF(o->is_like_ggml &&
                   (o->weight.low_bits != 8 || r->group != 32 || r->algorithm != SQ_ALGORITHM_RTN ||
                    r->operand == SQ_OPERAND_ACT),
               err, SQ_ERR_ARG,
               "like = ggml: Q8_0, need --weight-bits 8 --group 32 --algorithm rtn and "
               "encoded weights");
    SQ_FAIL_IF(o->is_act_fp8 && r->operand != SQ_OPERAND_ACT, err, SQ_ERR_ARG,
               "act-element = fp8 needs --operand act");
    SQ_FAIL_IF(o->is_act_fp8 && sq_given_text(given, "act-bits") && r->act.low_bits != 8, err,
               SQ_ERR_ARG, "act-bits = %u, need 8 with --act-element fp8", r->act.low_bits);
    if (o->is_act_fp8)
        r->act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    SQ_TRY(sq_grid_settle(r, scope, given, false, err));
    if (sq_recipe_is_reference(r)) // numbers of 16 bits, which no scale multiplies
        r->group = 0;
    return SQ_OK;
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    if (r->operand == SQ_OPERAND_ACT)
        snprintf(out, 96, "dense A%u%s", r->act.low_bits, o->is_act_fp8 ? " E4M3" : "");
    else if (r->operand == SQ_OPERAND_WEIGHTS)
        snprintf(out, 96, "dense W%u", sq_grid_stored_bits(r));
    else
        snprintf(out, 96, "dense W%uA%u", sq_grid_stored_bits(r), sq_recipe_act_bits(r));
}

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    SQ_TRY(sq_cost_check_act(r, true, err));
    SQ_FAIL_IF(o->weight.low_bits < 2 || o->weight.low_bits > 16, err, SQ_ERR_RANGE,
               "weight-bits = %u, need 2..16", o->weight.low_bits);
    return SQ_OK;
}

static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    d->cost.low_lanes =
        sq_cost_products(has, sq_grid_recipe(r)->weight.low_bits, sq_recipe_act_bits(r));
    sq_cost_pieces(&d->cost, 1, d->cost.low_lanes);
    sq_grid_demand(r, d);
}

static enum sq_gpu_product gpu_product(const struct sq_recipe *r)
{
    return sq_grid_recipe(r)->weight.low_bits <= 8 && sq_recipe_act_bits(r) <= 8
               ? SQ_GPU_PRODUCT_INT8
               : SQ_GPU_PRODUCT_BF16;
}

static bool is_library(const struct sq_recipe *r)
{
    return sq_grid_recipe(r)->weight.low_bits == sq_recipe_act_bits(r);
}

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    return sq_grid_recipe(r)->weight.low_bits == 4 &&
           sq_gpu_is_f16(s) == (sq_recipe_act_bits(r) == 16);
}

extern const struct sq_format_routes sq_dense_routes;

static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    sq_cost_pe_dense(pe, u->low_lanes, sq_recipe_act_bits(r), sq_grid_recipe(r)->weight.low_bits);
}

const struct sq_format_ops sq_format_dense = {
    .name = "dense",
    .option = options,
    .uncalibrated = "--algorithm rtn",
    .settle = settle,
    .text = text,
    .is_headed_by_text = true,
    .values = &sq_grid_coded,
    .file = &sq_grid_stored,
    .cost =
        &(const struct sq_format_cost){
            .check = check_cost,
            .pe = make_pe,
            .demand = demand,
            .equivalent_bits = sq_grid_equivalent_bits,
        },
    .gpu =
        &(const struct sq_format_gpu){
            .product = gpu_product,
            .is_library = is_library,
            .record = "w4",
            .is_record = is_record,
        },
    .routes = &sq_dense_routes,
    .variant = &(const struct sq_grid_variant){0},
};
