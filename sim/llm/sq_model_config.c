// SPDX-License-Identifier: Apache-2.0
// Reads config.json, and refuses models whose blocks the forward pass does not know
// (sq_model_config.h).
#include "sim/llm/sq_model_config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

struct reader {
    const json_t *root;
    const char *what;
};

// ---- tensors of a block -----------------------------------------------------------------------

#define HAS(field) offsetof(struct sq_model_config, field)
const struct sq_block_tensor sq_block_tensor[SQ_BLOCK_TENSORS] = {
    {"self_attn.q_proj", "attn_q", NULL, SQ_SIZE_QUERIES, SQ_SIZE_HIDDEN, 0},
    {"self_attn.k_proj", "attn_k", NULL, SQ_SIZE_KEYS, SQ_SIZE_HIDDEN, 0},
    {"self_attn.v_proj", "attn_v", NULL, SQ_SIZE_KEYS, SQ_SIZE_HIDDEN, 0},
    {"self_attn.o_proj", "attn_output", NULL, SQ_SIZE_HIDDEN, SQ_SIZE_QUERIES, 0},
    {"mlp.gate_proj", "ffn_gate", NULL, SQ_SIZE_INTERMEDIATE, SQ_SIZE_HIDDEN, 0},
    {"mlp.up_proj", "ffn_up", NULL, SQ_SIZE_INTERMEDIATE, SQ_SIZE_HIDDEN, 0},
    {"mlp.down_proj", "ffn_down", NULL, SQ_SIZE_HIDDEN, SQ_SIZE_INTERMEDIATE, 0},
    {"input_layernorm", "attn_norm", NULL, SQ_SIZE_HIDDEN, SQ_SIZE_NONE, 0},
    // Gemma has two norms more, so that the norm in front of the MLP has another name.
    {"post_attention_layernorm", "ffn_norm", "post_attention_norm", SQ_SIZE_HIDDEN, SQ_SIZE_NONE,
     0},
    {"self_attn.q_norm", "attn_q_norm", NULL, SQ_SIZE_HEAD, SQ_SIZE_NONE, HAS(has_qk_norm)},
    {"self_attn.k_norm", "attn_k_norm", NULL, SQ_SIZE_HEAD, SQ_SIZE_NONE, HAS(has_qk_norm)},
    {"pre_feedforward_layernorm", NULL, "ffn_norm", SQ_SIZE_HIDDEN, SQ_SIZE_NONE,
     HAS(has_post_norm)},
    {"post_feedforward_layernorm", NULL, "post_ffw_norm", SQ_SIZE_HIDDEN, SQ_SIZE_NONE,
     HAS(has_post_norm)},
};

size_t sq_model_size(const struct sq_model_config *c, enum sq_model_size size)
{
    const size_t sizes[] = {0,
                            c->hidden_size,
                            c->intermediate_size,
                            c->n_heads * c->head_dim,
                            c->n_kv_heads * c->head_dim,
                            c->head_dim};
    return sizes[size];
}

bool sq_model_has(const struct sq_model_config *c, const struct sq_block_tensor *t)
{
    return !t->has || *(const bool *)((const char *)c + t->has);
}

// ---- config.json ------------------------------------------------------------------------------

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

// What is read here, by its names in model_type and in architectures.
enum decoder { LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA3, N_DECODERS };
static const char *const decoders[N_DECODERS][2] = {{"llama", "LlamaForCausalLM"},
                                                    {"mistral", "MistralForCausalLM"},
                                                    {"qwen2", "Qwen2ForCausalLM"},
                                                    {"qwen3", "Qwen3ForCausalLM"},
                                                    {"gemma3_text", "Gemma3ForCausalLM"}};

// Whether the forward pass is there: by the name in architectures, of which the decoder of an encoder of images has none.
static enum sq_status check_decoder(const struct reader *r, struct sq_error *err)
{
    const json_t *list = json_object_get(r->root, "architectures");
    const char *name = json_string_value(json_array_get(list, 0)), *type;
    SQ_TRY(sq_json_string(r->root, r->what, "model_type", &type, err));
    for (size_t i = 0; i < N_DECODERS; i++)
        if (name ? strcmp(name, decoders[i][1]) == 0 : type && strcmp(type, decoders[i][0]) == 0)
            return SQ_OK;
    if (!name)
        name = type;
    SQ_FAIL_IF(!name, err, SQ_ERR_UNSUPPORTED,
               "%s: neither architectures nor model_type, need LlamaForCausalLM", r->what);
    for (size_t i = 0; i < sizeof relatives / sizeof relatives[0]; i++)
        SQ_FAIL_IF(strcmp(name, relatives[i].name) == 0, err, SQ_ERR_UNSUPPORTED,
                   "%s: architecture = %s has %s; need the forward pass of "
                   "LlamaForCausalLM, Qwen3ForCausalLM or Gemma3ForCausalLM",
                   r->what, name, relatives[i].extra);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "%s: architecture = %.60s, need LlamaForCausalLM, MistralForCausalLM, "
                   "Qwen2ForCausalLM, Qwen3ForCausalLM or Gemma3ForCausalLM",
                   r->what, name);
}

// Fields that change the forward pass of these architectures, or of their descendants, and what each
// must be where it is there; NAN: no value will do.
static const struct {
    const char *key;
    double plain; // false is 0, true is 1, an empty list or object 0
    bool is_of_gemma;
} plain_fields[] = {
    {"attention_bias", 0, false},
    {"mlp_bias", 0, false},
    {"partial_rotary_factor", 1, false},
    {"rotary_pct", 1, false},
    {"is_causal", 1, false},
    {"use_bidirectional_attention", 0, false},
    {"is_encoder_decoder", 0, false},
    {"add_cross_attention", 0, false},
    {"pruned_heads", 0, false},
    {"num_local_experts", 0, false},
    {"num_experts", 0, false},
    {"n_routed_experts", 0, false},
    {"use_qk_norm", 0, false},
    {"clip_qkv", NAN, false},
    {"no_rope_layers", 0, false},
    {"attn_temperature_tuning", 0, false},
    {"embedding_multiplier", 1, false},
    {"residual_multiplier", 1, false},
    {"attention_multiplier", NAN, false},
    {"logits_scaling", 1, false},
    {"logit_scale", 1, false},
    {"scale_emb", 1, false},
    {"scale_depth", NAN, false},
    {"dim_model_base", NAN, false},
    {"query_pre_attn_scalar", NAN, true},
    {"attn_logit_softcapping", NAN, true},
    {"final_logit_softcapping", NAN, true},
};

static bool is_plain(const json_t *v, double plain)
{
    if (json_is_number(v))
        return json_number_value(v) == plain;
    if (json_is_boolean(v))
        return (double)json_is_true(v) == plain;
    const bool is_list = json_is_array(v) || json_is_object(v);
    return is_list && plain == 0 && json_array_size(v) + json_object_size(v) == 0;
}

static enum sq_status check_field(const struct reader *r, const json_t *object, const char *key,
                                  double plain, struct sq_error *err)
{
    static const char *const truth[] = {"false", "true"};
    const json_t *v = sq_json_field(object, key);
    if (!v || is_plain(v, plain))
        return SQ_OK;
    SQ_FAIL_IF(isnan(plain), err, SQ_ERR_UNSUPPORTED,
               "%s: %s is set, which this architecture does not have, need null", r->what, key);
    SQ_FAIL_IF(json_is_boolean(v), err, SQ_ERR_UNSUPPORTED, "%s: %s = %s, need %s", r->what, key,
               truth[json_is_true(v)], truth[plain != 0]);
    SQ_FAIL_IF(json_is_number(v), err, SQ_ERR_UNSUPPORTED, "%s: %s = %g, need %g", r->what, key,
               json_number_value(v), plain);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s is set, need %g or null", r->what, key, plain);
}

// Fields that change the forward pass and must have their plain value.
static enum sq_status check_plain(const struct reader *r, enum decoder decoder,
                                  struct sq_error *err)
{
    const bool is_gemma = decoder == GEMMA3;
    const char *const key = is_gemma ? "hidden_activation" : "hidden_act";
    const char *const plain = is_gemma ? "gelu_pytorch_tanh" : "silu";
    for (size_t i = 0; i < sizeof plain_fields / sizeof plain_fields[0]; i++)
        if (!is_gemma || !plain_fields[i].is_of_gemma)
            SQ_TRY(check_field(r, r->root, plain_fields[i].key, plain_fields[i].plain, err));
    const char *act;
    SQ_TRY(sq_json_string(r->root, r->what, key, &act, err));
    SQ_FAIL_IF(act && strcmp(act, plain) != 0, err, SQ_ERR_UNSUPPORTED, "%s: %s = %.40s, need %s",
               r->what, key, act, plain);
    return SQ_OK;
}

// ---- rotary embedding -------------------------------------------------------------------------

// Where Llama 3's scaling begins: in the scaling or beside it, else at the model's maximum.
static enum sq_status read_original(const struct reader *r, const json_t *scaling,
                                    size_t max_position, size_t *original, struct sq_error *err)
{
    static const char key[] = "original_max_position_embeddings";
    const struct reader inner = {scaling, r->what};
    size_t outer;
    SQ_TRY(get_size(r, key, 1, UINT64_C(1) << 31, max_position, &outer, err));
    SQ_TRY(get_size(&inner, key, 1, UINT64_C(1) << 31, outer, original, err));
    return !sq_json_field(r->root, key) || *original == outer
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "%s: %s = %zu, and %zu in rope_scaling: need one of them", r->what, key,
                         outer, *original);
}

static enum sq_status read_llama3(const struct reader *r, const json_t *scaling,
                                  size_t max_position, struct sq_rope *rope, struct sq_error *err)
{
    rope->is_llama3 = true;
    SQ_TRY(sq_json_double(scaling, r->what, "factor", 1.0, 1e6, 0.0, &rope->factor, err));
    SQ_TRY(sq_json_double(scaling, r->what, "low_freq_factor", 1e-6, 1e6, 0.0,
                          &rope->low_freq_factor, err));
    SQ_TRY(sq_json_double(scaling, r->what, "high_freq_factor", 1e-6, 1e6, 0.0,
                          &rope->high_freq_factor, err));
    SQ_FAIL_IF(rope->high_freq_factor <= rope->low_freq_factor, err, SQ_ERR_UNSUPPORTED,
               "%s: high_freq_factor = %g, need more than low_freq_factor = %g", r->what,
               rope->high_freq_factor, rope->low_freq_factor);
    return read_original(r, scaling, max_position, &rope->original_max_position, err);
}

// `scaling` is rope_scaling or rope_parameters, or NULL; its own rope_theta comes before `theta`.
static enum sq_status read_rope(const struct reader *r, const json_t *scaling, double theta,
                                size_t max_position, struct sq_rope *rope, struct sq_error *err)
{
    *rope = (struct sq_rope){.linear = 1, .attention_factor = 1};
    SQ_FAIL_IF(scaling && !json_is_object(scaling), err, SQ_ERR_UNSUPPORTED,
               "%s: rope_scaling or rope_parameters is no object", r->what);
    SQ_TRY(sq_json_double(scaling, r->what, "rope_theta", 1.0, 1e12, theta, &rope->theta, err));
    SQ_TRY(check_field(r, scaling, "partial_rotary_factor", 1, err));
    const char *key = json_object_get(scaling, "rope_type") ? "rope_type" : "type", *type;
    SQ_TRY(sq_json_string(scaling, r->what, key, &type, err));
    SQ_FAIL_IF(!type && sq_json_field(scaling, "factor"), err, SQ_ERR_UNSUPPORTED,
               "%s: rope_type is missing beside factor, need default, linear or llama3", r->what);
    if (!type || strcmp(type, "default") == 0)
        return SQ_OK;
    if (strcmp(type, "linear") == 0)
        return sq_json_double(scaling, r->what, "factor", 1.0, 1e6, 0.0, &rope->linear, err);
    if (strcmp(type, "llama3") == 0)
        return read_llama3(r, scaling, max_position, rope, err);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: rope_type = %.40s, need default, linear or llama3",
                   r->what, type);
}

// rope_theta and rope_scaling, or the newer rope_parameters that holds both; where it holds them by
// kind of block, those of the blocks that look back over everything. With both, transformers takes
// rope_scaling.
static enum sq_status read_whole_rope(const struct reader *r, enum decoder decoder,
                                      struct sq_model_config *c, struct sq_error *err)
{
    const json_t *older = sq_json_field(r->root, "rope_scaling");
    const json_t *newer = sq_json_field(r->root, "rope_parameters");
    const json_t *full = sq_json_field(newer, "full_attention"),
                 *local = sq_json_field(newer, "sliding_attention");
    const json_t *scaling = json_is_object(older) && json_object_size(older) == 0 ? NULL : older;
    double theta;
    if (!scaling)
        scaling = full || local ? full : newer;
    SQ_FAIL_IF(decoder == GEMMA3 && json_object_size(newer) > 0 && !full && !local, err,
               SQ_ERR_UNSUPPORTED,
               "%s: rope_parameters has neither full_attention nor sliding_attention, "
               "need those of Gemma 3",
               r->what);
    SQ_FAIL_IF(decoder == GEMMA3 && json_object_size(older) > 0 && json_object_size(full) > 0 &&
                   !json_equal(older, full),
               err, SQ_ERR_UNSUPPORTED,
               "%s: rope_scaling and rope_parameters.full_attention differ, need one "
               "of them",
               r->what);
    SQ_FAIL_IF(decoder != GEMMA3 && local && !(full && json_equal(full, local)), err,
               SQ_ERR_UNSUPPORTED,
               "%s: rope_parameters.sliding_attention is set, need one rotary "
               "embedding of all blocks but for Gemma 3",
               r->what);
    SQ_TRY(sq_json_double(r->root, r->what, "rope_theta", 1.0, 1e12, decoder == GEMMA3 ? 1e6 : 1e4,
                          &theta, err));
    return read_rope(r, scaling, theta, c->max_position, &c->rope, err);
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
    double theta;
    c->has_qk_norm = c->has_post_norm = c->has_offset_gain = c->is_geglu = true;
    c->embedding_scale = sqrt((double)c->hidden_size);
    SQ_TRY(sq_json_double(r->root, r->what, "query_pre_attn_scalar", 1e-3, 1e6, 256,
                          &c->query_scale, err));
    SQ_TRY(read_cap(r, "attn_logit_softcapping", &c->attention_cap, err));
    SQ_TRY(read_cap(r, "final_logit_softcapping", &c->logit_cap, err));
    SQ_TRY(
        sq_json_double(r->root, r->what, "rope_local_base_freq", 1.0, 1e12, 10000.0, &theta, err));
    return read_rope(r,
                     sq_json_field(sq_json_field(r->root, "rope_parameters"), "sliding_attention"),
                     theta, c->max_position, &c->local_rope, err);
}

// What the forward pass needs of the sizes; *d: which of the decoders they are of.
static enum sq_status read_sizes(const struct reader *r, enum decoder *d, struct sq_model_config *c,
                                 struct sq_error *err)
{
    struct sq_model_shape s;
    SQ_TRY(sq_model_shape_of(r->root, r->what, &s, err));
    for (*d = LLAMA; *d < N_DECODERS && strcmp(decoders[*d][0], s.model_type) != 0; (*d)++)
        ;
    SQ_FAIL_IF(*d == N_DECODERS, err, SQ_ERR_UNSUPPORTED,
               "%s: model_type = %s, need llama, mistral, qwen2, qwen3 or gemma3_text", r->what,
               s.model_type);
    SQ_FAIL_IF(s.head_dim % 2 != 0, err, SQ_ERR_SHAPE, "%s: head_dim = %zu, need an even number",
               r->what, (size_t)s.head_dim);
    *c = (struct sq_model_config){.hidden_size = s.hidden,
                                  .intermediate_size = s.intermediate,
                                  .n_layers = s.layers,
                                  .n_heads = s.heads,
                                  .n_kv_heads = s.kv_heads,
                                  .head_dim = s.head_dim,
                                  .vocab_size = s.vocab,
                                  .max_position = s.max_position,
                                  .tie_word_embeddings = s.is_tied,
                                  .end_of_text = s.eos,
                                  .has_qkv_bias = *d == QWEN2,
                                  .has_qk_norm = s.has_qk_norm,
                                  .embedding_scale = 1,
                                  .query_scale = (double)s.head_dim,
                                  .window = s.max_position};
    if (*d == GEMMA3) {
        c->local_window = s.window;
        memcpy(c->is_local, s.is_local, sizeof s.is_local);
    } else if (s.window && s.window < s.max_position) {
        c->window = s.window;
    }
    return SQ_OK;
}

enum sq_status sq_model_config_of(const json_t *root, const char *what, struct sq_model_config *c,
                                  struct sq_error *err)
{
    const struct reader reader = {root, what}, *r = &reader;
    enum decoder d;
    *c = (struct sq_model_config){0};
    SQ_TRY(check_decoder(r, err));
    SQ_TRY(read_sizes(r, &d, c, err));
    SQ_TRY(check_plain(r, d, err));
    SQ_TRY(
        sq_json_double(r->root, r->what, "rms_norm_eps", 1e-12, 1.0, 1e-6, &c->rms_norm_eps, err));
    SQ_TRY(read_whole_rope(r, d, c, err));
    return d == GEMMA3 ? read_gemma3(r, c, err) : SQ_OK;
}
