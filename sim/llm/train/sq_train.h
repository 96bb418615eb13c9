// SPDX-License-Identifier: Apache-2.0
// Trains the encoded layers of a model (SPEC F.7 d) after an algorithm has encoded them: BQPO, block by block, weights,
// scales and zeros, against what the block of the model as it is gives, from inputs of the trained blocks before it;
// and E2E-OQP, all blocks at once, scales and zeros alone, against the last logits of the model as it is (KL). Inputs
// of layers stay binary32. A stage that does not lower its loss over all sequences changes nothing.
//
// Results depend on the seed, never on the number of threads.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/llm/sq_llama.h"

struct sq_train {
    bool has_bqpo, has_e2e;
    size_t steps; // of BQPO in each block, and of E2E-OQP, >= 1
    size_t batch; // sequences of a step, >= 1
    double
        rate; // the first step of AdamW as a share of a tensor's mean magnitude; falls to 0 by a cosine
    uint64_t seed;
    void (*watch)(void *context, const char *stage, size_t done, size_t all); // may be NULL
    void *context;
};

struct sq_train_result {
    double error_before,
        error_after; // of BQPO: |Y - Y'| / |Y| of the blocks' outputs, mean of blocks; NaN: not run
    double kl_before, kl_after; // of E2E-OQP, nats a token of the calibration; NaN: not run
};

// layer[ck->n_layers], encoded by *r. SQ_ERR_UNSUPPORTED: a format or a decoder that is not trained, which it says
// before anything is computed. Trained are the longest sequences of *tokens.
enum sq_status sq_train_check(const struct sq_checkpoint *ck, const struct sq_recipe *r,
                              struct sq_error *err);
enum sq_status sq_train_layers(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                               const struct sq_recipe *r, struct sq_quant_layer *layer,
                               const struct sq_train *how, struct sq_train_result *result,
                               struct sq_error *err);
