// SPDX-License-Identifier: Apache-2.0
// One linear layer Y[M][N] = X[M][K] W[N][K]^T through everything but silicon: encoded, multiplied
// by the golden model, timed by the cycle model, and laid out as the streams of a core for
// co-simulation. Also every layer of a model in turn, with the activations it really sees.
#ifndef SQ_LAYER_H
#define SQ_LAYER_H

#include "sim/block/sq_core_run.h"
#include "sim/cosim/sq_cosim_case.h"
#include "sim/format/sq_quantize.h"
#include "sim/format/sq_trace.h"
#include "sim/llm/sq_checkpoint.h"

// One scale group per tile and flush: tiles in the order for (column tile) for (row tile), groups
// ascending inside. SQ_ERR_RANGE where the job exceeds the core's counters.
enum sq_status sq_gemm_job(const struct sq_core_config *config, const struct sq_format *format,
                           size_t m, size_t n, size_t k_padded, struct sq_job *job,
                           struct sq_error *err);

// What the datapath did with the cycles: useful multiplications (padding of K, unused rows and
// columns not counted; masked positions of the low path counted, as it spends them) over all
// multipliers and cycles. 0..1.
double sq_utilisation_low(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                          uint64_t cycles);
double sq_utilisation_high(const struct sq_core_config *config, size_t m, size_t n, size_t k,
                           uint64_t cycles);

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

// Tiles [first, first + n_tiles) of the layer as a co-simulation case with free streams. Rows
// beyond m carry zeros, columns beyond n legal banks of zeros.
enum sq_status sq_layer_case(const struct sq_layer_run *r, const struct sq_core_config *config,
                             uint32_t first, uint32_t n_tiles, uint64_t seed,
                             struct sq_owned_case *o, struct sq_error *err);

// Values of the case in which fast golden product (p_lo, p_hi of the layer) and the bank-wise
// golden model of the co-simulation differ; 0 = none.
uint64_t sq_layer_case_check(const struct sq_layer_run *r, const struct sq_owned_case *o,
                             uint32_t first);

// Called for every linear layer of a model: x[m][k] is what the layer sees when the model reads the
// tokens; w[n][k] its weights.
typedef enum sq_status sq_layer_visit(void *context, size_t index, const char *name, const float *x,
                                      const float *w, size_t m, size_t n, size_t k,
                                      struct sq_error *err);

// The first m tokens of the file at `tokens` (or NULL: tokens_calib.safetensors beside the model)
// through the model in binary32, every layer visited in model order. A checkpoint without config
// gets normally distributed inputs from `seed`: *is_real says which. Fewer than m tokens are
// refused.
enum sq_status sq_model_visit(const struct sq_checkpoint *ck, const char *model_path,
                              const char *tokens, size_t m, uint64_t seed, sq_layer_visit *visit,
                              void *context, bool *is_real, struct sq_error *err);

#endif
