// SPDX-License-Identifier: Apache-2.0
// The keys of a quantization_config: what changes a value is read or refused by its name, the rest is known, and what
// is not known is listed in a note (sq_foreign_config.h); and the notes.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_quote.h"
#include "sim/llm/foreign/sq_foreign_config.h"

#define ARGUMENTS                                                                                  \
    " num_bits type group_size block_structure symmetric strategy dynamic actorder observer "      \
    "observer_kwargs scale_dtype zp_dtype "

// The keys of one object of a method. `known`: read, or without an effect on the values of a file: how it was made, how it is
// run, what is done with other tensors. `plain`: would change values; must be null, false, 0 or empty.
static const struct keys {
    const char *method, *object, *known, *plain;
} all[] = {
    {" compressed-tensors ", "",
     " quant_method format config_groups ignore quantization_status version "
     "global_compression_ratio kv_cache_scheme run_compressed dequantize use_optimized_inference "
     "sparsity_config transform_config ",
     " moe_sparsity_config "},
    {" compressed-tensors ", "config_groups", " targets weights input_activations format ",
     " output_activations "},
    {" compressed-tensors ", "weights", ARGUMENTS, ""},
    {" compressed-tensors ", "input_activations", ARGUMENTS, ""},
    {" modelopt ", "",
     " quant_method quant_algo producer quantization config_groups group_size ignore "
     "exclude_modules kv_cache_scheme kv_cache_quant_algo quantized_layers ",
     " pre_quant_scale has_zero_point smoothquant_val "},
    {" modelopt ", "quantization",
     " quant_algo group_size exclude_modules kv_cache_quant_algo quantized_layers ",
     " pre_quant_scale has_zero_point smoothquant_val "},
    {" fp8 ", "",
     " quant_method weight_block_size activation_scheme modules_to_not_convert ignored_layers fmt "
     "scale_fmt dequantize kv_cache_scheme ",
     " modules_to_convert "},
    {" mxfp4 ", "", " quant_method modules_to_not_convert dequantize ", ""},
    {" quark ", "",
     " quant_method global_quant_config layer_quant_config layer_type_quant_config exclude "
     "kv_cache_quant_config kv_cache_post_rope kv_cache_group quant_mode version export "
     "log_severity_level algo_config ",
     " softmax_quant_spec "},
    {" gptq ", "",
     " quant_method bits group_size sym desc_act checkpoint_format format method dynamic "
     "true_sequential static_groups damp_percent damp_auto_increment act_group_aware mse meta uri "
     "quantizer pack_dtype pack_impl model_name_or_path model_file_base_name tokenizer dataset "
     "backend use_exllama disable_exllama exllama_config use_cuda_fp16 max_input_length "
     "model_seqlen modules_in_block_to_quantize modules_to_not_convert block_name_to_quantize "
     "module_name_preceding_first_block batch_size pad_token_id cache_block_outputs device "
     "telemetry offload_to_disk offload_to_disk_path gptaq foem hessian fallback moe "
     "preprocessors smoother smooth mock_quantization iters seqlen nsamples lr minmax_lr "
     "enable_quanted_input enable_minmax_tuning autoround_version data_type low_gpu_mem_usage "
     "packing_format ",
     " is_marlin_format rotation adapter activation lm_head "},
    {" awq ", "",
     " quant_method bits w_bit group_size q_group_size zero_point version checkpoint_format "
     "format method modules_to_not_convert backend do_fuse fuse_max_seq_len modules_to_fuse "
     "exllama_config sym desc_act pack_dtype meta dynamic device modules_to_convert ",
     " rotation adapter activation lm_head "},
    {" bitsandbytes ", "",
     " quant_method load_in_4bit _load_in_4bit bnb_4bit_compute_dtype bnb_4bit_quant_type "
     "bnb_4bit_quant_storage bnb_4bit_use_double_quant llm_int8_threshold llm_int8_skip_modules "
     "llm_int8_enable_fp32_cpu_offload llm_int8_has_fp16_weight ",
     " load_in_8bit _load_in_8bit "},
};

// Keys of which certain words are legal. A blank stands on each side of a word.
static const struct {
    const char *method, *key, *words;
} words[] = {
    {" compressed-tensors ", "format",
     " dense int-quantized float-quantized naive-quantized pack-quantized mixed-precision "
     "nvfp4-pack-quantized mxfp4-pack-quantized mxfp6-pack-quantized mxfp8-quantized "},
    {" gptq awq ", "pack_dtype", " int32 torch.int32 "},
    {" awq ", "checkpoint_format", " gemm "},
    {" awq ", "format", " gemm "},
    {" fp8 ", "fmt", " e4m3 e5m2 "},
};

static bool has_word(const char *list, const char *word)
{
    char text[64];
    return snprintf(text, sizeof text, " %s ", word) < (int)sizeof text && strstr(list, text);
}

static bool is_empty(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) ||
           (json_is_number(v) && json_number_value(v) == 0) ||
           (json_is_string(v) && json_string_length(v) == 0) ||
           ((json_is_object(v) || json_is_array(v)) &&
            json_object_size(v) + json_array_size(v) == 0);
}

struct check {
    const char *method;
    struct sq_foreign_notes *notes;
    char unknown[160]; // keys, with commas
    struct sq_error *err;
};

static enum sq_status refuse(const struct check *c, const char *key, const char *more)
{
    return SQ_FAIL(c->err, SQ_ERR_UNSUPPORTED,
                   "quantization_config: %.60s is set, which changes values and is not read%s", key,
                   more);
}

static enum sq_status check_words(const struct check *c, const char *key, const json_t *v)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (has_word(words[i].method, c->method) && strcmp(words[i].key, key) == 0 &&
            json_is_string(v) && !has_word(words[i].words, json_string_value(v)))
            return SQ_FAIL(c->err, SQ_ERR_UNSUPPORTED,
                           "quantization_config: %s = %.40s, need one of%.*s", key,
                           json_string_value(v), (int)strlen(words[i].words) - 1, words[i].words);
    return SQ_OK;
}

static enum sq_status check_object(struct check *c, const char *name, const json_t *object)
{
    const struct keys *k = all;
    const char *key;
    json_t *v;
    while (k < all + sizeof all / sizeof all[0] &&
           (!has_word(k->method, c->method) || strcmp(k->object, name) != 0))
        k++;
    if (k == all + sizeof all / sizeof all[0])
        return SQ_OK;
    json_object_foreach((json_t *)(uintptr_t)object, key, v)
    {
        if (has_word(k->plain, key) && !is_empty(v))
            return refuse(c, key, ", need null");
        SQ_TRY(check_words(c, key, v));
        if (has_word(k->plain, key) || has_word(k->known, key))
            continue;
        char word[48];
        const size_t at = strlen(c->unknown);
        sq_quote_text(word, sizeof word, key);
        if (at + strlen(word) + 3 < sizeof c->unknown)
            snprintf(c->unknown + at, sizeof c->unknown - at, "%s%s", at ? ", " : "", word);
    }
    return SQ_OK;
}

// Rotations of compressed-tensors: those of weights are in the weights of the file, all others are done at run time.
static enum sq_status check_transforms(const struct check *c, const json_t *config)
{
    const char *name;
    json_t *scheme;
    size_t i;
    json_t *apply;
    const json_t *groups =
        json_object_get(json_object_get(config, "transform_config"), "config_groups");
    if (!groups && !is_empty(json_object_get(config, "transform_config")) &&
        json_object_get(config, "transform_config"))
        return refuse(c, "transform_config", ", need config_groups in it");
    json_object_foreach((json_t *)(uintptr_t)groups, name, scheme)
        json_array_foreach(json_object_get(scheme, "apply"), i, apply)
    {
        const char *at = json_string_value(json_object_get(apply, "location"));
        char more[160];
        if (at && (strcmp(at, "weight_input") == 0 || strcmp(at, "weight_output") == 0))
            continue;
        snprintf(more, sizeof more,
                 ": %.40s turns values at run time (location = %.40s), need weight_input or "
                 "weight_output",
                 name, at ? at : "none");
        return refuse(c, "transform_config", more);
    }
    return SQ_OK;
}

// Rotations of quark at run time.
static enum sq_status check_algorithms(const struct check *c, const json_t *list)
{
    static const char *const online[] = {"r3", "r4", "online_r1_rotation", "online_config"};
    for (size_t i = 0; i < json_array_size(list) + 1; i++)
        for (size_t j = 0; j < sizeof online / sizeof online[0]; j++) {
            const json_t *o = json_is_array(list) ? json_array_get(list, i) : list;
            const json_t *v = json_object_get(o, online[j]);
            if (v && !is_empty(v))
                return refuse(c, "algo_config", ": rotations at run time");
        }
    return SQ_OK;
}

enum sq_status sq_foreign_check_keys(const json_t *config, const char *method,
                                     struct sq_foreign_notes *notes, struct sq_error *err)
{
    struct check c = {method, notes, "", err};
    const char *name;
    json_t *group;
    const json_t *sparse = json_object_get(config, "sparsity_config");
    const char *form = json_string_value(json_object_get(sparse, "format"));
    SQ_TRY(check_object(&c, "", config));
    SQ_TRY(check_object(&c, "quantization", json_object_get(config, "quantization")));
    json_object_foreach(json_object_get(config, "config_groups"), name, group)
    {
        SQ_TRY(check_object(&c, "config_groups", group));
        SQ_TRY(check_object(&c, "weights", json_object_get(group, "weights")));
        SQ_TRY(check_object(&c, "input_activations", json_object_get(group, "input_activations")));
    }
    SQ_TRY(check_transforms(&c, config));
    SQ_TRY(check_algorithms(&c, json_object_get(config, "algo_config")));
    SQ_FAIL_IF(form && strcmp(form, "dense") != 0, err, SQ_ERR_UNSUPPORTED,
               "quantization_config: format of sparsity_config = %.40s, need dense", form);
    const json_t *cache = json_object_get(config, "kv_cache_scheme");
    if (cache && !is_empty(cache))
        sq_foreign_note(notes, "kv_cache_scheme of quantization_config is not used");
    if (c.unknown[0])
        sq_foreign_note(notes, "quantization_config has keys that are not known and not used: %s",
                        c.unknown);
    return SQ_OK;
}

// ---- notes ------------------------------------------------------------------------------------

void sq_foreign_note(struct sq_foreign_notes *notes, const char *format, ...)
{
    va_list list;
    size_t i = 0;
    while (notes && i < notes->n && notes->kind[i] != format)
        i++;
    if (!notes || i < notes->n || i == SQ_FOREIGN_NOTES)
        return;
    va_start(list, format);
    vsnprintf(notes->text[i], sizeof notes->text[i], format, list);
    va_end(list);
    notes->kind[notes->n++] = format;
}
