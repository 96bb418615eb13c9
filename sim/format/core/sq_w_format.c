// SPDX-License-Identifier: Apache-2.0
// SQ-format on weights (SPEC A): banks of low and high codes, on both paths of the core.
#include "sim/format/core/sq_grid_format.h"

#include <string.h>

enum { ALL = SQ_IN_EVAL | SQ_IN_QUANTIZE | SQ_IN_RUN | SQ_IN_SWEEP };

static const char *const act_choice[] = {"4", "8", NULL};

static const struct sq_format_option options[] = {
    SQ_GRID_HEAD,
    SQ_GRID_GROUP(SQ_GRID_CODED, SQ_GRID_CODED | SQ_IN_FILE),
    SQ_BANK_OPTION(SQ_GRID_CODED, SQ_GRID_CODED | SQ_IN_FILE),
    SQ_GRID_TAIL,
    SQ_BANK_BITS(SQ_GRID_FIELD, weight, ALL),
    SQ_GRID_GROUP(ALL & ~SQ_GRID_CODED, SQ_IN_RUN),
    SQ_VARIANT_OPTION(SQ_GRID_FIELD, weight),
    SQ_WORD("score", SQ_GRID_CODED, 0, sq_score_choice, 0, 0, SQ_GRID_FIELD(gptq.score),
            "gptq: importance of a weight", .absent = SQ_NEED_GPTQ),
    {.name = "lazy",
     .kind = SQ_OPTION_FLAG,
     .taken = SQ_GRID_CODED,
     SQ_GRID_FIELD(gptq.is_lazy),
     .help = "gptq: mask of a bank from the compensated weights",
     .absent = SQ_NEED_GPTQ},
    SQ_REFUSED("weight-bits", SQ_GRID_CODED, "sq_w has --high-bits and --low-bits"),
    SQ_UINT("act-bits", SQ_IN_EVAL | SQ_IN_FILE, 0, 4, 8, 8, SQ_FIELD(act.low_bits),
            "bits of an activation; own scales: 4 or 8", .also = 16),
    SQ_NUMBER("act-bits", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    SQ_FAIL_IF((sq_given_text(given, "score") || o->gptq.is_lazy) &&
                   r->algorithm != SQ_ALGORITHM_GPTQ,
               err, SQ_ERR_ARG, "score and --lazy need %s--algorithm gptq",
               scope & SQ_GRID_CODED ? "--format sq_w " : "");
    SQ_FAIL_IF(r->is_act_f16, err, SQ_ERR_ARG, "act-bits = 16: 16 bits need --format dense");
    if (o->weight.kind == SQ_GRID_FP)
        r->act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    if (scope == SQ_IN_FILE)
        return SQ_OK;
    if (o->weight.kind == SQ_GRID_DENSE)
        sq_grid_set(r)->weight.kind = SQ_GRID_OWN;
    SQ_TRY(sq_grid_settle_banks(r, err));
    return sq_grid_settle(r, scope, given, r->algorithm == SQ_ALGORITHM_GPTQ,
                          err); // step 1 of Algorithm 1 (SPEC B.4)
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_format f = sq_recipe_banks(r);
    sq_banks_text(&f, out);
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_format f = sq_recipe_banks(r);
    SQ_TRY(sq_cost_check_act(r, false, err));
    return sq_format_check(&f, err);
}

static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    const struct sq_format f = sq_recipe_banks(r);
    u->low_lanes = has->low_lanes;
    u->high_lanes = has->high_lanes;
    u->unit.kind = SQ_UNIT_CORE;
    u->unit.output.form = SQ_COMBINE_TWO;
    u->unit.output.hold = 1;
    u->unit.core = *has;
    u->unit.core.low_bits = f.low_bits;
    u->unit.core.high_bits = f.high_bits;
    u->unit.core.act_bits = sq_recipe_act_bits(r);
    u->stored = sq_k_padded(&f, (size_t)d->k);
    sq_cost_banks(u, &f);
    const struct sq_grid *g = &sq_grid_recipe(r)->weight;
    d->of[SQ_STREAM_LO].element = g->low_bits;
    d->of[SQ_STREAM_HI].bank = r->high_per_bank * g->high_bits;
    d->of[SQ_STREAM_SCALE].group = 8;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    const struct sq_format f = sq_recipe_banks(r);
    return sq_format_equivalent_bits(&f);
}

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    const struct sq_format f = sq_recipe_banks(r);
    return strstr(s->dtype_w, "s4") && sq_gpu_is_share(s, sq_format_sparsity(&f));
}

extern const struct sq_format_routes sq_w_routes;

static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    (void)r;
    sq_cost_pe_core(pe, &u->unit.core);
}

static const struct sq_grid *mixed(const struct sq_recipe *r)
{
    return &sq_grid_recipe(r)->weight;
}

const struct sq_format_ops sq_format_sq_w = {
    .name = "sq_w",
    .option = options,
    .uncalibrated = "--algorithm rtn",
    .settle = settle,
    .text = text,
    .is_headed_by_text = true,
    .values = &sq_grid_coded,
    .file = &sq_grid_packed,
    .cost =
        &(const struct sq_format_cost){
            .mixed = mixed,
            .check = check_cost,
            .is_core = true,
            .pe = make_pe,
            .demand = demand,
            .equivalent_bits = equivalent_bits,
        },
    .gpu =
        &(const struct sq_format_gpu){
            .product = sq_gpu_product_bf16,
            .is_record = is_record,
        },
    .routes = &sq_w_routes,
    .variant = &(const struct sq_grid_variant){.mixes_weights = true},
};
