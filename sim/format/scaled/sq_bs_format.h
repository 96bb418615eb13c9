// SPDX-License-Identifier: Apache-2.0
// What the block-scaled formats share (models/scaled/sq_bs.h, SPEC Q): options, encoding, product, files,
// time and traffic. Their tables are in sq_mx_format.c, sq_nv_format.c and sq_b_format.c;
// one more is a line of sq_formats.c and a file beside them.
//
// Files: `codes` U8 [N][bytes of a row], `scale` U8 [N][K / block]; sq_b: `high` U8, `mask` U8
// (split), `scale_high` U8 (high scale of the bank); mxplus: `place` U8; nv*, sq_b: `global` F32
// [1], `global_high` F32 [N] or [1]; static scales of activations: `act_global` F32 [2]. The
// streams are those of models/scaled/sq_bs_pack.h.
#pragma once

#include "models/scaled/sq_bs_like.h"
#include "models/scaled/sq_bs_pack.h"
#include "models/scaled/sq_bs_table.h"
#include "models/scaled/sq_scaled.h"
#include "sim/format/scaled/sq_bs_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_sum_device.h"

// What one format of the family is, beside the others: its table points here.
struct sq_bs_variant {
    struct sq_bs_format blocks; // but for what options say
    // Options that only this one has, into *f; NULL: none.
    void (*choose)(const struct sq_recipe *r, struct sq_bs_format *f);
    enum sq_status (*settle)(const struct sq_recipe *r, struct sq_error *err); // refusals; or NULL
    // Numbers in files, behind those of all; returns how many. May be NULL.
    size_t (*numbers)(struct sq_recipe *r, struct sq_metadata_value *value);
    void (*text)(const struct sq_recipe *r, char text[96]); // NULL: name, element, block
};

// The whole table of one: SQ_BS_FORMAT(mxfp4, options, .blocks = {...}, ...members of the kind).
#define SQ_BS_FORMAT(name_, option_, ...)                                                          \
    const struct sq_format_ops sq_format_##name_ = {                                               \
        SQ_BS_FORMAT_MEMBERS(#name_, option_),                                                     \
        .variant = &(const struct sq_bs_variant){__VA_ARGS__},                                     \
    }
#define SQ_BS_FORMAT_MEMBERS(name_, option_)                                                       \
    .name = (name_), .option = (option_), .uncalibrated = "--algorithm rtn",                       \
    .settle = sq_bs_settle, .text = sq_bs_text, .values = &sq_bs_coded, .file = &sq_bs_stored,     \
    .vectors = sq_bs_vectors, .routes = &sq_bs_routes, .cost = &sq_bs_timed

// The format of the blocks of weights: that of the kind, with what the options say.
struct sq_bs_format sq_bs_of(const struct sq_recipe *r);
struct sq_bs_format sq_bs_act_of(const struct sq_recipe *r); // of activations
unsigned sq_bs_rotation_of(const struct sq_recipe *r);       // 0, 16 or 32
// How products are summed; kept 0: as SPEC Q.7 has it. SQ_ERR_ARG where the device has no sums of the elements.
enum sq_status sq_bs_sum_of(const struct sq_recipe *r, struct sq_sum_rule *rule,
                            struct sq_error *err);
// What the engine takes for the scales of high elements.
enum sq_scaled_high sq_bs_engine_high(const struct sq_bs_format *f);
// How the engine multiplies an element, and what its codes stand for where it is a table; its scale. A kind whose blocks
// say by a sign what codes stand for is an element of its own.
enum sq_scaled_element sq_bs_engine_element(const struct sq_bs_format *f,
                                            unsigned words[SQ_SCALED_TABLE_WORDS]);
enum sq_scaled_scale sq_bs_engine_scale(const struct sq_bs_format *f);

// ---- the tables -----------------------------------------------------------------------------

extern const struct sq_format_values sq_bs_coded;
extern const struct sq_format_file sq_bs_stored;
extern const struct sq_format_cost sq_bs_timed;
extern const struct sq_format_routes sq_bs_routes;
enum sq_status sq_bs_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                            struct sq_error *err);
void sq_bs_text(const struct sq_recipe *r, char text[96]);
enum sq_status sq_bs_recipe_check(const struct sq_recipe *r, struct sq_error *err);
enum sq_status sq_bs_hardware_check(const struct sq_recipe *r, struct sq_error *err); // and RTL
unsigned sq_bs_needs(const struct sq_recipe *r);
size_t sq_bs_recipe_padded(const struct sq_recipe *r, size_t k_orig);
enum sq_status sq_bs_vectors(const struct sq_recipe *recipe, uint64_t seed, struct sq_vectors *v,
                             struct sq_error *err);
// The scale above the blocks of activations, as a file stores it.
size_t sq_bs_act_scale_number(struct sq_recipe *r, struct sq_metadata_value *value);
// What the state of a layer, operand both, holds and does: its weights, which stay the layer's; and tokens
// x[m][k_orig] as it encodes them, which the caller frees, after a failure as well.
const struct sq_bs *sq_bs_layer_weights(const void *state);
enum sq_status sq_bs_layer_encode(const void *state, const float *x, size_t m, struct sq_bs *a,
                                  struct sq_error *err);
void sq_bs_rows_free(struct sq_bs *c);
size_t sq_bs_numbers(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX]);

// ---- rows of option tables ------------------------------------------------------------------

enum {
    SQ_BS_CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE,
    SQ_BS_SEEN = SQ_IN_EVAL | SQ_IN_QUANTIZE | SQ_IN_FILE, // encoded: here or in a file
};
extern const char *const sq_bs_algorithm_choice[], *const sq_bs_operand_choice[],
                                                       *const sq_bs_rotation_choice[],
                                                           *const sq_bs_act_scale_choice[],
                                                               *const sq_bs_accumulate_choice[];

// clang-format off
#define SQ_BS_OWN(field) SQ_OWN(sq_bs_recipe, field)
#define SQ_BS_HEAD                                                                                 \
    SQ_WORD("algorithm", SQ_BS_CODED | SQ_IN_SWEEP, SQ_BS_CODED, sq_bs_algorithm_choice, 0,        \
            SQ_ALGORITHM_RTN, SQ_FIELD(algorithm), "weights by rounding to nearest, or by GPTQ"),  \
    SQ_SAID("algorithm", SQ_IN_FILE, "file")
#define SQ_BS_TAIL                                                                                 \
    SQ_WORD("operand", SQ_BS_CODED | SQ_IN_RUN, SQ_BS_SEEN | SQ_IN_RUN, sq_bs_operand_choice, 0, SQ_OPERAND_BOTH,          \
            SQ_FIELD(operand), "what is encoded; the other side is binary32, in run INT4 weights"),                     \
    SQ_WORD("rotate", SQ_BS_CODED, SQ_BS_SEEN, sq_bs_rotation_choice, 0, 0, SQ_BS_OWN(rotation),   \
            "both sides times a Hadamard matrix of this size; "                                    \
            "16-integer: activations in integers with one exponent"),                                  \
    SQ_REAL("smooth", SQ_BS_CODED, SQ_BS_SEEN, 0, 1, 0.5, SQ_FIELD(alpha),                         \
            "SmoothQuant with this exponent (none)",                                               \
            .flag = offsetof(struct sq_recipe, is_smooth), .off = "none",                          \
            .absent = "has no smoothing"),                                                         \
    SQ_REAL("percdamp", SQ_BS_CODED, 0, 0, 1, 0.01, SQ_FIELD(percdamp),                            \
            "gptq: damping of the Hessian")
#define SQ_BS_ACT_SCALE                                                                            \
    SQ_WORD("act-scale", SQ_BS_CODED, SQ_BS_SEEN, sq_bs_act_scale_choice, 0, 0,                    \
            SQ_BS_OWN(act_scale),                                                                  \
            "scale above the blocks of activations: of each token, one of the calibration, or of "   \
            "each token the next power of two")
#define SQ_BS_LIKE                                                                                 \
    SQ_WORD("like", SQ_BS_CODED, SQ_BS_CODED, sq_bs_like_choice, 0, SQ_BS_LIKE_SPEC,               \
            SQ_BS_OWN(like),                                                                       \
            "weights with the arithmetic of another program's encoder, operation by operation "    \
            "(SPEC Q.10)")
#define SQ_BS_ACCUMULATE                                                                           \
    SQ_WORD("sum", SQ_IN_EVAL | SQ_IN_RUN, SQ_IN_EVAL, sq_sum_choice, 0, 0, SQ_BS_OWN(sum),                    \
            "products are summed as this device does it (`sqsim explain sum`, SPEC Q.11); in run the PE that does"),        \
    SQ_WORD("accumulate", SQ_IN_EVAL, SQ_IN_EVAL, sq_bs_accumulate_choice, 0, 0,                   \
            SQ_BS_OWN(accumulate),                                                                 \
            "sums with so many fraction bits that are kept of aligned products, whose exponents "  \
            "are those of their values (SPEC Q.11); 52 is as good as all"),                        \
    SQ_UINT("chunk", SQ_IN_EVAL, SQ_IN_EVAL, 8, SQ_SUM_STEP_MAX, 32, SQ_BS_OWN(chunk),             \
            "products that --accumulate aligns together")
// clang-format on
