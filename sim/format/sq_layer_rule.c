// SPDX-License-Identifier: Apache-2.0
// Reads the rules of layers, and finds the recipe of a layer by its name (sq_layer_rule.h).
#include "sim/format/sq_layer_rule.h"

#include <fnmatch.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"

const struct sq_recipe *sq_recipe_of_layer(const struct sq_recipe *r, const char *name)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (fnmatch(r->rule[i].pattern, name, 0) == 0)
            return &r->rule[i].recipe;
    return r;
}

// The options given for all layers that this format takes.
static struct sq_given taken(const struct sq_given *given, const struct sq_format_ops *f)
{
    struct sq_given own = {0};
    for (size_t i = 0; given && i < given->n; i++) {
        const struct sq_format_option *o = sq_option_find(f, SQ_IN_EVAL, given->option[i].name);
        if (o && o->kind != SQ_OPTION_REFUSED)
            own.option[own.n++] = given->option[i];
    }
    return own;
}

enum sq_status sq_recipe_read(char *text, const char *what, unsigned scope,
                              const struct sq_given *given, struct sq_recipe *r,
                              struct sq_error *err)
{
    struct sq_error why;
    const char *name = strsep(&text, ":");
    const struct sq_format_ops *f = sq_format_find(name);
    SQ_FAIL_IF(!f || !f->values, err, SQ_ERR_ARG, "%s: '%.40s' is no format with values", what,
               name);
    struct sq_given own = taken(given, f);
    for (char *option; (option = strsep(&text, ":"));) {
        char *value = strchr(option, '=');
        SQ_FAIL_IF(own.n == SQ_OPTIONS_MAX, err, SQ_ERR_ARG, "%s: more than %d options", what,
                   SQ_OPTIONS_MAX);
        if (value)
            *value++ = '\0';
        own.option[own.n].name = option;
        own.option[own.n++].text = value ? value : "";
    }
    return sq_format_recipe(f, scope, &own, r, &why) == SQ_OK
               ? SQ_OK
               : SQ_FAIL(err, why.code, "%s: %.200s", what, why.text);
}

// One that is an encoding.
static enum sq_status read_recipe(char *text, const struct sq_given *given, struct sq_recipe *r,
                                  struct sq_error *err)
{
    SQ_TRY(sq_recipe_read(text, "layer-format", SQ_IN_EVAL, given, r, err));
    SQ_FAIL_IF(sq_recipe_is_reference(r), err, SQ_ERR_ARG,
               "layer-format: weight-bits = 16 is no encoding, need 2..8");
    return SQ_OK;
}

enum sq_status sq_layer_rules_read(const char *text, const struct sq_given *given,
                                   struct sq_layer_rule rule[SQ_LAYER_RULES_MAX], size_t *n,
                                   struct sq_error *err)
{
    SQ_FREED char *copy = strdup(text);
    char *left = copy;
    SQ_NEED(copy, err, "rules");
    *n = 0;
    for (char *one; (one = strsep(&left, ","));) {
        char *format = strchr(one, '=');
        const size_t length = format ? (size_t)(format - one) : 0;
        SQ_FAIL_IF(length == 0 || length >= SQ_LAYER_PATTERN_MAX || *n == SQ_LAYER_RULES_MAX, err,
                   SQ_ERR_ARG,
                   "layer-format = %.60s, need up to %d of PATTERN=FORMAT, a pattern of 1 "
                   "to %d characters",
                   text, SQ_LAYER_RULES_MAX, SQ_LAYER_PATTERN_MAX - 1);
        memcpy(rule[*n].pattern, one, length);
        rule[*n].pattern[length] = '\0';
        SQ_TRY(read_recipe(format + 1, given, &rule[(*n)++].recipe, err));
    }
    return SQ_OK;
}
