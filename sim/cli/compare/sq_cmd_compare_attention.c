// SPDX-License-Identifier: Apache-2.0
// sqsim compare --attention: attention kernels of a GPU, one point in ten fitted, the others predicted.
#include <math.h>
#include <stdlib.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_attention.h"
#include "sim/gpu/sq_gpu_compare.h"
#include "sim/io/sq_order.h"

struct attention {
    struct sq_gpu gpu;
    struct sq_gpu_attention_records g;
    double *error, *all; // scratch of as many as there are rows; all: of all files
    size_t n_all, n_calibration;
    struct sq_cli_table table;
};

static double share_within(const double *error, size_t n, double most)
{
    size_t within = 0;
    for (size_t i = 0; i < n; i++)
        within += error[i] <= most;
    return n ? (double)within / (double)n : NAN;
}

// Rows of one kind that the fit has not seen.
static void put_kind(struct attention *a, const struct sq_gpu_attention *kind,
                     const struct sq_gpu_attention_law *law)
{
    size_t n = 0, seen = 0;
    double bias = 0;
    for (size_t i = 0; i < a->g.n; i++) {
        const struct sq_gpu_attention_record *r = &a->g.r[i];
        if (!sq_gpu_attention_same_kind(&r->shape, kind))
            continue;
        const double error = sq_gpu_attention_time(&a->gpu, law, &r->shape) / r->seconds - 1;
        seen += r->is_calibration;
        if (r->is_calibration)
            continue;
        a->error[n++] = a->all[a->n_all++] = fabs(error);
        bias += error;
    }
    a->n_calibration += seen;
    qsort(a->error, n, sizeof *a->error, sq_by_number);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("machine", a->gpu.name, "machine", -14),
        SQ_COLUMN("phase", kind->is_decode ? "decode" : "prefill", "phase", -8),
        SQ_COLUMN("dtype", kind->is_fp8 ? "FP8" : "BF16", "products", -8),
        SQ_COLUMN("kv_dtype", kind->is_cache_fp8 ? "FP8" : "BF16", "cache", -6),
        SQ_COLUMN("calibration_rows", seen, "fitted", 7),
        SQ_COLUMN("rows", n, "others", 7),
        SQ_COLUMN("median_abs_error", n ? a->error[n / 2] : NAN, "median", 8, .as = "%.1f%%",
                  .scale = 100),
        SQ_COLUMN("p90_abs_error", n ? a->error[n * 9 / 10] : NAN, "p90", 8, .as = "%.1f%%",
                  .scale = 100),
        SQ_COLUMN("bias", bias / (double)n, "bias", 8, .as = "%+.1f%%", .scale = 100),
        SQ_COLUMN("within_20_percent", share_within(a->error, n, .2), "in 20 %", 8, .as = "%.1f%%",
                  .scale = 100),
        SQ_KEYS("launch_us", 1e6 * law->launch_s, "dram", law->dram, "sustained", law->sustained,
                "knee", law->knee, "head_ns", 1e9 * law->head_s),
        SQ_COLUMNS_END};
    sq_cli_put(&a->table, row);
}

static bool is_first_of_kind(const struct sq_gpu_attention_records *g, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (sq_gpu_attention_same_kind(&g->r[j].shape, &g->r[i].shape))
            return false;
    return true;
}

static enum sq_status compare_kinds(struct attention *a, struct sq_error *err)
{
    double *more = realloc(a->all, (a->n_all + a->g.n) * sizeof *more);
    SQ_NEED(more, err, "%zu errors", a->n_all + a->g.n);
    a->all = more;
    a->error = malloc(a->g.n * sizeof *a->error);
    SQ_NEED(a->error, err, "%zu errors", a->g.n);
    for (size_t i = 0; i < a->g.n; i++) {
        struct sq_gpu_attention_law law;
        if (!is_first_of_kind(&a->g, i))
            continue;
        SQ_TRY(sq_gpu_attention_fit(&a->gpu, &a->g, &a->g.r[i].shape, &law, err));
        put_kind(a, &a->g.r[i].shape, &law);
    }
    return SQ_OK;
}

static enum sq_status compare_file(struct attention *a, const char *records, const char *machine,
                                   struct sq_error *err)
{
    SQ_TRY(sq_gpu_load(machine, &a->gpu, err));
    SQ_TRY(sq_gpu_attention_read(records, a->gpu.device, &a->g, err));
    const enum sq_status status = compare_kinds(a, err);
    free(a->error);
    a->error = NULL;
    sq_gpu_attention_free(&a->g);
    return status;
}

static void print_sum(struct attention *a)
{
    const double within = share_within(a->all, a->n_all, .2), median = sq_median(a->all, a->n_all);
    if (!a->table.is_json) {
        printf("%zu points that no fit has seen: median error %.1f %%, %.1f %% of them within 20 "
               "%%; %zu points fitted\n",
               a->n_all, 100 * median, 100 * within, a->n_calibration);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("rows", a->n_all, "calibration_rows", a->n_calibration, "median_abs_error", median),
        SQ_KEYS("within_20_percent", within), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real", "modelled, against measured times", 0));
}

enum sq_status sq_compare_attention(const char *const records[], const char *const machine[],
                                    size_t n, bool is_json, struct sq_error *err)
{
    struct attention a = {.table.is_json = is_json};
    enum sq_status status = SQ_OK;
    for (size_t i = 0; i < n && status == SQ_OK; i++)
        status = compare_file(&a, records[i], machine[i], err);
    if (status == SQ_OK)
        print_sum(&a);
    free(a.all);
    return status;
}
