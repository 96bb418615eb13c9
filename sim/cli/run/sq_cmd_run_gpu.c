// SPDX-License-Identifier: Apache-2.0
// sqsim run on a GPU: a stored format's predicted time, row by row, and the measured one where
// records have it.
#include <math.h>
#include <stdlib.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_predict.h"

static json_t *json_total(const struct sq_gpu_total *t)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("seconds", t->seconds, "launch_seconds", t->launch_s),
        SQ_KEYS("dram_seconds", t->dram_s, "measured_seconds", t->measured_s), SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void print_row(struct sq_cli_table *table, const struct sq_workload_row *row,
                      const struct sq_gpu_total *t)
{
    const double us = 1e6 / (double)row->count;
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)row->gemm.m,
             (unsigned long long)row->gemm.n, (unsigned long long)row->gemm.k);
    const struct sq_cli_column columns[] = {
        SQ_COLUMN("layer", row->name, "layer", -34),
        SQ_KEYS("m", row->gemm.m, "n", row->gemm.n, "k", row->gemm.k),
        SQ_COLUMN(NULL, shape, "MxNxK", 20),
        SQ_COLUMN("count", row->count, "count", 6),
        SQ_MEMBERS(json_total(t)),
        SQ_COLUMN(NULL, us * t->seconds, "us", 12, .as = "%.3f"),
        SQ_COLUMN(NULL, us * t->dram_s, "DRAM", 12, .unit = "us", .as = "%.3f"),
        SQ_COLUMN(NULL, us * t->measured_s, "measured", 12, .unit = "us", .as = "%.3f"),
        SQ_COLUMNS_END};
    sq_cli_put(table, columns);
}

static void print_sum(const struct sq_run_request *in, const struct sq_gpu *gpu, const char *name,
                      bool has_lm_head, const struct sq_gpu_total *t)
{
    const bool is_measured = t->measured > 0;
    const char *basis = is_measured ? "modelled, against measured times" : "modelled, not measured";
    if (in->is_json) {
        const struct sq_cli_column row[] = {
            SQ_KEYS("summary", json_true(), "machine", gpu->name, "workload", name),
            SQ_KEYS("has_lm_head", json_boolean(has_lm_head)),
            SQ_KEYS("format", in->recipe.format->name, "shapes", t->shapes),
            SQ_KEYS("measured_shapes", t->measured),
            SQ_KEYS("provenance", sq_cli_provenance("shapes", basis, 0)),
            SQ_MEMBERS(json_total(t)),
            SQ_COLUMNS_END};
        sq_cli_json_line(sq_cli_object(row));
        return;
    }
    printf("%.6g ms (launches %.4g, DRAM alone %.6g), ", 1e3 * t->seconds, 1e3 * t->launch_s,
           1e3 * t->dram_s);
    if (isnan(t->measured_s))
        printf("%s: %zu of %zu rows have a record\n", basis, t->measured, t->shapes);
    else
        printf("%.6g ms measured\n", 1e3 * t->measured_s);
}

static void print_all(const struct sq_run_request *in, const struct sq_gpu *gpu,
                      const struct sq_workload *w, const struct sq_gpu_total *row, const char *name)
{
    struct sq_gpu_total sum = {.seconds = 0};
    struct sq_cli_table table = {.is_json = in->is_json};
    if (!in->is_json)
        printf("%s on %s: format %s, cold operands\n", sq_cli_text(name), sq_cli_text(gpu->name),
               in->recipe.format->name);
    if (!in->is_json && !in->gemm.n && !sq_workload_has_lm_head(w))
        printf("%s\n", SQ_WITHOUT_LM_HEAD);
    for (size_t i = 0; i < w->n; i++) {
        print_row(&table, &w->row[i], &row[i]);
        sq_gpu_total_add(&sum, &row[i]);
    }
    print_sum(in, gpu, name, sq_workload_has_lm_head(w), &sum);
}

// Nothing is printed before every row has passed.
static enum sq_status time_all(const struct sq_run_request *in, const struct sq_gpu *gpu,
                               const struct sq_workload *w, const struct sq_gpu_records *records,
                               const char *name, struct sq_error *err)
{
    SQ_FREED struct sq_gpu_total *row = calloc(w->n, sizeof *row);
    SQ_NEED(row, err, "%zu rows", w->n);
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload one = {.n = 1, .row = &w->row[i]};
        SQ_TRY(sq_gpu_total_recipe(gpu, &in->recipe, &one, records, &row[i], err));
    }
    print_all(in, gpu, w, row, name);
    return SQ_OK;
}

enum sq_status sq_run_on_gpu(const struct sq_run_request *in, const struct sq_gpu *gpu,
                             const struct sq_workload *w, const char *name, struct sq_error *err)
{
    const struct sq_core_config *core = &in->core;
    SQ_CLOSED(sq_gpu_records_free) struct sq_gpu_records records = {.n = 0};
    if (in->is_causes || core->rows || core->cols || core->low_lanes || core->high_lanes ||
        core->gather <= SQ_GATHER_LOG)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s have no use on machine %s, a GPU",
                       in->is_causes ? "--causes" : "core options", gpu->name);
    if (in->records)
        SQ_TRY(sq_gpu_records_read(in->records, gpu->device, &records, err));
    return time_all(in, gpu, w, &records, name, err);
}
