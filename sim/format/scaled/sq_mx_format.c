// SPDX-License-Identifier: Apache-2.0
// OCP Microscaling (SPEC Q.2), and MX+ (Q.4): blocks of 32 at a power of two.
#include "sim/format/scaled/sq_bs_format.h"

static const char *const rule_choice[] = {"ocp", "ceil", NULL};
static const char *const fp6_choice[] = {"e2m3", "e3m2", NULL};
static const char *const fp8_choice[] = {"e4m3", "e5m2", NULL};

// clang-format off
#define RULE                                                                                       \
    SQ_WORD("rule", SQ_BS_CODED, SQ_BS_SEEN, rule_choice, 0, SQ_BS_OCP, SQ_BS_OWN(rule),                   \
            "scale of a block: by the exponent of its largest element, or so that none clips")
#define ELEMENT(choice, first)                                                                     \
    SQ_WORD("element", SQ_BS_CODED | SQ_IN_RUN, SQ_BS_SEEN | SQ_IN_RUN, choice, first, first,      \
            SQ_BS_OWN(element), "code of an element")
// clang-format on

static const struct sq_format_option plain_options[] = {SQ_BS_HEAD,       RULE,       SQ_BS_LIKE,
                                                        SQ_BS_ACCUMULATE, SQ_BS_TAIL, {0}};
static const struct sq_format_option plus_options[] = {SQ_BS_HEAD, SQ_BS_TAIL, {0}};
static const struct sq_format_option fp6_options[] = {
    SQ_BS_HEAD, ELEMENT(fp6_choice, SQ_ELEMENT_E2M3), RULE, SQ_BS_ACCUMULATE, SQ_BS_TAIL, {0}};
static const struct sq_format_option fp8_options[] = {
    SQ_BS_HEAD, ELEMENT(fp8_choice, SQ_ELEMENT_E4M3), RULE, SQ_BS_ACCUMULATE, SQ_BS_TAIL, {0}};

// ---- beside the scale of a block -------------------------------------------------------------

static void choose_element(const struct sq_recipe *r, struct sq_bs_format *f)
{
    f->element = (enum sq_element)sq_bs_recipe(r)->element;
}

static size_t numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[0] = (struct sq_metadata_value){"rule", &sq_bs_set(r)->rule, 0, SQ_BS_CEIL};
    return 1;
}

static size_t fp6_numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[1] = (struct sq_metadata_value){"element", &sq_bs_set(r)->element, SQ_ELEMENT_E2M3,
                                          SQ_ELEMENT_E3M2};
    return numbers(r, value) + 1;
}

static size_t fp8_numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[1] = (struct sq_metadata_value){"element", &sq_bs_set(r)->element, SQ_ELEMENT_E4M3,
                                          SQ_ELEMENT_E5M2};
    return numbers(r, value) + 1;
}

#define MX(name_, options, element_, ...)                                                          \
    SQ_BS_FORMAT(name_, options, .blocks = {.kind = SQ_BS_MX, .element = (element_), .block = 32}, \
                 __VA_ARGS__)
MX(mxfp4, plain_options, SQ_ELEMENT_E2M1, .numbers = numbers);
MX(mxfp6, fp6_options, SQ_ELEMENT_E2M3, .choose = choose_element, .numbers = fp6_numbers);
MX(mxfp8, fp8_options, SQ_ELEMENT_E4M3, .choose = choose_element, .numbers = fp8_numbers);
MX(mxint8, plain_options, SQ_ELEMENT_MXINT8, .numbers = numbers);
SQ_BS_FORMAT(mxplus, plus_options,
             .blocks = {.kind = SQ_BS_PLUS, .element = SQ_ELEMENT_E2M1, .block = 32});
