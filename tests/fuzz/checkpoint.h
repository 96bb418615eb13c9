// SPDX-License-Identifier: Apache-2.0
// What the harnesses of whole checkpoints share: a layer as it is stored, and a model that runs.
#pragma once

#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_llama.h"
#include "tests/fuzz/fuzz.h"

enum { FUZZ_SMALL = 64 };

// The layer as it is stored, in the format that holds it.
static inline void fuzz_stored(const struct sq_checkpoint *ck, size_t i)
{
    struct sq_recipe r;
    struct sq_quant_layer q;
    struct sq_error err;
    const char *why;
    if (fuzz_ok(sq_checkpoint_recipe(ck, i, &r, &why, &err), &err) &&
        fuzz_ok(sq_checkpoint_encoded(ck, i, &r, &q, &err), &err))
        sq_quant_layer_free(&q);
}

// The loss of three tokens, of a model that is small.
static inline void fuzz_forward(const struct sq_checkpoint *ck)
{
    const struct sq_model_config *c = &ck->config;
    if (!ck->is_model || c->hidden_size > FUZZ_SMALL || c->intermediate_size > FUZZ_SMALL ||
        c->vocab_size > FUZZ_SMALL || c->n_heads * c->head_dim > FUZZ_SMALL || c->n_layers > 2 ||
        c->max_position < 3)
        return;
    size_t offset[] = {0, 3};
    const int32_t last = (int32_t)c->vocab_size - 1;
    int32_t id[] = {last, 0, last / 2};
    const struct sq_tokens tokens = {1, offset, id, 0};
    struct sq_error err;
    double loss = 0;
    fuzz_ok(sq_llama_loss(ck, &tokens, NULL, NULL, &loss, &err), &err);
}
