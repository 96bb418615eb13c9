// SPDX-License-Identifier: Apache-2.0
// Block-scaled SQ (SPEC Q.5): banks with k high elements and a scale of their own.
#include "sim/format/scaled/sq_bs_format.h"

#include <stdio.h>
#include <string.h>

enum { ALL = SQ_BS_CODED | SQ_IN_RUN, SEEN = SQ_BS_SEEN | SQ_IN_RUN };

static const char *const bank_choice[] = {"16", "32", NULL};
static const char *const element_choice[] = {"int", "fp", NULL};
const char *const sq_b_codes_choice[] = {"sentinel", "split", NULL};
static const char *const high_scale_choice[] = {"own", "bank", NULL};
static const char *const step_choice[] = {"e4m3", "pow2", NULL};
static const char *const step_by_choice[] = {"error", "maximum", NULL};

static const struct sq_format_option options[] = {
    SQ_BS_HEAD,
    SQ_NUMBER("bank", ALL | SQ_IN_SWEEP, SEEN, bank_choice, 32, SQ_FIELD(bank),
              "elements per bank"),
    SQ_UINT("high-per-bank", ALL | SQ_IN_SWEEP, SEEN, 1, 16, 2, SQ_FIELD(high_per_bank),
            "high elements of a bank, at most half of it"),
    SQ_WORD("element", ALL, SEEN, element_choice, 0, 0, SQ_BS_OWN(element),
            "low and high codes: INT4 and INT8, or E2M1 and E4M3"),
    SQ_WORD("codes", ALL | SQ_IN_SWEEP, SEEN, sq_b_codes_choice, 0, 0, SQ_BS_OWN(is_split),
            "high elements apart, or as two nibbles at one step"),
    SQ_WORD("high-scale", ALL, SEEN, high_scale_choice, 0, 0, SQ_BS_OWN(is_high_block),
            "sentinel: scale of high elements, of the row or token, or of the bank"),
    SQ_WORD("step", ALL, SEEN, step_choice, 0, 0, SQ_BS_OWN(is_power_of_two),
            "split: step of a bank, E4M3 times a global one or a power of two"),
    SQ_WORD("step-by", SQ_BS_CODED, SQ_BS_SEEN, step_by_choice, 0, 0, SQ_BS_OWN(is_by_maximum),
            "split: step with the least squared error, or at which nothing clips"),
    SQ_BS_ACT_SCALE,
    SQ_BS_TAIL,
    {0}};

static void choose(const struct sq_recipe *r, struct sq_bs_format *f)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    f->element = o->element ? SQ_ELEMENT_E2M1 : SQ_ELEMENT_INT4;
    f->block = r->bank;
    f->high_per_block = r->high_per_bank;
    f->is_high_block = o->is_high_block;
    f->kind = o->is_split ? SQ_BS_SPLIT : SQ_BS_SQ;
    f->is_power_of_two = o->is_power_of_two;
    f->is_by_maximum = o->is_by_maximum;
}

static enum sq_status settle(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    SQ_FAIL_IF(!o->is_split && (o->is_power_of_two || o->is_by_maximum), err, SQ_ERR_ARG,
               "%s needs --codes split", o->is_power_of_two ? "step = pow2" : "step-by = maximum");
    SQ_FAIL_IF(o->is_split && (o->is_high_block || o->element), err, SQ_ERR_ARG,
               "%s needs --codes sentinel", o->element ? "element = fp" : "high-scale = bank");
    return SQ_OK;
}

static size_t numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    struct sq_bs_recipe *o = sq_bs_set(r);
    const struct sq_metadata_value all[] = {
        {"act_scale", &o->act_scale, 0, SQ_BS_ACT_TOKEN2},
        {"element", &o->element, 0, 1},
        {"bank", &r->bank, 16, 32},
        {"k", &r->high_per_bank, 1, 16},
        {"codes", &o->is_split, 0, 1},
        {"high_scale", &o->is_high_block, 0, 1},
        {"step", &o->is_power_of_two, 0, 1},
        {"step_by", &o->is_by_maximum, 0, 1},
    };
    memcpy(value, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_bs_recipe *o = sq_bs_recipe(r);
    snprintf(out, 96, "sq_b b=%u k=%u, %s%s", r->bank, r->high_per_bank, o->element ? "fp " : "",
             o->is_split ? "split" : "sentinel");
}

SQ_BS_FORMAT(sq_b, options, .blocks = {.kind = SQ_BS_SQ}, .choose = choose, .settle = settle,
             .numbers = numbers, .text = text);
