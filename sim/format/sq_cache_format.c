// SPDX-License-Identifier: Apache-2.0
// Reads the format of a KV cache, and encodes a row of one (sq_cache_format.h).
#include "sim/format/sq_cache_format.h"

#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"

// Short names.
static const struct {
    const char *name, *text;
} names[] = {{"bf16", "dense:weight-bits=16:act-bits=16"},
             {"int8", "dense:weight-bits=8"},
             {"int4", "dense:weight-bits=4"}};

// What is meant where no option says otherwise, of those that a format has.
static void add_usual(const char *format, unsigned scope, struct sq_given *given)
{
    static const char *const usual[][2] = {{"group", "row"}, {"algorithm", "rtn"}};
    char name[64];
    const size_t n = strcspn(format, ":");
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, format);
    const struct sq_format_ops *f = sq_format_find(name);
    for (size_t i = 0; f && i < sizeof usual / sizeof usual[0]; i++) {
        const struct sq_format_option *o = sq_option_find(f, scope, usual[i][0]);
        if (o && o->kind != SQ_OPTION_REFUSED && o->choice && !strstr(format, usual[i][0])) {
            given->option[given->n].name = usual[i][0];
            given->option[given->n++].text = usual[i][1];
        }
    }
}

enum sq_status sq_cache_recipe(const char *text, unsigned scope, struct sq_recipe *r,
                               struct sq_error *err)
{
    struct sq_given given = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i].name) == 0)
            text = names[i].text;
    add_usual(text, scope, &given);
    SQ_FREED char *copy = strdup(text);
    SQ_NEED(copy, err, "a format");
    SQ_TRY(sq_recipe_read(copy, "kv-format", scope, &given, r, err));
    SQ_FAIL_IF(!sq_recipe_is_reference(r) && sq_recipe_needs_calibration(r), err,
               SQ_ERR_UNSUPPORTED, "kv-format: %s needs calibration, which a cache does not have",
               r->format->name);
    return SQ_OK;
}

double sq_cache_row_nbits(const struct sq_recipe *cache, uint64_t width)
{
    return sq_recipe_nbits(cache, 1, (size_t)width);
}

enum sq_status sq_cache_round(const struct sq_recipe *cache, float *row, size_t width,
                              struct sq_error *err)
{
    const struct sq_quant_input none = {0};
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer layer = {0};
    if (sq_recipe_is_reference(cache))
        return SQ_OK;
    SQ_TRY(sq_quant_layer_init(&layer, cache, row, 1, width, &none, err));
    SQ_FREED float *out = malloc(layer.k * sizeof *out);
    SQ_NEED(out, err, "a row of %zu", layer.k);
    layer.format->values->decode_row(layer.state, 0, out);
    memcpy(row, out, width * sizeof *row);
    return SQ_OK;
}
