// SPDX-License-Identifier: Apache-2.0
// SQ-format on activations (SPEC B, C, D.4): dense weights; which channels of a bank are high is
// one mask for all tokens (static) or chosen by each (dynamic).
#include "sim/format/core/sq_grid_format.h"

#include <stdio.h>
#include <string.h>

#include "models/core/sq_topk.h"

enum { ALL = SQ_GRID_CODED | SQ_IN_RUN | SQ_IN_SWEEP };

static const char *const select_choice[] = {"fp", "int8", "int8_mul", NULL};
const char *const sq_topk_choice[] = {"radix", "rank", NULL};
static const char *const mask_score_choice[] = {"product", "act", NULL};

#define OPTIONS                                                                                    \
    SQ_GRID_HEAD, SQ_GRID_GROUP(SQ_GRID_CODED, SQ_GRID_SEEN),                                      \
        SQ_BANK_OPTION(SQ_GRID_CODED, SQ_GRID_SEEN), SQ_GRID_TAIL,                                 \
        SQ_BANK_BITS(SQ_FIELD, act, ALL), SQ_GRID_GROUP(ALL & ~SQ_GRID_CODED, SQ_IN_RUN),          \
        SQ_VARIANT_OPTION(SQ_FIELD, act),                                                          \
        SQ_UINT("weight-bits", ALL, SQ_IN_RUN, 2, 8, 4, SQ_GRID_FIELD(weight.low_bits),            \
                "bits of a weight"),                                                               \
        SQ_REFUSED("act-bits", SQ_IN_EVAL | SQ_IN_FILE, "sq_a has --high-bits and --low-bits")

static const struct sq_format_option static_options[] = {
    OPTIONS,
    SQ_WORD("mask-score", SQ_GRID_CODED, 0, mask_score_choice, 0, 0, SQ_GRID_FIELD(is_mask_by_act),
            "masks by the product of mean |x| and mean |w|, or by act alone"),
    {0}};

static const struct sq_format_option dynamic_options[] = {
    OPTIONS,
    SQ_WORD(
        "select", SQ_GRID_CODED, 0, select_choice, SQ_SELECT_DYNAMIC_FP, SQ_SELECT_DYNAMIC_FP,
        SQ_GRID_FIELD(select),
        "masks by the fp or the int8 magnitude; int8_mul: low codes by an integer multiplier, too"),
    SQ_WORD("topk", SQ_IN_RUN | SQ_IN_SWEEP, SQ_IN_RUN, sq_topk_choice, 0, 0, SQ_GRID_FIELD(topk),
            "unit that makes masks: a cycle for each bit of a magnitude, or a bank a cycle (rank)"),
    {0}};

static bool is_static(const struct sq_recipe *r)
{
    const struct sq_grid_variant *kind = r->format->variant;
    return !kind->is_by_token;
}

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    if (is_static(r))
        sq_grid_set(r)->select = SQ_SELECT_STATIC;
    else if (sq_grid_recipe(r)->select == SQ_SELECT_STATIC) // that of no option: only timed
        sq_grid_set(r)->select = SQ_SELECT_DYNAMIC_FP;
    if (scope == SQ_IN_FILE) // which says the rest
        return SQ_OK;
    if (r->act.kind == SQ_GRID_DENSE)
        r->act.kind = SQ_GRID_OWN;
    SQ_TRY(sq_grid_settle_banks(r, err));
    return sq_grid_settle(r, scope, given, is_static(r), err); // step 1 of Algorithm 2 (SPEC B.5)
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_format f = sq_recipe_banks(r);
    char banks[64];
    sq_banks_text(&f, banks);
    snprintf(out, 96, "%s W%u, activations %s", r->format->name, sq_grid_recipe(r)->weight.low_bits,
             banks);
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const struct sq_format f = sq_recipe_banks(r);
    SQ_FAIL_IF(o->weight.low_bits < 2 || o->weight.low_bits > 8, err, SQ_ERR_RANGE,
               "weight-bits = %u, need 2..8 for %s", o->weight.low_bits, r->format->name);
    return sq_format_check(&f, err);
}

static double high_share(const struct sq_recipe *r)
{
    return (double)r->high_per_bank / r->bank;
}

// Multiplications of a low and a high code, in bit products.
static unsigned cells(const struct sq_recipe *r, unsigned low, unsigned high)
{
    return sq_grid_recipe(r)->weight.low_bits * (low * r->act.low_bits + high * r->act.high_bits);
}

static unsigned all_cells(const struct sq_core_config *has)
{
    return sq_cost_products(has, 1, 1);
}

static unsigned ceil_div(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

// Channels are in the order of the mask: a beat holds whole banks, or the same part of one.
static void static_demand(const struct sq_recipe *r, const struct sq_core_config *has,
                          struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    const unsigned high = r->high_per_bank, low = r->bank - high, all = all_cells(has);
    const unsigned banks = all / cells(r, low, high);
    unsigned parts = 1;
    while (banks == 0 && parts < r->bank &&
           cells(r, ceil_div(low, parts), ceil_div(high, parts)) > all)
        parts++;
    u->unit.stages = SQ_ARRAY_STAGES_MIXED;
    u->unit.output.form = SQ_COMBINE_SCALED;
    u->span = banks > 0 ? banks * r->bank : r->bank;
    u->span_beats = parts;
    u->low_lanes = banks > 0 ? banks * low : ceil_div(low, parts);
    u->high_lanes = banks > 0 ? banks * high : ceil_div(high, parts);
    u->low = 1 - high_share(r);
    u->high = high_share(r);
    sq_grid_demand(r, d);
    d->n_act_scales = 2;
}

static unsigned lanes(double n, unsigned most)
{
    return n < 1 ? 1 : n > most ? most : (unsigned)n;
}

// Low codes stay in place, with the mask code at the high ones: whole banks on both paths.
static void dynamic_demand(const struct sq_recipe *r, const struct sq_core_config *has,
                           struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const struct sq_format f = sq_recipe_banks(r);
    const double times =
        (double)all_cells(has) / cells(r, has->low_lanes, has->high_lanes) * (1 + 1e-9);
    u->low_lanes = lanes(times * has->low_lanes, 128);
    u->high_lanes = lanes(times * has->high_lanes, 64);
    u->unit.kind = SQ_UNIT_CORE_ACT;
    u->unit.output.form = SQ_COMBINE_SCALED;
    u->unit.output.hold = 1;
    u->unit.topk = o->topk ? SQ_TOPK_RANK : SQ_TOPK_RADIX;
    u->unit.core = *has;
    u->unit.core.low_bits = f.low_bits;
    u->unit.core.high_bits = f.high_bits;
    u->unit.core.act_bits = o->weight.low_bits <= 4 ? 4 : 8;
    u->stored = sq_k_padded(&f, (size_t)d->k);
    sq_cost_banks(u, &f);
    sq_grid_demand(r, d);
    d->n_act_scales = 2;
}

// Masks of its own for every token: as many high codes, a product more at each, masks to be made
// in one way or the other, and a bitmap to be fetched.
static bool slower(const struct sq_recipe *r, unsigned i, struct sq_recipe *other)
{
    *other = *r;
    other->format = &sq_format_sq_a_dynamic;
    sq_grid_set(other)->topk = i; // of sq_topk_choice
    return sq_topk_choice[i] != NULL;
}

// The mask is a constant, of which synthesis keeps two dense dot products (sq_array_static).
static void static_pe(const struct sq_recipe *r, const struct sq_cost_unit *u,
                      struct sq_cost_pe *pe)
{
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    if (r->act.high_bits > 8)
        return;
    sq_cost_pe_dense(pe, u->low_lanes, r->act.low_bits, o->weight.low_bits);
    sq_cost_pe_dense(pe, u->high_lanes, r->act.high_bits, o->weight.low_bits);
}

// Behind the mask unit of a row, which is not in it.
static void dynamic_pe(const struct sq_recipe *r, const struct sq_cost_unit *u,
                       struct sq_cost_pe *pe)
{
    (void)r;
    sq_cost_pe_core(pe, &u->unit.core);
}

// SPEC A.6b, compact: with a bitmap where every token has its own mask.
static double act_nbits(const struct sq_recipe *r)
{
    return (1 - high_share(r)) * r->act.low_bits + high_share(r) * r->act.high_bits + !is_static(r);
}

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    const struct sq_format f = sq_recipe_banks(r);
    return strstr(s->dtype_w, "s4") && sq_gpu_is_share(s, sq_format_sparsity(&f));
}

#define TIMED                                                                                      \
    .check = check_cost, .act_nbits = act_nbits, .equivalent_bits = sq_grid_equivalent_bits

extern const struct sq_format_routes sq_a_static_routes, sq_a_dynamic_routes;

const struct sq_format_ops sq_format_sq_a_static = {
    .name = "sq_a_static",
    .option = static_options,
    .settle = settle,
    .text = text,
    .is_headed_by_text = true,
    .values = &sq_grid_masked,
    .file = &sq_grid_stored,
    .cost = &(const struct sq_format_cost){TIMED, .demand = static_demand, .slower = slower,
                                           .pe = static_pe},
    .gpu = &(const struct sq_format_gpu){.is_split = true,
                                         .product = sq_gpu_product_int8,
                                         .is_record = is_record},
    .routes = &sq_a_static_routes,
    .variant = &(const struct sq_grid_variant){.mixes_act = true},
};

const struct sq_format_ops sq_format_sq_a_dynamic = {
    .name = "sq_a_dynamic",
    .option = dynamic_options,
    .uncalibrated = "--algorithm rtn",
    .settle = settle,
    .text = text,
    .is_headed_by_text = true,
    .values = &sq_grid_coded,
    .file = &sq_grid_stored,
    .cost = &(const struct sq_format_cost){TIMED, .demand = dynamic_demand, .pe = dynamic_pe},
    .gpu = &(const struct sq_format_gpu){.product = sq_gpu_product_int8, .is_record = is_record},
    .routes = &sq_a_dynamic_routes,
    .variant = &(const struct sq_grid_variant){.mixes_act = true, .is_by_token = true},
};
