// SPDX-License-Identifier: Apache-2.0
// The sizes of a decoder by its config.json: what lists of GEMMs are made from (sq_workload.h).
#ifndef SQ_MODEL_SHAPE_H
#define SQ_MODEL_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "models/sq_status.h"

enum { SQ_EXPERTS_MAX = 4096 };

enum sq_model_kind { SQ_MODEL_LLAMA, SQ_MODEL_MOE, SQ_MODEL_DEEPSEEK, SQ_MODEL_OPT };

struct sq_model_shape {
    enum sq_model_kind kind;
    uint64_t hidden, layers, heads, kv_heads, head_dim, intermediate;
    uint64_t experts, top_k, expert_size, shared, dense_layers; // mixtures of experts
    uint64_t shared_size;                                       // of all shared experts together
    uint64_t q_rank, kv_rank, nope, rope, v_dim; // latent attention; q_rank 0: one product makes q
    uint64_t window,
        window_layers; // tokens that so many layers look back over; 0: all layers see all
    uint64_t norms;    // of the hidden state, of a layer
    bool has_qk_norm;  // of every head of q and k
    // Read for whole passes alone (sq_model_vocabulary).
    uint64_t vocab;
    bool is_tied; // the embedding is lm_head
};

// Reads the object, or its `text_config` where it has one; `what` names it in sentences. Refuses other model types by name, and fields out of
// range.
enum sq_status sq_model_shape_of(const json_t *root, const char *what, struct sq_model_shape *shape,
                                 struct sq_error *err);
// vocab and is_tied.
enum sq_status sq_model_vocabulary(const json_t *root, const char *what,
                                   struct sq_model_shape *shape, struct sq_error *err);

#endif
