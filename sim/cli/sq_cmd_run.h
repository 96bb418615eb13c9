// SPDX-License-Identifier: Apache-2.0
// The machine half of `sqsim run`: whole workloads on cores, buffers and DRAM. Program code.
#ifndef SQ_CMD_RUN_H
#define SQ_CMD_RUN_H

#include "sim/cli/sq_cli_option.h"
#include "sim/gpu/sq_gpu.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_workload.h"

struct sq_run_request {
    const char *machine;        // path; NULL: sim/machines/default.yaml
    const char *workload;       // path of a table; NULL: the GEMM, or the model
    const char *model;          // path; NULL: traces/tiny-llama
    const char *records;        // path of measured times of a GPU; NULL: none
    struct sq_gemm gemm;        // n = 0: none; m also of the model
    struct sq_core_config core; // options that replace the machine's
    struct sq_recipe recipe;    // of the format
    bool is_causes, is_json;
};

// Times every row and prints it, then the sum; seconds_host is what planning and timing took.
enum sq_status sq_run_on_machine(const struct sq_run_request *request, struct sq_error *err);

// The same on a GPU: predicted times, and measured ones where records have them.
enum sq_status sq_run_on_gpu(const struct sq_run_request *request, const struct sq_gpu *gpu,
                             const struct sq_workload *workload, const char *name,
                             struct sq_error *err);

// Core options that were given replace the others: 0 (gather: above SQ_GATHER_LOG) = not given.
void sq_run_override_core(struct sq_core_config *core, const struct sq_core_config *given);

#endif
