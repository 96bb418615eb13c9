// SPDX-License-Identifier: Apache-2.0
// Layers with a recipe of their own, by name: formats mixed in one model.
//
//   PATTERN=FORMAT[:OPTION=VALUE]...[,PATTERN=...]     "*.down_proj=sq_a_dynamic:sparsity=0.5"
//
// PATTERN is a shell pattern of a layer's name, "model.layers.0.mlp.down_proj"; of several that
// match the first counts. The options of the rule come first; then those that were given for all
// layers, if the rule's format takes them; everything else has the format's default.
#pragma once

#include "sim/format/sq_format_option.h"
#include "sim/format/sq_recipe.h"

enum { SQ_LAYER_RULES_MAX = 16, SQ_LAYER_PATTERN_MAX = 128 };

struct sq_layer_rule {
    char pattern[SQ_LAYER_PATTERN_MAX];
    struct sq_recipe recipe;
};

// At most SQ_LAYER_RULES_MAX of them; sentences begin with "layer-format".
enum sq_status sq_layer_rules_read(const char *text, const struct sq_given *given,
                                   struct sq_layer_rule rule[SQ_LAYER_RULES_MAX], size_t *n,
                                   struct sq_error *err);

// The recipe of "FORMAT:OPTION=VALUE:..." in a scope; cuts the text. Options of `given`, which may be NULL,
// come after those, where the format takes them. Sentences begin with `what`.
enum sq_status sq_recipe_read(char *text, const char *what, unsigned scope,
                              const struct sq_given *given, struct sq_recipe *r,
                              struct sq_error *err);

// The recipe of the layer of that name: of a rule of *r, or *r itself.
const struct sq_recipe *sq_recipe_of_layer(const struct sq_recipe *r, const char *name);
