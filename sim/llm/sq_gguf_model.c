// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/sq_gguf_model.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 320, KEY_SIZE = 128 };

// ---- config ---------------------------------------------------------------------------------

struct reader {
    const struct sq_gguf *g;
    const char *what;
    const char *arch; // of the metadata, beginning every key
    json_t *config;   // to be
};

// As Hugging Face calls them; sq_model_config.c says which of them it takes.
static const struct {
    const char *arch, *name;
} architectures[] = {
    {"llama", "LlamaForCausalLM"},   {"qwen2", "Qwen2ForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"},
    {"phi3", "Phi3ForCausalLM"},     {"gemma", "GemmaForCausalLM"}, {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "Gemma3ForCausalLM"},
};

// ARCH.key as JSON; NULL where there is none.
static enum sq_status get(const struct reader *r, const char *key, json_t **value,
                          struct sq_error *err)
{
    char full[KEY_SIZE];
    snprintf(full, sizeof full, "%.60s.%.60s", r->arch, key);
    const struct sq_gguf_value *v = sq_gguf_find(r->g, full);
    *value = v ? sq_gguf_json(v) : NULL;
    return v && !*value
               ? SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s is %s%s, need one %s", r->what, full,
                         v->is_array ? "an array of " : "no legal ", sq_gguf_type_name(v->type),
                         v->type == SQ_GGUF_STRING ? "text" : "number")
               : SQ_OK;
}

static enum sq_status copy(const struct reader *r, const char *key, json_t *to, const char *name,
                           struct sq_error *err)
{
    json_t *value;
    SQ_TRY(get(r, key, &value, err));
    if (value)
        json_object_set_new(to, name, value);
    return SQ_OK;
}

static const struct sq_tensor *find_tensor(const struct sq_gguf *g, const char *name)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return &g->tensor[i];
    return NULL;
}

static enum sq_status copy_rope(const struct reader *r, struct sq_error *err)
{
    json_t *type, *scaling;
    SQ_TRY(copy(r, "rope.freq_base", r->config, "rope_theta", err));
    SQ_TRY(get(r, "rope.scaling.type", &type, err));
    const char *text = json_string_value(type);
    if (!type || (text && strcmp(text, "none") == 0)) {
        json_decref(type);
        return SQ_OK;
    }
    scaling = json_object();
    json_object_set_new(scaling, "rope_type", type);
    json_object_set_new(r->config, "rope_scaling", scaling);
    return copy(r, "rope.scaling.factor", scaling, "factor", err);
}

static enum sq_status copy_all(const struct reader *r, struct sq_error *err)
{
    static const struct {
        const char *key, *name;
    } field[] = {
        {"embedding_length", "hidden_size"},
        {"feed_forward_length", "intermediate_size"},
        {"block_count", "num_hidden_layers"},
        {"attention.head_count", "num_attention_heads"},
        {"attention.head_count_kv", "num_key_value_heads"},
        {"attention.key_length", "head_dim"},
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
        {"attention.sliding_window", "sliding_window"},
        {"attn_logit_softcapping", "attn_logit_softcapping"},
        {"final_logit_softcapping", "final_logit_softcapping"},
        {"rope.freq_base_swa", "rope_local_base_freq"},
        {"context_length", "max_position_embeddings"},
    };
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++)
        SQ_TRY(copy(r, field[i].key, r->config, field[i].name, err));
    const struct sq_tensor *embed = find_tensor(r->g, "token_embd.weight");
    if (!embed || embed->n_dims != 2)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: no two-dimensional token_embd.weight", r->what);
    json_object_set_new(r->config, "vocab_size", json_integer((json_int_t)embed->dim[0]));
    json_object_set_new(r->config, "tie_word_embeddings",
                        json_boolean(!find_tensor(r->g, "output.weight")));
    return copy_rope(r, err);
}

// What a file calls "llama" may be three models.
static enum sq_status name_architecture(const struct reader *r, struct sq_error *err)
{
    const char *name = r->arch;
    json_t *experts;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (strcmp(r->arch, architectures[i].arch) == 0)
            name = architectures[i].name;
    SQ_TRY(get(r, "expert_count", &experts, err));
    if (json_integer_value(experts) > 0)
        name = "MixtralForCausalLM";
    else if (strcmp(r->arch, "llama") == 0 && json_object_get(r->config, "sliding_window"))
        name = "MistralForCausalLM";
    json_decref(experts);
    json_object_set_new(r->config, "architectures", json_pack("[s]", name));
    return SQ_OK;
}

// Heads that are not rotated whole, or whose values are of another size.
static enum sq_status check_heads(const struct reader *r, const struct sq_model_config *c,
                                  struct sq_error *err)
{
    static const char *const same[] = {"rope.dimension_count", "attention.value_length"};
    for (size_t i = 0; i < 2; i++) {
        json_t *value;
        SQ_TRY(get(r, same[i], &value, err));
        const json_int_t n = value ? json_integer_value(value) : (json_int_t)c->head_dim;
        json_decref(value);
        if (n != (json_int_t)c->head_dim)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s.%s = %lld, need %zu, the head", r->what,
                           r->arch, same[i], (long long)n, c->head_dim);
    }
    return SQ_OK;
}

static enum sq_status read_config(const struct reader *r, struct sq_model_config *c,
                                  struct sq_error *err)
{
    SQ_TRY(copy_all(r, err));
    SQ_TRY(name_architecture(r, err));
    SQ_TRY(sq_model_config_of(r->config, r->what, c, err));
    c->has_offset_gain = false;
    return check_heads(r, c, err);
}

// The architecture as JSON the caller owns; NULL where there is none.
static json_t *architecture(const struct sq_gguf *g)
{
    const struct sq_gguf_value *v = sq_gguf_find(g, "general.architecture");
    json_t *text = v ? sq_gguf_json(v) : NULL;
    if (json_is_string(text) && json_string_length(text) < KEY_SIZE / 2)
        return text;
    json_decref(text);
    return NULL;
}

enum sq_status sq_gguf_model_config(const struct sq_gguf *g, const char *what,
                                    struct sq_model_config *c, struct sq_error *err)
{
    json_t *json;
    SQ_TRY(sq_gguf_model_json(g, what, &json, c, err));
    json_decref(json);
    return SQ_OK;
}

enum sq_status sq_gguf_model_json(const struct sq_gguf *g, const char *what, json_t **config,
                                  struct sq_model_config *c, struct sq_error *err)
{
    json_t *arch = architecture(g);
    *config = NULL;
    if (!arch)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: general.architecture is missing or no name", what);
    const struct reader r = {g, what, json_string_value(arch), json_object()};
    const enum sq_status status = read_config(&r, c, err);
    json_decref(arch);
    if (status == SQ_OK)
        *config = r.config;
    else
        json_decref(r.config);
    return status;
}

static bool is_architecture(const struct sq_gguf *g, const char *name)
{
    json_t *arch = architecture(g);
    const bool is = arch && strcmp(json_string_value(arch), name) == 0;
    json_decref(arch);
    return is;
}

bool sq_gguf_model_is_interleaved(const struct sq_gguf *g)
{
    return is_architecture(g, "llama");
}

// ---- tensors --------------------------------------------------------------------------------

// Parts of names, without ".weight" and ".bias", up to a NULL. Gemma has two norms more in a block, so
// that the norm in front of the MLP has another name.
struct part {
    const char *gguf, *name;
};
static const struct part whole[] = {{"token_embd", "model.embed_tokens"},
                                    {"output_norm", "model.norm"},
                                    {"output", "lm_head"},
                                    {NULL, NULL}},
                         of_block[] = {{"attn_norm", "input_layernorm"},
                                       {"attn_q", "self_attn.q_proj"},
                                       {"attn_k", "self_attn.k_proj"},
                                       {"attn_v", "self_attn.v_proj"},
                                       {"attn_output", "self_attn.o_proj"},
                                       {"ffn_gate", "mlp.gate_proj"},
                                       {"ffn_up", "mlp.up_proj"},
                                       {"ffn_down", "mlp.down_proj"},
                                       {"attn_q_norm", "self_attn.q_norm"},
                                       {"attn_k_norm", "self_attn.k_norm"},
                                       {NULL, NULL}},
                         of_llama[] = {{"ffn_norm", "post_attention_layernorm"}, {NULL, NULL}},
                         of_gemma[] = {{"ffn_norm", "pre_feedforward_layernorm"},
                                       {"post_attention_norm", "post_attention_layernorm"},
                                       {"post_ffw_norm", "post_feedforward_layernorm"},
                                       {NULL, NULL}};

// The other name of the part text[n]; NULL where the list has none.
static const char *find_part(const struct part *list, const char *text, size_t n)
{
    for (; list->gguf; list++)
        if (strlen(list->gguf) == n && memcmp(text, list->gguf, n) == 0)
            return list->name;
    return NULL;
}

// "blk.N." with N as it is printed: bytes of it, 0 where the name begins otherwise.
static size_t block_of(const char *name, unsigned *block)
{
    char prefix[32];
    if (sscanf(name, "blk.%9u.", block) != 1)
        return 0;
    const int n = snprintf(prefix, sizeof prefix, "blk.%u.", *block);
    return strncmp(name, prefix, (size_t)n) == 0 ? (size_t)n : 0;
}

// The name of Hugging Face, or the same.
static void rename_tensor(const char *name, bool is_gemma, char out[NAME_SIZE])
{
    unsigned block = 0;
    const size_t skip = block_of(name, &block);
    const char *part = name + skip, *kind = strrchr(part, '.');
    const size_t n = kind ? (size_t)(kind - part) : 0;
    snprintf(out, NAME_SIZE, "%s", name);
    if (!kind || (strcmp(kind, ".weight") != 0 && strcmp(kind, ".bias") != 0))
        return;
    const char *new_part = find_part(skip ? of_block : whole, part, n);
    if (skip && !new_part)
        new_part = find_part(is_gemma ? of_gemma : of_llama, part, n);
    if (new_part && skip)
        snprintf(out, NAME_SIZE, "model.layers.%u.%s%s", block, new_part, kind);
    else if (new_part)
        snprintf(out, NAME_SIZE, "%s%s", new_part, kind);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sq_tensor *)a)->name, ((const struct sq_tensor *)b)->name);
}

enum sq_status sq_gguf_model_tensors(const struct sq_gguf *g, const char *what,
                                     struct sq_tensor **tensor, struct sq_error *err)
{
    char name[NAME_SIZE];
    struct sq_tensor *t = calloc(g->n_tensors + 1, sizeof *t);
    enum sq_status status = SQ_OK;
    const bool is_gemma = is_architecture(g, "gemma3");
    size_t n = 0;
    while (t && n < g->n_tensors) {
        t[n] = g->tensor[n];
        rename_tensor(g->tensor[n].name, is_gemma, name);
        t[n].name = strdup(name);
        if (!t[n++].name)
            break;
    }
    if (!t || (n > 0 && !t[n - 1].name))
        status = SQ_NO_MEMORY(err, "%s", what);
    if (status == SQ_OK)
        qsort(t, n, sizeof *t, by_name);
    for (size_t i = 1; status == SQ_OK && i < n; i++)
        if (strcmp(t[i - 1].name, t[i].name) == 0)
            status = SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: two tensors are '%.80s'", what, t[i].name);
    if (status != SQ_OK) {
        sq_gguf_model_free(t, t ? n : 0);
        return status;
    }
    *tensor = t;
    return SQ_OK;
}

void sq_gguf_model_free(struct sq_tensor *tensor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)tensor[i].name);
    free(tensor);
}
