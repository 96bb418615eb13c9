// SPDX-License-Identifier: Apache-2.0
// SQ-format on activations (SPEC B, C, D.4): dense weights; which channels of a bank are high is
// one mask for all tokens (static) or chosen by each (dynamic).
#include "sim/format/sq_grid_format.h"

#include <stdio.h>
#include <string.h>

enum { ALL = SQ_IN_EVAL | SQ_IN_RUN | SQ_IN_SWEEP };

static const char *const select_choice[] = {"fp", "int8", NULL};
static const char *const mask_score_choice[] = {"product", "act", NULL};

#define OPTIONS                                                                                    \
    SQ_GRID_HEAD, SQ_GRID_GROUP(SQ_IN_EVAL, SQ_IN_EVAL), SQ_BANK_OPTION(SQ_IN_EVAL, SQ_IN_EVAL),   \
        SQ_GRID_TAIL, SQ_BANK_BITS(act, ALL), SQ_GRID_GROUP(ALL & ~SQ_IN_EVAL, SQ_IN_RUN),         \
        SQ_VARIANT_OPTION(act),                                                                    \
        SQ_UINT("weight-bits", ALL, SQ_IN_RUN, 2, 8, 4, weight.low_bits, "bits of a weight"),      \
        SQ_REFUSED("act-bits", SQ_IN_EVAL, "sq_a has --high-bits and --low-bits")

static const struct sq_format_option static_options[] = {
    OPTIONS,
    SQ_WORD("mask-score", SQ_IN_EVAL, 0, mask_score_choice, 0, 0, is_mask_by_act,
            "masks by the product of mean |x| and mean |w|, or by act alone"),
    {0}};

static const struct sq_format_option dynamic_options[] = {
    OPTIONS,
    SQ_WORD("select", SQ_IN_EVAL, 0, select_choice, SQ_SELECT_DYNAMIC_FP, SQ_SELECT_DYNAMIC_FP,
            select, "masks by the fp or the int8 magnitude"),
    {0}};

static bool is_static(const struct sq_recipe *r)
{
    return r->format == &sq_format_sq_a_static;
}

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    (void)scope;
    if (is_static(r))
        r->select = SQ_SELECT_STATIC;
    if (r->act.kind == SQ_GRID_DENSE)
        r->act.kind = SQ_GRID_OWN;
    SQ_TRY(sq_grid_settle_banks(r, err));
    return sq_grid_settle(r, given, err);
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_format f = sq_recipe_banks(r);
    char banks[64];
    sq_banks_text(&f, banks);
    snprintf(out, 96, "%s W%u, activations %s", r->format->name, r->weight.low_bits, banks);
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_format f = sq_recipe_banks(r);
    if (r->weight.low_bits < 2 || r->weight.low_bits > 8)
        return SQ_FAIL(err, SQ_ERR_RANGE, "weight-bits = %u, need 2..8 for %s", r->weight.low_bits,
                       r->format->name);
    return sq_format_check(&f, err);
}

static double high_share(const struct sq_recipe *r)
{
    return (double)r->high_per_bank / r->bank;
}

static double cycles_per_element(const struct sq_recipe *r, const struct sq_core_config *core,
                                 uint64_t m, uint64_t k)
{
    const unsigned bits = r->weight.low_bits;
    (void)m, (void)k;
    return (1 - high_share(r)) / sq_cost_products(core, bits, r->act.low_bits) +
           high_share(r) / sq_cost_products(core, bits, r->act.high_bits);
}

static double act_nbits(const struct sq_recipe *r)
{
    return (1 - high_share(r)) * r->act.low_bits + high_share(r) * r->act.high_bits +
           (is_static(r) ? 0 : 1);
}

static bool is_integer(const struct sq_recipe *r)
{
    (void)r;
    return true;
}

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    const struct sq_format f = sq_recipe_banks(r);
    return strstr(s->dtype_w, "s4") && sq_gpu_is_share(s, sq_format_sparsity(&f));
}

#define SQ_A                                                                                       \
    .settle = settle, .text = text, SQ_GRID_VALUES, .check_cost = check_cost,                      \
    .cycles_per_element = cycles_per_element, .weight_nbytes = sq_grid_weight_nbytes,              \
    .act_nbits = act_nbits, .act_scales = 2, .equivalent_bits = sq_grid_equivalent_bits,           \
    .is_gpu_integer = is_integer, .is_gpu_record = is_record

extern const struct sq_format_trace sq_a_static_trace, sq_a_dynamic_trace;

const struct sq_format_ops sq_format_sq_a_static = {.trace = &sq_a_static_trace,
                                                    .name = "sq_a_static",
                                                    .option = static_options,
                                                    .has_mask = true,
                                                    SQ_A};

const struct sq_format_ops sq_format_sq_a_dynamic = {
    .trace = &sq_a_dynamic_trace, .name = "sq_a_dynamic", .option = dynamic_options, SQ_A};
