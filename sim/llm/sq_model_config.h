// SPDX-License-Identifier: Apache-2.0
// Hugging Face config.json of a decoder: the numbers the forward pass needs. All decoders have the
// blocks of Llama; what the others have besides is a field.
//
//   Llama, Mistral   nothing
//   Qwen 2           biases of q, k, v
//   Qwen 3           norms of every head of q and k
//   Gemma 3          these norms; norms of what attention and MLP add; GeGLU; scaled embeddings;
//                    most blocks look back over a window only
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"
#include "sim/machine/sq_model_shape.h"

// Rotary frequencies: plain, or with the wavelength-dependent scaling of Llama 3.1 and later.
struct sq_rope {
    double theta;            // base, >= 1
    double linear;           // every frequency is divided by it, >= 1; 1: none
    double attention_factor; // of what is rotated, as llama.cpp has it; 1: none
    bool is_llama3;
    double factor, low_freq_factor, high_freq_factor; // only where is_llama3
    size_t original_max_position;                     //
};

// Every field was checked against its range; heads is a multiple of kv_heads, head_dim is even.
struct sq_model_config {
    size_t hidden_size;       // 1..2^20
    size_t intermediate_size; // 1..2^22
    size_t n_layers;          // 1..SQ_MAX_BLOCKS
    size_t n_heads;           // 1..4096
    size_t n_kv_heads;        // 1..4096
    size_t head_dim;          // 2..4096
    size_t vocab_size;        // 1..2^24
    size_t max_position;      // max_position_embeddings, 1..2^31
    double rms_norm_eps;      // 1e-12..1
    struct sq_rope rope;
    size_t end_of_text;       // token of the class that ends a text; 0: none
    bool tie_word_embeddings; // false: lm_head.weight is a tensor of its own
    bool has_qkv_bias;        // Qwen2
    // Tokens that attention looks back over, itself among them; longer sequences are refused.
    size_t window; // 1..max_position

    bool has_qk_norm;                // every head of q and of k is normed before it is rotated
    bool has_post_norm;              // what attention and MLP give is normed before it is added
    bool has_offset_gain;            // norms are stored as gain - 1; a GGUF file holds the gain
    bool is_geglu;                   // gate by GELU in its tanh form; else by SiLU
    double embedding_scale;          // factor of the embedding, 1 or sqrt(hidden_size)
    double query_scale;              // scores are q k / sqrt(query_scale)
    double attention_cap, logit_cap; // c: x becomes c tanh(x / c); 0: none
    // Gemma 3: the blocks whose attention looks back over `local_window` tokens only, itself among
    // them, and the rotary embedding of these blocks. local_window = 0: there are none.
    size_t local_window;
    bool is_local[SQ_MAX_BLOCKS];
    struct sq_rope local_rope;
};

enum sq_model_size {
    SQ_SIZE_NONE, // no dimension
    SQ_SIZE_HIDDEN,
    SQ_SIZE_INTERMEDIATE,
    SQ_SIZE_QUERIES, // of all heads
    SQ_SIZE_KEYS,    // of all heads of keys
    SQ_SIZE_HEAD,
};
// A tensor of a block: "model.layers.N.NAME.weight", or "blk.N.GGUF.weight" in a GGUF file.
struct sq_block_tensor {
    const char *name, *gguf;
    const char *gemma;       // in GGUF files of Gemma 3; NULL: as in all
    enum sq_model_size n, k; // k NONE: the gain of a norm
    // Offset of the field of struct sq_model_config that says whether it is there; 0: it always is.
    size_t has;
};
enum { SQ_BLOCK_LINEAR = 7, SQ_BLOCK_TENSORS = 13 };
// The linear layers in model order, then the norms.
extern const struct sq_block_tensor sq_block_tensor[SQ_BLOCK_TENSORS];
size_t sq_model_size(const struct sq_model_config *c, enum sq_model_size size);
bool sq_model_has(const struct sq_model_config *c, const struct sq_block_tensor *t);

// Reads and checks the object of the file, which stays the caller's; `what` names it in sentences.
// Accepted are LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM and
// Gemma3ForCausalLM; the sliding window of the first four bounds the sequences.
// Sizes, windows and what a missing field stands for are those of sq_model_shape_of.
// What would need another forward pass (other biases, other activations, other rotary scalings,
// partial rotation, factors of embeddings or logits) is SQ_ERR_UNSUPPORTED with one sentence that
// names the field.
enum sq_status sq_model_config_of(const json_t *root, const char *what, struct sq_model_config *c,
                                  struct sq_error *err);
