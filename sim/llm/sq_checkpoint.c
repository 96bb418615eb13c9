// SPDX-License-Identifier: Apache-2.0
// Opens the files of a model, checks its tensors, and reads them in binary32 (sq_checkpoint.h).
#include "sim/llm/sq_checkpoint.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_json.h"
#include "sim/llm/foreign/sq_as_stored.h"
#include "sim/llm/sq_gguf_model.h"
#include "sim/llm/sq_shards.h"

#define CONFIG_MAX_NBYTES (16u << 20)

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sq_tensor *)a)->name, ((const struct sq_tensor *)b)->name);
}

static const char embedding[] = "model.embed_tokens.weight", head[] = "lm_head.weight";

// ---- names of tensors -------------------------------------------------------------------------

static bool is_one_of(const char *name, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

// The rest of "model.layers.N." with its N; NULL where the name is another.
static const char *block_part(const char *name, unsigned *block)
{
    static const char prefix[] = "model.layers.";
    const char *digit = name + sizeof prefix - 1;
    int n = 0;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || *digit < '0' || *digit > '9' ||
        (digit[0] == '0' && digit[1] != '.') || sscanf(digit, "%4u.%n", block, &n) != 1 || n == 0)
        return NULL;
    return digit + n;
}

// Whether layer i of a block has a bias: q, k and v.
static bool has_bias(const struct sq_model_config *c, size_t i)
{
    return c->has_qkv_bias && i < 3;
}

// Whether the forward pass reads a tensor, or may leave it out: the frequencies of the rotary
// embedding, which older files hold, follow from the config.
static bool has_place(const struct sq_model_config *c, bool is_gguf, const char *name)
{
    static const char *const top[] = {"model.embed_tokens.weight", "model.norm.weight",
                                      "lm_head.weight", "model.rotary_emb.inv_freq", NULL};
    unsigned block;
    const char *const rest = block_part(name, &block);
    if (!rest)
        return is_one_of(name, top) || (is_gguf && strcmp(name, "rope_freqs.weight") == 0);
    if (block >= c->n_layers)
        return false;
    for (size_t i = 0; i < SQ_BLOCK_TENSORS; i++) {
        const struct sq_block_tensor *const t = &sq_block_tensor[i];
        const size_t n = strlen(t->name);
        if (strncmp(rest, t->name, n) == 0 && rest[n] == '.')
            return (strcmp(rest + n, ".weight") == 0 && sq_model_has(c, t)) ||
                   (strcmp(rest + n, ".bias") == 0 && has_bias(c, i));
    }
    return strcmp(rest, "self_attn.rotary_emb.inv_freq") == 0;
}

// Refuses (SQ_ERR_UNSUPPORTED) the name of a tensor that the forward pass would leave out. The frequencies
// of the rotary embedding may be there. is_gguf: the names of a GGUF file (sq_gguf_model.h).
static enum sq_status check_name(const struct sq_model_config *c, bool is_gguf, const char *name,
                                 struct sq_error *err)
{
    unsigned block;
    if (has_place(c, is_gguf, name))
        return SQ_OK;
    SQ_FAIL_IF(block_part(name, &block) && block >= c->n_layers, err, SQ_ERR_UNSUPPORTED,
               "tensor '%.80s' is of block %u, need 0..%zu by num_hidden_layers", name, block,
               c->n_layers - 1);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "tensor '%.80s' has no place in a Llama-type model, need a checkpoint whose "
                   "weights are whole: no scales or adapters beside them",
                   name);
}

// Whether a name says that the tensor belongs to quantized weights ("w.weight_scale", "w.scales",
// "w.qzeros") or to an adapter beside them ("w.lora_A.weight").
static bool is_beside_weights(const char *name)
{
    static const char *const word[] = {"scale",  "scales", "zero", "zeros",
                                       "qzeros", "absmax", "lora", NULL};
    for (const char *c = name; *c;) {
        const size_t n = strcspn(c, "._");
        char text[8] = "";
        if (n < sizeof text)
            memcpy(text, c, n);
        const bool is_last = !strchr(c, '.');
        if (is_one_of(text, word) && (is_last || strcmp(text, "lora") == 0))
            return true;
        c += n + (c[n] != '\0');
    }
    return false;
}

// ---- tensors ----------------------------------------------------------------------------------

static const struct sq_tensor *find_stored(const struct sq_checkpoint *ck, const char *name)
{
    const struct sq_tensor wanted = {.name = name};
    if (ck->tensor)
        return bsearch(&wanted, ck->tensor, ck->gguf.n_tensors, sizeof *ck->tensor, by_name);
    for (size_t i = 0; i < ck->n_shards; i++) {
        const struct sq_tensor *t = sq_safetensors_find(&ck->shard[i], name);
        if (t)
            return t;
    }
    return NULL;
}

// Finds a tensor. Where a tensor has two names, safetensors stores the one that is first in the alphabet,
// which is the head's.
const struct sq_tensor *sq_checkpoint_find(const struct sq_checkpoint *ck, const char *name)
{
    const struct sq_tensor *t = find_stored(ck, name);
    return !t && ck->config.tie_word_embeddings && strcmp(name, embedding) == 0
               ? find_stored(ck, head)
               : t;
}

// A text in memory the caller frees, NULL without memory.
__attribute__((format(printf, 1, 2))) static char *text_of(const char *form, ...)
{
    va_list list;
    char *text;
    va_start(list, form);
    const int n = vasprintf(&text, form, list);
    va_end(list);
    return n < 0 ? NULL : text;
}

// ---- layers ---------------------------------------------------------------------------------

// A tensor that must be there with this shape; n_dims 1 or 2.
static enum sq_status need(const struct sq_checkpoint *ck, const char *name, size_t n, size_t k,
                           const struct sq_tensor **found, struct sq_error *err)
{
    const struct sq_tensor *t = sq_checkpoint_find(ck, name);
    SQ_FAIL_IF(!t, err, SQ_ERR_DAMAGED, "tensor '%s' is missing", name);
    SQ_FAIL_IF(!sq_dtype_is_float(t->dtype), err, SQ_ERR_UNSUPPORTED,
               "tensor '%s' is %s, need F32, F16 or BF16", t->name, sq_dtype_name(t->dtype));
    bool fits =
        k ? t->n_dims == 2 && t->dim[0] == n && t->dim[1] == k : t->n_dims == 1 && t->dim[0] == n;
    SQ_FAIL_IF(!fits, err, SQ_ERR_SHAPE,
               "tensor '%s' does not have the shape %zu%s%zu%s of the config", t->name, n,
               k ? "x" : " (", k ? k : 1, k ? "" : " dimension)");
    if (found)
        *found = t;
    return SQ_OK;
}

// The layer as it is quantized in a GGUF file.
static enum sq_status open_blocks(const struct sq_checkpoint *ck, const struct sq_layer *l,
                                  struct sq_foreign_layer *f, bool *is_foreign,
                                  struct sq_error *err)
{
    static const char *const part[] = {".weight", ".scale", ".input_scale"};
    const struct sq_tensor *t[3];
    char full[96];
    for (size_t i = 0; i < 3; i++) {
        snprintf(full, sizeof full, "%.64s%s", l->name, part[i]);
        t[i] = sq_checkpoint_find(ck, full);
    }
    *is_foreign = t[0] && t[0]->n_dims == 2 && t[0]->dim[0] == l->n && t[0]->dim[1] == l->k;
    return *is_foreign ? sq_foreign_open_blocks(t[0], t[1], t[2], l->n_interleaved_heads, f,
                                                is_foreign, err)
                       : SQ_OK;
}

// The layer as another program quantized it; *is_foreign: it has.
static enum sq_status add_foreign(struct sq_checkpoint *ck, struct sq_layer *l, bool *is_foreign,
                                  struct sq_error *err)
{
    struct sq_foreign_layer *f = &ck->foreign_layer[ck->n_layers];
    SQ_TRY(ck->n_shards ? sq_foreign_open(&ck->foreign, l->name, l->n, l->k, f, is_foreign, err)
                        : open_blocks(ck, l, f, is_foreign, err));
    l->foreign = *is_foreign ? f : NULL;
    l->weight = *is_foreign ? f->used[0] : NULL;
    return SQ_OK;
}

// Writers of GPTQ leave biases of zeros beside layers that have none.
static bool is_zero_bias(const struct sq_layer *l, const struct sq_tensor *t)
{
    const size_t n = strlen(l->name);
    bool is_zero =
        l->foreign && strncmp(t->name, l->name, n) == 0 && strcmp(t->name + n, ".bias") == 0;
    for (size_t i = 0; is_zero && i < t->nbytes; i++)
        is_zero = t->data[i] == 0;
    return is_zero;
}

enum { TENSOR_NAME_MAX = 64 }; // "model.layers.1023.self_attn.q_proj.weight" and a terminator

static enum sq_status add_block(struct sq_checkpoint *ck, size_t block, struct sq_error *err)
{
    const struct sq_model_config *c = &ck->config;
    const size_t heads[SQ_BLOCK_LINEAR] = {c->n_heads, c->n_kv_heads}; // that are rotated
    const bool is_interleaved = ck->tensor && sq_gguf_model_is_interleaved(&ck->gguf);
    char full[TENSOR_NAME_MAX];
    for (size_t i = 0; i < SQ_BLOCK_LINEAR; i++) {
        const struct sq_block_tensor *const t = &sq_block_tensor[i];
        struct sq_layer *l = &ck->layer[ck->n_layers];
        const char *const name = text_of("model.layers.%zu.%s", block, t->name);
        SQ_NEED(name, err, "a checkpoint");
        *l = (struct sq_layer){.name = name,
                               .n = sq_model_size(c, t->n),
                               .k = sq_model_size(c, t->k),
                               .n_interleaved_heads = is_interleaved ? heads[i] : 0};
        snprintf(full, sizeof full, "%.50s.bias", name);
        bool is_foreign = false;
        SQ_TRY(add_foreign(ck, l, &is_foreign, err));
        if (has_bias(c, i))
            SQ_TRY(need(ck, full, l->n, 0, &l->bias, err));
        const struct sq_tensor *bias = has_bias(c, i) ? NULL : sq_checkpoint_find(ck, full);
        SQ_FAIL_IF(bias && !is_zero_bias(l, bias), err, SQ_ERR_UNSUPPORTED,
                   "tensor '%s': biases are not supported, but of q, k and v of Qwen2", full);
        snprintf(full, sizeof full, "%.50s.weight", name);
        if (!is_foreign)
            SQ_TRY(need(ck, full, l->n, l->k, &l->weight, err));
        ck->n_layers++;
    }
    for (size_t i = SQ_BLOCK_LINEAR; i < SQ_BLOCK_TENSORS; i++) {
        const struct sq_block_tensor *const t = &sq_block_tensor[i];
        snprintf(full, sizeof full, "model.layers.%zu.%s.weight", block, t->name);
        if (sq_model_has(c, t))
            SQ_TRY(need(ck, full, sq_model_size(c, t->n), 0, NULL, err));
    }
    return SQ_OK;
}

// A head of its own beside a config that ties it: one of the two is wrong.
static enum sq_status check_tied(const struct sq_checkpoint *ck, const struct sq_tensor *b,
                                 struct sq_error *err)
{
    const struct sq_tensor *a = sq_checkpoint_find(ck, head);
    if (!a || a == b)
        return SQ_OK;
    const bool same =
        a->dtype == b->dtype && a->nbytes == b->nbytes && memcmp(a->data, b->data, a->nbytes) == 0;
    sq_checkpoint_forget(ck, a);
    sq_checkpoint_forget(ck, b);
    return same ? SQ_OK
                : SQ_FAIL(err, SQ_ERR_DAMAGED,
                          "tie_word_embeddings is true, but %s is not %s: set it to false, or "
                          "leave the head out",
                          head, embedding);
}

static bool is_of_foreign(const struct sq_checkpoint *ck, const struct sq_tensor *t)
{
    for (size_t i = 0; i < ck->n_layers; i++)
        for (size_t j = 0; ck->layer[i].foreign && ck->layer[i].foreign->used[j]; j++)
            if (ck->layer[i].foreign->used[j] == t)
                return true;
    for (size_t i = 0; i < ck->n_layers; i++)
        if (is_zero_bias(&ck->layer[i], t))
            return true;
    return false;
}

// Scales of a KV cache in a quantized checkpoint: what runs the model decides on its cache.
static bool is_of_cache(struct sq_checkpoint *ck, const char *name)
{
    static const char *const part[] = {
        ".k_scale", ".v_scale", ".k_zero_point", ".v_zero_point", ".kv_scale", ".q_scale", NULL};
    for (size_t i = 0; ck->method && part[i]; i++)
        if (strlen(name) > strlen(part[i]) &&
            strcmp(name + strlen(name) - strlen(part[i]), part[i]) == 0) {
            sq_foreign_note(&ck->notes,
                            "scales of the KV cache ('%.60s' and the like) are not used",
                            part[i] + 1);
            return true;
        }
    return false;
}

// A tensor that is left out without a word makes another model of it.
static enum sq_status check_names(struct sq_checkpoint *ck, struct sq_error *err)
{
    for (size_t i = 0; ck->tensor && i < ck->gguf.n_tensors; i++)
        if (!is_of_foreign(ck, &ck->tensor[i]))
            SQ_TRY(check_name(&ck->config, true, ck->tensor[i].name, err));
    for (size_t s = 0; s < ck->n_shards; s++)
        for (size_t i = 0; i < ck->shard[s].n_tensors; i++) {
            const struct sq_tensor *t = &ck->shard[s].tensor[i];
            if (!is_of_foreign(ck, t) && !is_of_cache(ck, t->name))
                SQ_TRY(check_name(&ck->config, false, t->name, err));
        }
    return SQ_OK;
}

// Memory for n layers; the first one without a name ends the list.
static enum sq_status layers_alloc(struct sq_checkpoint *ck, size_t n, struct sq_error *err)
{
    ck->foreign = (struct sq_foreign){ck->shard, ck->n_shards, ck->quantization, &ck->notes,
                                      &ck->expressions};
    ck->layer = calloc(n + 1, sizeof *ck->layer);
    ck->foreign_layer = calloc(n, sizeof *ck->foreign_layer);
    return SQ_HAVE(ck->layer && ck->foreign_layer, err, "a checkpoint");
}

static enum sq_status list_model(struct sq_checkpoint *ck, struct sq_error *err)
{
    const struct sq_tensor *embed = NULL;
    const struct sq_model_config *c = &ck->config;
    SQ_TRY(layers_alloc(ck, c->n_layers * SQ_BLOCK_LINEAR, err));
    SQ_TRY(need(ck, embedding, c->vocab_size, c->hidden_size, &embed, err));
    SQ_TRY(need(ck, "model.norm.weight", c->hidden_size, 0, NULL, err));
    SQ_TRY(c->tie_word_embeddings ? check_tied(ck, embed, err)
                                  : need(ck, head, c->vocab_size, c->hidden_size, NULL, err));
    for (size_t i = 0; i < c->n_layers; i++)
        SQ_TRY(add_block(ck, i, err));
    return check_names(ck, err);
}

// Bytes of the name of a layer of which the tensor holds the codes; 0: it holds none.
static size_t stem_of(const char *name)
{
    static const char *const part[] = {".weight_packed", ".qweight", "_blocks", ".weight", NULL};
    const size_t n = strlen(name);
    for (size_t i = 0; part[i]; i++) {
        const size_t tail = strlen(part[i]);
        if (n > tail && strcmp(name + n - tail, part[i]) == 0)
            return n - tail;
    }
    return 0;
}

// The layers of which tensor t holds the codes, `room` of all tensors at the most; none where it is no tensor of quantized
// weights.
static enum sq_status add_quantized(struct sq_checkpoint *ck, const struct sq_tensor *t,
                                    size_t room, struct sq_error *err)
{
    struct sq_foreign_size size;
    const size_t n = stem_of(t->name);
    SQ_FREED char *stem = strndup(t->name, n);
    SQ_NEED(stem, err, "a checkpoint");
    const bool is_codes =
        n > 0 && !sq_dtype_is_float(t->dtype) && sq_foreign_size(&ck->foreign, stem, &size);
    for (size_t e = 0; is_codes && e < size.n_layers; e++) {
        bool is_foreign;
        SQ_FAIL_IF(ck->n_layers == room, err, SQ_ERR_RANGE, "more than %zu quantized layers", room);
        char *const name = size.n_layers > 1 ? text_of("%s.%zu", stem, e) : text_of("%s", stem);
        SQ_NEED(name, err, "a checkpoint");
        struct sq_layer *l = &ck->layer[ck->n_layers];
        *l = (struct sq_layer){.name = name, .n = size.n, .k = size.k};
        SQ_TRY(add_foreign(ck, l, &is_foreign, err));
        if (is_foreign) {
            ck->n_layers++;
        } else {
            free(name);
            l->name = NULL;
        }
    }
    return SQ_OK;
}

// A plain 2-D tensor of floats that is not empty.
static enum sq_status add_plain(struct sq_checkpoint *ck, const struct sq_tensor *t, size_t room,
                                struct sq_error *err)
{
    if (is_of_foreign(ck, t))
        return SQ_OK;
    if (is_beside_weights(t->name))
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "tensor '%.80s' belongs to weights that are quantized already, in a way that is not "
            "read, or to an adapter, need plain weights or a method of docs/files.md",
            t->name);
    if (t->n_dims != 2 || t->n_elements == 0 || !sq_dtype_is_float(t->dtype))
        return SQ_OK;
    SQ_FAIL_IF(ck->n_layers == room, err, SQ_ERR_RANGE, "more than %zu layers", room);
    const size_t n = strlen(t->name);
    const bool is_weight = n > 7 && strcmp(t->name + n - 7, ".weight") == 0;
    char *const name = strndup(t->name, is_weight ? n - 7 : n);
    SQ_NEED(name, err, "a checkpoint");
    ck->layer[ck->n_layers++] = (struct sq_layer){
        .name = name, .n = (size_t)t->dim[0], .k = (size_t)t->dim[1], .weight = t};
    return SQ_OK;
}

// Experts of one tensor are at most so many layers.
enum { EXPERTS_MAX = 1024 };

// Every layer that is quantized, then every 2-D float tensor.
static enum sq_status open_bag(struct sq_checkpoint *ck, const char *path, struct sq_error *err)
{
    SQ_TRY(sq_shards_open_one(path, &ck->shard, &ck->n_shards, err));
    const struct sq_safetensors *st = &ck->shard[0];
    size_t room = st->n_tensors + 1;
    for (size_t i = 0; i < st->n_tensors; i++) {
        const struct sq_tensor *t = &st->tensor[i];
        room += t->n_dims == 4 && t->dim[0] <= EXPERTS_MAX ? (size_t)t->dim[0] : 1;
    }
    SQ_TRY(layers_alloc(ck, room, err));
    for (size_t i = 0; i < st->n_tensors; i++)
        SQ_TRY(add_quantized(ck, &st->tensor[i], room, err));
    for (size_t i = 0; i < st->n_tensors; i++)
        SQ_TRY(add_plain(ck, &st->tensor[i], room, err));
    SQ_FAIL_IF(ck->n_layers == 0, err, SQ_ERR_SHAPE,
               "%s: no two-dimensional F32, F16 or BF16 tensor", sq_path_tail(path));
    return SQ_OK;
}

// ---- opening --------------------------------------------------------------------------------

// A number, a list of numbers, or null: none. A config without the key leaves what there is.
static enum sq_status read_ends(struct sq_checkpoint *ck, const json_t *root, const char *what,
                                struct sq_error *err)
{
    const json_t *v = json_object_get(root, "eos_token_id");
    const bool is_list = json_is_array(v);
    const size_t n = is_list ? json_array_size(v) : v && !json_is_null(v);
    if (v)
        ck->n_ends = 0;
    SQ_FAIL_IF(n > SQ_ENDS_MAX, err, SQ_ERR_RANGE,
               "%s: eos_token_id has %zu tokens, need at most %d", what, n, SQ_ENDS_MAX);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = is_list ? json_array_get(v, i) : v;
        SQ_FAIL_IF(!json_is_integer(one) || json_integer_value(one) < -1 ||
                       json_integer_value(one) >= 1 << 24,
                   err, SQ_ERR_RANGE, "%s: eos_token_id, need numbers of 0..16777215", what);
        ck->end[ck->n_ends++] = (int32_t)json_integer_value(one);
    }
    return SQ_OK;
}

static enum sq_status read_generation(struct sq_checkpoint *ck, const char *dir,
                                      struct sq_error *err)
{
    SQ_FREED char *path = text_of("%s/generation_config.json", dir);
    json_auto_t *root = NULL;
    SQ_NEED(path, err, "a checkpoint");
    if (access(path, F_OK) == 0)
        SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    if (sq_json_field(root, "eos_token_id"))
        SQ_TRY(read_ends(ck, root, "generation_config.json", err));
    return SQ_OK;
}

// The config, and what it says of quantized weights; a file of the program that quantized them must say the same.
static enum sq_status read_config(struct sq_checkpoint *ck, const char *dir, const char *path,
                                  struct sq_error *err)
{
    static const char *const name[] = {"hf_quant_config.json", "quantize_config.json",
                                       "quant_config.json"}; // modelopt, AutoGPTQ, AutoAWQ
    json_auto_t *root = NULL;
    SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    SQ_TRY(sq_model_config_of(root, sq_path_tail(path), &ck->config, err));
    if (ck->config.end_of_text)
        ck->end[ck->n_ends++] = (int32_t)ck->config.end_of_text;
    SQ_TRY(read_ends(ck, root, sq_path_tail(path), err));
    SQ_TRY(read_generation(ck, dir, err));
    const json_t *q = json_object_get(root, "quantization_config");
    if (!json_is_object(q))
        q = json_object_get(root, "compression_config");
    ck->quantization = json_is_object(q) ? json_incref((json_t *)(uintptr_t)q) : NULL;
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        SQ_FREED char *beside = text_of("%s/%s", dir, name[i]);
        json_auto_t *other = NULL;
        SQ_NEED(beside, err, "a checkpoint");
        if (access(beside, F_OK) == 0)
            SQ_TRY(sq_json_load(beside, CONFIG_MAX_NBYTES, &other, err));
        if (other && ck->quantization)
            SQ_TRY(sq_foreign_check_both(ck->quantization, other, name[i], err));
        else if (other)
            ck->quantization = json_incref(other);
    }
    SQ_TRY(sq_foreign_check_config(ck->quantization, sq_path_tail(path), &ck->method, &ck->notes,
                                   err));
    return sq_foreign_expressions_add(&ck->expressions, ck->quantization, err);
}

static enum sq_status open_directory(struct sq_checkpoint *ck, const char *dir,
                                     struct sq_error *err)
{
    SQ_FREED char *config = text_of("%s/config.json", dir);
    SQ_NEED(config, err, "a checkpoint");
    SQ_TRY(read_config(ck, dir, config, err));
    SQ_TRY(sq_shards_open(dir, &ck->shard, &ck->n_shards, err));
    ck->is_model = true;
    return list_model(ck, err);
}

static enum sq_status open_gguf(struct sq_checkpoint *ck, const char *path, struct sq_error *err)
{
    const char *what = sq_path_tail(path);
    ck->is_model = true;
    SQ_TRY(sq_gguf_open(&ck->gguf, path, err));
    SQ_TRY(sq_gguf_model_config(&ck->gguf, what, &ck->config, err));
    SQ_TRY(sq_gguf_model_tensors(&ck->gguf, what, &ck->tensor, err));
    static const char *const key[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"};
    for (size_t i = 0; i < 2; i++) {
        const struct sq_gguf_value *v = sq_gguf_find(&ck->gguf, key[i]);
        const int64_t id = v && !v->is_array ? sq_gguf_integer(v, 0) : -1;
        if (id >= 0 && id < 1 << 24)
            ck->end[ck->n_ends++] = (int32_t)id;
    }
    return list_model(ck, err);
}

enum sq_status sq_checkpoint_open(struct sq_checkpoint *ck, const char *path, struct sq_error *err)
{
    *ck = (struct sq_checkpoint){0};
    struct stat st;
    const enum sq_status status = stat(path, &st) == 0 && S_ISDIR(st.st_mode)
                                      ? open_directory(ck, path, err)
                                  : sq_gguf_is(path) ? open_gguf(ck, path, err)
                                                     : open_bag(ck, path, err);
    return SQ_ELSE(status, sq_checkpoint_close(ck));
}

void sq_checkpoint_close(struct sq_checkpoint *ck)
{
    for (size_t i = 0; i < ck->n_shards; i++)
        sq_safetensors_close(&ck->shard[i]);
    if (ck->tensor)
        sq_gguf_model_free(ck->tensor, ck->gguf.n_tensors);
    sq_gguf_close(&ck->gguf);
    for (size_t i = 0; ck->foreign_layer && i < ck->n_layers; i++)
        sq_foreign_free(&ck->foreign_layer[i]);
    for (size_t i = 0; ck->layer && ck->layer[i].name; i++)
        free((void *)(uintptr_t)ck->layer[i].name);
    sq_foreign_expressions_free(&ck->expressions);
    json_decref(ck->quantization);
    SQ_FREE(ck->foreign_layer, ck->shard, ck->layer);
    *ck = (struct sq_checkpoint){0};
}

// ---- reading --------------------------------------------------------------------------------

void sq_checkpoint_forget(const struct sq_checkpoint *ck, const struct sq_tensor *t)
{
    if (ck->tensor)
        sq_gguf_forget(&ck->gguf, t);
    for (size_t i = 0; i < ck->n_shards; i++)
        if (sq_safetensors_find(&ck->shard[i], t->name) == t)
            sq_tensor_forget(&ck->shard[i], t);
}

// Row r as it is stored stands there in Hugging Face's order: row 2i + j of each head at i + j half.
static size_t place_of(const struct sq_layer *l, size_t r)
{
    if (!l->n_interleaved_heads)
        return r;
    const size_t head_dim = l->n / l->n_interleaved_heads, in_head = r % head_dim;
    return r - in_head + in_head / 2 + in_head % 2 * (head_dim / 2);
}

// Rows [first, end).
static enum sq_status read_rows(const struct sq_layer *l, size_t first, size_t end, float *out,
                                struct sq_error *err)
{
    const size_t at_once = l->n_interleaved_heads ? 1 : end - first;
    if (l->foreign)
        return sq_foreign_read(l->foreign, first, end, out + first * l->k, err);
    for (size_t r = first; r < end; r += at_once) {
        const struct sq_tensor rows = sq_tensor_rows(l->weight, r, at_once);
        SQ_TRY(sq_tensor_read_f32(&rows, out + place_of(l, r) * l->k, err));
    }
    return SQ_OK;
}

enum sq_status sq_checkpoint_read_layer(const struct sq_checkpoint *ck, size_t i, float *out,
                                        struct sq_error *err)
{
    enum { ROWS = 64 }; // of a piece
    SQ_FAIL_IF(i >= ck->n_layers, err, SQ_ERR_ARG, "layer = %zu, need 0..%zu", i, ck->n_layers - 1);
    const struct sq_layer *l = &ck->layer[i];
    bool is_good = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : is_good)
    for (size_t r = 0; r < l->n; r += ROWS)
        is_good = read_rows(l, r, r + ROWS < l->n ? r + ROWS : l->n, out, NULL) == SQ_OK && is_good;
    // Once more in order for the sentence: that of the first row, with its place in the tensor.
    const enum sq_status status = is_good ? SQ_OK
                                  : l->n_interleaved_heads || l->foreign
                                      ? read_rows(l, 0, l->n, out, err)
                                      : sq_tensor_read_f32(l->weight, out, err);
    sq_checkpoint_forget(ck, l->weight);
    return status;
}

// ---- as it is stored --------------------------------------------------------------------------

bool sq_checkpoint_is_quantized(const struct sq_checkpoint *ck)
{
    for (size_t i = 0; i < ck->n_layers; i++)
        if (ck->layer[i].foreign)
            return true;
    return false;
}

enum sq_status sq_checkpoint_recipe(const struct sq_checkpoint *ck, size_t i, struct sq_recipe *r,
                                    const char **why, struct sq_error *err)
{
    if (ck->layer[i].foreign)
        return sq_foreign_recipe(ck->layer[i].foreign, r, why, err);
    *r = sq_as_stored_recipe();
    *why = sq_dtype_block_length(ck->layer[i].weight->dtype) > 1 ? "no format has its blocks"
                                                                 : "it is not quantized";
    return SQ_OK;
}

enum sq_status sq_checkpoint_encoded(const struct sq_checkpoint *ck, size_t i,
                                     const struct sq_recipe *r, struct sq_quant_layer *q,
                                     struct sq_error *err)
{
    const struct sq_layer *l = &ck->layer[i];
    *q = (struct sq_quant_layer){0};
    if (l->foreign)
        return sq_foreign_encoded(l->foreign, r, q, err);
    float *w = malloc(l->n * l->k * sizeof *w);
    SQ_NEED(w, err, "a checkpoint");
    const enum sq_status status = sq_checkpoint_read_layer(ck, i, w, err);
    if (status == SQ_OK)
        return sq_as_stored_layer(w, l->n, l->k, 8 * (double)l->weight->nbytes, q, err);
    free(w);
    return status;
}

enum sq_status sq_checkpoint_read(const struct sq_checkpoint *ck, const char *name, float *out,
                                  size_t n_elements, struct sq_error *err)
{
    const struct sq_tensor *t = sq_checkpoint_find(ck, name);
    SQ_FAIL_IF(!t, err, SQ_ERR_DAMAGED, "tensor '%.80s' is missing", name);
    SQ_FAIL_IF(t->n_elements != n_elements, err, SQ_ERR_SHAPE,
               "tensor '%.80s' has %zu elements, need %zu", name, t->n_elements, n_elements);
    const enum sq_status status = sq_tensor_read_f32(t, out, err);
    sq_checkpoint_forget(ck, t);
    return status;
}
