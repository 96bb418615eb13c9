// SPDX-License-Identifier: Apache-2.0
// Reads the sizes of a decoder from its config.json (sq_model_shape.h).
#include "sim/machine/sq_model_shape.h"

#include <string.h>

#include "sim/io/sq_json.h"

// With the defaults of the classes in transformers; 0: as many KV heads as heads, heads that share
// hidden_size.
static const struct known {
    const char *model_type;
    enum sq_model_kind kind;
    uint64_t kv_heads, head_dim, norms;
    bool has_qk_norm;
    uint64_t
        pattern; // one layer in so many sees all tokens, the others a window; 0: see read_window
} known[] = {
    {"llama", SQ_MODEL_LLAMA, 0, 0, 2, false, 0},
    {"mistral", SQ_MODEL_LLAMA, 8, 0, 2, false, 0},
    {"qwen2", SQ_MODEL_LLAMA, 32, 0, 2, false, 0},
    {"qwen3", SQ_MODEL_LLAMA, 32, 128, 2, true, 0},
    {"gemma3_text", SQ_MODEL_LLAMA, 4, 256, 4, true, 6},
    {"mixtral", SQ_MODEL_MOE, 8, 0, 2, false, 0},
    {"qwen3_moe", SQ_MODEL_MOE, 4, 0, 2, true, 0},
    {"deepseek_v3", SQ_MODEL_DEEPSEEK, 0, 0, 2, false, 0},
    {"opt", SQ_MODEL_OPT, 0, 0, 2, false, 0},
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
    char names[192] = "";
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
    SQ_TRY(get(s, "num_attention_heads", 1, 4096, 0, &c->heads));
    if (c->kind == SQ_MODEL_DEEPSEEK) {
        SQ_TRY(get(s, "q_lora_rank", 1, 1u << 20, 0, &c->q_rank));
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

enum sq_status sq_model_vocabulary(const json_t *root, const char *what, struct sq_model_shape *c,
                                   struct sq_error *err)
{
    SQ_TRY(sq_json_uint(root, what, "vocab_size", 1, UINT64_C(1) << 24, 0, &c->vocab, err));
    return sq_json_bool(root, what, "tie_word_embeddings", false, &c->is_tied, err);
}

enum sq_status sq_model_shape_of(const json_t *root, const char *what, struct sq_model_shape *c,
                                 struct sq_error *err)
{
    const struct source source = {root, what, err}, *s = &source;
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
