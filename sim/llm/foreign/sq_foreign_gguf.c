// SPDX-License-Identifier: Apache-2.0
// Writes encoded layers as blocks of a GGUF file (sq_foreign_write.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_fp.h"
#include "models/number/sq_ggml.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_gguf.h"
#include "sim/llm/foreign/sq_foreign_write.h"
#include "sim/llm/sq_gguf_model.h"

enum { NAME_SIZE = 320 };

// ---- which blocks ---------------------------------------------------------------------------

// The type whose blocks hold such layers, SQ_DTYPE_END: none.
static enum sq_dtype type_of(const struct sq_adopted *a)
{
    const bool is_e2m1 = !a->is_integer && a->element == SQ_ELEMENT_E2M1;
    const bool is_q8_0 =
        a->is_integer && a->bits == 8 && a->group == SQ_GGML_LEN && !a->has_row_scale;
    return is_e2m1 && a->scale_type == SQ_ADOPTED_E8M0 && a->group == 32   ? SQ_MXFP4
           : is_e2m1 && a->scale_type == SQ_ADOPTED_E4M3 && a->group == 16 ? SQ_NVFP4
           : is_q8_0                                                       ? SQ_Q8_0
                                                                           : SQ_DTYPE_END;
}

enum sq_status sq_foreign_check_gguf(const struct sq_recipe *r, struct sq_error *err)
{
    struct sq_adopted a;
    SQ_TRY(sq_foreign_kind(SQ_FOREIGN_AS_GGUF, r, &a, err));
    const enum sq_dtype type = type_of(&a);
    SQ_FAIL_IF(type == SQ_DTYPE_END, err, SQ_ERR_UNSUPPORTED,
               "as = gguf: of %s no type has the blocks, need mxfp4, nvfp4, or dense with "
               "--weight-bits 8 --group 32",
               r->format->name);
    SQ_FAIL_IF(a.act != SQ_ADOPTED_ACT_NONE && !(type == SQ_NVFP4 && a.act_global > 0), err,
               SQ_ERR_UNSUPPORTED,
               "as = gguf: it says nothing of activations%s, need --operand weights%s",
               type == SQ_NVFP4 ? " but a constant scale" : "",
               type == SQ_NVFP4 ? " or --act-scale static" : "");
    return SQ_OK;
}

// ---- blocks -----------------------------------------------------------------------------------

// A layer on its way out.
struct source {
    const struct sq_layer *l;
    struct sq_adopted kind;
    enum sq_dtype type;
    const uint8_t *code;  // a stream of bits a row, from a whole byte on
    const void *scale;    // [n][k / group]
    size_t row_nbytes;    // of code
    size_t n_heads_apart; // > 0: rows of so many heads are stored as pairs
};

static int code_at(const struct source *s, size_t row, size_t column)
{
    return sq_bits_get(s->code + row * s->row_nbytes, column, s->kind.bits);
}

// Nibbles of length elements from column on: the first half in the low ones.
static void put_nibbles(const struct source *s, size_t row, size_t column, size_t length,
                        uint8_t *out)
{
    for (size_t i = 0; i < length / 2; i++)
        out[i] = (uint8_t)((code_at(s, row, column + i) & 15) |
                           (code_at(s, row, column + length / 2 + i) & 15) << 4);
}

// A scale of binary16, then 32 integers; that of a block of zeros is 0.
static enum sq_status put_integers(const struct source *s, size_t row, size_t group, uint8_t *out,
                                   struct sq_error *err)
{
    const size_t at = row * (s->l->k / SQ_GGML_LEN) + group;
    const float scale = ((const float *)s->scale)[at];
    uint16_t half = sq_f32_to_f16(scale);
    bool is_zero = true;
    for (size_t i = 0; i < SQ_GGML_LEN; i++) {
        out[2 + i] = (uint8_t)code_at(s, row, group * SQ_GGML_LEN + i);
        is_zero = is_zero && out[2 + i] == 0;
    }
    SQ_FAIL_IF(!is_zero && sq_f16_to_f32(half) != scale, err, SQ_ERR_RANGE,
               "layer %.60s: scale %zu of row %zu = %.9g, need a number of binary16, as "
               "--like ggml makes them",
               s->l->name, group, row, (double)scale);
    half = is_zero ? 0 : half;
    memcpy(out, &half, sizeof half);
    return SQ_OK;
}

// Block b of a row.
static enum sq_status put_block(const struct source *s, size_t row, size_t b, uint8_t *out,
                                struct sq_error *err)
{
    const uint8_t *scale = s->scale;
    if (s->type == SQ_Q8_0)
        return put_integers(s, row, b, out, err);
    if (s->type == SQ_MXFP4) {
        out[0] = scale[row * (s->l->k / 32) + b];
        put_nibbles(s, row, 32 * b, 32, out + 1);
        return SQ_OK;
    }
    for (size_t i = 0; i < 4; i++) {
        out[i] = scale[row * (s->l->k / 16) + 4 * b + i];
        put_nibbles(s, row, 64 * b + 16 * i, 16, out + 4 + 8 * i);
    }
    return SQ_OK;
}

// The row of Hugging Face that is stored as row r: pairs of a head stand beside each other.
static size_t row_of(const struct source *s, size_t r)
{
    if (!s->n_heads_apart)
        return r;
    const size_t dim = s->l->n / s->n_heads_apart, in_head = r % dim;
    return r - in_head + in_head / 2 + in_head % 2 * (dim / 2);
}

static enum sq_status put_layer(const struct source *s, uint8_t *out, struct sq_error *err)
{
    const size_t blocks = s->l->k / sq_dtype_block_length(s->type);
    const size_t nbytes = sq_dtype_nbytes(s->type);
    for (size_t r = 0; r < s->l->n; r++)
        for (size_t b = 0; b < blocks; b++)
            SQ_TRY(put_block(s, row_of(s, r), b, out + (r * blocks + b) * nbytes, err));
    return SQ_OK;
}

// ---- tensors ----------------------------------------------------------------------------------

// All of them on the way out. Names and what is converted belong to `own`, up to n_own.
struct output {
    const struct sq_checkpoint *ck;
    struct sq_tensor *tensor;
    size_t n;
    void **own;
    size_t n_own;
    struct sq_error *err;
};

static void *keep(struct output *o, void *memory)
{
    if (memory)
        o->own[o->n_own++] = memory;
    return memory;
}

// One more tensor of the name that the file has for NAMEpart; data stays the caller's.
static enum sq_status add(struct output *o, const char *name, const char *part, struct sq_tensor t)
{
    char full[NAME_SIZE], renamed[NAME_SIZE];
    snprintf(full, sizeof full, "%s%s", name, part);
    sq_gguf_model_name(full, o->ck->config.has_post_norm, renamed, sizeof renamed);
    t.name = keep(o, strdup(renamed));
    SQ_NEED(t.name, o->err, "a name");
    o->tensor[o->n] = t;
    return sq_tensor_derive("the file", &o->tensor[o->n++], o->err);
}

static enum sq_status add_number(struct output *o, const char *name, const char *part, float v)
{
    float *number = keep(o, malloc(sizeof *number));
    SQ_NEED(number, o->err, "a number");
    *number = v;
    return add(
        o, name, part,
        (struct sq_tensor){.dtype = SQ_F32, .n_dims = 1, .dim = {1}, .data = (const void *)number});
}

static bool is_rotated(const char *name, const char *part)
{
    const size_t n = strlen(name), tail = strlen(part);
    return n > tail && strcmp(name + n - tail, part) == 0;
}

static enum sq_status add_layer(struct output *o, const struct sq_layer *l,
                                const struct sq_quant_layer *q, const struct sq_adopted *kind,
                                bool is_interleaved)
{
    const struct sq_format_adopts *names = q->format->file->adopts;
    const struct sq_model_config *c = &o->ck->config;
    const float *global = sq_foreign_part(q, names->global);
    const float *act = sq_foreign_part(q, names->act_global);
    const struct source s = {.l = l,
                             .kind = *kind,
                             .type = type_of(kind),
                             .code = sq_foreign_part(q, names->code),
                             .scale = sq_foreign_part(q, names->scale),
                             .row_nbytes = (l->k * kind->bits + 7) / 8,
                             .n_heads_apart = !is_interleaved                  ? 0
                                              : is_rotated(l->name, ".q_proj") ? c->n_heads
                                              : is_rotated(l->name, ".k_proj") ? c->n_kv_heads
                                                                               : 0};
    const size_t length = sq_dtype_block_length(s.type);
    if (l->k % length != 0)
        return SQ_FAIL(o->err, SQ_ERR_SHAPE, "layer %.60s: K = %zu, need a multiple of %zu",
                       l->name, l->k, length);
    uint8_t *data = keep(o, malloc(l->n * (l->k / length) * sq_dtype_nbytes(s.type)));
    SQ_NEED(data, o->err, "layer %.60s", l->name);
    SQ_TRY(put_layer(&s, data, o->err));
    SQ_TRY(
        add(o, l->name, ".weight",
            (struct sq_tensor){.dtype = s.type, .n_dims = 2, .dim = {l->n, l->k}, .data = data}));
    if (kind->has_global && *global != 1)
        SQ_TRY(add_number(o, l->name, ".scale", *global));
    return kind->has_global && act ? add_number(o, l->name, ".input_scale", *act) : SQ_OK;
}

// As it is; a vector in F32, as llama.cpp wants it. Frequencies of the rotary embedding follow from the config.
static enum sq_status add_other(struct output *o, const struct sq_tensor *t)
{
    struct sq_tensor copy = *t;
    if (sq_foreign_is_of_layer(o->ck, t) || is_rotated(t->name, "inv_freq"))
        return SQ_OK;
    if (t->n_dims == 1 && t->dtype != SQ_F32) {
        float *v = keep(o, malloc(t->n_elements * sizeof *v));
        SQ_NEED(v, o->err, "tensor %.60s", t->name);
        SQ_TRY(sq_tensor_read_f32(t, v, o->err));
        copy.dtype = SQ_F32;
        copy.data = (const void *)v;
    }
    return add(o, t->name, "", copy);
}

static enum sq_status collect(struct output *o, const struct sq_quant_layer *layer,
                              const struct sq_adopted *kind, bool is_interleaved)
{
    const struct sq_checkpoint *ck = o->ck;
    size_t n = 3 * ck->n_layers + (ck->tensor ? ck->gguf.n_tensors : 0);
    for (size_t s = 0; s < ck->n_shards; s++)
        n += ck->shard[s].n_tensors;
    o->tensor = calloc(n, sizeof *o->tensor);
    o->own = calloc(3 * n, sizeof *o->own);
    SQ_NEED(o->tensor && o->own, o->err, "%zu tensors", n);
    for (size_t i = 0; ck->tensor && i < ck->gguf.n_tensors; i++)
        SQ_TRY(add_other(o, &ck->tensor[i]));
    for (size_t s = 0; s < ck->n_shards; s++)
        for (size_t i = 0; i < ck->shard[s].n_tensors; i++)
            SQ_TRY(add_other(o, &ck->shard[s].tensor[i]));
    for (size_t i = 0; i < ck->n_layers; i++)
        SQ_TRY(add_layer(o, &ck->layer[i], &layer[i], kind, is_interleaved));
    return SQ_OK;
}

// ---- metadata ---------------------------------------------------------------------------------

static void say(json_t *values, const char *arch, const char *key, json_t *value)
{
    char full[NAME_SIZE];
    snprintf(full, sizeof full, "%s.%s", arch, key);
    json_object_set_new(values, full, value);
}

// What the config of a directory says, as the keys of an architecture of ggml.
static enum sq_status say_config(const struct sq_model_config *c, json_t *values,
                                 struct sq_error *err)
{
    const char *arch = c->has_qk_norm ? "qwen3" : c->has_qkv_bias ? "qwen2" : "llama";
    SQ_FAIL_IF(c->has_post_norm || c->rope.is_llama3, err, SQ_ERR_UNSUPPORTED,
               "as = gguf: %s, need a GGUF file of the model as MODEL",
               c->has_post_norm ? "norms of Gemma 3 hold gain - 1, those of GGUF the gain"
                                : "rope_scaling llama3 is a tensor of frequencies there");
    const struct {
        const char *key;
        size_t v;
    } number[] = {
        {"block_count", c->n_layers},          {"context_length", c->max_position},
        {"embedding_length", c->hidden_size},  {"feed_forward_length", c->intermediate_size},
        {"attention.head_count", c->n_heads},  {"attention.head_count_kv", c->n_kv_heads},
        {"attention.key_length", c->head_dim}, {"attention.value_length", c->head_dim},
        {"rope.dimension_count", c->head_dim}, {"vocab_size", c->vocab_size}};
    json_object_set_new(values, "general.architecture", json_string(arch));
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        say(values, arch, number[i].key, json_integer((json_int_t)number[i].v));
    if (c->window < c->max_position)
        say(values, arch, "attention.sliding_window", json_integer((json_int_t)c->window));
    say(values, arch, "attention.layer_norm_rms_epsilon", json_real(c->rms_norm_eps));
    say(values, arch, "rope.freq_base", json_real(c->rope.theta));
    if (c->rope.linear != 1) {
        say(values, arch, "rope.scaling.type", json_string("linear"));
        say(values, arch, "rope.scaling.factor", json_real(c->rope.linear));
    }
    json_object_set_new(values, "tokenizer.ggml.model", json_string("none"));
    return SQ_OK;
}

enum sq_status sq_foreign_write_gguf(const char *path, const struct sq_checkpoint *ck,
                                     const struct sq_recipe *r, const struct sq_quant_layer *layer,
                                     bool *has_tokenizer, struct sq_error *err)
{
    struct output o = {.ck = ck, .err = err};
    const bool is_gguf = ck->tensor != NULL;
    struct sq_adopted kind;
    json_auto_t *values = json_object();
    *has_tokenizer = is_gguf;
    SQ_FAIL_IF(!ck->is_model, err, SQ_ERR_UNSUPPORTED,
               "as = gguf: MODEL must be a directory with config.json, or a GGUF file");
    json_object_set_new(values, "general.quantization_version", json_integer(2));
    enum sq_status status = sq_foreign_kind(SQ_FOREIGN_AS_GGUF, r, &kind, err);
    if (status == SQ_OK) {
        const enum sq_dtype type = type_of(&kind); // llama.cpp's number of a file mostly of it
        json_object_set_new(values, "general.file_type",
                            json_integer(type == SQ_MXFP4   ? 38
                                         : type == SQ_NVFP4 ? 39
                                                            : 7));
    }
    if (status == SQ_OK && !is_gguf)
        status = say_config(&ck->config, values, err);
    const bool is_interleaved = is_gguf ? sq_gguf_model_is_interleaved(&ck->gguf)
                                        : !ck->config.has_qk_norm && !ck->config.has_qkv_bias;
    SQ_THEN(status, collect(&o, layer, &kind, is_interleaved));
    SQ_THEN(status, sq_gguf_write(path, is_gguf ? &ck->gguf : NULL, values, o.tensor, o.n, err));
    for (size_t i = 0; i < o.n_own; i++)
        free(o.own[i]);
    SQ_FREE(o.own, o.tensor);
    return status;
}
