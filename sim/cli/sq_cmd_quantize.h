// SPDX-License-Identifier: Apache-2.0
// Between sq_cmd_quantize.c, the command and the SQ-format, and sq_cmd_quantize_system.c, the
// systems of sq_system.h.
#ifndef SQ_CMD_QUANTIZE_H
#define SQ_CMD_QUANTIZE_H

#include "sim/cli/sq_cli_system.h"
#include "sim/llm/sq_checkpoint.h"

struct sq_quantize_arguments {
    struct sq_cli_format format;
    struct sq_cli_system system;
    const char *model;  // NULL: the embedded one
    const char *output; // NULL: report only
    const char *calib;  // NULL: beside the model
    size_t algorithm;   // SQ_CLI_RTN, ...
    size_t score;       // SQ_CLI_NOT_GIVEN
    double percdamp;    // < 0: not given
    unsigned jobs;
    bool is_json;
    bool is_algorithm_given;
    struct sq_error *err;
};

// Whether the checkpoint says that its weights are "synthetic", else "real".
const char *sq_quantize_source(const struct sq_checkpoint *ck);

// With in->format.system: the options alone, then the work.
enum sq_status sq_quantize_system_check(const struct sq_quantize_arguments *in,
                                        struct sq_error *err);
enum sq_status sq_quantize_system(const struct sq_quantize_arguments *in,
                                  const struct sq_checkpoint *ck, const char *model,
                                  struct sq_error *err);

#endif
