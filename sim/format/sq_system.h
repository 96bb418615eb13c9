// SPDX-License-Identifier: Apache-2.0
// The systems that are no grid of codes (2:4, GQSA, SpQt, SpQR) as recipe, evaluation and files see
// them: one table of functions each, in sim/sq_system_<name>.c. To add one, define its table there
// and name it in sq_system.c.
//
// A layer's encoding is an opaque state that its system makes, multiplies, measures, writes and
// reads back. sq_recipe.c dispatches; nothing else knows the systems apart.
#ifndef SQ_SYSTEM_H
#define SQ_SYSTEM_H

#include "sim/format/sq_recipe.h"
#include "sim/io/sq_safetensors.h"

// What of a layer's input init() wants in struct sq_quant_input.
enum sq_need {
    SQ_NEED_INPUTS = 1,      // calibration: abs_max, abs_sum, n_tokens
    SQ_NEED_HESSIAN = 1 | 2, // calibration->xtx as well
    SQ_NEED_FACTOR = 3 | 4,  // factor as well
    SQ_NEED_SAMPLE = 8,      // sample[n_sample][k]: the first tokens of the calibration
};

// One tensor of a layer's encoding: "values" becomes "<layer>.values" in a file.
struct sq_system_part {
    const char *name;
    enum sq_dtype dtype;
    unsigned n_dims;
    uint64_t dim[3];
    const void *data;
};
#define SQ_SYSTEM_PARTS 8u  // most of one layer
#define SQ_SYSTEM_VALUES 4u // most numbers of a recipe in the metadata of a file

// A layer in a file on its way in.
struct sq_system_source {
    const struct sq_safetensors *file;
    const char *layer;
    size_t n, k_orig;
};

// A whole number of the recipe under its name in the metadata.
struct sq_system_value {
    const char *key;
    unsigned *number;
    unsigned min, max;
};

// A figure of one layer's encoding that only this system has.
struct sq_system_figure {
    const char *key;
    double value;
};
#define SQ_SYSTEM_FIGURES 6u

struct sq_system_ops {
    const char *name; // the fixed format name: "sp24"

    // The recipe's fields that the system uses; SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE with the field.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);
    unsigned (*needs)(const struct sq_recipe *r); // of enum sq_need, 0: nothing

    // *state of w[n][k]; NULL after a failure. Refuses shapes
    // the system does not have (SQ_ERR_SHAPE) and what is not finite.
    enum sq_status (*init)(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err);
    void (*free)(void *state); // NULL is harmless

    // y[m][n] of x[m][k], bit-exact and independent of how tokens are split into calls; 1..128
    // tokens, called from several threads at once.
    enum sq_status (*apply)(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err);

    // K as stored, of a layer of k_orig columns.
    size_t (*padded)(const struct sq_recipe *r, size_t k_orig);
    // Every stored bit of the layer: codes, indices, scales, padding.
    double (*stored_nbits)(const void *state);
    // Row `row` as the values it stands for, out[k]: for weight errors.
    void (*decode_row)(const void *state, size_t row, float *out);

    // Figures that quantize prints per layer; returns how many. NULL where there are none.
    size_t (*figures)(const void *state, struct sq_system_figure figure[SQ_SYSTEM_FIGURES]);

    // ---- files (SPEC O.1) ---------------------------------------------------------------------
    // The tensors, valid as long as the state; returns how many.
    size_t (*parts)(const void *state, struct sq_system_part part[SQ_SYSTEM_PARTS]);
    // Back from a file, copied and validated: what apply() relies on.
    enum sq_status (*load)(void **state, const struct sq_recipe *r,
                           const struct sq_system_source *s, struct sq_error *err);
    // Numbers of the recipe that a file must carry so that it can be read and multiplied, as
    // metadata keys. They are stored and set through `value`; NULL where there are none.
    size_t (*values)(struct sq_recipe *r, struct sq_system_value value[SQ_SYSTEM_VALUES]);
};

// NULL for SQ_SYSTEM_GRID and for a system that is not built yet.
const struct sq_system_ops *sq_system_ops(enum sq_system system);
// The system of a format name, SQ_SYSTEM_GRID where no other has it.
enum sq_system sq_system_find(const char *name);

extern const struct sq_system_ops sq_system_sp24, sq_system_gqsa;
extern const struct sq_system_ops sq_system_spqt, sq_system_spqr;

// "<layer>.<part>" of a source with this dtype and shape (SQ_ERR_DAMAGED where it is missing,
// SQ_ERR_STREAM_LEN for another shape); a dimension of SIZE_MAX may have any length.
enum sq_status sq_system_part_find(const struct sq_system_source *s, const char *part,
                                   enum sq_dtype dtype, unsigned n_dims, const size_t *dim,
                                   const struct sq_tensor **t, struct sq_error *err);

#endif
