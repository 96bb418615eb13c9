// SPDX-License-Identifier: Apache-2.0
// What the two files of `sqsim eval` share: its arguments, and what it says.
#pragma once

#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cli_text.h"
#include "sim/format/file/sq_mask_file.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/sq_eval.h"
#include "sim/llm/sq_layer_file.h"

struct sq_eval_args;

// One of the formats of a command.
struct sq_eval_format {
    const struct sq_eval_args *in;
    struct sq_cli_options options;
    const char *weights;       // NULL: quantized here
    struct sq_layer_file file; // open where there are weights
    const char *layer_format;  // NULL: none
    const char *kv_format;     // of the KV cache; NULL: keys and values stay as they are
    bool is_before;            // keys are encoded before their rotation
    unsigned softmax_lanes;    // of a vector unit; 0: binary32 of the host
    struct sq_recipe cache;
    struct sq_layer_rule rule[SQ_LAYER_RULES_MAX];
    struct sq_recipe r;
    bool is_rtn;               // in place of gptq, without calibration tokens
    struct sq_cli_table table; // on stdout, or in text until all of them are done
    char *text;
    size_t n_text;
};

struct sq_eval_args {
    const char *model, *tokens, *calib; // NULL: the default
    const char *calib_text;             // NULL: none
    struct sq_token_source source;      // --text, and how texts are cut
    const char *output;                 // NULL: no file of masks
    struct sq_mask *mask;               // what was collected for it
    size_t n_masks;
    unsigned n_sequences, n_calib_sequences; // 0: all
    unsigned jobs;                           // 0: all processors
    bool is_sequential, is_summary, is_json, is_cache_off, is_progress;
    struct sq_eval_format *format; // [SQ_EVAL_JOBS]
    size_t n_formats;
    struct sq_cli_options options; // of the last of them, while they are read
};

// NULL for the model as it is.
const struct sq_recipe *sq_eval_recipe(const struct sq_eval_format *f);
// The same of the KV cache: NULL where it stays as it is.
const struct sq_recipe *sq_eval_cache(const struct sq_eval_format *f);
// What stands before the layers of a format: its name, where there are several.
void sq_eval_print_head(const struct sq_eval_format *f);
// A sq_eval_report; context is the struct sq_eval_format, whose masks it collects.
void sq_eval_print_layer(void *context, const struct sq_layer_metrics *m);
void sq_eval_print_summary(struct sq_eval_format *f, const struct sq_eval_job *job,
                           const struct sq_checkpoint *ck, const struct sq_tokens *tokens);
