// SPDX-License-Identifier: Apache-2.0
// What the accuracy reports measure a recipe on: a model and its tokens, or synthetic layers whose
// inputs have the per-channel maxima of a real model. Failures print one line and exit with 2.
#ifndef SUBJECT_H
#define SUBJECT_H

#include "sim/llm/sq_eval.h"

// A synthetic layer: calibration statistics and tokens, weights, evaluation inputs and their exact
// product.
struct layer {
    size_t n, k, m, n_sample;
    float *w, *x, *sample;
    double *y;
    struct sq_calibration calibration;
};

struct subject {
    bool is_model;
    struct sq_checkpoint ck;
    struct sq_tokens calib, eval;
    struct sq_calibration (*calibration)[SQ_BLOCK_INPUTS]; // [blocks]
    size_t n_layers;
    struct layer *layer;
};

// MODEL_DIR [SEQUENCES] | --profile FILE, as argc and argv of main.
void subject_load(struct subject *s, int argc, char **argv);

// Nats per token, or the root mean square over the layers of |X W^ - Y| / |Y|. r NULL: the model as
// it is. Calibration statistics of the model are shared between recipes.
double subject_measure(const struct subject *s, const struct sq_recipe *r);
// The same for any format (sq_format_ops.h), with its stored bits per weight, NaN where it has no
// packed form.
double subject_measure_stored(const struct subject *s, const struct sq_recipe *r,
                              double *stored_bits);

#endif
