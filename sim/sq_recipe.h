// SPDX-License-Identifier: Apache-2.0
// How one linear layer is quantized, and its product in the bit-exact integers of that format.
//
//   weights     activations        weight grid       activation grid
//   dense       dense, 16 bit      dense             dense 4..8, or binary16
//   sq_w        dense              own, tied, split  dense (own: 4 or 8)
//   sq_w fp     fp8                fp                fp8
//   sq_a        own, tied, split   dense             one mask of channels, or one per token
//
// Results do not depend on the number of threads.
#ifndef SQ_RECIPE_H
#define SQ_RECIPE_H

#include "sq_calibration.h"
#include "sq_codes.h"
#include "sq_gptq.h"
#include "sq_trace.h"

struct sq_recipe {
    struct sq_grid weight, act;
    bool is_act_f16;              // binary16 activations; `act` is then ignored
    unsigned bank, high_per_bank; // of the mixed operand; 0 where none is mixed
    unsigned group;               // weight elements per scale; 0 = whole row
    enum sq_select select;        // mixed activations
    bool is_mask_by_act;          // static mask by mean |x| alone, not by mean |x| * mean |w|
    bool is_gptq;                 // GPTQ or SQ Algorithm 1; else round to nearest
    struct sq_gptq gptq;          //
    double percdamp;              // of the Hessian
    bool is_smooth;               // SmoothQuant first
    double alpha;                 // 0..1
};

// W4A8, G = 128, GPTQ with percdamp .01, no smoothing.
struct sq_recipe sq_recipe_default(void);
// SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE, SQ_ERR_SHAPE with the field.
enum sq_status sq_recipe_check(const struct sq_recipe *r, struct sq_error *err);
bool sq_recipe_needs_calibration(const struct sq_recipe *r); // any use of a calibration
// K rounded up to whole groups and banks.
size_t sq_recipe_padded(const struct sq_recipe *r, size_t k_orig);

// ---- one layer ------------------------------------------------------------------------------

struct sq_quant_layer {
    struct sq_codes w;
    struct sq_operand packed; // grid own: the same as packed SQ-format, what the datapath reads
    float *sigma;             // [k_orig], NULL where not smoothed
    uint8_t *mask;            // [k], the static channel mask, NULL where there is none
};

// What the layers that share an input have in common; the members belong to the caller.
struct sq_quant_input {
    const struct sq_calibration *calibration; // NULL where the recipe needs none
    const float *sigma;                       // NULL where not smoothed
    const struct sq_factor *factor;           // NULL for round to nearest
};

// w[n][k], as the model has it; *w is scaled by sigma. Free with sq_quant_layer_free; after a
// failure *q is empty.
enum sq_status sq_quant_layer_init(struct sq_quant_layer *q, const struct sq_recipe *r, float *w,
                                   size_t n, size_t k, const struct sq_quant_input *in,
                                   struct sq_error *err);
void sq_quant_layer_free(struct sq_quant_layer *q);

// y[m][n] of x[m][k_orig].
enum sq_status sq_quant_layer_apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err);

// Mean share of a token's own k largest channels of a bank that the static mask holds (SPEC J.4).
enum sq_status sq_quant_layer_recall(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                     const float *x, size_t m, double *recall,
                                     struct sq_error *err);

#endif
