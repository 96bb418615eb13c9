// SPDX-License-Identifier: Apache-2.0
// A whole model under a recipe: calibrated block by block in binary32, evaluated with every linear
// layer in the bit-exact integers of the format.
//
// Calibration statistics are of the unquantized model. Memory stays near one decoder block plus the
// activations of the two token sets.
#ifndef SQ_EVAL_H
#define SQ_EVAL_H

#include "sim/format/sq_recipe.h"
#include "sim/llm/sq_llama.h"

enum { SQ_BLOCK_INPUTS = 4, SQ_BLOCK_LAYERS = 7 }; // q k v | o | gate up | down

// ---- pieces: what a grid of recipes shares ----------------------------------------------------

// Runs `block` of *s unquantized and collects its four inputs; the caller frees calibration[].
enum sq_status sq_eval_calibrate(struct sq_llama *s, size_t block, bool has_hessian,
                                 struct sq_calibration calibration[SQ_BLOCK_INPUTS],
                                 struct sq_error *err);

// The same for what a recipe needs (enum sq_need of sq_format_ops.h), tokens included: the members
// belong to the caller, sq_eval_inputs_free.
enum { SQ_EVAL_SAMPLE = 512 }; // tokens kept, at most
struct sq_eval_inputs {
    struct sq_calibration calibration[SQ_BLOCK_INPUTS];
    float *sample[SQ_BLOCK_INPUTS]; // [n_sample][k], NULL where not needed
    size_t n_sample;
};
enum sq_status sq_eval_collect(struct sq_llama *s, size_t block, unsigned needs,
                               struct sq_eval_inputs *in, struct sq_error *err);
void sq_eval_inputs_free(struct sq_eval_inputs *in);

// The seven layers of a block; calibration may be NULL where the recipe needs none. Free each.
enum sq_status sq_eval_quantize(const struct sq_checkpoint *ck, size_t block,
                                const struct sq_recipe *r, const struct sq_calibration *calibration,
                                struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct sq_error *err);
// The same from collected inputs (NULL where the recipe needs none); is_dense[], by layer of the
// model, says which stay dense (sp24), NULL: none.
enum sq_status sq_eval_encode(const struct sq_checkpoint *ck, size_t block,
                              const struct sq_recipe *r, const struct sq_eval_inputs *in,
                              const uint8_t *is_dense, struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                              struct sq_error *err);

// Selective sparsity: error[n_layers] of every layer under r->format with nothing dense (relative
// output error on its calibration inputs), and which round(r->dense_fraction * n_layers) stay
// dense.
enum sq_status sq_eval_sensitive(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                                 const struct sq_recipe *r, double *error, uint8_t *is_dense,
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
    double stored_bits; // per weight; NaN where no packed form exists
    bool is_dense;      // sp24: kept dense
};
typedef void sq_eval_report(void *context, const struct sq_layer_metrics *metrics);

struct sq_eval_result {
    double loss, perplexity; // nats per predicted token, and its exponential
    size_t n_tokens;         // predicted tokens
    double stored_bits;      // per weight of the linear layers; NaN where no packed form exists
    size_t n_dense_layers;   // sp24: kept dense
};

// The block of *s with the quantized layers; `report`, where not NULL, gets each layer's metrics.
enum sq_status sq_eval_block(struct sq_llama *s, size_t block, const struct sq_recipe *r,
                             const struct sq_quant_layer layer[SQ_BLOCK_LAYERS],
                             sq_eval_report *report, void *context, struct sq_error *err);

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
