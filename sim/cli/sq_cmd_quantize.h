// SPDX-License-Identifier: Apache-2.0
// Between sq_cmd_quantize.c, the command and the SQ-format, and sq_cmd_quantize_parts.c, the
// formats with parts (sq_format_ops.h).
#ifndef SQ_CMD_QUANTIZE_H
#define SQ_CMD_QUANTIZE_H

#include "sim/cli/sq_cli_option.h"
#include "sim/llm/sq_checkpoint.h"

struct sq_quantize_arguments {
    struct sq_cli_options options;
    struct sq_recipe r;     // of the options
    struct sq_format banks; // of it
    const char *model;      // NULL: the embedded one
    const char *output;     // NULL: report only
    const char *calib;      // NULL: beside the model
    unsigned jobs;
    bool is_json;
    struct sq_error *err;
};

// Whether the checkpoint says that its weights are "synthetic", else "real".
const char *sq_quantize_source(const struct sq_checkpoint *ck);

enum sq_status sq_quantize_parts(const struct sq_quantize_arguments *in,
                                 const struct sq_checkpoint *ck, const char *model,
                                 struct sq_error *err);

#endif
