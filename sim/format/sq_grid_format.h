// SPDX-License-Identifier: Apache-2.0
// What the formats on a grid of codes share (dense, sq_w, sq_a_*): options, encoding, product. Own
// weights are held packed, as the datapath reads them; all others as codes.
#ifndef SQ_GRID_FORMAT_H
#define SQ_GRID_FORMAT_H

#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_trace.h"

// The state of a layer.
struct sq_grid_layer {
    struct sq_codes w;
    struct sq_operand packed; // grid own: the same as packed SQ-format, what the datapath reads
    uint8_t *mask;            // [w.k], the static channel mask, NULL where there is none
};
// Of a layer of one of these formats.
struct sq_grid_layer *sq_grid_layer_of(const struct sq_quant_layer *q);

extern const char *const sq_group_choice[],
    *const sq_algorithm_choice[], *const sq_variant_choice[], *const sq_score_choice[];

// ---- members of struct sq_format_ops --------------------------------------------------------

enum sq_status sq_grid_recipe_check(const struct sq_recipe *r, struct sq_error *err);
unsigned sq_grid_needs(const struct sq_recipe *r);
enum sq_status sq_grid_init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                            size_t k, const struct sq_quant_input *in, struct sq_error *err);
void sq_grid_free(void *state);
enum sq_status sq_grid_apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                             float *y, struct sq_error *err);
enum sq_status sq_grid_apply_all(const void *state, const struct sq_recipe *r, const float *x,
                                 size_t m, float *y, bool *is_done, struct sq_error *err);
size_t sq_grid_padded(const struct sq_recipe *r, size_t k_orig);
double sq_grid_stored_nbits(const void *state);
void sq_grid_decode_row(const void *state, size_t row, float *out);
const uint8_t *sq_grid_mask(const void *state);
double sq_grid_equivalent_bits(const struct sq_recipe *r);
void sq_grid_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                           const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
#define SQ_GRID_VALUES                                                                             \
    .check = sq_grid_recipe_check, .needs = sq_grid_needs, .has_smoothing = true,                  \
    .init = sq_grid_init, .free = sq_grid_free, .apply = sq_grid_apply,                            \
    .apply_all = sq_grid_apply_all, .padded = sq_grid_padded,                                      \
    .stored_nbits = sq_grid_stored_nbits, .decode_row = sq_grid_decode_row, .mask = sq_grid_mask

// ---- settling -------------------------------------------------------------------------------

// --smooth, --percdamp; the grid and the banks of the mixed operand.
enum sq_status sq_grid_settle(struct sq_recipe *r, const struct sq_given *given,
                              struct sq_error *err);
enum sq_status sq_grid_settle_banks(struct sq_recipe *r, struct sq_error *err);
// "SQ(8,4,32,0.75) G=128" or "... G=row".
void sq_banks_text(const struct sq_format *f, char text[64]);

// ---- rows of option tables ------------------------------------------------------------------

#define SQ_NO_BANKS "has no banks, high or low codes"
#define SQ_NEED_GPTQ "has none: scores and lazy masks need --format sq_w --algorithm gptq"

// clang-format off
#define SQ_GRID_SEEN (SQ_IN_EVAL | SQ_IN_FILE)

// What is shown of a grid in eval, and what its encoding is told.
#define SQ_GRID_HEAD                                                                               \
    SQ_WORD("algorithm", SQ_IN_EVAL | SQ_IN_SWEEP, SQ_IN_EVAL, sq_algorithm_choice, 0,             \
            SQ_ALGORITHM_GPTQ, algorithm,                                                          \
            "weights by rounding to nearest, or compensated (sq_w: SQ Algorithm 1)"),              \
    {.name = "weight", .kind = SQ_OPTION_GRID, .shown = SQ_GRID_SEEN, SQ_FIELD(weight)},           \
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_GRID_SEEN}
#define SQ_GRID_GROUP(taken, shown)                                                                \
    SQ_NUMBER("group", taken, shown, sq_group_choice, 128, group, "weights per scale")
#define SQ_GRID_TAIL                                                                               \
    {.name = "high-per-bank", .kind = SQ_OPTION_UINT, .shown = SQ_GRID_SEEN,                       \
     SQ_FIELD(high_per_bank)},                                                                     \
    SQ_REAL("smooth", SQ_IN_EVAL, SQ_GRID_SEEN, 0, 1, 0.5, alpha,                                  \
            "SmoothQuant with this exponent; off where not given",                                 \
            .flag = offsetof(struct sq_recipe, is_smooth), .absent = "has no smoothing"),          \
    SQ_REAL("percdamp", SQ_IN_EVAL | SQ_IN_QUANTIZE, 0, 0, 1, 0.01, percdamp,                      \
            "gptq: damping of the Hessian")

// Bits and share of the two parts of `grid`, the mixed operand, taken in `scopes`.
#define SQ_BANK_OPTION(taken, shown)                                                               \
    SQ_UINT("bank", taken, shown, SQ_BANK_MIN, SQ_BANK_MAX, 32, bank,                              \
            "elements per bank, a power of two", .absent = SQ_NO_BANKS)
#define SQ_BANK_BITS(grid, scopes)                                                                 \
    SQ_UINT("high-bits", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 4, 8, 8, grid.high_bits,              \
            "bits of a high code, 4 or 8", .absent = SQ_NO_BANKS),                                 \
    SQ_UINT("low-bits", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 2, 4, 4, grid.low_bits,                \
            "bits of a low code", .absent = SQ_NO_BANKS),                                          \
    SQ_BANK_OPTION((scopes) & ~SQ_IN_EVAL, SQ_IN_QUANTIZE | SQ_IN_RUN),                            \
    {.name = "high-per-bank", .kind = SQ_OPTION_UINT, .shown = SQ_IN_QUANTIZE | SQ_IN_RUN,         \
     SQ_FIELD(high_per_bank)},                                                                     \
    SQ_REAL("sparsity", scopes, SQ_IN_QUANTIZE | SQ_IN_RUN, 0.5, 0.9375, 0.75, sparsity,           \
            "fraction of low codes: 1/2, 3/4, 7/8 or 15/16")
#define SQ_VARIANT_OPTION(grid)                                                                    \
    SQ_WORD("variant", SQ_IN_EVAL, 0, sq_variant_choice, SQ_GRID_OWN, SQ_GRID_OWN, grid.kind,      \
            "scales of high and low codes", .absent = SQ_NO_BANKS)
// clang-format on

#endif
