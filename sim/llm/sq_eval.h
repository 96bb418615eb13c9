// SPDX-License-Identifier: Apache-2.0
// A whole model under a recipe: calibrated block by block in binary32, evaluated with every linear
// layer in the bit-exact integers of the format.
//
// Memory stays near one decoder block plus the activations of the two token sets, and beside the
// model as it is its last hidden states.
#pragma once

#include "sim/llm/sq_blockwise.h"
#include "sim/llm/sq_divergence.h"
#include "sim/llm/sq_reference.h"

struct sq_eval_result {
    double loss, perplexity; // nats per predicted token, and its exponential
    size_t n_tokens;         // predicted tokens
    double stored_bits;      // per weight of the linear layers; NaN: they are the model's
    double payload_bits;     // the same per stored column, padding of rows counted as weights
    double act_bits;         // of an activation (sq_cost_act_nbits), layers by their K; NaN: r NULL
    size_t n_dense_layers;   // sp24: kept dense
};

// All of it. `calib` may be NULL where the recipe needs no calibration (SQ_ERR_ARG otherwise); r
// NULL evaluates the model as it is.
enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err);

// The same with weights from a file of `sqsim quantize` (sq_layer_file.h), which must hold every
// linear layer in its shape; r is the recipe that it opens with.
enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err);

// One format of several, and what comes of it.
struct sq_eval_job {
    const struct sq_recipe *r; // NULL: the model as it is
    const char *path;          // weights from a file, as sq_eval_file; NULL: quantized here
    const struct sq_recipe
        *cache;            // of the KV cache (sq_llama.h); NULL: keys and values as they are
    bool is_cached_before; // keys before their rotation
    unsigned
        softmax_lanes; // of a vector unit that computes softmax (sq_llama.h), or SQ_LLAMA_ATTEND; 0: none does
    sq_eval_report *report; // may be NULL
    void *context;
    struct sq_eval_result result;
    // From the model as it is, and its KL against that of the first job; both left as they were where
    // nothing differs from it, the second also where the first job's are, and of the first job.
    struct sq_divergence divergence;
    struct sq_divergence_pair pair;
};

enum { SQ_EVAL_JOBS = 16 }; // at most

// n_jobs formats beside the model as it is over the same tokens. They go through the blocks side by
// side: the pass of the model as it is, its logits and the inputs in calibration are made once, and
// every job gets what it would get alone. Beside one block each has its residual stream in memory.
// reference: where the states of the model as it is are kept (sq_reference.h), NULL: nowhere. watch
// may be NULL; its blocks are those of all jobs.
enum sq_status sq_eval_jobs(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                            const struct sq_tokens *tokens, struct sq_eval_job *job, size_t n_jobs,
                            const struct sq_reference_cache *cache,
                            const struct sq_eval_watch *watch, struct sq_error *err);
