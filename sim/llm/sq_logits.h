// SPDX-License-Identifier: Apache-2.0
// From the normed last hidden states of a token set to what lm_head says of every token: its
// surprise, and where there are two sets of states, how far the second's distribution is from the
// first's (SPEC J.5, J.7).
//
// Blocks of lm_head's rows meet blocks of tokens, so no more than 512 x 4096 logits of each set
// exist at a time; a token keeps a few running sums in binary64.
#pragma once

#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/text/sq_tokens.h"

struct sq_token_score {
    double nll; // -log p of the token that comes next, nats
    // With a reference p_ref only; 0 and false without:
    double nll_reference;
    double kl;        // sum over the vocabulary of p_ref log(p_ref / p), nats, >= 0
    bool is_same_top; // both hold the same token for the most likely (of equals the lowest id)
};

// score[i] is what token i says of token i + 1; of the last token of a sequence it says nothing,
// and sq_tokens_first_predicted leaves out more. x and x_reference (NULL: none) are [tokens][hidden
// size] of sq_llama_norm. Results do not depend on the number of threads; of equal states kl is 0.
enum sq_status sq_logits_score(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                               const float *x, const float *x_reference,
                               struct sq_token_score *score, struct sq_error *err);

// The same of several models over the same tokens, x[n_models] and score[n_models]: the reference's
// logits are made once, and each model's scores are those that it gets alone.
enum sq_status sq_logits_score_all(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                                   const float *const *x, size_t n_models, const float *x_reference,
                                   struct sq_token_score *const *score, struct sq_error *err);

// The logits of one state x[hidden size] into logit[vocab_size].
enum sq_status sq_logits_of(const struct sq_checkpoint *ck, const float *x, float *logit,
                            struct sq_error *err);

// The sum of nll over all tokens that are predicted, by ascending index. SQ_ERR_NON_FINITE where a
// logit was NaN or infinite.
enum sq_status sq_logits_nll(const struct sq_tokens *tokens, const struct sq_token_score *score,
                             double *nll, struct sq_error *err);
