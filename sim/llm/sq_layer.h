// SPDX-License-Identifier: Apache-2.0
// One linear layer Y[M][N] = X[M][K] W[N][K]^T through everything but silicon: encoded, multiplied
// by the golden model, timed by the cycle model. Also every layer of a model in turn, with the
// activations it really sees.
#pragma once

#include "sim/block/core/sq_core_run.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_quantize.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/text/sq_token_source.h"

// Input of one layer and everything computed from it. Owned; sq_layer_free releases all of it.
struct sq_layer_run {
    const char *name; // of the caller
    size_t m, n, k;
    struct sq_operand w;  // encoded weights
    int8_t *act;          // [m][w.m.k] activation codes
    float *s_a;           // [m]
    float *y;             // [m][n] by the golden model
    int32_t *p_lo, *p_hi; // [m][n][groups], only where asked for
    double weight_sqnr_db;
    double relative_error;         // of y against X W^T in FP64 (SPEC J.1); NaN where not asked for
    struct sq_sqnr weight, output; // the sums of squares behind the two; zeros where not computed
    double seconds_values;         // host time of the golden product
    struct sq_core_config core;    // sq_gemm_core
    struct sq_job job;
    struct sq_core_stats stats; // by the fast engine, free streams
};

struct sq_layer_options {
    struct sq_core_config config; // its format fields agree with `format`
    struct sq_format format;
    unsigned jobs;  // threads of the encoder
    bool integers;  // keep p_lo, p_hi
    bool reference; // compute relative_error
    bool no_values; // cycles only: no encoding, no product
};

// x[m][k], w[n][k] binary32, of the caller.
enum sq_status sq_layer_compute(struct sq_layer_run *r, const struct sq_layer_options *o,
                                const char *name, const float *x, const float *w, size_t m,
                                size_t n, size_t k, struct sq_error *err);
void sq_layer_free(struct sq_layer_run *r);

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
