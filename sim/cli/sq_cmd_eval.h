// SPDX-License-Identifier: Apache-2.0
// What the two files of `sqsim eval` share: its arguments, and what it says.
#ifndef SQ_CMD_EVAL_H
#define SQ_CMD_EVAL_H

#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_text.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/format/sq_mask_file.h"
#include "sim/llm/sq_eval.h"

struct sq_eval_args {
    const char *model, *tokens, *calib, *weights; // NULL: the default
    const char *calib_text;                       // NULL: none
    struct sq_cli_text text;                      // --text, and how texts are cut
    const char *layer_format;                     // NULL: none
    struct sq_layer_rule rule[SQ_LAYER_RULES_MAX];
    const char *output;   // NULL: no file of masks
    struct sq_mask *mask; // what was collected for it
    size_t n_masks;
    unsigned n_sequences, n_calib_sequences; // 0: all
    bool is_sequential, is_summary, is_json;
    struct sq_cli_options options;
    struct sq_error *err;
};

void sq_eval_print_head(const struct sq_recipe *r); // of the table of layers
// A sq_eval_report; context is the struct sq_eval_args, whose masks it collects.
void sq_eval_print_layer(void *context, const struct sq_layer_metrics *m);
// r NULL: the model as it is.
void sq_eval_print_summary(const struct sq_eval_args *in, const struct sq_recipe *r,
                           const struct sq_eval_result *e, const struct sq_divergence *d,
                           const struct sq_tokens *tokens);

#endif
