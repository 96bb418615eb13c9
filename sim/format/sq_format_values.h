// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that computes values: which recipes are legal, the encoding of a
// layer, its product. An encoding is an opaque `state` that its format makes, multiplies, measures,
// writes and reads back. Other code uses it through sq_recipe.h.
#pragma once

#include "models/quant/sq_tune.h"
#include "sim/format/sq_recipe.h"

// What init() needs of the input of a layer, in struct sq_quant_input.
enum sq_need {
    SQ_NEED_INPUTS = 1,      // calibration: abs_max, abs_sum, n_tokens
    SQ_NEED_HESSIAN = 1 | 2, // calibration->xtx as well
    SQ_NEED_FACTOR = 3 | 4,  // factor as well
    SQ_NEED_SAMPLE = 8,      // sample[n_sample][k]: the first tokens of the calibration
};

// What a scan of the whole model decides for each layer before any is encoded.
enum sq_scan { SQ_SCAN_NOTHING, SQ_SCAN_DENSE, SQ_SCAN_SPARSITY };

// A figure of one layer's encoding that only this format has.
struct sq_figure {
    const char *key;
    double value;
};
#define SQ_FIGURES_MAX 6u

struct sq_format_values {
    // The recipe's fields that the format uses; SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE with the field. NULL: all are.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);
    unsigned (*needs)(const struct sq_recipe *r); // of enum sq_need; NULL: nothing
    bool has_smoothing;
    // Whether the options leave the model as it is; NULL: never.
    bool (*is_reference)(const struct sq_recipe *r);

    // What a scan has to decide, into *share of how many layers, or of what in all of them; NULL:
    // nothing. struct sq_quant_input brings it.
    enum sq_scan (*scan)(const struct sq_recipe *r, double *share);
    // SQ_SCAN_SPARSITY: activations below theta, finite and >= 0, are skipped from here on.
    void (*set_threshold)(void *state, float theta);

    // *state of w[n][k]; it is NULL, and after a failure the caller frees what is there. Refuses shapes the format does not have
    // (SQ_ERR_SHAPE) and what is not finite.
    enum sq_status (*init)(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err);
    void (*free)(void *state); // NULL is harmless

    // y[m][n] of x[m][k], bit-exact and independent of how tokens are split into calls; 1..128
    // tokens, called from several threads at once.
    enum sq_status (*apply)(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err);
    // The same of n layers of one recipe and input, y[i] of state[i]: x is encoded once where they
    // encode it alike. NULL: apply() of each.
    enum sq_status (*apply_shared)(const void *const *state, size_t n, const struct sq_recipe *r,
                                   const float *x, size_t m, float *const *y, struct sq_error *err);

    // An encoding as parameters that are trained, *t initialized here, and back: codes, scales and zeros as
    // trained, of the same shape. NULL: it is not trained. SQ_ERR_UNSUPPORTED for a layer that cannot be.
    enum sq_status (*tune)(const void *state, struct sq_tune *t, struct sq_error *err);
    enum sq_status (*retune)(void *state, const struct sq_recipe *r, const struct sq_tune *t,
                             struct sq_error *err);

    // K as stored, of a layer of k_orig columns; NULL: the same.
    size_t (*padded)(const struct sq_recipe *r, size_t k_orig);
    // Row `row` as the values it stands for, out[k]: for weight errors.
    void (*decode_row)(const void *state, size_t row, float *out);
    // The static channel mask, [k] as stored; NULL: the format has none.
    const uint8_t *(*mask)(const void *state);
    // Figures that quantize prints per layer; returns how many. NULL where there are none.
    size_t (*figures)(const void *state, struct sq_figure figure[SQ_FIGURES_MAX]);
};
