// SPDX-License-Identifier: Apache-2.0
// Every layer of a model encoded by a recipe, as quantize and eval do, with the activations that it
// sees when the unquantized model reads tokens.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/llm/sq_layer.h"
#include "sim/llm/sq_layer_file.h"

struct sq_encoded_options {
    const struct sq_recipe *recipe;
    const char *model;                    // path of the checkpoint
    const struct sq_token_source *source; // what the layers see; NULL: the calibration tokens
    const char *calib;                // a token file; NULL: the model's tokens_calib.safetensors
    const struct sq_layer_file *file; // the layers as they are there, of its recipe; NULL: encoded
    size_t m;                         // so many of the tokens
    uint64_t seed;                    // of inputs where the checkpoint is no model
    const uint8_t *is_wanted;         // [n_layers]: the others are left out
};

// One layer, valid during the call: x[m][q->k_orig].
typedef enum sq_status sq_encoded_visit(void *context, size_t index, const struct sq_quant_layer *q,
                                        const float *x, size_t m, struct sq_error *err);

// In model order. *is_real: whether activations are the model's. A recipe that needs calibration is
// refused where the checkpoint is no model (SQ_ERR_UNSUPPORTED).
enum sq_status sq_encoded_layers(const struct sq_checkpoint *ck, const struct sq_encoded_options *o,
                                 sq_encoded_visit *visit, void *context, bool *is_real,
                                 struct sq_error *err);
