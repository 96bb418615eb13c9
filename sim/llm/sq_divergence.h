// SPDX-License-Identifier: Apache-2.0
// How far a quantized model is from the model as it is, over all predicted tokens of a set, with
// intervals (SPEC J.7). Both saw the same tokens, so every figure is of pairs.
//
// The unit of chance is the sequence: tokens of one depend on each other. The standard error is
// that of a ratio of sums over sequences; the 95 % intervals are percentiles of 2000 resamples of
// the sequences with replacement, the same ones for every figure, from SQ_DIVERGENCE_SEED.
// Sequences are put into an order of their own before they are drawn, so the order in the file does
// not matter. Windows that overlap (sq_token_source.h) are less independent than is assumed.
#pragma once

#include "sim/llm/sq_logits.h"

enum { SQ_DIVERGENCE_SEED = 0, SQ_DIVERGENCE_RESAMPLES = 2000 };

struct sq_interval {
    double low, high; // NaN of one sequence
};

struct sq_divergence {
    double loss_reference;     // nats per predicted token
    double loss_difference;    // of the quantized model minus that
    double loss_difference_se; // NaN of one sequence
    struct sq_interval loss_difference_95;
    double kl_mean, kl_median, kl_p99; // of p_ref log(p_ref / p), nats per predicted token
    struct sq_interval kl_mean_95;
    double top1_agreement; // share of predicted tokens whose most likely token is the same, 0..1
};

// score: of sq_logits_score with a reference, [tokens]. Quantiles between two tokens are
// interpolated. SQ_ERR_NON_FINITE where a logit was NaN or infinite; SQ_ERR_MEMORY.
enum sq_status sq_divergence_of(const struct sq_tokens *tokens, const struct sq_token_score *score,
                                struct sq_divergence *d, struct sq_error *err);

// KL of b against KL of a, both from the model as it is over the same tokens: the same resamples count for both.
struct sq_divergence_pair {
    double ratio, difference;                   // mean KL of b over that of a; minus that of a
    struct sq_interval ratio_95, difference_95; // NaN of one sequence
};
enum sq_status sq_divergence_compare(const struct sq_tokens *tokens, const struct sq_token_score *a,
                                     const struct sq_token_score *b,
                                     struct sq_divergence_pair *pair, struct sq_error *err);
