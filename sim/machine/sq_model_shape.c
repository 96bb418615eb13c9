// SPDX-License-Identifier: Apache-2.0
// Reads the sizes of a decoder from its config.json (sq_model_shape.h).
#include "sim/machine/sq_model_shape.h"

#include <string.h>

#include "sim/io/sq_json.h"

// Which layers of a class look back over a window, of those where sliding_window is a number.
enum window_rule {
    NO_LAYER,   // the class knows no window
    EVERY,      //
    LAST,       // from max_window_layers on
    EVEN_FIRST, // every second one before max_window_layers
    BUT_EACH,   // all but one in so many; the window must be a number
    EACH,       // one in so many
};

// The defaults of the configuration classes of transformers 4.57 and 5.24; 0: as many KV heads as heads, heads that
// share hidden_size, no window (null), no token that ends a text; of experts `top_k` must be said, `size` is
// intermediate, `shared_size` is shared times size. Classes that differ in biases, factors or activations alone have
// the same sizes. `wraps`: models of images or sound whose text_config is of this class.
// clang-format off
static const struct known {
    const char *model_type, *architecture;
    enum sq_model_kind kind;
    uint64_t hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, position, eos, norms;
    bool has_qk_norm, is_tied;
    struct {
        enum window_rule rule;
        bool needs_use; // a window is used where use_sliding_window is true
        uint64_t size, pattern;
        const char *pattern_key; // that says `pattern`
    } window;
    struct { uint64_t n, top_k, size, shared, dense, shared_size; } experts;
    const char *wraps;
} known[] = {
    {"llama", "LlamaForCausalLM", SQ_MODEL_LLAMA, 4096, 11008, 32, 32, 0, 0, 32000, 2048, 2, 2, false, false, {0}, {0},
     " llava llava_next llava_next_video idefics3 smolvlm deepseek_vl deepseek_vl_hybrid janus "},
    {"mistral", "MistralForCausalLM", SQ_MODEL_LLAMA, 4096, 14336, 32, 32, 8, 0, 32000, 131072, 2, 2, false, false,
     {.rule = EVERY, .size = 4096}, {0}, " mistral3 "},
    {"qwen2", "Qwen2ForCausalLM", SQ_MODEL_LLAMA, 4096, 22016, 32, 32, 32, 0, 151936, 32768, 0, 2, false, false,
     {.rule = LAST, .needs_use = true, .size = 4096}, {0}, " internvl llava_onevision ovis2 qwen2_audio "},
    {"qwen3", "Qwen3ForCausalLM", SQ_MODEL_LLAMA, 4096, 22016, 32, 32, 32, 128, 151936, 32768, 0, 2, true, false,
     {.rule = LAST, .needs_use = true, .size = 4096}, {0}, " qianfan_ocr "},
    {"gemma2", "Gemma2ForCausalLM", SQ_MODEL_LLAMA, 2304, 9216, 26, 8, 4, 256, 256000, 8192, 1, 4, false, true,
     {.rule = BUT_EACH, .size = 4096, .pattern = 2}, {0}, ""},
    {"gemma3_text", "Gemma3ForCausalLM", SQ_MODEL_LLAMA, 2304, 9216, 26, 8, 4, 256, 262208, 131072, 1, 4, true, true,
     {BUT_EACH, false, 4096, 6, "sliding_window_pattern"}, {0}, " gemma3 shieldgemma2 "},
    {"phi3", "Phi3ForCausalLM", SQ_MODEL_LLAMA, 3072, 8192, 32, 32, 0, 0, 32064, 4096, 32000, 2, false, false,
     {.rule = EVERY}, {0}, ""},
    {"granite", "GraniteForCausalLM", SQ_MODEL_LLAMA, 4096, 11008, 32, 32, 0, 0, 32000, 2048, 2, 2, false, false, {0}, {0}, ""},
    {"olmo2", "Olmo2ForCausalLM", SQ_MODEL_LLAMA, 4096, 11008, 32, 32, 0, 0, 50304, 2048, 50279, 2, true, false, {0}, {0}, ""},
    {"smollm3", "SmolLM3ForCausalLM", SQ_MODEL_LLAMA, 2048, 11008, 36, 16, 4, 0, 128256, 32768, 128001, 2, false, true,
     {EACH, true, 0, 4, "no_rope_layer_interval"}, {0}, ""},
    {"glm4", "Glm4ForCausalLM", SQ_MODEL_LLAMA, 4096, 13696, 40, 32, 2, 128, 151552, 131072, 0, 4, false, false, {0}, {0}, ""},
    {"mixtral", "MixtralForCausalLM", SQ_MODEL_MOE, 4096, 14336, 32, 32, 8, 0, 32000, 131072, 2, 2, false, false,
     {.rule = EVERY}, {.n = 8, .top_k = 2}, ""},
    {"qwen2_moe", "Qwen2MoeForCausalLM", SQ_MODEL_MOE, 2048, 5632, 24, 16, 16, 0, 151936, 32768, 0, 2, false, false,
     {.rule = EVEN_FIRST, .needs_use = true, .size = 4096}, {60, 4, 1408, 0, 0, 5632}, ""},
    {"qwen3_moe", "Qwen3MoeForCausalLM", SQ_MODEL_MOE, 2048, 6144, 24, 32, 4, 0, 151936, 32768, 0, 2, true, false,
     {.rule = EVERY, .needs_use = true, .size = 4096}, {.n = 128, .top_k = 8, .size = 768}, ""},
    {"gpt_oss", "GptOssForCausalLM", SQ_MODEL_MOE, 2880, 2880, 36, 64, 8, 64, 201088, 131072, 0, 2, false, false,
     {.rule = BUT_EACH, .size = 128, .pattern = 2}, {.n = 128, .top_k = 4}, ""},
    {"glm4_moe", "Glm4MoeForCausalLM", SQ_MODEL_MOE, 4096, 10944, 46, 96, 8, 0, 151552, 131072, 0, 2, false, false,
     {0}, {128, 8, 1408, 1, 1, 0}, ""},
    {"deepseek_v2", "DeepseekV2ForCausalLM", SQ_MODEL_DEEPSEEK, 4096, 11008, 32, 32, 0, 0, 102400, 2048, 2, 2, false, false,
     {0}, {64, 0, 1407, 2, 0, 0}, ""},
    {"deepseek_v3", "DeepseekV3ForCausalLM", SQ_MODEL_DEEPSEEK, 7168, 18432, 61, 128, 0, 0, 129280, 4096, 1, 2, false, false,
     {0}, {256, 8, 2048, 1, 3, 0}, ""},
    {"kimi_k2", "KimiK2ForCausalLM", SQ_MODEL_DEEPSEEK, 7168, 18432, 61, 128, 0, 0, 129280, 4096, 1, 2, false, false,
     {0}, {256, 8, 2048, 1, 3, 0}, ""},
    {"opt", "OPTForCausalLM", SQ_MODEL_OPT, 768, 3072, 12, 12, 0, 0, 50272, 2048, 2, 2, false, true, {0}, {0},
     " blip-2 instructblip instructblipvideo "},
};
// clang-format on
enum { N_KNOWN = sizeof known / sizeof known[0], WHOLE_LAYERS = 28 };

struct source {
    const json_t *root;
    const char *what;
    struct sq_error *err;
};

static enum sq_status get(const struct source *s, const char *key, uint64_t min, uint64_t max,
                          uint64_t fallback, uint64_t *value)
{
    return sq_json_uint(s->root, s->what, key, min, max, fallback, value, s->err);
}

// The same of a field whose null stands for 0.
static enum sq_status get_or_none(const struct source *s, const char *key, uint64_t max,
                                  uint64_t fallback, uint64_t *value)
{
    return get(s, key, 0, max, json_object_get(s->root, key) ? 0 : fallback, value);
}

// `outer`: the model that the decoder is a part of, or the decoder.
static enum sq_status read_kind(const struct source *s, const json_t *outer,
                                const struct known **found)
{
    const char *type, *model, *name;
    char names[256] = "", word[48];
    SQ_TRY(sq_json_string(s->root, s->what, "model_type", &type, s->err));
    SQ_TRY(sq_json_string(outer, s->what, "model_type", &model, s->err));
    name = json_string_value(json_array_get(json_object_get(s->root, "architectures"), 0));
    snprintf(word, sizeof word, " %.40s ", model ? model : "");
    *found = NULL;
    for (size_t i = 0; i < N_KNOWN; i++) {
        const struct known *k = &known[i];
        if (name && strcmp(name, k->architecture) == 0) {
            *found = k;
            return SQ_OK;
        }
        if (type ? strcmp(type, k->model_type) == 0 : strstr(k->wraps, word) != NULL)
            *found = k;
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", k->model_type);
    }
    if (*found)
        return SQ_OK;
    return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED, "%s: model_type = %.40s, need one of %s", s->what,
                   type ? type : "(missing)", names);
}

static enum sq_status read_experts(const struct source *s, const struct known *k,
                                   struct sq_model_shape *c)
{
    // Mixtral, Qwen3 and DeepSeek name the same thing differently.
    const char *experts = json_object_get(s->root, "num_local_experts")  ? "num_local_experts"
                          : json_object_get(s->root, "n_routed_experts") ? "n_routed_experts"
                                                                         : "num_experts";
    const json_t *dense = json_object_get(s->root, "mlp_only_layers");
    uint64_t step;
    SQ_TRY(get(s, experts, 2, SQ_EXPERTS_MAX, k->experts.n, &c->experts));
    SQ_TRY(get(s, "num_experts_per_tok", 1, c->experts, k->experts.top_k, &c->top_k));
    SQ_TRY(get(s, "moe_intermediate_size", 1, 1u << 20,
               k->experts.size ? k->experts.size : c->intermediate, &c->expert_size));
    SQ_TRY(get_or_none(s, "n_shared_experts", 64, k->experts.shared, &c->shared));
    SQ_TRY(get(s, "shared_expert_intermediate_size", 0, 1u << 22,
               k->experts.shared_size ? k->experts.shared_size : c->shared * c->expert_size,
               &c->shared_size));
    SQ_TRY(get_or_none(s, "first_k_dense_replace", c->layers,
                       k->experts.dense < c->layers ? k->experts.dense : c->layers,
                       &c->dense_layers));
    SQ_TRY(get(s, c->kind == SQ_MODEL_DEEPSEEK ? "moe_layer_freq" : "decoder_sparse_step", 1, 1024,
               1, &step));
    if (step != 1 || json_array_size(dense) != 0)
        return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED,
                       "%s: experts in some layers only (step %llu, %zu dense layers listed)",
                       s->what, (unsigned long long)step, json_array_size(dense));
    return SQ_OK;
}

static enum sq_status read_attention(const struct source *s, const struct known *k,
                                     struct sq_model_shape *c)
{
    const bool has_kv = json_object_get(s->root, "num_key_value_heads"); // null: one of each head
    SQ_TRY(get(s, "num_attention_heads", 1, 4096, k->heads, &c->heads));
    if (c->kind == SQ_MODEL_DEEPSEEK) {
        SQ_TRY(get_or_none(s, "q_lora_rank", 1u << 20, 1536, &c->q_rank));
        SQ_TRY(get(s, "kv_lora_rank", 1, 1u << 20, 512, &c->kv_rank));
        SQ_TRY(get(s, "qk_nope_head_dim", 1, 4096, 128, &c->nope));
        SQ_TRY(get(s, "qk_rope_head_dim", 1, 4096, 64, &c->rope));
        return get(s, "v_head_dim", 1, 4096, 128, &c->v_dim);
    }
    SQ_TRY(get(s, "num_key_value_heads", 1, 4096, has_kv || !k->kv_heads ? c->heads : k->kv_heads,
               &c->kv_heads));
    if (c->heads % c->kv_heads != 0)
        return SQ_FAIL(s->err, SQ_ERR_SHAPE,
                       "%s: num_key_value_heads = %llu, need a divisor of num_attention_heads = "
                       "%llu",
                       s->what, (unsigned long long)c->kv_heads, (unsigned long long)c->heads);
    if (k->head_dim && json_is_null(json_object_get(s->root, "head_dim")))
        return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED, "%s: head_dim = null, need 2..4096", s->what);
    if (!k->head_dim && !sq_json_field(s->root, "head_dim") && c->hidden % c->heads != 0)
        return SQ_FAIL(s->err, SQ_ERR_SHAPE,
                       "%s: hidden_size = %llu is no multiple of num_attention_heads = %llu",
                       s->what, (unsigned long long)c->hidden, (unsigned long long)c->heads);
    return get(s, "head_dim", 1, 4096, k->head_dim ? k->head_dim : c->hidden / c->heads,
               &c->head_dim);
}

// ---- windows ----------------------------------------------------------------------------------

// A word a layer into is_local; nothing where there are no words, or where the class does not know them.
static enum sq_status read_layer_types(const struct source *s, const struct known *k,
                                       struct sq_model_shape *c)
{
    const json_t *types = sq_json_field(s->root, "layer_types");
    if (!types || k->window.rule == NO_LAYER || k->window.rule == EVERY)
        return SQ_OK;
    if (json_array_size(types) != c->layers)
        return SQ_FAIL(s->err, SQ_ERR_SHAPE, "%s: layer_types has %zu words, need %zu, one a block",
                       s->what, json_array_size(types), (size_t)c->layers);
    for (size_t i = 0; i < c->layers; i++) {
        const char *word = json_string_value(json_array_get(types, i));
        c->is_local[i] = word && strcmp(word, "sliding_attention") == 0;
        if (!word || (!c->is_local[i] && strcmp(word, "full_attention") != 0))
            return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED,
                           "%s: layer_types of block %zu = %.40s, need full_attention or "
                           "sliding_attention",
                           s->what, i, word ? word : "no word");
    }
    return SQ_OK;
}

static bool is_by_rule(const struct known *k, uint64_t layer, uint64_t whole, uint64_t pattern)
{
    switch (k->window.rule) {
    case EVERY:
        return true;
    case LAST:
        return layer >= whole;
    case EVEN_FIRST:
        return layer % 2 == 0 && layer < whole;
    case BUT_EACH:
        return (layer + 1) % pattern != 0;
    case EACH:
        return (layer + 1) % pattern == 0;
    case NO_LAYER:
        break;
    }
    return false;
}

static enum sq_status read_window(const struct source *s, const struct known *k,
                                  struct sq_model_shape *c)
{
    const bool has_whole = k->window.rule == LAST || k->window.rule == EVEN_FIRST;
    bool is_used = true;
    uint64_t pattern = k->window.pattern, whole = 0;
    if (k->window.needs_use)
        SQ_TRY(sq_json_bool(s->root, s->what, "use_sliding_window", false, &is_used, s->err));
    c->window = json_object_get(s->root, "sliding_window") ? 0 : k->window.size;
    if (sq_json_field(s->root, "sliding_window"))
        SQ_TRY(get(s, "sliding_window", is_used, UINT64_C(1) << 31, 0, &c->window));
    if (has_whole)
        SQ_TRY(get(s, "max_window_layers", 0, UINT64_C(1) << 31, WHOLE_LAYERS, &whole));
    if (k->window.pattern_key)
        SQ_TRY(get(s, k->window.pattern_key, 1, 1024, pattern, &pattern));
    for (uint64_t i = 0; i < c->layers; i++)
        c->is_local[i] = is_used && (c->window || k->window.rule == BUT_EACH) &&
                         is_by_rule(k, i, whole, pattern);
    SQ_TRY(read_layer_types(s, k, c));
    for (uint64_t i = 0; i < c->layers; i++)
        c->window_layers += c->is_local[i];
    if (c->window_layers && !is_used)
        return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED,
                       "%s: layer_types names sliding_attention, need use_sliding_window = true",
                       s->what);
    if (c->window_layers && !c->window)
        return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED,
                       "%s: sliding_window = null, but some blocks look back over a window, need "
                       "its size",
                       s->what);
    c->window = c->window_layers ? c->window : 0;
    return SQ_OK;
}

// A model of images and text has its decoder in an object of its own.
static struct source decoder_of(const json_t *root, const char *what, struct sq_error *err)
{
    const json_t *text = json_object_get(root, "text_config");
    return (struct source){json_is_object(text) ? text : root, what, err};
}

enum sq_status sq_model_shape_of(const json_t *root, const char *what, struct sq_model_shape *c,
                                 struct sq_error *err)
{
    const struct source source = decoder_of(root, what, err), *s = &source;
    const struct known *k = NULL;
    bool is_tied;
    memset(c, 0, sizeof *c);
    SQ_TRY(read_kind(s, root, &k));
    c->kind = k->kind;
    c->norms = k->norms;
    c->eos = k->eos;
    c->model_type = k->model_type;
    c->has_qk_norm = k->has_qk_norm;
    if (c->kind == SQ_MODEL_MOE) // GLM
        SQ_TRY(sq_json_bool(s->root, what, "use_qk_norm", k->has_qk_norm, &c->has_qk_norm, err));
    SQ_TRY(get(s, "hidden_size", 1, 1u << 20, k->hidden, &c->hidden));
    SQ_TRY(get(s, "num_hidden_layers", 1, SQ_MAX_BLOCKS, k->layers, &c->layers));
    SQ_TRY(get(s, c->kind == SQ_MODEL_OPT ? "ffn_dim" : "intermediate_size", 1, 1u << 22,
               k->intermediate, &c->intermediate));
    SQ_TRY(read_attention(s, k, c));
    SQ_TRY(read_window(s, k, c));
    SQ_TRY(get(s, "vocab_size", 1, UINT64_C(1) << 24, k->vocab, &c->vocab));
    SQ_TRY(get(s, "max_position_embeddings", 1, UINT64_C(1) << 31, k->position, &c->max_position));
    SQ_TRY(sq_json_bool(root, what, "tie_word_embeddings", k->is_tied, &is_tied, err));
    SQ_TRY(sq_json_bool(s->root, what, "tie_word_embeddings", is_tied, &c->is_tied, err));
    return c->kind == SQ_MODEL_MOE || c->kind == SQ_MODEL_DEEPSEEK ? read_experts(s, k, c) : SQ_OK;
}
