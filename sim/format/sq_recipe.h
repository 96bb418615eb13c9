// SPDX-License-Identifier: Apache-2.0
// How one linear layer is quantized or timed, and its product in the bit-exact integers of its
// format (sq_format_ops.h).
//
//   format            weights           activations
//   dense             dense             dense 4..8, or binary16
//   sq_w              own, tied, split  dense (own: 4 or 8)
//   sq_w, fp          fp                fp8
//   sq_a_*            dense             own, tied, split: one mask of channels, or one per token
//   sp24, gqsa, spqt, spqr: no grids of codes, an encoding of their own
//   mx*, nv*, sq_b    blocks with a scale each (models/scaled/sq_bs.h), one side or both the same
//
// Results do not depend on the number of threads.
#pragma once

#include <stdalign.h>

#include "models/number/sq_grid.h"
#include "models/quant/sq_calibration.h"

struct sq_format_ops;
struct sq_layer_rule;
struct sq_own;
struct sq_cached;

// What an encoding says that got no memory for a layer or tokens of n x k.
#define SQ_NO_LAYER(err, n, k) SQ_NO_MEMORY(err, "a layer of %zu x %zu", (size_t)(n), (size_t)(k))
#define SQ_NEED_LAYER(is, err, n, k)                                                               \
    SQ_NEED(is, err, "a layer of %zu x %zu", (size_t)(n), (size_t)(k))

enum sq_algorithm { SQ_ALGORITHM_RTN, SQ_ALGORITHM_GPTQ, SQ_ALGORITHM_LITE };

// What is encoded; the other side stays binary32.
enum sq_operands { SQ_OPERAND_BOTH, SQ_OPERAND_WEIGHTS, SQ_OPERAND_ACT };

enum { SQ_OPTIONS_NBYTES = 88 };

struct sq_recipe {
    const struct sq_format_ops *format; // one of sq_formats[]
    struct sq_grid act;                 // codes of activations; most formats: the bits alone
    bool is_act_f16;                    // binary16 activations; `act` is then ignored
    unsigned operand;                   // enum sq_operands; a number of files
    unsigned group;                     // weight elements per scale; 0 = whole row
    unsigned bank, high_per_bank;       // elements of a bank, and how many are high; 0: no banks
    enum sq_algorithm algorithm;        // how weights are rounded
    double percdamp;                    // of the Hessian
    bool is_sequential; // calibrated behind quantized layers, not the model as it is
    bool is_smooth;     // SmoothQuant first
    double alpha;       // 0..1
    // layers with a recipe of their own (sq_layer_rule.h), of the caller
    const struct sq_layer_rule *rule;
    size_t n_rules;
    // on a machine: what the rows of the very layer have (sq_cost.h), of the caller; NULL: drawn
    const struct sq_own *rows;
    // on a machine: W is a cache (sq_demand.h), of the caller; NULL: W is a layer
    const struct sq_cached *cached;
    // Everything else is the format's own: the bytes of a struct that its room declares
    // (sq_<family>_recipe.h) and only getters read. They lie in the recipe and not behind a
    // pointer, so that a recipe is copied by assignment and nobody has to free one.
    alignas(double) unsigned char options[SQ_OPTIONS_NBYTES];
};

// The getters of struct NAME_recipe: NAME_recipe(r) to read, NAME_set(r) to write.
#define SQ_RECIPE_OPTIONS(name)                                                                    \
    _Static_assert(sizeof(struct name##_recipe) <= SQ_OPTIONS_NBYTES &&                            \
                       _Alignof(struct name##_recipe) <= _Alignof(double),                         \
                   "options must fit into a recipe: raise SQ_OPTIONS_NBYTES");                     \
    static inline const struct name##_recipe *name##_recipe(const struct sq_recipe *r)             \
    {                                                                                              \
        return (const void *)r->options;                                                           \
    }                                                                                              \
    static inline struct name##_recipe *name##_set(struct sq_recipe *r)                            \
    {                                                                                              \
        return (void *)r->options;                                                                 \
    }

// The fields that all have at their defaults, the options of the format all 0.
struct sq_recipe sq_recipe_of(const struct sq_format_ops *format);
// dense W4A8, G = 128, GPTQ with percdamp .01, no smoothing.
struct sq_recipe sq_recipe_default(void);
// Whether its options leave the model as it is (dense weights of 16 bits).
bool sq_recipe_is_reference(const struct sq_recipe *r);
unsigned sq_recipe_act_bits(const struct sq_recipe *r); // 16: binary16
// Bits, bank and group of the operand with high and low codes.
struct sq_format sq_recipe_banks(const struct sq_recipe *r);
// "SQ(8,4,32,0.75) G=128" or "... G=row".
void sq_banks_text(const struct sq_format *f, char text[64]);
// Whether quantize writes its layers in the packed SQ-format (sq_operand_file.h).
bool sq_recipe_is_packed(const struct sq_recipe *r);
// What heads a table of its layers: name or text.
void sq_recipe_heading(const struct sq_recipe *r, char text[96]);
// SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE, SQ_ERR_SHAPE with the field.
enum sq_status sq_recipe_check(const struct sq_recipe *r, struct sq_error *err);
bool sq_recipe_needs_calibration(const struct sq_recipe *r); // any use of a calibration
// K rounded up to whole groups and banks.
size_t sq_recipe_padded(const struct sq_recipe *r, size_t k_orig);
// What of enum sq_need (sq_format_ops.h) the recipe needs, and those of its rules; 0 without
// calibration.
unsigned sq_recipe_needs(const struct sq_recipe *r);

// ---- one layer ------------------------------------------------------------------------------

struct sq_quant_layer {
    const struct sq_format_ops *format;
    void *state; // its encoding
    size_t n, k; // k: as stored, padded
    size_t k_orig;
    float *sigma;     // [k_orig], NULL where not smoothed
    bool is_unstored; // its weights are those of the model
};

// What the layers that share an input have in common; the members belong to the caller.
struct sq_quant_input {
    const struct sq_calibration *calibration; // NULL where the recipe needs none
    const float *sigma;                       // NULL where not smoothed
    const struct sq_factor *factor;           // NULL for round to nearest
    const float *sample;                      // [n_sample][k] tokens of the calibration, or NULL
    size_t n_sample;
    bool is_dense;          // a scan of the model keeps this layer dense
    const double *sparsity; // of this layer, as a scan of the model chose it; NULL: the recipe's
};

// w[n][k], as the model has it. Free with sq_quant_layer_free; after a failure *q is empty.
enum sq_status sq_quant_layer_init(struct sq_quant_layer *q, const struct sq_recipe *r,
                                   const float *w, size_t n, size_t k,
                                   const struct sq_quant_input *in, struct sq_error *err);
void sq_quant_layer_free(struct sq_quant_layer *q);
// ---- stored bits ----------------------------------------------------------------------------
//
// One definition for every command: eight times the bytes of a layer's tensors in the file that
// quantize writes. That is codes, high codes, indices, masks, offsets, permutations and padding of
// rows; scales and zeros of groups, blocks, rows and tensor; what fixes activations of this layer
// (thresholds, static scales); sigma, 32 bits a channel, of a smoothed layer. Left out are what
// follows from other tensors (perm_hi and perm_lo of sq_a_static: its mask says them), and what is
// of the file and no layer: metadata, header, alignment.
//
// A weight of the model is what they are divided by: n times k_orig, padding is no weight.

// Counts the bits of an encoded layer. NaN for --operand act, whose weights are those of the model.
double sq_quant_layer_nbits(const struct sq_quant_layer *q);
// The same of shape and options alone, as the layer would be encoded: the same tensors, without
// data. Exact, unless sq_recipe_sized_by says what the weights decide.
double sq_recipe_nbits(const struct sq_recipe *r, size_t n, size_t k);
// What of the weights decides the size, of which sq_recipe_nbits takes the share in the recipe:
// "outliers"; NULL: nothing does.
const char *sq_recipe_sized_by(const struct sq_recipe *r);

// Adds what the encoding makes of w[n][k_orig], the weights as the model has them (SPEC J.2).
struct sq_sqnr;
enum sq_status sq_quant_layer_sqnr(const struct sq_quant_layer *q, const float *w,
                                   struct sq_sqnr *sum, struct sq_error *err);

// The static channel mask, [k]; NULL where the layer has none.
const uint8_t *sq_quant_layer_mask(const struct sq_quant_layer *q);

// y[m][n] of x[m][k_orig].
enum sq_status sq_quant_layer_apply(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                    const float *x, size_t m, float *y, struct sq_error *err);

// Layers with one input: query, key and value; gate and up.
enum { SQ_SHARED_LAYERS = 3 };
struct sq_shared_layers {
    size_t n; // 1..SQ_SHARED_LAYERS
    const struct sq_quant_layer *q[SQ_SHARED_LAYERS];
    const struct sq_recipe *r[SQ_SHARED_LAYERS]; // compared by address
    float *y[SQ_SHARED_LAYERS];                  // [m][q->n]
};
// The same y as sq_quant_layer_apply of each; the input is encoded once where that is the same.
enum sq_status sq_quant_layers_apply(const struct sq_shared_layers *l, const float *x, size_t m,
                                     struct sq_error *err);

// Mean share of a token's own k largest channels of a bank that the static mask holds (SPEC J.4).
enum sq_status sq_quant_layer_recall(const struct sq_quant_layer *q, const struct sq_recipe *r,
                                     const float *x, size_t m, double *recall,
                                     struct sq_error *err);
