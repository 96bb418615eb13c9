// SPDX-License-Identifier: Apache-2.0
// A GGUF file read as the Hugging Face model it was made from: the config out of its metadata, its
// tensors under the names that the forward pass asks for.
#pragma once

#include "sim/io/sq_gguf.h"
#include "sim/llm/sq_model_config.h"

// The config, with the ranges and refusals of sq_model_config.h: metadata becomes the config.json
// it came from (ARCH.embedding_length: hidden_size, ...), the vocabulary the rows of the embedding,
// and a file without output.weight has it tied. `what` names the file.
enum sq_status sq_gguf_model_config(const struct sq_gguf *g, const char *what,
                                    struct sq_model_config *c, struct sq_error *err);
// The same, and the config.json itself, which the caller owns.
enum sq_status sq_gguf_model_json(const struct sq_gguf *g, const char *what, json_t **config,
                                  struct sq_model_config *c, struct sq_error *err);

// Whether rows of q_proj and k_proj lie as the pairs of the rotary embedding: of each head row 2i +
// j is row i + j head_dim / 2 of Hugging Face. So converters write architecture "llama", and no
// other one that is read here.
bool sq_gguf_model_is_interleaved(const struct sq_gguf *g);

// The name in such a file of a tensor of Hugging Face ("model.norm.weight"), of Gemma 3 or another model,
// into out; what has none keeps its own.
void sq_gguf_model_name(const char *name, bool is_gemma, char *out, size_t out_size);

// The tensors by ascending Hugging Face name: blk.0.attn_q.weight is
// model.layers.0.self_attn.q_proj.weight; other names stay. Data stays the file's; free with
// sq_gguf_model_free. SQ_ERR_DAMAGED where two get one name, SQ_ERR_MEMORY.
enum sq_status sq_gguf_model_tensors(const struct sq_gguf *g, const char *what,
                                     struct sq_tensor **tensor, struct sq_error *err);
void sq_gguf_model_free(struct sq_tensor *tensor, size_t n);
