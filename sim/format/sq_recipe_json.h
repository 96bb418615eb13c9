// SPDX-License-Identifier: Apache-2.0
// What a recipe is, in JSON: by these members results of one command are found by another.
#pragma once

#include <jansson.h>

#include "sim/format/sq_recipe.h"

// An object of key format, and of those options that the format's table shows in this scope (SQ_IN_RUN, ..). The caller
// owns it.
json_t *sq_recipe_json(const struct sq_recipe *r, unsigned scope);
