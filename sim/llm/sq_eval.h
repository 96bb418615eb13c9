// SPDX-License-Identifier: Apache-2.0
// A whole model under a recipe: calibrated block by block in binary32, evaluated with every linear
// layer in the bit-exact integers of the format.
//
// Memory stays near one decoder block plus the activations of the two token sets.
#ifndef SQ_EVAL_H
#define SQ_EVAL_H

#include "sim/llm/sq_blockwise.h"

struct sq_eval_result {
    double loss, perplexity; // nats per predicted token, and its exponential
    size_t n_tokens;         // predicted tokens
    double stored_bits;      // per weight of the linear layers; NaN where no packed form exists
    size_t n_dense_layers;   // sp24: kept dense
};

// All of it. `calib` may be NULL where the recipe needs no calibration (SQ_ERR_ARG otherwise); r
// NULL evaluates the model as it is.
enum sq_status sq_eval(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                       const struct sq_tokens *tokens, const struct sq_recipe *r,
                       sq_eval_report *report, void *context, struct sq_eval_result *result,
                       struct sq_error *err);

// The same with weights from a file of `sqsim quantize` (sq_trace.h, sq_weight_file.h), which must
// hold every linear layer in its shape; r names its format, and the activation bits.
enum sq_status sq_eval_file(const struct sq_checkpoint *ck, const char *path,
                            const struct sq_tokens *tokens, const struct sq_recipe *r,
                            sq_eval_report *report, void *context, struct sq_eval_result *result,
                            struct sq_error *err);

#endif
