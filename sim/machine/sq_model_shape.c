// SPDX-License-Identifier: Apache-2.0
// Reads the sizes of a decoder from its config.json (sq_model_shape.h).
#include "sim/machine/sq_model_shape.h"

#include <string.h>

#include "sim/io/sq_json.h"

// With the defaults of the classes in transformers; 0: as many KV heads as heads, heads that share
// hidden_size. Those that differ in biases, factors or activations alone have the same sizes.
static const struct known {
    const char *model_type;
    enum sq_model_kind kind;
    uint64_t heads, kv_heads, head_dim, norms;
    bool has_qk_norm, is_tied;
    uint64_t
        pattern; // one layer in so many sees all tokens, the others a window; 0: see read_window
} known[] = {
    {.model_type = "llama", SQ_MODEL_LLAMA, .norms = 2},
    {.model_type = "mistral", SQ_MODEL_LLAMA, .kv_heads = 8, .norms = 2},
    {.model_type = "qwen2", SQ_MODEL_LLAMA, .kv_heads = 32, .norms = 2},
    {.model_type = "qwen3", SQ_MODEL_LLAMA, 0, 32, 128, 2, .has_qk_norm = true},
    {.model_type = "gemma2", SQ_MODEL_LLAMA, 8, 4, 256, 4, .is_tied = true, .pattern = 2},
    {.model_type = "gemma3_text", SQ_MODEL_LLAMA, 8, 4, 256, 4, true, true, 6},
    {.model_type = "phi3", SQ_MODEL_LLAMA, .norms = 2},
    {.model_type = "granite", SQ_MODEL_LLAMA, .norms = 2},
    {.model_type = "olmo2", SQ_MODEL_LLAMA, .norms = 2, .has_qk_norm = true},
    {.model_type = "smollm3", SQ_MODEL_LLAMA, .kv_heads = 4, .norms = 2, .is_tied = true},
    {.model_type = "glm4", SQ_MODEL_LLAMA, .kv_heads = 2, .head_dim = 128, .norms = 4},
    {.model_type = "mixtral", SQ_MODEL_MOE, .kv_heads = 8, .norms = 2},
    {.model_type = "qwen2_moe", SQ_MODEL_MOE, .kv_heads = 16, .norms = 2},
    {.model_type = "qwen3_moe", SQ_MODEL_MOE, .kv_heads = 4, .norms = 2, .has_qk_norm = true},
    {.model_type = "gpt_oss", SQ_MODEL_MOE, 64, 8, 64, 2, .pattern = 2},
    {.model_type = "glm4_moe", SQ_MODEL_MOE, .kv_heads = 8, .norms = 2, .has_qk_norm = true},
    {.model_type = "deepseek_v2", SQ_MODEL_DEEPSEEK, .norms = 2},
    {.model_type = "deepseek_v3", SQ_MODEL_DEEPSEEK, .norms = 2},
    {.model_type = "kimi_k2", SQ_MODEL_DEEPSEEK, .norms = 2},
    {.model_type = "opt", SQ_MODEL_OPT, .norms = 2, .is_tied = true},
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

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

static enum sq_status read_kind(const struct source *s, const struct known **found)
{
    const char *type;
    char names[256] = "";
    SQ_TRY(sq_json_string(s->root, s->what, "model_type", &type, s->err));
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (type && strcmp(type, known[i].model_type) == 0) {
            *found = &known[i];
            return SQ_OK;
        }
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", known[i].model_type);
    }
    return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED, "%s: model_type = %.40s, need one of %s", s->what,
                   type ? type : "(missing)", names);
}

static enum sq_status read_experts(const struct source *s, struct sq_model_shape *c)
{
    // Mixtral, Qwen3 and DeepSeek name the same thing differently.
    const char *experts = json_object_get(s->root, "num_local_experts")  ? "num_local_experts"
                          : json_object_get(s->root, "n_routed_experts") ? "n_routed_experts"
                                                                         : "num_experts";
    const json_t *dense = json_object_get(s->root, "mlp_only_layers");
    uint64_t step;
    SQ_TRY(get(s, experts, 2, SQ_EXPERTS_MAX, 0, &c->experts));
    SQ_TRY(get(s, "num_experts_per_tok", 1, c->experts, 0, &c->top_k));
    SQ_TRY(get(s, "moe_intermediate_size", 1, 1u << 20, c->intermediate, &c->expert_size));
    SQ_TRY(get(s, "n_shared_experts", 0, 64, 0, &c->shared));
    SQ_TRY(get(s, "shared_expert_intermediate_size", 0, 1u << 22, c->shared * c->expert_size,
               &c->shared_size));
    SQ_TRY(get(s, "first_k_dense_replace", 0, c->layers, 0, &c->dense_layers));
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
        SQ_TRY(get(s, "q_lora_rank", 0, 1u << 20, 0, &c->q_rank));
        SQ_TRY(get(s, "kv_lora_rank", 1, 1u << 20, 0, &c->kv_rank));
        SQ_TRY(get(s, "qk_nope_head_dim", 1, 4096, 0, &c->nope));
        SQ_TRY(get(s, "qk_rope_head_dim", 1, 4096, 0, &c->rope));
        return get(s, "v_head_dim", 1, 4096, 0, &c->v_dim);
    }
    SQ_TRY(get(s, "num_key_value_heads", 1, c->heads,
               has_kv || !k->kv_heads ? c->heads : k->kv_heads, &c->kv_heads));
    if (c->heads % c->kv_heads != 0)
        return SQ_FAIL(s->err, SQ_ERR_SHAPE,
                       "%s: num_key_value_heads = %llu, need a divisor of num_attention_heads = "
                       "%llu",
                       s->what, (unsigned long long)c->kv_heads, (unsigned long long)c->heads);
    return get(s, "head_dim", 1, 4096, k->head_dim ? k->head_dim : c->hidden / c->heads,
               &c->head_dim);
}

// Which layers look back over a window only. Qwen says by a field of its own whether any does.
static enum sq_status read_window(const struct source *s, const struct known *k,
                                  struct sq_model_shape *c)
{
    const json_t *types = json_object_get(s->root, "layer_types"), *type;
    bool is_used;
    size_t i;
    uint64_t pattern, first;
    SQ_TRY(sq_json_bool(s->root, s->what, "use_sliding_window",
                        !json_object_get(s->root, "max_window_layers"), &is_used, s->err));
    SQ_TRY(get(s, "sliding_window", 0, UINT64_C(1) << 31, 0, &c->window));
    SQ_TRY(get(s, "sliding_window_pattern", 1, 1024, k->pattern ? k->pattern : 1024, &pattern));
    c->window = is_used ? c->window : 0;
    if (c->window == 0)
        return SQ_OK;
    SQ_TRY(get(s, "max_window_layers", 0, 1 << 20, 0, &first));
    c->window_layers = k->pattern          ? c->layers - c->layers / pattern
                       : first < c->layers ? c->layers - first
                                           : 0;
    if (json_array_size(types) != c->layers)
        return SQ_OK;
    c->window_layers = 0;
    json_array_foreach((json_t *)(uintptr_t)types, i, type)
    {
        const char *name = json_string_value(type);
        c->window_layers += name && strcmp(name, "sliding_attention") == 0;
    }
    return SQ_OK;
}

// A model of images and text has its decoder in an object of its own.
static struct source decoder_of(const json_t *root, const char *what, struct sq_error *err)
{
    const json_t *text = json_object_get(root, "text_config");
    return (struct source){json_is_object(text) ? text : root, what, err};
}

enum sq_status sq_model_vocabulary(const json_t *root, const char *what, struct sq_model_shape *c,
                                   struct sq_error *err)
{
    const struct source s = decoder_of(root, what, err);
    const struct known *k = NULL;
    bool is_tied;
    SQ_TRY(read_kind(&s, &k));
    SQ_TRY(get(&s, "vocab_size", 1, UINT64_C(1) << 24, 0, &c->vocab));
    SQ_TRY(sq_json_bool(root, what, "tie_word_embeddings", k->is_tied, &is_tied, err));
    return sq_json_bool(s.root, what, "tie_word_embeddings", is_tied, &c->is_tied, err);
}

enum sq_status sq_model_shape_of(const json_t *root, const char *what, struct sq_model_shape *c,
                                 struct sq_error *err)
{
    const struct source source = decoder_of(root, what, err), *s = &source;
    const struct known *k = NULL;
    memset(c, 0, sizeof *c);
    SQ_TRY(read_kind(s, &k));
    c->kind = k->kind;
    c->norms = k->norms;
    c->has_qk_norm = k->has_qk_norm;
    SQ_TRY(get(s, "hidden_size", 1, 1u << 20, 0, &c->hidden));
    SQ_TRY(get(s, "num_hidden_layers", 1, 1024, 0, &c->layers));
    SQ_TRY(get(s, c->kind == SQ_MODEL_OPT ? "ffn_dim" : "intermediate_size", 1, 1u << 22, 0,
               &c->intermediate));
    SQ_TRY(read_attention(s, k, c));
    SQ_TRY(read_window(s, k, c));
    return c->kind == SQ_MODEL_MOE || c->kind == SQ_MODEL_DEEPSEEK ? read_experts(s, c) : SQ_OK;
}
