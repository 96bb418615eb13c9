// SPDX-License-Identifier: Apache-2.0
// Files of measured times with their machines, for --cross and --joined.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"

// The measured times of the repository, and their machines.
static const struct {
    const char *records, *machine;
} usual[] = {
    {"A100.csv", "a100_pcie_80g"},
    {"RTX4090.csv", "rtx4090"},
    {"B200.csv", "b200"},
    {"aiconfigurator/gemm_a100_sxm_trtllm_1.0.0.csv", "a100_sxm"},
    {"aiconfigurator/gemm_h200_sxm_trtllm_1.2.0rc5.csv", "h200"},
    {"aiconfigurator/gemm_h200_sxm_vllm_0.22.0.csv", "h200"},
    {"aiconfigurator/gemm_b200_sxm_trtllm_1.3.0rc20.csv", "b200"},
    {"aiconfigurator/gemm_b200_sxm_vllm_0.24.0.csv", "b200"},
    {"aiconfigurator/gemm_l40s_trtllm_1.0.0.csv", "l40s"},
};
enum { N_USUAL = sizeof usual / sizeof usual[0] };

const char *sq_compare_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum sq_status add_file(struct sq_compare_input *in, const char *records,
                               const char *machine, struct sq_error *err)
{
    struct sq_gpu *gpu = &in->gpu[in->n];
    SQ_TRY(sq_gpu_load(machine, gpu, err));
    SQ_TRY(sq_gpu_records_read(records, gpu->device, &in->g[in->n], err));
    snprintf(in->name[in->n++], sizeof in->name[0], "%.63s", sq_compare_name(records));
    return SQ_OK;
}

static enum sq_status add_usual(struct sq_compare_input *in, struct sq_error *err)
{
    for (unsigned i = 0; i < N_USUAL; i++) {
        char file[128], yaml[64];
        snprintf(file, sizeof file, "traces/gpu_measured/%s", usual[i].records);
        snprintf(yaml, sizeof yaml, "sim/machines/%s.yaml", usual[i].machine);
        SQ_TRY(add_file(in, sq_cli_home_path(file), sq_cli_home_path(yaml), err));
    }
    return SQ_OK;
}

enum sq_status sq_compare_input_read(const char *const records[], const char *const machine[],
                                     size_t n, struct sq_compare_input *in, struct sq_error *err)
{
    for (size_t i = 0; i < n; i++)
        SQ_TRY(add_file(in, records[i], machine[i], err));
    return n > 0 ? SQ_OK : add_usual(in, err);
}

void sq_compare_input_free(struct sq_compare_input *in)
{
    for (size_t i = 0; in && i < SQ_GPU_CROSS_MAX; i++)
        sq_gpu_records_free(&in->g[i]);
    free(in);
}
