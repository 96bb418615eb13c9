// SPDX-License-Identifier: Apache-2.0
// How one linear layer is quantized, and its product in the bit-exact integers of that format.
//
//   weights     activations        weight grid       activation grid
//   dense       dense, 16 bit      dense             dense 4..8, or binary16
//   sq_w        dense              own, tied, split  dense (own: 4 or 8)
//   sq_w fp     fp8                fp                fp8
//   sq_a        own, tied, split   dense             one mask of channels, or one per token
//
// The other systems (2:4, GQSA, SpQt, SpQR) are no grids: sq_system.h.
//
// Results do not depend on the number of threads.
#ifndef SQ_RECIPE_H
#define SQ_RECIPE_H

#include "models/quant/sq_calibration.h"
#include "models/quant/sq_gptq.h"
#include "models/quant/sq_prune24.h"
#include "models/sq_codes.h"
#include "sim/format/sq_trace.h"

// What the weights are stored as. GRID: by `weight` and `act` below.
enum sq_system {
    SQ_SYSTEM_GRID,
    SQ_SYSTEM_SP24,
    SQ_SYSTEM_GQSA,
    SQ_SYSTEM_SPQT,
    SQ_SYSTEM_SPQR,
    SQ_SYSTEMS
};

struct sq_recipe {
    enum sq_system system; // 0: GRID
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
    // sp24, gqsa
    enum sq_prune prune;   // what is pruned first
    double sparsity;       // gqsa: share of the groups that is pruned
    bool is_row_balanced;  // gqsa: in every row the same number of groups
    bool is_lite;          // gqsa: survivors and scales refitted (SPEC F.7 b, c), not is_gptq
    double dense_fraction; // sp24: share of the layers that stays dense, by sensitivity
    // spqt: `sparsity` is the share of activations below the threshold
    unsigned workers;             // of a superblock row, 0: 64
    bool is_prefill_dense;        // every token as in prefill: no column is skipped
    bool is_greedy;               // a sparsity per layer (sq_spqt_greedy.h), of mean `sparsity`
    const double *layer_sparsity; // by layer of the model, of the caller; NULL: all `sparsity`
    // spqr
    double outliers;      // threshold over the mean error that a column may make, 0: 0.2
    unsigned is_absolute; // 0, 1: outliers stored as the published encoder has them
    unsigned is_ptcsr;    // 0, 1: outliers stored as PTCSR
};

// W4A8, G = 128, GPTQ with percdamp .01, no smoothing.
struct sq_recipe sq_recipe_default(void);
// SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE, SQ_ERR_SHAPE with the field.
enum sq_status sq_recipe_check(const struct sq_recipe *r, struct sq_error *err);
bool sq_recipe_needs_calibration(const struct sq_recipe *r); // any use of a calibration
// K rounded up to whole groups and banks.
size_t sq_recipe_padded(const struct sq_recipe *r, size_t k_orig);
// What of enum sq_need (sq_system.h) the recipe needs; 0 without calibration.
unsigned sq_recipe_needs(const struct sq_recipe *r);

// ---- one layer ------------------------------------------------------------------------------

struct sq_quant_layer {
    struct sq_codes w;
    struct sq_operand packed; // grid own: the same as packed SQ-format, what the datapath reads
    float *sigma;             // [k_orig], NULL where not smoothed
    uint8_t *mask;            // [k], the static channel mask, NULL where there is none
    // Other systems: their encoding; of `w` only n, k and k_orig are then set.
    const struct sq_system_ops *ops;
    void *state;
};

// What the layers that share an input have in common; the members belong to the caller.
struct sq_quant_input {
    const struct sq_calibration *calibration; // NULL where the recipe needs none
    const float *sigma;                       // NULL where not smoothed
    const struct sq_factor *factor;           // NULL for round to nearest
    const float *sample;                      // [n_sample][k] tokens of the calibration, or NULL
    size_t n_sample;
    bool is_dense; // sp24: this layer stays dense
    size_t layer;  // of the model
};

// w[n][k], as the model has it; *w is scaled by sigma. Free with sq_quant_layer_free; after a
// failure *q is empty.
enum sq_status sq_quant_layer_init(struct sq_quant_layer *q, const struct sq_recipe *r, float *w,
                                   size_t n, size_t k, const struct sq_quant_input *in,
                                   struct sq_error *err);
void sq_quant_layer_free(struct sq_quant_layer *q);
// Stored bits of the layer, every index and scale counted; NaN for the grids tied, split and fp, of
// which no packed form exists.
double sq_quant_layer_nbits(const struct sq_quant_layer *q);

// y[m][n] of x[m][k_orig].
enum sq_status sq_quant_layer_apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err);

// Mean share of a token's own k largest channels of a bank that the static mask holds (SPEC J.4).
enum sq_status sq_quant_layer_recall(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                     const float *x, size_t m, double *recall,
                                     struct sq_error *err);

#endif
