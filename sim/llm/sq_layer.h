// SPDX-License-Identifier: Apache-2.0
// Every linear layer of a model in turn, with the activations it really sees.
#pragma once

#include "sim/format/sq_quantize.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/text/sq_token_source.h"

// y[m][n] against X W^T of the weights as they are (SPEC J.1): FP64, ascending index.
struct sq_sqnr sq_output_error(const float *x, const float *w, const float *y, size_t m, size_t n,
                               size_t k);

// The sequences that hold the first m tokens of a source (NULL: the model's calibration tokens);
// SQ_ERR_RANGE where there are fewer. Free with sq_tokens_free.
enum sq_status sq_model_tokens(const struct sq_checkpoint *ck, const char *model,
                               const struct sq_token_source *given, size_t m,
                               struct sq_tokens *tokens, struct sq_error *err);

// Called for every linear layer of a model: x[m][k] is what the layer sees when the model reads the
// tokens; w[n][k] its weights.
typedef enum sq_status sq_layer_visit(void *context, size_t index, const char *name, const float *x,
                                      const float *w, size_t m, size_t n, size_t k,
                                      struct sq_error *err);

// The first m tokens of *source (NULL: the file tokens_calib.safetensors beside the model)
// through the model in binary32, every layer visited in model order. A checkpoint without config
// gets normally distributed inputs from `seed`: *is_real says which. Fewer than m tokens are
// refused.
enum sq_status sq_model_visit(const struct sq_checkpoint *ck, const char *model_path,
                              const struct sq_token_source *source, size_t m, uint64_t seed,
                              sq_layer_visit *visit, void *context, bool *is_real,
                              struct sq_error *err);
