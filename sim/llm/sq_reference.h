// SPDX-License-Identifier: Apache-2.0
// The model as it is over a token set, which every format is compared with: its last hidden states,
// from which lm_head makes logits (sq_logits.h). They do not depend on the format, so they can be
// kept: an evaluation of another format then has its own pass only. Logits themselves are not kept,
// they are the vocabulary over the hidden size larger: 85 times for SmolLM2.
#pragma once

#include "sim/llm/sq_llama.h"

// What begins: a stage of the evaluation, in `block` of n_blocks; block = n_blocks: behind them.
enum sq_eval_stage {
    SQ_EVAL_REFERENCE,   // the model as it is, over the tokens
    SQ_EVAL_SCAN,        // what is chosen per layer: which stays dense, how sparse each is
    SQ_EVAL_CALIBRATION, // inputs of the block's layers
    SQ_EVAL_ENCODING,    // the block's layers
    SQ_EVAL_PRODUCTS,    // the block over the tokens
    SQ_EVAL_SCORES,      // loss, KL
    SQ_EVAL_STAGES
};
// Called in the caller's thread.
struct sq_eval_watch {
    void (*begins)(void *context, enum sq_eval_stage stage, size_t block, size_t n_blocks);
    void *context;
};

// Entries of a directory (sq_cache.h), one for each model and token set, named by the digest of
// both, of the program's sources and of the kernels that OpenBLAS has chosen: they decide on last
// bits. A damaged one is made anew. Only passes of `least` products or more are kept,
// of at most SQ_REFERENCE_NBYTES; beyond SQ_REFERENCE_ENTRIES the one that was used longest ago is
// removed. Where nothing can be written they are computed without a word.
struct sq_reference_cache {
    const char *dir;
    double least; // weights times tokens
};
enum { SQ_REFERENCE_ENTRIES = 8 };
#define SQ_REFERENCE_LEAST 1e11 // fewer products take less than a second: not worth a file
#define SQ_REFERENCE_NBYTES ((size_t)256 << 20)

// *x = [tokens][hidden_size] as sq_llama_norm leaves them; the caller frees it. cache NULL: they are
// computed and not kept. watch may be NULL; it hears of blocks that are computed.
enum sq_status sq_reference_states(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                                   const struct sq_reference_cache *cache,
                                   const struct sq_eval_watch *watch, float **x,
                                   struct sq_error *err);
