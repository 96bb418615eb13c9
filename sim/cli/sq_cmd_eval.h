// SPDX-License-Identifier: Apache-2.0
// Between sq_cmd_eval.c, the command, and sq_cmd_eval_recipe.c, what its options mean.
#ifndef SQ_CMD_EVAL_H
#define SQ_CMD_EVAL_H

#include "sim/cli/sq_cli_system.h"
#include "sim/format/sq_mask_file.h"

enum sq_eval_format {
    SQ_EVAL_DENSE,
    SQ_EVAL_W,
    SQ_EVAL_A_STATIC,
    SQ_EVAL_A_DYNAMIC,
    SQ_EVAL_SP24,
    SQ_EVAL_GQSA,
    SQ_EVAL_SPQT,
    SQ_EVAL_SPQR,
    SQ_EVAL_FORMATS
};
extern const char *const sq_eval_format_name[SQ_EVAL_FORMATS];

struct sq_eval_arguments {
    const char *model, *tokens, *calib, *weights; // NULL: the default
    const char *output;                           // NULL: no file of masks
    struct sq_mask *mask;                         // what was collected for it
    size_t n_masks;
    unsigned n_sequences, n_calib_sequences; // 0: all
    size_t format, variant, algorithm, score, select, mask_score;
    unsigned high_bits, low_bits, bank, group, weight_bits, act_bits; // bits 0: the default
    double sparsity, percdamp, alpha;
    bool is_lazy, is_smooth, is_summary, is_json;
    struct sq_cli_system system;
    bool is_algorithm_given;
    struct sq_error *err;
};

// The recipe of the options, checked. Options that the format would ignore are refused.
enum sq_status sq_eval_recipe(const struct sq_eval_arguments *in, struct sq_recipe *r,
                              struct sq_error *err);
// The recipe of --weights FILE, which says its format itself.
enum sq_status sq_eval_recipe_of_file(struct sq_eval_arguments *in, struct sq_recipe *r,
                                      struct sq_error *err);

#endif
