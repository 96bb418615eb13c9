// SPDX-License-Identifier: Apache-2.0
// The sizes of a decoder by its config.json, and the one table of what the classes of transformers have where it
// says nothing: lists of GEMMs (sq_workload.h) and the forward pass (sim/llm/sq_model_config.h) read them here.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "models/sq_status.h"

enum { SQ_EXPERTS_MAX = 4096, SQ_MAX_BLOCKS = 1024 };

enum sq_model_kind { SQ_MODEL_LLAMA, SQ_MODEL_MOE, SQ_MODEL_DEEPSEEK, SQ_MODEL_OPT };

struct sq_model_shape {
    enum sq_model_kind kind;
    uint64_t hidden, layers, heads, kv_heads, head_dim, intermediate;
    uint64_t experts, top_k, expert_size, shared, dense_layers; // mixtures of experts
    uint64_t shared_size;                                       // of all shared experts together
    uint64_t q_rank, kv_rank, nope, rope, v_dim; // latent attention; q_rank 0: one product makes q
    // Tokens that the layers of is_local look back over, itself among them, and how many such layers there are;
    // 0: all layers see all.
    uint64_t window, window_layers;
    bool is_local[SQ_MAX_BLOCKS];
    uint64_t norms;   // of the hidden state, of a layer
    bool has_qk_norm; // of every head of q and k
    uint64_t vocab, max_position;
    bool is_tied;           // the embedding is lm_head
    uint64_t eos;           // token of the class that ends a text; 0: it has none
    const char *model_type; // as the table has it
};

// Reads the object, or its `text_config` where it has one; `what` names it in sentences. The class is that of
// `architectures`, of model_type where that is none of the table. A missing field has the default of that class; null is what the
// class makes of it. Refuses other model types by name, and fields out of range.
enum sq_status sq_model_shape_of(const json_t *root, const char *what, struct sq_model_shape *shape,
                                 struct sq_error *err);
