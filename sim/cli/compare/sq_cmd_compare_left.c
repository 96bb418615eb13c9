// SPDX-License-Identifier: Apache-2.0
// What sqsim compare left aside, and what a calibration found to be far from the rest.
#include "sim/cli/compare/sq_cmd_compare.h"

const char *sq_compare_sparsity(const struct sq_gpu_gemm *g)
{
    return g->low_share > 0 ? "split" : g->is_sparse ? "2:4" : "dense";
}

void sq_compare_print_left(const struct sq_gpu_lefts *left)
{
    for (size_t i = 0; i < left->n; i++)
        printf("  left out: %zu from line %u on: %s\n", left->item[i].n, left->item[i].line,
               sq_cli_text(left->item[i].reason));
    if (left->more > 0)
        printf("  left out: %zu for other reasons\n", left->more);
}

json_t *sq_compare_json_left(const struct sq_gpu_lefts *left)
{
    json_t *list = json_array();
    for (size_t i = 0; i < left->n; i++) {
        const struct sq_gpu_left *l = &left->item[i];
        json_array_append_new(list, json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)l->n, "line",
                                              (json_int_t)l->line, "reason",
                                              sq_cli_json_text(l->reason)));
    }
    return list;
}

void sq_compare_print_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g)
{
    struct sq_gpu_outlier out[SQ_GPU_OUTLIERS_MAX];
    const size_t n = sq_gpu_outliers(gpu, g, out);
    for (size_t i = 0; i < n; i++) {
        const struct sq_gpu_gemm *x = &out[i].record->gemm;
        printf("  outlier: line %u: %s %s %llux%llux%llu: measured %.1f us, fitted %.1f\n",
               out[i].record->line, sq_gpu_dtype_name(x->dtype), sq_compare_sparsity(x),
               (unsigned long long)x->m, (unsigned long long)x->n, (unsigned long long)x->k,
               1e6 * out[i].record->seconds, 1e6 * out[i].fitted_s);
    }
}

json_t *sq_compare_json_outliers(const struct sq_gpu *gpu, const struct sq_gpu_records *g)
{
    struct sq_gpu_outlier out[SQ_GPU_OUTLIERS_MAX];
    const size_t n = sq_gpu_outliers(gpu, g, out);
    json_t *lines = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(lines, json_integer(out[i].record->line));
    return lines;
}
