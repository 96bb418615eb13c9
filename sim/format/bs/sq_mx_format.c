// SPDX-License-Identifier: Apache-2.0
// OCP Microscaling (SPEC Q.2), and MX+ (Q.4): blocks of 32 at a power of two.
#include "sim/format/bs/sq_bs_format.h"

static const char *const rule_choice[] = {"ocp", "ceil", NULL};
static const char *const fp6_choice[] = {"e2m3", "e3m2", NULL};
static const char *const fp8_choice[] = {"e4m3", "e5m2", NULL};

// clang-format off
#define RULE                                                                                       \
    SQ_WORD("rule", SQ_BS_CODED, SQ_BS_SEEN, rule_choice, 0, SQ_BS_OCP, bs.rule,                   \
            "scale of a block: by the exponent of its largest element, or so that none clips")
#define ELEMENT(choice, first)                                                                     \
    SQ_WORD("element", SQ_BS_CODED | SQ_IN_RUN, SQ_BS_SEEN | SQ_IN_RUN, choice, first, first,      \
            bs.element, "code of an element")
// clang-format on

static const struct sq_format_option plain_options[] = {SQ_BS_HEAD, RULE, SQ_BS_TAIL, {0}};
static const struct sq_format_option plus_options[] = {SQ_BS_HEAD, SQ_BS_TAIL, {0}};
static const struct sq_format_option fp6_options[] = {
    SQ_BS_HEAD, ELEMENT(fp6_choice, SQ_ELEMENT_E2M3), RULE, SQ_BS_TAIL, {0}};
static const struct sq_format_option fp8_options[] = {
    SQ_BS_HEAD, ELEMENT(fp8_choice, SQ_ELEMENT_E4M3), RULE, SQ_BS_TAIL, {0}};

#define MX(name_, options)                                                                         \
    const struct sq_format_ops sq_format_##name_ = {                                               \
        .name = #name_,                                                                            \
        .option = options,                                                                         \
        .values = sq_bs_values,                                                                    \
        SQ_BS_MEMBERS,                                                                             \
    }
extern const struct sq_format_ops sq_format_mxfp6, sq_format_mxfp8, sq_format_mxint8,
    sq_format_mxplus;
MX(mxfp4, plain_options);
MX(mxfp6, fp6_options);
MX(mxfp8, fp8_options);
MX(mxint8, plain_options);
MX(mxplus, plus_options);
