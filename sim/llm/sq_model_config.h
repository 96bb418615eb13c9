// SPDX-License-Identifier: Apache-2.0
// Hugging Face config.json of a Llama-type decoder: the numbers the forward pass needs.
#ifndef SQ_MODEL_CONFIG_H
#define SQ_MODEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"

// Rotary frequencies: plain, or with the wavelength-dependent scaling of Llama 3.1 and later.
struct sq_rope {
    double theta; // base, >= 1
    bool is_llama3;
    double factor, low_freq_factor, high_freq_factor; // only where is_llama3
    size_t original_max_position;                     //
};

// Every field was checked against its range; heads is a multiple of kv_heads, head_dim is even.
struct sq_model_config {
    size_t hidden_size;       // 1..2^20
    size_t intermediate_size; // 1..2^22
    size_t n_layers;          // 1..1024
    size_t n_heads;           // 1..4096
    size_t n_kv_heads;        // default: n_heads
    size_t head_dim;          // 2..4096, default: hidden_size / n_heads
    size_t vocab_size;        // 1..2^24
    size_t max_position;      // max_position_embeddings, 1..2^31, default 2048
    double rms_norm_eps;      // 1e-12..1, default 1e-6
    struct sq_rope rope;      // theta default 10000
    bool tie_word_embeddings; // default false: lm_head.weight is a tensor of its own
    bool has_qkv_bias;        // Qwen2
    // Tokens that attention looks back over, itself among them; longer sequences are refused.
    size_t window; // 1..max_position
};

// Reads and checks the file. Accepted are LlamaForCausalLM, MistralForCausalLM and
// Qwen2ForCausalLM; a sliding window bounds the sequences. What would need another forward pass
// (other biases, other activations, query norms, other rotary scalings, quantised weights) is
// SQ_ERR_UNSUPPORTED with one sentence that names the field.
enum sq_status sq_model_config_read(const char *path, struct sq_model_config *c,
                                    struct sq_error *err);
// The same on an object in memory, which stays the caller's; `what` names it in sentences.
enum sq_status sq_model_config_of(const json_t *root, const char *what, struct sq_model_config *c,
                                  struct sq_error *err);

#endif
