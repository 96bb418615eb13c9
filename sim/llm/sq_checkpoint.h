// SPDX-License-Identifier: Apache-2.0
// A Hugging Face model on disk: config.json beside model.safetensors, or beside the shards that
// model.safetensors.index.json lists; or a GGUF file, read as the model it was made from
// (sq_gguf_model.h). A single .safetensors file opens as a bag of 2-D tensors.
//
// Opening checks everything but float contents: the config, that every tensor the forward pass
// needs is there once, in its shard, with its shape. Data stays on disk (mapped) until it is read;
// reading one layer keeps memory near one layer.
#pragma once

#include <stddef.h>

#include "sim/io/sq_gguf.h"
#include "sim/io/sq_safetensors.h"
#include "sim/llm/foreign/sq_foreign.h"
#include "sim/llm/sq_model_config.h"

// One linear layer Y = X W^T: weights [n][k], k contiguous (SPEC 0.1).
struct sq_layer {
    const char *name; // "model.layers.0.self_attn.q_proj": the tensor without ".weight"
    size_t n, k;
    const struct sq_tensor *weight; // as stored: dtype, bytes, digest; of a foreign layer its codes
    const struct sq_tensor *bias;   // [n], added in binary32 to every product; NULL: none
    // > 0: rows of so many heads are stored as pairs (sq_gguf_model.h). sq_checkpoint_read_layer
    // gives them in the order of Hugging Face.
    size_t n_interleaved_heads;
    const struct sq_foreign_layer *foreign; // quantized by another program; NULL: `weight` says all
};

enum { SQ_ENDS_MAX = 64 };

struct sq_checkpoint {
    bool is_model;                 // false: a bag of tensors, without config
    struct sq_model_config config; // zeros for a bag
    // Tokens that end a text: eos_token_id of generation_config.json, else of config.json, else of its class.
    size_t n_ends;
    int32_t end[SQ_ENDS_MAX];
    // Every linear layer of the decoder in model order: per block q, k, v, o, gate, up, down.
    // Embedding and lm_head stay out: no system quantizes them. A bag: every 2-D float tensor, in
    // file order.
    size_t n_layers;
    struct sq_layer *layer;
    size_t n_shards; // 0: a GGUF file
    struct sq_safetensors *shard;
    struct sq_gguf gguf;      // zeros where it is none
    struct sq_tensor *tensor; // [gguf.n_tensors] under their names of Hugging Face, ascending
    json_t *quantization;     // the quantization_config; NULL: none
    const char *method;       // its quant_method; NULL: none
    struct sq_foreign foreign;
    struct sq_foreign_expressions expressions; // private: of foreign
    struct sq_foreign_notes notes;             // what people should know of the quantized layers
    struct sq_foreign_layer *foreign_layer;    // private: storage of layer[].foreign, [n_layers]
};

// *ck is closed by sq_checkpoint_close; after a failure it is closed already. `path` is a directory
// or a file. One sentence per refusal: SQ_ERR_IO, SQ_ERR_DAMAGED, SQ_ERR_UNSUPPORTED, SQ_ERR_SHAPE,
// SQ_ERR_RANGE. Refused as well: encoded weights, channel masks, kernel traces and token files (by
// their metadata and tensors: their floats are scales and values, not weights), and a stored head
// that is not the embedding where tie_word_embeddings is true. So is, by its name, every tensor of
// a model that the forward pass would leave out (scales, adapters, blocks beyond num_hidden_layers)
// but for the frequencies of the rotary embedding (inv_freq), which follow from the config; and in
// a bag every tensor that says that weights have an adapter, or are quantized in a way that is not read.
enum sq_status sq_checkpoint_open(struct sq_checkpoint *ck, const char *path, struct sq_error *err);
void sq_checkpoint_close(struct sq_checkpoint *ck);

// Any tensor by its full name ("model.norm.weight"), NULL where there is none. The embedding of a
// tied model whose file holds lm_head.weight only is that.
const struct sq_tensor *sq_checkpoint_find(const struct sq_checkpoint *ck, const char *name);

// Whether some layer is stored as codes that a format of ours may hold.
bool sq_checkpoint_is_quantized(const struct sq_checkpoint *ck);
// The recipe of layer i as it is stored, and why no format holds it (sq_foreign_recipe).
enum sq_status sq_checkpoint_recipe(const struct sq_checkpoint *ck, size_t i, struct sq_recipe *r,
                                    const char **why, struct sq_error *err);
// Layer i by that recipe, without encoding anything; free it with sq_quant_layer_free.
enum sq_status sq_checkpoint_encoded(const struct sq_checkpoint *ck, size_t i,
                                     const struct sq_recipe *r, struct sq_quant_layer *q,
                                     struct sq_error *err);

// Layer i as binary32 into out[n][k]; refuses NaN and infinity. The pages read are given back.
enum sq_status sq_checkpoint_read_layer(const struct sq_checkpoint *ck, size_t i, float *out,
                                        struct sq_error *err);

// A float tensor by full name into out, which holds n_elements: exactly that many must be there.
enum sq_status sq_checkpoint_read(const struct sq_checkpoint *ck, const char *name, float *out,
                                  size_t n_elements, struct sq_error *err);

// Lets the system drop the pages of a tensor (sq_tensor_forget).
void sq_checkpoint_forget(const struct sq_checkpoint *ck, const struct sq_tensor *t);
