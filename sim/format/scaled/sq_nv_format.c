// SPDX-License-Identifier: Apache-2.0
// NVFP4, 4/6, NVINT4 and NVINT5 (SPEC Q.3), IF4 and RaZeR (Q.5c): blocks of 16 at an E4M3 scale times a
// global one.
#include "sim/format/scaled/sq_bs_format.h"

static const char *const scale_by_choice[] = {"largest", "error", "weights", NULL};

static const char *const errors_choice[] = {"binary64", "integer", NULL};

#define ERRORS                                                                                     \
    SQ_WORD("errors", SQ_IN_EVAL, SQ_IN_EVAL, errors_choice, 0, SQ_BS_ERRORS_BINARY64,             \
            SQ_BS_OWN(errors),                                                                     \
            "squared errors of activations: exact, or in integers as the encoder in hardware has " \
            "them (--act-scale token2)")

static const struct sq_format_option options[] = {
    SQ_BS_HEAD,
    SQ_BS_ACT_SCALE,
    SQ_WORD("scale-by", SQ_BS_CODED, SQ_BS_SEEN, scale_by_choice, 0, SQ_BS_BY_LARGEST,
            SQ_BS_OWN(scale_by),
            "scale of a block: by its largest element, with the least squared error, or that of "
            "weights alone"),
    ERRORS,
    SQ_BS_LIKE,
    SQ_BS_ACCUMULATE,
    SQ_BS_TAIL,
    {0}};
static const struct sq_format_option chosen_options[] = {
    SQ_BS_HEAD, SQ_BS_ACT_SCALE, ERRORS, SQ_BS_LIKE, SQ_BS_ACCUMULATE, SQ_BS_TAIL, {0}};

static enum sq_status settle_errors(const struct sq_recipe *r, struct sq_error *err)
{
    SQ_FAIL_IF(sq_bs_recipe(r)->errors == SQ_BS_ERRORS_INTEGER &&
                   sq_bs_recipe(r)->act_scale != SQ_BS_ACT_TOKEN2,
               err, SQ_ERR_ARG, "errors = integer: needs --act-scale token2");
    return SQ_OK;
}

static enum sq_status settle(const struct sq_recipe *r, struct sq_error *err)
{
    SQ_FAIL_IF(r->operand == SQ_OPERAND_ACT && sq_bs_recipe(r)->scale_by == SQ_BS_BY_WEIGHTS, err,
               SQ_ERR_ARG, "scale-by = weights: --operand act leaves weights");
    if (sq_bs_recipe(r)->errors == SQ_BS_ERRORS_INTEGER) {
        const struct sq_bs_format f = sq_bs_act_of(r);
        SQ_FAIL_IF(!f.is_searched, err, SQ_ERR_ARG, "errors = integer: needs --scale-by error");
        SQ_TRY(sq_bs_check(&f, err));
    }
    return settle_errors(r, err);
}

size_t sq_bs_act_scale_number(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[0] =
        (struct sq_metadata_value){"act_scale", &sq_bs_set(r)->act_scale, 0, SQ_BS_ACT_TOKEN2};
    return 1;
}

static size_t numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[1] = (struct sq_metadata_value){"scale_by", &sq_bs_set(r)->scale_by, 0, SQ_BS_BY_WEIGHTS};
    return sq_bs_act_scale_number(r, value) + 1;
}

#define NV(name_, element_)                                                                        \
    SQ_BS_FORMAT(name_, options, .blocks = {.kind = SQ_BS_NV, .element = (element_), .block = 16}, \
                 .settle = settle, .numbers = numbers)
NV(nvfp4, SQ_ELEMENT_E2M1);
NV(nvint4, SQ_ELEMENT_INT4);
NV(nvint5, SQ_ELEMENT_INT5);

// A block chooses by its squared error already.
#define CHOSEN(name_, kind_)                                                                       \
    SQ_BS_FORMAT(name_, chosen_options,                                                            \
                 .blocks = {.kind = (kind_), .element = SQ_ELEMENT_E2M1, .block = 16},             \
                 .settle = settle_errors, .numbers = sq_bs_act_scale_number)
CHOSEN(nvfp4_46, SQ_BS_FOUR_SIX);
CHOSEN(if4, SQ_BS_IF4);
CHOSEN(razer, SQ_BS_RAZER);
