// SPDX-License-Identifier: Apache-2.0
// Block-scaled SQ (SPEC Q.5): banks with k high elements and a scale of their own.
#include "sim/format/bs/sq_bs_format.h"

enum { ALL = SQ_BS_CODED | SQ_IN_RUN, SEEN = SQ_BS_SEEN | SQ_IN_RUN };

static const char *const bank_choice[] = {"16", "32", NULL};
static const char *const element_choice[] = {"int", "fp", NULL};
const char *const sq_b_codes_choice[] = {"sentinel", "split", NULL};
static const char *const high_scale_choice[] = {"own", "bank", NULL};
static const char *const step_choice[] = {"e4m3", "pow2", NULL};
static const char *const step_by_choice[] = {"error", "maximum", NULL};

static const struct sq_format_option options[] = {
    SQ_BS_HEAD,
    SQ_NUMBER("bank", ALL | SQ_IN_SWEEP, SEEN, bank_choice, 32, bank, "elements per bank"),
    SQ_UINT("high-per-bank", ALL | SQ_IN_SWEEP, SEEN, 1, 16, 2, high_per_bank,
            "high elements of a bank, at most half of it"),
    SQ_WORD("element", ALL, SEEN, element_choice, 0, 0, bs.element,
            "low and high codes: INT4 and INT8, or E2M1 and E4M3"),
    SQ_WORD("codes", ALL | SQ_IN_SWEEP, SEEN, sq_b_codes_choice, 0, 0, bs.is_split,
            "high elements apart, or as two nibbles at one step"),
    SQ_WORD("high-scale", ALL, SEEN, high_scale_choice, 0, 0, bs.is_high_block,
            "sentinel: scale of high elements, of the row or token, or of the bank"),
    SQ_WORD("step", ALL, SEEN, step_choice, 0, 0, bs.is_power_of_two,
            "split: step of a bank, E4M3 times a global one or a power of two"),
    SQ_WORD("step-by", SQ_BS_CODED, SQ_BS_SEEN, step_by_choice, 0, 0, bs.is_by_maximum,
            "split: step with the least squared error, or at which nothing clips"),
    SQ_BS_ACT_SCALE,
    SQ_BS_TAIL,
    {0}};

const struct sq_format_ops sq_format_sq_b = {
    .name = "sq_b",
    .option = options,
    .values = sq_bs_values,
    SQ_BS_MEMBERS,
};
