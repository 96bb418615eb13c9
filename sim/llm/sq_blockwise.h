// SPDX-License-Identifier: Apache-2.0
// A model block by block: what the inputs of a decoder block are in calibration, its layers encoded
// by them, and the block run with those. Evaluation and the scans over layers stand on it.
//
// Calibration statistics are of the unquantized model, but for sq_eval_encode_behind.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/llm/sq_llama.h"

enum { SQ_BLOCK_INPUTS = 4, SQ_BLOCK_LAYERS = 7 }; // q k v | o | gate up | down
// Which of the inputs a layer has, by its index in the block or the model.
size_t sq_block_input_of(size_t layer);

// ---- pieces: what a grid of recipes shares ----------------------------------------------------

// Runs `block` of *s unquantized and collects what a recipe needs of its four inputs (enum sq_need of sq_format_ops.h), tokens
// included: the members belong to the caller, sq_eval_inputs_free.
enum { SQ_EVAL_SAMPLE = 512 }; // tokens kept, at most
struct sq_eval_inputs {
    struct sq_calibration calibration[SQ_BLOCK_INPUTS];
    float *sample[SQ_BLOCK_INPUTS]; // [n_sample][k], NULL where not needed
    size_t n_sample;
};
enum sq_status sq_eval_collect(struct sq_llama *s, size_t block, unsigned needs,
                               struct sq_eval_inputs *in, struct sq_error *err);
void sq_eval_inputs_free(struct sq_eval_inputs *in);

// What a scan of the model chose for each of its layers (sq_layer_scan.h); NULL: the recipe says
// it.
struct sq_layer_choice {
    uint8_t *is_dense;
    double *sparsity;
};

// The seven layers of a block from collected inputs (NULL where the recipe needs none); `choice` may be NULL. Free each.
enum sq_status sq_eval_encode(const struct sq_checkpoint *ck, size_t block,
                              const struct sq_recipe *r, const struct sq_eval_inputs *in,
                              const struct sq_layer_choice *choice,
                              struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err);

// The same, calibrated by a pass of `calib` through the block; NULL: the recipe needs no inputs.
enum sq_status sq_eval_calibrated(struct sq_llama *calib, const struct sq_checkpoint *ck,
                                  size_t block, const struct sq_recipe *r,
                                  const struct sq_layer_choice *choice,
                                  struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                                  struct sq_error *err);
void sq_eval_layers_free(struct sq_quant_layer (*layer)[SQ_BLOCK_LAYERS]);

// The same, each layer from the inputs that the encoded ones before it give, in the block and, as
// *s stands, before it; *s is behind the encoded block afterwards. Five passes of the block, not
// one.
enum sq_status sq_eval_encode_behind(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                                     const struct sq_layer_choice *choice,
                                     struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                                     struct sq_error *err);

// ---- metrics (SPEC J) -------------------------------------------------------------------------

struct sq_layer_metrics {
    const char *name;
    size_t n, k;
    double relative_error; // |X W^T - Y| / |X W^T| on the layer's own input, reference in binary64
    double sqnr_db;        // +infinity for no error
    double mask_recall;    // static masks; NaN otherwise
    const uint8_t *mask;   // [k_padded], the static mask, valid during the call; NULL otherwise
    size_t k_padded;
    double stored_bits; // per weight; NaN for weights that are the model's
    double act_bits;    // of an activation (sq_cost_act_nbits)
    bool is_dense;      // a scan kept it dense
};
typedef void sq_eval_report(void *context, const struct sq_layer_metrics *metrics);

// The block of *s with the quantized layers; `report`, where not NULL, gets each layer's metrics;
// is_dense, by layer of the model, says which stayed dense; NULL: none.
enum sq_status sq_eval_block(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                             const struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                             const uint8_t *is_dense, sq_eval_report *report, void *context,
                             struct sq_error *err);
