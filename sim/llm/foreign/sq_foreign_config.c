// SPDX-License-Identifier: Apache-2.0
// Reads the quantization_config of compressed-tensors, modelopt, fp8, mxfp4, quark, gptq, awq and bitsandbytes
// (sq_foreign_config.h).
#include "sim/llm/foreign/sq_foreign_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/io/sq_json.h"

static const char methods[] = " compressed-tensors modelopt fp8 mxfp4 quark gptq awq bitsandbytes ";

static const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static const char *method_of(const json_t *config)
{
    const char *method = text_of(config, "quant_method");
    // hf_quant_config.json of modelopt: {"producer": .., "quantization": {"quant_algo": ..}}
    return json_object_get(config, "quant_method")    ? method
           : json_object_get(config, "quantization")  ? "modelopt"
           : text_of(config, "quant_algo")            ? "modelopt"
           : json_object_get(config, "config_groups") ? "compressed-tensors"
           : json_object_get(config, "w_bit")         ? "awq"  // quant_config.json of AutoAWQ
           : json_object_get(config, "bits")          ? "gptq" // quantize_config.json of AutoGPTQ
                                                      : NULL;
}

enum sq_status sq_foreign_check_config(const json_t *config, const char *what, const char **method,
                                       struct sq_foreign_notes *notes, struct sq_error *err)
{
    *method = config ? method_of(config) : NULL;
    if (!config)
        return SQ_OK;
    char word[48];
    snprintf(word, sizeof word, " %.40s ", *method ? *method : "");
    const char *version = text_of(config, "version");
    SQ_FAIL_IF(
        *method && strcmp(*method, "awq") == 0 && version && strcasecmp(version, "gemm") != 0, err,
        SQ_ERR_UNSUPPORTED, "%s: version of quantization_config = %.20s, need gemm", what, version);
    SQ_FAIL_IF(json_is_true(json_object_get(config, "load_in_8bit")), err, SQ_ERR_UNSUPPORTED,
               "%s: load_in_8bit of quantization_config is true, need load_in_4bit", what);
    if (*method && **method && !strchr(*method, ' ') && strstr(methods, word))
        return sq_foreign_check_keys(config, *method, notes, err);
    return SQ_FAIL(
        err, SQ_ERR_UNSUPPORTED,
        "%s: quant_method of quantization_config = %.40s, need compressed-tensors, modelopt, "
        "fp8, mxfp4, quark, gptq, awq or bitsandbytes",
        what, *method ? *method : "(missing)");
}

enum sq_status sq_foreign_check_both(const json_t *config, const json_t *other, const char *beside,
                                     struct sq_error *err)
{
    static const char *const key[] = {"quant_method", "quant_algo",    "bits",
                                      "w_bit",        "group_size",    "q_group_size",
                                      "sym",          "desc_act",      "zero_point",
                                      "dynamic",      "config_groups", "checkpoint_format"};
    const json_t *inner = json_object_get(other, "quantization");
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        const json_t *a = sq_json_field(config, key[i]);
        const json_t *b = sq_json_field(inner ? inner : other, key[i]);
        SQ_FAIL_IF(a && b && !json_equal(a, b), err, SQ_ERR_DAMAGED,
                   "%s of quantization_config in config.json differs from that of %s, need "
                   "one of them",
                   key[i], beside);
    }
    return SQ_OK;
}

// ---- targets ----------------------------------------------------------------------------------

// "re:EXPRESSION", which matches from the beginning on, or the name of a layer.
static enum sq_status is_target(const struct sq_foreign *f, const char *target, const char *name,
                                bool *is_match, struct sq_error *err)
{
    *is_match = strcmp(target, name) == 0;
    return strncmp(target, "re:", 3) == 0
               ? sq_foreign_is_match(f->expressions, target + 3, name, is_match, err)
               : SQ_OK;
}

// Whether target a comes before target b, as compressed-tensors sorts them: names, expressions, classes.
static bool is_before(const char *a, const char *b)
{
    const int rank[] = {strcmp(a, "Linear") == 0 ? 2 : strstr(a, "re:") != NULL,
                        strcmp(b, "Linear") == 0 ? 2 : strstr(b, "re:") != NULL};
    return rank[0] != rank[1] ? rank[0] < rank[1] : strcmp(a, b) < 0;
}

// Finds the group whose target is the layer. If two groups have that target, the later one counts.
static enum sq_status group_of(const struct sq_foreign *f, const char *name, const json_t **found,
                               struct sq_error *err)
{
    const char *key, *best = NULL;
    json_t *group;
    *found = NULL;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(f->config, "config_groups"), key,
                        group)
    {
        const json_t *targets = json_object_get(group, "targets");
        for (size_t i = 0; i < json_array_size(targets); i++) {
            const char *target = json_string_value(json_array_get(targets, i));
            bool is_match = target && strcmp(target, "Linear") == 0;
            if (!target || (best && is_before(best, target)))
                continue;
            if (!is_match)
                SQ_TRY(is_target(f, target, name, &is_match, err));
            best = is_match ? target : best;
            *found = is_match ? group : *found;
        }
    }
    return SQ_OK;
}

// Whether a pattern, in which * is any text, is the whole name.
static bool is_glob(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

// Whether `module` is the layer, holds it, or ends its name, as transformers matches.
static bool is_module(const char *module, const char *name)
{
    const size_t n = strlen(module), length = strlen(name);
    return n > 0 && n <= length &&
           ((strncmp(module, name, n) == 0 && (name[n] == '.' || name[n] == '\0')) ||
            strcmp(name + length - n, module) == 0);
}

// Whether a list says that the layer is not quantized.
static enum sq_status read_ignored(const struct sq_foreign *f, const char *name, bool *is_ignored,
                                   struct sq_error *err)
{
    static const char *const key[] = {"ignore",         "exclude_modules", "modules_to_not_convert",
                                      "ignored_layers", "exclude",         "llm_int8_skip_modules"};
    const json_t *inner = json_object_get(f->config, "quantization");
    *is_ignored = false;
    for (size_t k = 0; k < sizeof key / sizeof key[0]; k++) {
        const json_t *list = json_object_get(inner ? inner : f->config, key[k]);
        for (size_t i = 0; !*is_ignored && i < json_array_size(list); i++) {
            const char *text = json_string_value(json_array_get(list, i));
            if (text && strncmp(text, "re:", 3) == 0)
                SQ_TRY(is_target(f, text, name, is_ignored, err));
            else if (text)
                *is_ignored = is_glob(text, name) || (k >= 2 && is_module(text, name)) ||
                              (k == 0 && strcmp(text, "Linear") == 0);
        }
    }
    return SQ_OK;
}

// What `dynamic` of GPTQModel says of a layer: "+:EXPRESSION" or "EXPRESSION" has other values, "-:EXPRESSION" none.
static enum sq_status read_dynamic(const struct sq_foreign *f, const char *name,
                                   const json_t **more, bool *is_ignored, struct sq_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(f->config, "dynamic"), key, value)
    {
        const bool is_marked = (key[0] == '+' || key[0] == '-') && key[1] == ':';
        bool is_match;
        SQ_TRY(sq_foreign_is_match(f->expressions, key + 2 * is_marked, name, &is_match, err));
        if (is_match) {
            *is_ignored = *is_ignored || (is_marked && key[0] == '-');
            *more = value;
            return SQ_OK;
        }
    }
    return SQ_OK;
}

// ---- schemes ----------------------------------------------------------------------------------

static enum sq_status read_size(const json_t *o, const char *key, uint64_t most, size_t *size,
                                struct sq_error *err)
{
    const json_t *v = json_object_get(o, key);
    uint64_t number = 0;
    if (json_integer_value(v) == -1 && json_is_integer(v)) {
        *size = SIZE_MAX;
        return SQ_OK;
    }
    SQ_TRY(sq_json_uint(o, "quantization_config", key, 0, most, 0, &number, err));
    *size = (size_t)number;
    return SQ_OK;
}

// [rows, columns], or in older files "64x32"; nothing where it is null.
static enum sq_status read_block(const json_t *o, const char *key, size_t block[2],
                                 struct sq_error *err)
{
    const json_t *list = sq_json_field(o, key);
    unsigned text[2] = {0, 0};
    char rest;
    const bool is_text = json_is_string(list) && sscanf(json_string_value(list), "%5ux%5u%c",
                                                        &text[0], &text[1], &rest) == 2;
    for (size_t i = 0; i < 2 && list; i++) {
        const json_int_t v =
            is_text ? (json_int_t)text[i] : json_integer_value(json_array_get(list, i));
        SQ_FAIL_IF((!is_text && json_array_size(list) != 2) || v < 1 || v > 1 << 16, err,
                   SQ_ERR_RANGE,
                   "quantization_config: rows and columns of a tile (weight_block_size, "
                   "block_structure), need two numbers 1..65536");
        block[i] = (size_t)v;
    }
    return SQ_OK;
}

static enum sq_status read_group(const json_t *group, struct sq_foreign_scheme *s,
                                 struct sq_error *err)
{
    const json_t *w = json_object_get(group, "weights"),
                 *a = json_object_get(group, "input_activations");
    size_t bits, act_bits;
    if (!group)
        return SQ_OK;
    SQ_TRY(read_size(w, "num_bits", 64, &bits, err));
    SQ_TRY(read_size(w, "group_size", 1 << 20, &s->group, err));
    SQ_TRY(read_block(w, "block_structure", s->block, err));
    SQ_TRY(read_size(a, "num_bits", 64, &act_bits, err));
    s->bits = (unsigned)bits;
    s->has_type = text_of(w, "type") != NULL;
    s->is_float = s->has_type && strcmp(text_of(w, "type"), "float") == 0;
    s->is_act = json_is_object(a);
    s->is_weights_only = !s->is_act;
    s->act_bits = (unsigned)act_bits;
    s->is_act_float = text_of(a, "type") && strcmp(text_of(a, "type"), "float") == 0;
    s->is_act_zero = json_is_false(json_object_get(a, "symmetric"));
    s->is_act_static = json_is_false(json_object_get(a, "dynamic"));
    return SQ_OK;
}

// quant_algo of modelopt.
static void read_algorithm(const char *algorithm, struct sq_foreign_scheme *s)
{
    const bool is_four = strstr(algorithm, "FP4") || strstr(algorithm, "W4A16_AWQ") ||
                         strstr(algorithm, "INT4") || strstr(algorithm, "W4A8_AWQ");
    s->algorithm = algorithm;
    s->is_weights_only = strstr(algorithm, "A16") != NULL;
    s->is_act = !s->is_weights_only;
    s->act_bits = strstr(algorithm, "FP4") && !strstr(algorithm, "A8") ? 4 : 8;
    s->is_float = strstr(algorithm, "FP4") || strstr(algorithm, "FP8");
    s->has_type =
        s->is_float || is_four || strstr(algorithm, "W8A8_SQ") || strstr(algorithm, "INT8");
    s->bits = !s->has_type ? 0 : is_four ? 4 : 8;
    s->group = strstr(algorithm, "NVFP4") ? 16 : strstr(algorithm, "MXFP") ? 32 : 0;
}

enum sq_status sq_foreign_scheme(const struct sq_foreign *f, const char *name,
                                 struct sq_foreign_scheme *s, struct sq_error *err)
{
    const json_t *config = f->config;
    const char *method = config ? method_of(config) : NULL;
    size_t bits = 0;
    *s = (struct sq_foreign_scheme){0};
    if (!method)
        return SQ_OK;
    SQ_TRY(read_ignored(f, name, &s->is_ignored, err));
    if (strcmp(method, "modelopt") == 0) {
        const json_t *q = json_object_get(config, "quantization");
        const json_t *own =
            json_object_get(json_object_get(q ? q : config, "quantized_layers"), name);
        const char *algorithm = text_of(own ? own : q ? q : config, "quant_algo");
        if (algorithm)
            read_algorithm(algorithm, s);
        return SQ_OK;
    }
    if (strcmp(method, "fp8") == 0) {
        s->is_act = true;
        s->act_bits = 8;
        s->is_act_float = true;
        return read_block(config, "weight_block_size", s->block, err);
    }
    if (strcmp(method, "compressed-tensors") == 0) {
        const json_t *group;
        SQ_TRY(group_of(f, name, &group, err));
        return read_group(group, s, err);
    }
    s->is_gptq = strcmp(method, "gptq") == 0;
    s->is_awq = strcmp(method, "awq") == 0;
    if (!s->is_gptq && !s->is_awq)
        return SQ_OK;
    const char *form = text_of(config, "checkpoint_format");
    const json_t *more = NULL; // other values of the layer
    form = form ? form : text_of(config, "format");
    SQ_TRY(read_dynamic(f, name, &more, &s->is_ignored, err));
    s->is_weights_only = true;
    s->is_gptq_v2 = form && strcmp(form, "gptq_v2") == 0;
    SQ_FAIL_IF(form && s->is_gptq && strcmp(form, "gptq") != 0 && !s->is_gptq_v2, err,
               SQ_ERR_UNSUPPORTED,
               "quantization_config: checkpoint_format = %.30s, need gptq or gptq_v2", form);
    SQ_TRY(read_size(sq_json_field(more, "bits") ? more : config,
                     json_object_get(config, "bits") ? "bits" : "w_bit", 64, &bits, err));
    s->bits = (unsigned)bits;
    return read_size(sq_json_field(more, "group_size") ? more : config,
                     json_object_get(config, "group_size") ? "group_size" : "q_group_size", 1 << 20,
                     &s->group, err);
}

enum sq_status sq_foreign_agrees(const struct sq_foreign_scheme *s,
                                 const struct sq_foreign_layer *l, struct sq_error *err)
{
    const bool is_float = l->code != SQ_FOREIGN_INTEGER;
    SQ_FAIL_IF(s->is_ignored, err, SQ_ERR_SHAPE,
               "tensor '%.80s' is quantized (%s), the quantization_config says that its "
               "layer is not",
               l->used[0]->name, l->what);
    SQ_FAIL_IF(
        s->algorithm && s->has_type &&
            (s->bits != l->bits || s->is_float != is_float || (s->group && s->group != l->group)),
        err, SQ_ERR_SHAPE,
        "tensor '%.80s' holds %s, quant_algo of the quantization_config is %.40s", l->used[0]->name,
        l->what, s->algorithm);
    if (s->bits && s->bits != l->bits)
        return SQ_FAIL(
            err, SQ_ERR_SHAPE,
            "tensor '%.80s' holds codes of %u bits (%s), the quantization_config says %u",
            l->used[0]->name, l->bits, l->what, s->bits);
    SQ_FAIL_IF(s->has_type && s->is_float != is_float, err, SQ_ERR_SHAPE,
               "tensor '%.80s' holds %s (%s), type of the quantization_config is %s",
               l->used[0]->name, is_float ? "floats" : "integers", l->what,
               s->is_float ? "float" : "int");
    SQ_FAIL_IF(s->has_type && is_float && !s->block[0] && s->group && s->group != l->group &&
                   !(s->group == SIZE_MAX && l->group == l->k),
               err, SQ_ERR_SHAPE,
               "tensor '%.80s' has a scale of each %zu columns (%s), group_size of the "
               "quantization_config is %zd",
               l->scale->name, l->group, l->what, (ssize_t)s->group);
    return SQ_OK;
}

// ---- activations ------------------------------------------------------------------------------

enum sq_adopted_act sq_foreign_act_like(const struct sq_foreign_scheme *s, unsigned bits,
                                        struct sq_foreign_notes *notes, bool is_said)
{
    if (!is_said || s->is_weights_only)
        return SQ_ADOPTED_ACT_NONE;
    if (!s->act_bits || (s->act_bits == bits && (s->is_act_float || s->algorithm)))
        return SQ_ADOPTED_ACT_LIKE;
    sq_foreign_note(
        notes,
        "the file has activations of %u bits beside weights of %u: no format here has both, "
        "activations stay as they are",
        s->act_bits, bits);
    return SQ_ADOPTED_ACT_NONE;
}

enum sq_adopted_act sq_foreign_act_integer(const struct sq_foreign_scheme *s, unsigned *bits,
                                           struct sq_foreign_notes *notes)
{
    if (!s->is_act)
        return SQ_ADOPTED_ACT_NONE;
    if (s->is_act_float) {
        sq_foreign_note(notes,
                        "the file has activations of %u-bit floats beside weights of integers: no "
                        "format here has both, activations stay as they are",
                        s->act_bits);
        return SQ_ADOPTED_ACT_NONE;
    }
    if (s->is_act_zero)
        sq_foreign_note(notes, "the file has zero points of integer activations; here they "
                               "are symmetric");
    if (s->is_act_static)
        sq_foreign_note(notes, "the file has a constant scale of integer activations; here each "
                               "token has its own");
    *bits = s->act_bits;
    return SQ_ADOPTED_ACT_INTEGER;
}
