// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_model_config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

#define UNSUPPORTED(...) SQ_FAIL(err, SQ_ERR_UNSUPPORTED, __VA_ARGS__)
#define CONFIG_MAX_NBYTES (16u << 20)

struct reader {
    const json_t *root;
    const char *what;
};

static enum sq_status get_size(const struct reader *r, const char *key, uint64_t min, uint64_t max,
                               uint64_t fallback, size_t *value, struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_json_uint(r->root, r->what, key, min, max, fallback, &v, err));
    *value = (size_t)v;
    return SQ_OK;
}

// Names of other decoders that look alike, and what their forward pass has in addition.
static const struct {
    const char *name, *extra;
} relatives[] = {
    {"Qwen3MoeForCausalLM", "experts"},
    {"Phi3ForCausalLM", "fused projections"},
    {"GemmaForCausalLM", "norms of another place than Gemma 3"},
    {"Gemma2ForCausalLM", "another order of local blocks than Gemma 3"},
    {"Gemma3ForConditionalGeneration", "an encoder of images"},
    {"MixtralForCausalLM", "experts"},
};

// What is read here: names in architectures and in model_type.
enum decoder { LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA3, N_DECODERS };
static const struct {
    const char *name, *type;
} decoders[N_DECODERS] = {{"LlamaForCausalLM", "llama"},
                          {"MistralForCausalLM", "mistral"},
                          {"Qwen2ForCausalLM", "qwen2"},
                          {"Qwen3ForCausalLM", "qwen3"},
                          {"Gemma3ForCausalLM", "gemma3_text"}};

static enum sq_status find_decoder(const struct reader *r, enum decoder *decoder,
                                   struct sq_error *err)
{
    const json_t *list = json_object_get(r->root, "architectures");
    const char *name = json_string_value(json_array_get(list, 0)), *type;
    SQ_TRY(sq_json_string(r->root, r->what, "model_type", &type, err));
    for (size_t i = 0; i < N_DECODERS; i++)
        if (name ? strcmp(name, decoders[i].name) == 0
                 : type && strcmp(type, decoders[i].type) == 0) {
            *decoder = (enum decoder)i;
            return SQ_OK;
        }
    if (!name)
        name = type;
    if (!name)
        return UNSUPPORTED("%s: neither architectures nor model_type, need LlamaForCausalLM",
                           r->what);
    for (size_t i = 0; i < sizeof relatives / sizeof relatives[0]; i++)
        if (strcmp(name, relatives[i].name) == 0)
            return UNSUPPORTED("%s: architecture = %s has %s; need the forward pass of "
                               "LlamaForCausalLM, Qwen3ForCausalLM or Gemma3ForCausalLM",
                               r->what, name, relatives[i].extra);
    return UNSUPPORTED("%s: architecture = %.60s, need LlamaForCausalLM, MistralForCausalLM, "
                       "Qwen2ForCausalLM, Qwen3ForCausalLM or Gemma3ForCausalLM",
                       r->what, name);
}

// Fields that change the forward pass and must have their plain value.
static enum sq_status check_plain(const struct reader *r, enum decoder decoder,
                                  struct sq_error *err)
{
    const bool is_gemma = decoder == GEMMA3;
    const char *const key = is_gemma ? "hidden_activation" : "hidden_act";
    const char *const plain = is_gemma ? "gelu_pytorch_tanh" : "silu";
    static const char *const biases[] = {"attention_bias", "mlp_bias"};
    for (size_t i = 0; i < 2; i++) {
        bool on;
        SQ_TRY(sq_json_bool(r->root, r->what, biases[i], false, &on, err));
        if (on)
            return UNSUPPORTED("%s: %s = true, need false", r->what, biases[i]);
    }
    const char *act;
    SQ_TRY(sq_json_string(r->root, r->what, key, &act, err));
    if (act && strcmp(act, plain) != 0)
        return UNSUPPORTED("%s: %s = %.40s, need %s", r->what, key, act, plain);
    const json_t *quantization = json_object_get(r->root, "quantization_config");
    if (quantization && !json_is_null(quantization))
        return UNSUPPORTED("%s: quantization_config is set, need unquantised weights", r->what);
    return SQ_OK;
}

// rope_theta and rope_scaling, or the newer rope_parameters that holds both, for Gemma 3 those of
// the blocks that look back over everything.
static enum sq_status read_rope(const struct reader *r, struct sq_rope *rope, struct sq_error *err)
{
    const json_t *scaling = json_object_get(r->root, "rope_scaling");
    const json_t *newer = json_object_get(r->root, "rope_parameters");
    const json_t *full = json_object_get(newer, "full_attention");
    newer = full ? full : newer;
    const json_t *of_theta = json_object_get(newer, "rope_theta") ? newer : r->root;
    *rope = (struct sq_rope){.linear = 1};
    SQ_TRY(sq_json_double(of_theta, r->what, "rope_theta", 1.0, 1e12, 10000.0, &rope->theta, err));
    if (!scaling || json_is_null(scaling))
        scaling = newer;
    if (!scaling || json_is_null(scaling))
        return SQ_OK;
    if (!json_is_object(scaling))
        return UNSUPPORTED("%s: rope_scaling is no object", r->what);
    const char *key = json_object_get(scaling, "rope_type") ? "rope_type" : "type", *type;
    SQ_TRY(sq_json_string(scaling, r->what, key, &type, err));
    if (!type || strcmp(type, "default") == 0)
        return SQ_OK;
    if (strcmp(type, "linear") == 0)
        return sq_json_double(scaling, r->what, "factor", 1.0, 1e6, 0.0, &rope->linear, err);
    if (strcmp(type, "llama3") != 0)
        return UNSUPPORTED("%s: rope_type = %.40s, need default, linear or llama3", r->what, type);
    rope->is_llama3 = true;
    struct reader s = {scaling, r->what};
    SQ_TRY(sq_json_double(scaling, r->what, "factor", 1.0, 1e6, 0.0, &rope->factor, err));
    SQ_TRY(sq_json_double(scaling, r->what, "low_freq_factor", 1e-6, 1e6, 0.0,
                          &rope->low_freq_factor, err));
    SQ_TRY(sq_json_double(scaling, r->what, "high_freq_factor", 1e-6, 1e6, 0.0,
                          &rope->high_freq_factor, err));
    if (rope->high_freq_factor <= rope->low_freq_factor)
        return UNSUPPORTED("%s: high_freq_factor = %g, need more than low_freq_factor = %g",
                           r->what, rope->high_freq_factor, rope->low_freq_factor);
    return get_size(&s, "original_max_position_embeddings", 1, UINT64_C(1) << 31, 0,
                    &rope->original_max_position, err);
}

static enum sq_status read_heads(const struct reader *r, struct sq_model_config *c,
                                 struct sq_error *err)
{
    SQ_TRY(get_size(r, "num_attention_heads", 1, 4096, 0, &c->n_heads, err));
    SQ_TRY(get_size(r, "num_key_value_heads", 1, 4096, c->n_heads, &c->n_kv_heads, err));
    if (c->n_heads % c->n_kv_heads != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: num_key_value_heads = %zu, need a divisor of num_attention_heads = %zu",
                       r->what, c->n_kv_heads, c->n_heads);
    SQ_TRY(get_size(r, "head_dim", 2, 4096, c->hidden_size / c->n_heads, &c->head_dim, err));
    const json_t *given = json_object_get(r->root, "head_dim");
    if ((!given || json_is_null(given)) && c->hidden_size % c->n_heads != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "%s: hidden_size = %zu is no multiple of num_attention_heads = %zu", r->what,
                       c->hidden_size, c->n_heads);
    if (c->head_dim % 2 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: head_dim = %zu, need an even number", r->what,
                       c->head_dim);
    return SQ_OK;
}

// Which blocks look back over the window: by a word a block, or by a period.
static enum sq_status read_pattern(const struct reader *r, struct sq_model_config *c,
                                   struct sq_error *err)
{
    const json_t *types = json_object_get(r->root, "layer_types");
    SQ_TRY(get_size(r, "sliding_window_pattern", 1, 1024, 6, &c->global_every, err));
    if (!types || json_is_null(types))
        return SQ_OK;
    if (json_array_size(types) != c->n_layers)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: layer_types has %zu words, need %zu, one a block",
                       r->what, json_array_size(types), c->n_layers);
    c->global_every = c->n_layers + 1; // none, until one comes
    for (size_t i = c->n_layers; i-- > 0;) {
        const char *word = json_string_value(json_array_get(types, i));
        if (!word ||
            (strcmp(word, "full_attention") != 0 && strcmp(word, "sliding_attention") != 0))
            return UNSUPPORTED("%s: layer_types of block %zu = %.40s, need full_attention or "
                               "sliding_attention",
                               r->what, i, word ? word : "no word");
        if (word[0] == 'f')
            c->global_every = i + 1;
    }
    for (size_t i = 0; i < c->n_layers; i++) {
        const bool is_full = json_string_value(json_array_get(types, i))[0] == 'f';
        if (is_full == sq_model_config_is_local(c, i))
            return UNSUPPORTED("%s: layer_types of block %zu = %s, need full_attention for every "
                               "%zu-th block and no other",
                               r->what, i, is_full ? "full_attention" : "sliding_attention",
                               c->global_every);
    }
    return SQ_OK;
}

// 0 where it is null or not there.
static enum sq_status read_cap(const struct reader *r, const char *key, double *cap,
                               struct sq_error *err)
{
    const json_t *given = json_object_get(r->root, key);
    *cap = 0;
    return given && !json_is_null(given)
               ? sq_json_double(r->root, r->what, key, 1e-3, 1e6, 0, cap, err)
               : SQ_OK;
}

// After the sizes were read.
static enum sq_status read_gemma3(const struct reader *r, struct sq_model_config *c,
                                  struct sq_error *err)
{
    const json_t *sliding =
        json_object_get(json_object_get(r->root, "rope_parameters"), "sliding_attention");
    bool is_both;
    c->has_qk_norm = c->has_post_norm = c->has_offset_gain = c->is_geglu = true;
    c->embedding_scale = sqrt((double)c->hidden_size);
    SQ_TRY(sq_json_bool(r->root, r->what, "use_bidirectional_attention", false, &is_both, err));
    if (is_both)
        return UNSUPPORTED("%s: use_bidirectional_attention = true, need false", r->what);
    SQ_TRY(sq_json_double(r->root, r->what, "query_pre_attn_scalar", 1e-3, 1e6, c->query_scale,
                          &c->query_scale, err));
    SQ_TRY(read_cap(r, "attn_logit_softcapping", &c->attention_cap, err));
    SQ_TRY(read_cap(r, "final_logit_softcapping", &c->logit_cap, err));
    SQ_TRY(get_size(r, "sliding_window", 1, UINT64_C(1) << 31, 4096, &c->local_window, err));
    SQ_TRY(sq_json_double(sliding ? sliding : r->root, r->what,
                          sliding ? "rope_theta" : "rope_local_base_freq", 1.0, 1e12, 10000.0,
                          &c->local_theta, err));
    return read_pattern(r, c, err);
}

bool sq_model_config_is_local(const struct sq_model_config *c, size_t block)
{
    return c->local_window > 0 && (block + 1) % c->global_every != 0;
}

static enum sq_status read_all(const struct reader *r, struct sq_model_config *c,
                               struct sq_error *err)
{
    bool is_windowed;
    enum decoder decoder = LLAMA;
    *c = (struct sq_model_config){0};
    SQ_TRY(find_decoder(r, &decoder, err));
    c->has_qkv_bias = decoder == QWEN2;
    c->has_qk_norm = decoder == QWEN3;
    c->embedding_scale = 1;
    SQ_TRY(check_plain(r, decoder, err));
    SQ_TRY(get_size(r, "hidden_size", 1, 1u << 20, 0, &c->hidden_size, err));
    SQ_TRY(get_size(r, "intermediate_size", 1, 1u << 22, 0, &c->intermediate_size, err));
    SQ_TRY(get_size(r, "num_hidden_layers", 1, 1024, 0, &c->n_layers, err));
    SQ_TRY(read_heads(r, c, err));
    SQ_TRY(get_size(r, "vocab_size", 1, 1u << 24, 0, &c->vocab_size, err));
    SQ_TRY(
        get_size(r, "max_position_embeddings", 1, UINT64_C(1) << 31, 2048, &c->max_position, err));
    SQ_TRY(
        sq_json_double(r->root, r->what, "rms_norm_eps", 1e-12, 1.0, 1e-6, &c->rms_norm_eps, err));
    SQ_TRY(sq_json_bool(r->root, r->what, "tie_word_embeddings", decoder == GEMMA3,
                        &c->tie_word_embeddings, err));
    SQ_TRY(read_rope(r, &c->rope, err));
    c->query_scale = (double)c->head_dim;
    c->window = c->max_position;
    if (decoder == GEMMA3)
        return read_gemma3(r, c, err);
    SQ_TRY(sq_json_bool(r->root, r->what, "use_sliding_window", decoder == MISTRAL, &is_windowed,
                        err));
    SQ_TRY(get_size(r, "sliding_window", 1, UINT64_C(1) << 31, c->max_position, &c->window, err));
    if (!is_windowed || c->window > c->max_position)
        c->window = c->max_position;
    return SQ_OK;
}

enum sq_status sq_model_config_of(const json_t *root, const char *what, struct sq_model_config *c,
                                  struct sq_error *err)
{
    const struct reader r = {root, what};
    return read_all(&r, c, err);
}

enum sq_status sq_model_config_read(const char *path, struct sq_model_config *c,
                                    struct sq_error *err)
{
    json_t *root;
    SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    const enum sq_status status = sq_model_config_of(root, sq_path_tail(path), c, err);
    json_decref(root);
    return status;
}
