// SPDX-License-Identifier: Apache-2.0
// How a device sums dot products, as a YAML file says it (sums/*.yaml, SPEC Q.11): a rule (models/number/sq_sum.h)
// for each type of operands.
#pragma once

#include "models/number/sq_sum.h"

enum { SQ_SUM_RULES_MAX = 8, SQ_SUM_TYPES_MAX = 8 };

struct sq_sum_device {
    char name[32], source[512];
    unsigned n;
    struct {
        char input[SQ_SUM_TYPES_MAX][8]; // names of sq_sum_types, or "any"
        unsigned n_inputs;
        struct sq_sum_rule rule;
    } sum[SQ_SUM_RULES_MAX];
};

// One that comes with sqsim; the known names stand in the refusal.
enum sq_status sq_sum_device_named(const char *name, struct sq_sum_device *d, struct sq_error *err);
extern const char *const
    sq_sum_choice[]; // "spec", which is none (SPEC Q.7), then their names; NULL behind the last

// One of either kind, a file by its "/" or ".yaml", and its rule for operands of that type.
enum sq_status sq_sum_device_find(const char *name, const char *type, struct sq_sum_device *d,
                                  const struct sq_sum_rule **rule, struct sq_error *err);

// The rule for operands of that type, or NULL.
const struct sq_sum_rule *sq_sum_device_rule(const struct sq_sum_device *d, const char *type);
