// SPDX-License-Identifier: Apache-2.0
// What the block-scaled formats share (models/sq_bs.h, SPEC Q): options, encoding, product, files,
// time and traffic. Their tables are in sq_mx_format.c, sq_nv_format.c and sq_b_format.c.
//
// Files: `codes` U8 [N][bytes of a row], `scale` U8 [N][K / block]; sq_b: `high` U8, `mask` U8
// (split), `scale_high` U8 (high scale of the bank); mxplus: `place` U8; nv*, sq_b: `global` F32
// [1], `global_high` F32 [N] or [1]; static scales of activations: `act_global` F32 [2]. The
// streams are those of models/sq_bs_pack.h.
#ifndef SQ_BS_FORMAT_H
#define SQ_BS_FORMAT_H

#include "models/sq_bs_pack.h"
#include "sim/format/sq_format_ops.h"

// The format of the blocks: that of the name, with what the options say.
struct sq_bs_format sq_bs_of(const struct sq_recipe *r);
unsigned sq_bs_rotation_of(const struct sq_recipe *r); // 0, 16 or 32

// ---- members of struct sq_format_ops --------------------------------------------------------

enum sq_status sq_bs_settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                            struct sq_error *err);
void sq_bs_text(const struct sq_recipe *r, char text[96]);
enum sq_status sq_bs_recipe_check(const struct sq_recipe *r, struct sq_error *err);
unsigned sq_bs_needs(const struct sq_recipe *r);
size_t sq_bs_recipe_padded(const struct sq_recipe *r, size_t k_orig);
void sq_bs_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
void sq_bs_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m, uint64_t k,
                struct sq_cost_unit *u);
void sq_bs_weight_nbytes(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                         const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
double sq_bs_act_nbits(const struct sq_recipe *r);
unsigned sq_bs_n_act_scales(const struct sq_recipe *r); // binary32 a token
double sq_bs_equivalent_bits(const struct sq_recipe *r);

enum sq_status sq_bs_layer_init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                                size_t k, const struct sq_quant_input *in, struct sq_error *err);
void sq_bs_layer_free(void *state);
enum sq_status sq_bs_layer_apply(const void *state, const struct sq_recipe *r, const float *x,
                                 size_t m, float *y, struct sq_error *err);
void *sq_bs_layer_outline(const struct sq_recipe *r, size_t n, size_t k);
void sq_bs_layer_decode_row(const void *state, size_t row, float *out);
size_t sq_bs_layer_parts(const void *state, struct sq_part part[SQ_PARTS_MAX]);
enum sq_status sq_bs_layer_load(void **state, const struct sq_recipe *r,
                                const struct sq_part_source *s, struct sq_error *err);

#define SQ_BS_MEMBERS                                                                              \
    .uncalibrated = "--algorithm rtn", .settle = sq_bs_settle, .text = sq_bs_text,                 \
    .has_smoothing = true, .check = sq_bs_recipe_check, .needs = sq_bs_needs,                      \
    .init = sq_bs_layer_init, .free = sq_bs_layer_free, .apply = sq_bs_layer_apply,                \
    .padded = sq_bs_recipe_padded, .outline = sq_bs_layer_outline,                                 \
    .decode_row = sq_bs_layer_decode_row, .has_file = true, .parts = sq_bs_layer_parts,            \
    .load = sq_bs_layer_load, .check_cost = sq_bs_recipe_check, .unit = sq_bs_unit,                \
    .pe = sq_bs_pe, .weight_nbytes = sq_bs_weight_nbytes, .act_nbits = sq_bs_act_nbits,            \
    .n_act_scales = sq_bs_n_act_scales, .equivalent_bits = sq_bs_equivalent_bits

// ---- rows of option tables ------------------------------------------------------------------

enum {
    SQ_BS_CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE,
    SQ_BS_SEEN = SQ_IN_EVAL | SQ_IN_QUANTIZE | SQ_IN_FILE, // encoded: here or in a file
};
extern const char *const sq_bs_algorithm_choice[],
    *const sq_bs_operand_choice[], *const sq_bs_rotation_choice[], *const sq_bs_act_scale_choice[];

// clang-format off
#define SQ_BS_HEAD                                                                                 \
    SQ_WORD("algorithm", SQ_BS_CODED | SQ_IN_SWEEP, SQ_BS_CODED, sq_bs_algorithm_choice, 0,        \
            SQ_ALGORITHM_RTN, algorithm, "weights by rounding to nearest, or by GPTQ"),            \
    SQ_SAID("algorithm", SQ_IN_FILE, "file")
#define SQ_BS_TAIL                                                                                 \
    SQ_WORD("operand", SQ_BS_CODED, SQ_BS_SEEN, sq_bs_operand_choice, 0, SQ_OPERAND_BOTH,          \
            bs.operand, "what is encoded; the other side is binary32"),                            \
    SQ_WORD("rotate", SQ_BS_CODED, SQ_BS_SEEN, sq_bs_rotation_choice, 0, 0, bs.rotation,           \
            "both sides times a Hadamard matrix of this size"),                                     \
    SQ_REAL("smooth", SQ_BS_CODED, SQ_BS_SEEN, 0, 1, 0.5, alpha,                                    \
            "SmoothQuant with this exponent (none)",                                                \
            .flag = offsetof(struct sq_recipe, is_smooth), .off = "none",                          \
            .absent = "has no smoothing"),                                                         \
    SQ_REAL("percdamp", SQ_BS_CODED, 0, 0, 1, 0.01, percdamp, "gptq: damping of the Hessian")
#define SQ_BS_ACT_SCALE                                                                            \
    SQ_WORD("act-scale", SQ_BS_CODED, SQ_BS_SEEN, sq_bs_act_scale_choice, 0, 0, bs.is_act_static,  \
            "scale above the blocks of activations: of each token, or one of the calibration")
// clang-format on

// Numbers in files: those of a table in its order; returns how many.
size_t sq_bs_values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX]);

#endif
