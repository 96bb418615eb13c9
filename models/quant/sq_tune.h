// SPDX-License-Identifier: Apache-2.0
// Trains what an encoded layer stores (SPEC F.7 d): weights, scales and zeros by AdamW, rounding and clamping
// passed straight through. No format is known here: an encoding gives its codes and takes them back.
//
//   value = (clamp(rne(w / s) + z, lowest, highest) - z) * s     z = clamp(rne(zero)), s: scale as it is stored
//
//   inside the range   dw = d             ds = d (rne(w / s) - w / s)   dzero = 0
//   clamped to c       dw = 0             ds = d (c - z)                dzero = -d s
//   frozen codes q     dw: there is none  ds = d (q - z)                dzero = -d s
//
// d is the loss by the value. A layer without scales (lowest = highest = 0) has values w.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

#define SQ_TUNE_PRUNED UINT32_MAX

// A parameter tensor with its gradient and the two means of AdamW.
struct sq_tune_tensor {
    size_t n;
    float *at, *gradient, *mean, *square;
    float rate; // of a step: a share of the mean magnitude at the start
};

struct sq_tune {
    size_t n, k;            // of the layer
    uint32_t *of;           // [n][k]: index of a weight's scale; SQ_TUNE_PRUNED: it stays 0
    int lowest, highest;    // codes
    bool is_half, has_zero; // scales are binary16; zeros are trained, in lowest..highest
    struct sq_tune_tensor w, scale, zero; // w [n][k]; scale, zero [n_scales]
    float *value;                         // [n][k], what the layer multiplies by
    int16_t *code;                        // [n][k], once they are frozen; NULL before
};

// Memory for n_scales scales, all zeros; SQ_ERR_MEMORY, *t is empty then.
enum sq_status sq_tune_init(struct sq_tune *t, size_t n, size_t k, size_t n_scales,
                            struct sq_error *err);
void sq_tune_free(struct sq_tune *t);

// The scale and the zero that are stored.
float sq_tune_scale(const struct sq_tune *t, uint32_t i);
int sq_tune_zero(const struct sq_tune *t, uint32_t i);
// The code of weight i, which is not pruned.
int sq_tune_code(const struct sq_tune *t, size_t i);
// Fixes the codes: scales and zeros alone are trained from here on. SQ_ERR_MEMORY.
enum sq_status sq_tune_freeze(struct sq_tune *t, struct sq_error *err);

// t->value of the parameters; gradients of the parameters from d[n][k], the loss by each value.
void sq_tune_forward(struct sq_tune *t);
void sq_tune_backward(struct sq_tune *t, const float *d);

// Begins a training of steps of the share `rate`; step 1, 2, ... of AdamW (.9, .999, 1e-12, no decay of
// weights), the rate times `part`.
void sq_tune_begin(struct sq_tune *t, double rate);
void sq_tune_step(struct sq_tune *t, size_t step, double part);
