// SPDX-License-Identifier: Apache-2.0
// What `sqsim quantize` hands to its mode --vectors.
#pragma once

#include <stdbool.h>

#include "models/sq_status.h"
#include "sim/format/sq_format_ops.h"

struct sq_vectors_request {
    const struct sq_recipe *recipe;
    const char *folder, *answers; // written, read; NULL: neither
    bool is_json;
};
// Writes and prints the suite of the recipe, or how a unit's answers follow it; *is_kept: no rule is
// broken.
enum sq_status sq_vectors_request(const struct sq_vectors_request *request, bool *is_kept,
                                  struct sq_error *err);
