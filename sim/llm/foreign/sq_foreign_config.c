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
                                                      : NULL;
}

enum sq_status sq_foreign_check_config(const json_t *config, const char *what, const char **method,
                                       struct sq_error *err)
{
    *method = config ? method_of(config) : NULL;
    if (!config)
        return SQ_OK;
    char word[48];
    snprintf(word, sizeof word, " %.40s ", *method ? *method : "");
    const char *version = text_of(config, "version");
    if (*method && strcmp(*method, "awq") == 0 && version && strcasecmp(version, "gemm") != 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: version of quantization_config = %.20s, need gemm", what, version);
    if (json_is_true(json_object_get(config, "load_in_8bit")))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: load_in_8bit of quantization_config is true, need load_in_4bit", what);
    if (*method && **method && !strchr(*method, ' ') && strstr(methods, word))
        return SQ_OK;
    return SQ_FAIL(
        err, SQ_ERR_UNSUPPORTED,
        "%s: quant_method of quantization_config = %.40s, need compressed-tensors, modelopt, "
        "fp8, mxfp4, quark, gptq, awq or bitsandbytes",
        what, *method ? *method : "(missing)");
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

// The first group that names the layer, or the first of all linear layers.
static enum sq_status group_of(const struct sq_foreign *f, const char *name, const json_t **found,
                               struct sq_error *err)
{
    const char *key;
    json_t *group;
    const json_t *whole = NULL;
    *found = NULL;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(f->config, "config_groups"), key,
                        group)
    {
        const json_t *targets = json_object_get(group, "targets");
        for (size_t i = 0; !*found && i < json_array_size(targets); i++) {
            const char *target = json_string_value(json_array_get(targets, i));
            bool is_match = false;
            if (target && strcmp(target, "Linear") == 0)
                whole = whole ? whole : group;
            else if (target)
                SQ_TRY(is_target(f, target, name, &is_match, err));
            *found = is_match ? group : NULL;
        }
    }
    if (!*found)
        *found = whole;
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

static enum sq_status read_block(const json_t *list, size_t block[2], struct sq_error *err)
{
    for (size_t i = 0; i < 2 && list; i++) {
        const json_int_t v = json_integer_value(json_array_get(list, i));
        if (json_array_size(list) != 2 || v < 1 || v > 1 << 16)
            return SQ_FAIL(err, SQ_ERR_RANGE,
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
    SQ_TRY(read_block(json_is_array(json_object_get(w, "block_structure"))
                          ? json_object_get(w, "block_structure")
                          : NULL,
                      s->block, err));
    SQ_TRY(read_size(a, "num_bits", 64, &act_bits, err));
    s->bits = (unsigned)bits;
    s->has_type = text_of(w, "type") != NULL;
    s->is_float = s->has_type && strcmp(text_of(w, "type"), "float") == 0;
    s->is_act = json_is_object(a);
    s->is_weights_only = !s->is_act;
    s->act_bits = (unsigned)act_bits;
    s->is_act_static = json_is_false(json_object_get(a, "dynamic"));
    return SQ_OK;
}

// quant_algo of modelopt.
static void read_algorithm(const char *algorithm, struct sq_foreign_scheme *s)
{
    s->is_weights_only = strstr(algorithm, "A16") != NULL;
    s->is_act = !s->is_weights_only;
    s->act_bits = strstr(algorithm, "FP4") && !strstr(algorithm, "A8") ? 4 : 8;
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
    if (strcmp(method, "modelopt") == 0) {
        const json_t *q = json_object_get(config, "quantization");
        const char *algorithm = text_of(q ? q : config, "quant_algo");
        if (algorithm)
            read_algorithm(algorithm, s);
        return SQ_OK;
    }
    if (strcmp(method, "fp8") == 0) {
        const json_t *block = json_object_get(config, "weight_block_size");
        s->is_act = true;
        s->act_bits = 8;
        return read_block(json_is_array(block) ? block : NULL, s->block, err);
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
    s->is_weights_only = true;
    s->is_gptq_v2 = form && strcmp(form, "gptq_v2") == 0;
    if (form && s->is_gptq && strcmp(form, "gptq") != 0 && !s->is_gptq_v2)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "quantization_config: checkpoint_format = %.30s, need gptq or gptq_v2",
                       form);
    SQ_TRY(read_size(config, json_object_get(config, "bits") ? "bits" : "w_bit", 64, &bits, err));
    s->bits = (unsigned)bits;
    return read_size(config, json_object_get(config, "group_size") ? "group_size" : "q_group_size",
                     1 << 20, &s->group, err);
}

enum sq_status sq_foreign_agrees(const struct sq_foreign_scheme *s,
                                 const struct sq_foreign_layer *l, struct sq_error *err)
{
    const bool is_float = l->code != SQ_FOREIGN_INTEGER;
    if (s->bits && s->bits != l->bits)
        return SQ_FAIL(
            err, SQ_ERR_SHAPE,
            "tensor '%.80s' holds codes of %u bits (%s), the quantization_config says %u",
            l->used[0]->name, l->bits, l->what, s->bits);
    if (s->has_type && s->is_float != is_float)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "tensor '%.80s' holds %s (%s), type of the quantization_config is %s",
                       l->used[0]->name, is_float ? "floats" : "integers", l->what,
                       s->is_float ? "float" : "int");
    if (s->has_type && is_float && l->bits == 4 && s->group && s->group != l->group)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "tensor '%.80s' has a scale of each %zu columns (%s), group_size of the "
                       "quantization_config is %zd",
                       l->scale->name, l->group, l->what, (ssize_t)s->group);
    return SQ_OK;
}
