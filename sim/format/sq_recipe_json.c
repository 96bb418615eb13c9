// SPDX-License-Identifier: Apache-2.0
// A recipe as JSON (sq_recipe_json.h).
#include "sim/format/sq_recipe_json.h"

#include <stdio.h>

#include "sim/format/sq_format_ops.h"

static json_t *json_grid(const struct sq_grid *g)
{
    return json_pack("{s:s, s:i, s:i}", "grid", sq_grid_name(g->kind), "high_bits",
                     (int)g->high_bits, "low_bits", (int)g->low_bits);
}

static json_t *json_value(const struct sq_format_option *o, const struct sq_recipe *r)
{
    const char *field = (const char *)r;
    const double v = o->nbytes && o->kind < SQ_OPTION_TEXT ? sq_option_get(o, r) : 0;
    char word[64];
    if (o->flag && !*(const bool *)(field + o->flag))
        return json_null();
    switch (o->kind) {
    case SQ_OPTION_TEXT:
        return json_string(o->text);
    case SQ_OPTION_GRID:
        return json_grid((const struct sq_grid *)(const void *)(field + o->offset));
    case SQ_OPTION_ACT:
        return o->text         ? json_string(o->text)
               : r->is_act_f16 ? json_string("binary16")
                               : json_grid(&r->act);
    case SQ_OPTION_NAME:
        sq_option_word(o, v, word, sizeof word);
        return json_string(word);
    case SQ_OPTION_DOUBLE:
        return json_real(v);
    default:
        return json_integer((json_int_t)v);
    }
}

json_t *sq_recipe_json(const struct sq_recipe *r, unsigned scope)
{
    json_t *object = json_object();
    json_object_set_new(object, "format", json_string(r->format->name));
    for (const struct sq_format_option *o = r->format->option; o->name; o++) {
        char key[32];
        snprintf(key, sizeof key, "%s", o->key ? o->key : o->name);
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        if (o->shown & scope)
            json_object_set_new(object, key, json_value(o, r));
    }
    return object;
}
