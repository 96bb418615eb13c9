// SPDX-License-Identifier: Apache-2.0
// What the formats on a grid of codes share (dense, sq_w, sq_a_*): options, encoding, product. Own
// weights are held packed, as the datapath reads them; all others as codes.
#pragma once

#include "models/number/sq_codes_pack.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/format/sq_cells.h"
#include "sim/format/sq_format_ops.h"

// The state of a layer.
struct sq_grid_layer {
    struct sq_codes w;
    struct sq_operand packed; // grid own: the same as packed SQ-format, what the datapath reads
    uint8_t *mask;            // [w.k], the static channel mask, NULL where there is none
    float *values;            // [w.n][w.k_orig], where one side is not encoded; NULL otherwise
    struct sq_cells cells;    // the weights as products read them; none: 16-bit sides, fp
    unsigned rotation;        // by a Hadamard matrix of this size, 0: none
    // As stored; NULL where there is none.
    uint8_t *stream[SQ_CODES_STREAMS]; // of weights that are not packed
    uint8_t *mask_bits;
    uint32_t *perm; // [2][w.k]: the n_high channels of the mask; from w.k on the others
    size_t n_high;
    unsigned stored_bits, scale_nbytes; // of the recipe
};
// The state of a layer of one of these formats.
struct sq_grid_layer *sq_grid_layer_of(const struct sq_quant_layer *q);
extern const char *const sq_group_choice[],
    *const sq_operand_choice[], *const sq_rotation_choice[], *const sq_algorithm_choice[],
                                                                 *const sq_variant_choice[],
                                                                     *const sq_score_choice[];

// What a file holds, from codes and mask.
enum sq_status sq_grid_store(struct sq_grid_layer *q, struct sq_error *err);
// q->cells, from codes or packed weights; nothing where the recipe makes no product of codes.
enum sq_status sq_grid_prepare(struct sq_grid_layer *q, const struct sq_recipe *r,
                               struct sq_error *err);

// ---- the tables -----------------------------------------------------------------------------

// What one of them is beside the others: its table points here. All false: plain codes.
struct sq_grid_variant {
    bool mixes_weights, mixes_act; // high and low codes
    bool is_by_token;              // mixes_act: each token has a mask of its own
};

extern const struct sq_format_values sq_grid_coded;
extern const struct sq_format_values sq_grid_masked; // of layers with one mask of channels
extern const struct sq_format_file sq_grid_stored;
extern const struct sq_format_file sq_grid_packed; // also in the packed SQ-format
enum sq_status sq_grid_apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                             float *y, struct sq_error *err);
enum sq_status sq_grid_apply_shared(const void *const *state, size_t n, const struct sq_recipe *r,
                                    const float *x, size_t m, float *const *y,
                                    struct sq_error *err);
unsigned sq_grid_stored_bits(const struct sq_recipe *r); // of a code, in its file
double sq_grid_equivalent_bits(const struct sq_recipe *r);
void sq_grid_demand(const struct sq_recipe *r, struct sq_demand *d); // of dense weights

// ---- sides that stay as they are, rotations (sq_grid_values.c) ---------------------------------

// x[m][k], each row rotated, in memory the caller frees. SQ_ERR_SHAPE where rotation does not
// divide k.
enum sq_status sq_grid_rotated(unsigned rotation, const float *x, size_t m, size_t k, float **out,
                               struct sq_error *err);
// q->values from the codes, or operand act: from w.
enum sq_status sq_grid_keep_values(struct sq_grid_layer *q, const struct sq_recipe *r,
                                   const float *w, struct sq_error *err);
// Codes of m tokens, without their memory.
struct sq_codes sq_grid_act_codes(const struct sq_grid_layer *q, const struct sq_recipe *r,
                                  size_t m);

// ---- settling -------------------------------------------------------------------------------

// --smooth, which is on where nobody says if is_smoothed, and --percdamp; the banks of the mixed
// operand.
enum sq_status sq_grid_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                              bool is_smoothed, struct sq_error *err);
enum sq_status sq_grid_settle_banks(struct sq_recipe *r, struct sq_error *err);
// ---- rows of option tables ------------------------------------------------------------------

#define SQ_NO_BANKS "has no banks, high or low codes"
#define SQ_NEED_GPTQ "has none: scores and lazy masks need --format sq_w --algorithm gptq"

// clang-format off
#define SQ_GRID_CODED (SQ_IN_EVAL | SQ_IN_QUANTIZE)
#define SQ_GRID_SEEN (SQ_GRID_CODED | SQ_IN_FILE)

#define SQ_GRID_FIELD(field) SQ_OWN(sq_grid_recipe, field)

// What is shown of a grid, encoded here or in a file, and what its encoding is told.
#define SQ_GRID_HEAD                                                                               \
    SQ_WORD("algorithm", SQ_GRID_CODED | SQ_IN_SWEEP, SQ_GRID_CODED, sq_algorithm_choice, 0,       \
            SQ_ALGORITHM_GPTQ, SQ_FIELD(algorithm),                                                \
            "weights by rounding to nearest, or compensated (sq_w: SQ Algorithm 1)"),              \
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),                                                      \
    {.name = "weight", .kind = SQ_OPTION_GRID, .shown = SQ_GRID_SEEN, SQ_GRID_FIELD(weight)},      \
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_GRID_SEEN}
#define SQ_GRID_GROUP(taken, shown)                                                                \
    SQ_NUMBER("group", taken, shown, sq_group_choice, 128, SQ_FIELD(group), "weights per scale")
#define SQ_GRID_TAIL                                                                               \
    {.name = "high-per-bank", .kind = SQ_OPTION_UINT, .shown = SQ_GRID_SEEN,                       \
     SQ_FIELD(high_per_bank), .by = "sparsity"},                                                   \
    SQ_REAL("smooth", SQ_GRID_CODED, SQ_GRID_SEEN, 0, 1, 0.5, SQ_FIELD(alpha),                     \
            "SmoothQuant with this exponent (0.5 in Algorithm 1, sq_w by gptq, and 2, "            \
            "sq_a_static; none elsewhere)", .flag = offsetof(struct sq_recipe, is_smooth),         \
            .off = "none", .absent = "has no smoothing"),                                          \
    SQ_WORD("operand", SQ_GRID_CODED, SQ_GRID_SEEN, sq_operand_choice, 0, SQ_OPERAND_BOTH,         \
            SQ_FIELD(operand), "what is encoded; the other side is binary32"),                     \
    SQ_WORD("rotate", SQ_GRID_CODED, SQ_GRID_SEEN, sq_rotation_choice, 0, 0,                       \
            SQ_GRID_FIELD(rotation),                                                               \
            "both sides times a Hadamard matrix of this size"),                                    \
    SQ_REAL("percdamp", SQ_GRID_CODED, 0, 0, 1, 0.01, SQ_FIELD(percdamp),                          \
            "gptq: damping of the Hessian")

// Bits and share of the two parts of `grid`, the mixed operand, taken in `scopes`.
#define SQ_BANK_OPTION(taken, shown)                                                               \
    SQ_UINT("bank", taken, shown, SQ_BANK_MIN, SQ_BANK_MAX, 32, SQ_FIELD(bank),                    \
            "elements per bank, a power of two", .absent = SQ_NO_BANKS)
#define SQ_BANK_BITS(AT, grid, scopes)                                                             \
    SQ_UINT("high-bits", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 4, 8, 8, AT(grid.high_bits),          \
            "bits of a high code, 4 or 8; 12: three nibbles, split activations", .also = 12,       \
            .absent = SQ_NO_BANKS),                                                                \
    SQ_UINT("low-bits", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 2, 4, 4, AT(grid.low_bits),            \
            "bits of a low code", .absent = SQ_NO_BANKS),                                          \
    SQ_BANK_OPTION((scopes) & ~SQ_GRID_CODED, SQ_IN_RUN),                                          \
    {.name = "high-per-bank", .kind = SQ_OPTION_UINT, .shown = SQ_IN_RUN,                          \
     SQ_FIELD(high_per_bank), .by = "sparsity"},                                                   \
    SQ_REAL("sparsity", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 0.5, 0.9375, 0.75,                     \
            SQ_GRID_FIELD(sparsity),                                                               \
            "fraction of low codes: 1/2, 3/4, 7/8 or 15/16")
#define SQ_VARIANT_OPTION(AT, grid)                                                                \
    SQ_WORD("variant", SQ_GRID_CODED, 0, sq_variant_choice, SQ_GRID_OWN,                           \
            SQ_GRID_OWN, AT(grid.kind),                                                            \
            "scales of high and low codes", .absent = SQ_NO_BANKS)
// clang-format on
