// SPDX-License-Identifier: Apache-2.0
// Translates keys and tensor names of GGUF into those of Hugging Face, and refuses what has none
// (sq_gguf_model.h).
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

// As Hugging Face calls them; sq_model_config.c refuses those that are not read.
static const struct {
    const char *arch, *name;
    bool is_read;
} architectures[] = {
    {"llama", "LlamaForCausalLM", true},    {"qwen2", "Qwen2ForCausalLM", true},
    {"qwen3", "Qwen3ForCausalLM", true},    {"gemma3", "Gemma3ForCausalLM", true},
    {"phi3", "Phi3ForCausalLM", false},     {"gemma", "GemmaForCausalLM", false},
    {"gemma2", "Gemma2ForCausalLM", false},
};

// Keys that become a field of config.json.
static const struct field {
    const char *key, *name;
    bool is_needed;  // llama.cpp has no default either
    bool is_a_block; // it may be an array with a number a block, all of them equal
} fields[] = {
    {"embedding_length", "hidden_size", true, false},
    {"block_count", "num_hidden_layers", true, false},
    {"context_length", "max_position_embeddings", true, false},
    {"feed_forward_length", "intermediate_size", true, true},
    {"attention.head_count", "num_attention_heads", true, true},
    {"attention.head_count_kv", "num_key_value_heads", false, true},
    {"attention.key_length", "head_dim", false, false},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true, false},
    {"rope.freq_base", "rope_theta", false, false},
    {"attention.sliding_window", "sliding_window", false, false},
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

// Keys that the functions below read.
static const char *const read_elsewhere[] = {
    "attention.value_length", "rope.dimension_count", "rope.scaling.type",
    "rope.scaling.factor",    "rope.scale_linear",    "rope.scaling.attn_factor",
    "tensor_data_layout",     "expert_count",         NULL};
static const char *const read_of_gemma3[] = {"attention.sliding_window_pattern",
                                             "rope.freq_base_swa", "final_logit_softcapping", NULL};

// Keys that change no value: names, training, pooling of embeddings, and what only YaRN, which is
// refused, would look at.
static const char *const without_effect[] = {"vocab_size",
                                             "pooling_type",
                                             "rope.scaling.original_context_length",
                                             "rope.scaling.finetuned",
                                             "rope.scaling.yarn_beta_fast",
                                             "rope.scaling.yarn_beta_slow",
                                             NULL};

// Keys that change values, and what each must be where it is there.
static const struct {
    const char *key;
    double plain; // false is 0, true is 1
} plain_keys[] = {
    {"attention.causal", 1},
    {"attention.clamp_kqv", 0},
    {"attention.max_alibi_bias", 0},
    {"attention.scale", 0},
    {"attn_logit_softcapping", 0},
    {"embedding_scale", 1},
    {"expert_shared_count", 0},
    {"expert_used_count", 0},
    {"final_logit_softcapping", 0},
    {"leading_dense_block_count", 0},
    {"logit_scale", 1},
    {"nextn_predict_layers", 0},
    {"residual_scale", 1},
    {"rope.scaling.yarn_attn_factor", 1},
    {"rope.scaling.yarn_ext_factor", 0},
    {"rope.scaling.yarn_log_multiplier", 0},
    {"use_parallel_residual", 0},
};

static const struct sq_gguf_value *find(const struct reader *r, const char *key)
{
    char full[KEY_SIZE];
    snprintf(full, sizeof full, "%.60s.%.60s", r->arch, key);
    return sq_gguf_find(r->g, full);
}

// ARCH.key as JSON; NULL where there is none.
static enum sq_status get(const struct reader *r, const char *key, json_t **value,
                          struct sq_error *err)
{
    const struct sq_gguf_value *v = find(r, key);
    *value = v ? sq_gguf_json(v) : NULL;
    return v && !*value
               ? SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s is %s%s, need one %s", r->what, v->key,
                         v->is_array ? "an array of " : "no legal ", sq_gguf_type_name(v->type),
                         v->type == SQ_GGUF_STRING ? "text" : "number")
               : SQ_OK;
}

static enum sq_status get_number(const struct reader *r, const char *key, double fallback,
                                 double *number, struct sq_error *err)
{
    json_auto_t *value = NULL;
    SQ_TRY(get(r, key, &value, err));
    const bool is_good = !value || json_is_number(value) || json_is_boolean(value);
    *number = !value                   ? fallback
              : json_is_boolean(value) ? json_is_true(value)
                                       : json_number_value(value);
    return is_good ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s.%s is no number", r->what, r->arch, key);
}

static size_t n_blocks(const struct reader *r)
{
    const json_int_t n = json_integer_value(json_object_get(r->config, "num_hidden_layers"));
    return n < 1 || n > SQ_MAX_BLOCKS ? 0 : (size_t)n; // sq_model_config.c refuses these
}

static bool is_integer(const struct sq_gguf_value *v)
{
    return v->type != SQ_GGUF_F32 && v->type != SQ_GGUF_F64 && v->type != SQ_GGUF_STRING;
}

static enum sq_status check_length(const struct reader *r, const struct sq_gguf_value *v,
                                   struct sq_error *err)
{
    return v->n == n_blocks(r)
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_SHAPE, "%s: %s has %zu elements, need %zu, one a block",
                         r->what, v->key, v->n, n_blocks(r));
}

// The number that all blocks have.
static enum sq_status get_equal(const struct reader *r, const struct sq_gguf_value *v,
                                json_t **value, struct sq_error *err)
{
    SQ_TRY(check_length(r, v, err));
    const int64_t first = sq_gguf_integer(v, 0);
    for (size_t i = 1; i < v->n; i++)
        SQ_FAIL_IF(sq_gguf_integer(v, i) != first, err, SQ_ERR_UNSUPPORTED,
                   "%s: %s of block %zu = %lld, need %lld, that of block 0", r->what, v->key, i,
                   (long long)sq_gguf_integer(v, i), (long long)first);
    *value = json_integer((json_int_t)first);
    return SQ_OK;
}

static enum sq_status copy_field(const struct reader *r, const struct field *f,
                                 struct sq_error *err)
{
    json_t *value;
    const struct sq_gguf_value *v = find(r, f->key);
    SQ_FAIL_IF(!v && f->is_needed, err, SQ_ERR_DAMAGED, "%s: %s.%s is missing", r->what, r->arch,
               f->key);
    if (v && v->is_array && f->is_a_block && is_integer(v) && n_blocks(r))
        SQ_TRY(get_equal(r, v, &value, err));
    else
        SQ_TRY(get(r, f->key, &value, err));
    if (value)
        json_object_set_new(r->config, f->name, value);
    return SQ_OK;
}

static const struct sq_tensor *find_tensor(const struct sq_gguf *g, const char *name)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return &g->tensor[i];
    return NULL;
}

// ---- every key of the namespace ---------------------------------------------------------------

static bool is_one_of(const char *name, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool is_gemma3(const struct reader *r)
{
    return strcmp(r->arch, "gemma3") == 0;
}

static bool is_read(const struct reader *r, const char *key)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (strcmp(key, fields[i].key) == 0)
            return true;
    return is_one_of(key, read_elsewhere) || is_one_of(key, without_effect) ||
           (is_gemma3(r) && is_one_of(key, read_of_gemma3));
}

static enum sq_status check_key(const struct reader *r, const char *key, struct sq_error *err)
{
    double number;
    if (is_read(r, key))
        return SQ_OK;
    for (size_t i = 0; i < sizeof plain_keys / sizeof plain_keys[0]; i++) {
        if (strcmp(key, plain_keys[i].key) != 0)
            continue;
        SQ_TRY(get_number(r, key, 0, &number, err));
        return number == plain_keys[i].plain
                   ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s.%s = %g, need %g or none", r->what,
                             r->arch, key, number, plain_keys[i].plain);
    }
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "%s: %s.%.60s may change values and is not read, need a file without it",
                   r->what, r->arch, key);
}

// A key that is passed over without a word makes another model of it.
static enum sq_status check_keys(const struct reader *r, struct sq_error *err)
{
    const size_t n = strlen(r->arch);
    for (size_t i = 0; i < r->g->n_values; i++) {
        const char *key = r->g->value[i].key;
        if (strncmp(key, r->arch, n) == 0 && key[n] == '.')
            SQ_TRY(check_key(r, key + n + 1, err));
    }
    return SQ_OK;
}

// How rows of q and k lie: as Meta had them in "llama", else as in Hugging Face.
static enum sq_status check_layout(const struct reader *r, struct sq_error *err)
{
    const char *plain = strcmp(r->arch, "llama") == 0 ? "Meta AI original pth" : "reference";
    json_auto_t *layout = NULL;
    SQ_TRY(get(r, "tensor_data_layout", &layout, err));
    const char *text = json_string_value(layout);
    const bool is_good = !layout || (text && strcmp(text, plain) == 0);
    return is_good ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                             "%s: %s.tensor_data_layout is another one, need \"%s\"", r->what,
                             r->arch, plain);
}

// ---- what is no single field ------------------------------------------------------------------

// What divides every frequency; 1: none. A factor without a type is linear, 0 is none, and the old
// key counts where there is no new one.
static enum sq_status read_factor(const struct reader *r, double *factor, struct sq_error *err)
{
    json_auto_t *type = NULL;
    const char *key = find(r, "rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    SQ_TRY(get(r, "rope.scaling.type", &type, err));
    const char *text = type ? json_string_value(type) : "linear";
    const bool is_none = text && strcmp(text, "none") == 0;
    SQ_FAIL_IF(!text || (!is_none && strcmp(text, "linear") != 0), err, SQ_ERR_UNSUPPORTED,
               "%s: %s.rope.scaling.type = %.40s, need none or linear", r->what, r->arch,
               text ? text : "no text");
    SQ_TRY(get_number(r, key, 1, factor, err));
    if (is_none || *factor == 0)
        *factor = 1;
    return SQ_OK;
}

static json_t *linear_rope(double factor)
{
    return json_pack("{s:s, s:f}", "rope_type", "linear", "factor", factor);
}

// llama.cpp's default of 10000 is not that of every class in transformers.
static enum sq_status copy_rope(const struct reader *r, struct sq_error *err)
{
    double factor = 1;
    SQ_TRY(read_factor(r, &factor, err));
    if (!json_object_get(r->config, "rope_theta"))
        json_object_set_new(r->config, "rope_theta", json_real(10000));
    if (factor != 1)
        json_object_set_new(r->config, "rope_scaling", linear_rope(factor));
    return SQ_OK;
}

// llama.cpp: as many KV heads as heads, and heads that share the embedding.
static void put_head_defaults(const struct reader *r)
{
    json_t *heads = json_object_get(r->config, "num_attention_heads");
    const json_int_t n = json_integer_value(heads);
    const json_int_t width = json_integer_value(json_object_get(r->config, "hidden_size"));
    if (!json_object_get(r->config, "num_key_value_heads"))
        json_object_set(r->config, "num_key_value_heads", heads);
    if (!json_object_get(r->config, "head_dim") && n > 0 && width > 0)
        json_object_set_new(r->config, "head_dim", json_integer(width / n));
}

// Whether block i looks back over the window: by an array, else all but every n-th; n = 0: all.
static enum sq_status put_layer_types(const struct reader *r, bool has_window, struct sq_error *err)
{
    static const char key[] = "attention.sliding_window_pattern";
    const struct sq_gguf_value *v = has_window ? find(r, key) : NULL;
    double period = 6;
    if (v && v->is_array && is_integer(v))
        SQ_TRY(check_length(r, v, err));
    else if (v)
        SQ_TRY(get_number(r, key, period, &period, err));
    SQ_FAIL_IF(!(period >= 0 && period <= SQ_MAX_BLOCKS), err, SQ_ERR_RANGE,
               "%s: %s.%s = %g, need 0..%d", r->what, r->arch, key, period, SQ_MAX_BLOCKS);
    json_t *types = json_array();
    for (size_t i = 0; i < n_blocks(r); i++) {
        const size_t n = (size_t)period;
        const bool is_local =
            v && v->is_array ? sq_gguf_integer(v, i) != 0 : n == 0 || (i + 1) % n != 0;
        json_array_append_new(
            types, json_string(has_window && is_local ? "sliding_attention" : "full_attention"));
    }
    json_object_set_new(r->config, "layer_types", types);
    return SQ_OK;
}

// The number of blocks of the 27B model, whose scores llama.cpp scales by what its heads would have
// of the embedding, and not by the size of a head.
enum { BLOCKS_OF_27B = 62 };

static enum sq_status copy_gemma3(const struct reader *r, struct sq_error *err)
{
    double window, cap, theta;
    SQ_TRY(get_number(r, "attention.sliding_window", 0, &window, err));
    SQ_TRY(get_number(r, "final_logit_softcapping", 0, &cap, err));
    SQ_TRY(get_number(r, "rope.freq_base_swa", 10000, &theta, err));
    const json_int_t n = json_integer_value(json_object_get(r->config, "num_attention_heads"));
    const json_int_t width = json_integer_value(json_object_get(r->config, "hidden_size"));
    if (n_blocks(r) == BLOCKS_OF_27B && n > 0)
        json_object_set_new(r->config, "query_pre_attn_scalar", json_integer(width / n));
    else
        json_object_set(r->config, "query_pre_attn_scalar", json_object_get(r->config, "head_dim"));
    if (window == 0)
        json_object_del(r->config, "sliding_window");
    if (cap != 0)
        json_object_set_new(r->config, "final_logit_softcapping", json_real(cap));
    json_object_set_new(r->config, "rope_local_base_freq", json_real(theta));
    return put_layer_types(r, window != 0, err);
}

static enum sq_status copy_all(const struct reader *r, struct sq_error *err)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        SQ_TRY(copy_field(r, &fields[i], err));
    const struct sq_tensor *embed = find_tensor(r->g, "token_embd.weight");
    SQ_FAIL_IF(!embed || embed->n_dims != 2, err, SQ_ERR_DAMAGED,
               "%s: no two-dimensional token_embd.weight", r->what);
    json_object_set_new(r->config, "vocab_size", json_integer((json_int_t)embed->dim[0]));
    json_object_set_new(r->config, "tie_word_embeddings",
                        json_boolean(!find_tensor(r->g, "output.weight")));
    put_head_defaults(r);
    SQ_TRY(copy_rope(r, err));
    if (is_gemma3(r))
        return copy_gemma3(r, err);
    if (json_object_get(r->config, "sliding_window")) { // of every block
        json_object_set_new(r->config, "use_sliding_window", json_true());
        json_object_set_new(r->config, "max_window_layers", json_integer(0));
    }
    return SQ_OK;
}

// What a file calls "llama" may be three models.
static enum sq_status name_architecture(const struct reader *r, bool *is_read, struct sq_error *err)
{
    const char *name = r->arch;
    double n_experts;
    *is_read = false;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (strcmp(r->arch, architectures[i].arch) == 0) {
            name = architectures[i].name;
            *is_read = architectures[i].is_read;
        }
    SQ_TRY(get_number(r, "expert_count", 0, &n_experts, err));
    if (n_experts != 0) {
        name = "MixtralForCausalLM";
        *is_read = false;
    } else if (strcmp(r->arch, "llama") == 0 && find(r, "attention.sliding_window")) {
        name = "MistralForCausalLM";
    }
    json_object_set_new(r->config, "architectures", json_pack("[s]", name));
    return SQ_OK;
}

// Heads that are not rotated whole, or whose values are of another size.
static enum sq_status check_heads(const struct reader *r, const struct sq_model_config *c,
                                  struct sq_error *err)
{
    static const char *const same[] = {"rope.dimension_count", "attention.value_length"};
    for (size_t i = 0; i < 2; i++) {
        double n;
        SQ_TRY(get_number(r, same[i], (double)c->head_dim, &n, err));
        SQ_FAIL_IF(n != (double)c->head_dim, err, SQ_ERR_UNSUPPORTED,
                   "%s: %s.%s = %.0f, need %zu, the head", r->what, r->arch, same[i], n,
                   c->head_dim);
    }
    return SQ_OK;
}

static enum sq_status read_config(const struct reader *r, struct sq_model_config *c,
                                  struct sq_error *err)
{
    bool is_read;
    SQ_TRY(name_architecture(r, &is_read, err));
    if (is_read) {
        SQ_TRY(check_keys(r, err));
        SQ_TRY(check_layout(r, err));
        SQ_TRY(copy_all(r, err));
    }
    SQ_TRY(sq_model_config_of(r->config, r->what, c, err));
    SQ_TRY(check_heads(r, c, err));
    c->has_offset_gain = false;
    SQ_TRY(get_number(r, "rope.scaling.attn_factor", 1, &c->rope.attention_factor, err));
    c->local_rope.attention_factor = c->rope.attention_factor;
    return c->rope.attention_factor > 0 && c->rope.attention_factor <= 1e6
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE,
                         "%s: %s.rope.scaling.attn_factor = %g, need more than 0, up to 1e6",
                         r->what, r->arch, c->rope.attention_factor);
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
    json_auto_t *json = NULL;
    SQ_TRY(sq_gguf_model_json(g, what, &json, c, err));
    return SQ_OK;
}

enum sq_status sq_gguf_model_json(const struct sq_gguf *g, const char *what, json_t **config,
                                  struct sq_model_config *c, struct sq_error *err)
{
    json_auto_t *arch = architecture(g);
    *config = NULL;
    SQ_FAIL_IF(!arch, err, SQ_ERR_DAMAGED, "%s: general.architecture is missing or no name", what);
    const struct reader r = {g, what, json_string_value(arch), json_object()};
    const enum sq_status status = read_config(&r, c, err);
    SQ_TRY(SQ_ELSE(status, json_decref(r.config)));
    *config = r.config;
    return SQ_OK;
}

static bool is_architecture(const struct sq_gguf *g, const char *name)
{
    json_auto_t *arch = architecture(g);
    const bool is = arch && strcmp(json_string_value(arch), name) == 0;
    return is;
}

bool sq_gguf_model_is_interleaved(const struct sq_gguf *g)
{
    return is_architecture(g, "llama");
}

// ---- tensors --------------------------------------------------------------------------------

// Names beside the blocks, without ".weight", ".bias", ".scale" and ".input_scale".
static const char *const whole[][2] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};

// The other name of the part text[n], of a block or beside them: of GGUF that of Hugging Face, or with is_back the
// other way round. NULL: it has none.
static const char *find_part(bool is_of_block, bool is_gemma, bool is_back, const char *text,
                             size_t n)
{
    const size_t n_parts = is_of_block ? SQ_BLOCK_TENSORS : sizeof whole / sizeof whole[0];
    for (size_t i = 0; i < n_parts; i++) {
        const struct sq_block_tensor *const t = &sq_block_tensor[i];
        const char *const gguf = !is_of_block           ? whole[i][0]
                                 : is_gemma && t->gemma ? t->gemma
                                                        : t->gguf;
        const char *const name = is_of_block ? t->name : whole[i][1];
        const char *const from = is_back ? name : gguf;
        if (gguf && strlen(from) == n && memcmp(text, from, n) == 0)
            return is_back ? gguf : name;
    }
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
    static const char *const kinds[] = {".weight", ".bias", ".scale", ".input_scale", NULL};
    size_t i = 0;
    while (kind && kinds[i] && strcmp(kind, kinds[i]) != 0)
        i++;
    if (!kind || !kinds[i])
        return;
    const char *new_part = find_part(skip > 0, is_gemma, false, part, n);
    if (new_part && skip)
        snprintf(out, NAME_SIZE, "model.layers.%u.%s%s", block, new_part, kind);
    else if (new_part)
        snprintf(out, NAME_SIZE, "%s%s", new_part, kind);
}

void sq_gguf_model_name(const char *name, bool is_gemma, char *out, size_t out_size)
{
    unsigned block;
    int skip = 0;
    const bool is_block = sscanf(name, "model.layers.%9u.%n", &block, &skip) == 1 && skip > 0;
    const char *part = is_block ? name + skip : name, *kind = strrchr(part, '.');
    const size_t n = kind ? (size_t)(kind - part) : 0;
    const char *new_part = find_part(is_block, is_gemma, true, part, n);
    if (new_part && is_block)
        snprintf(out, out_size, "blk.%u.%s%s", block, new_part, kind);
    else
        snprintf(out, out_size, "%s%s", new_part ? new_part : name, new_part ? kind : "");
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
    SQ_TRY(SQ_ELSE(status, sq_gguf_model_free(t, t ? n : 0)));
    *tensor = t;
    return SQ_OK;
}

void sq_gguf_model_free(struct sq_tensor *tensor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)tensor[i].name);
    free(tensor);
}
