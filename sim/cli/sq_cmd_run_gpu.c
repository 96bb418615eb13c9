// SPDX-License-Identifier: Apache-2.0
// sqsim run on a GPU: a stored format's predicted time, row by row, and the measured one where
// records have it.
#include <math.h>
#include <stdlib.h>

#include "sim/cli/sq_cmd_run.h"
#include "sim/gpu/sq_gpu_predict.h"

static json_t *json_time(double v)
{
    return isnan(v) ? json_null() : json_real(v);
}

static void print_json(const struct sq_gpu_total *t, json_t *o)
{
    json_object_set_new(o, "seconds", json_real(t->seconds));
    json_object_set_new(o, "launch_seconds", json_real(t->launch_s));
    json_object_set_new(o, "dram_seconds", json_real(t->dram_s));
    json_object_set_new(o, "measured_seconds", json_time(t->measured_s));
    sq_cli_json_line(o);
}

static void print_row(const struct sq_run_request *in, const struct sq_workload_row *row,
                      const struct sq_gpu_total *t)
{
    char shape[64];
    if (in->is_json) {
        json_t *o = json_object();
        json_object_set_new(o, "layer", sq_cli_json_text(row->name));
        json_object_set_new(o, "m", json_integer((json_int_t)row->gemm.m));
        json_object_set_new(o, "n", json_integer((json_int_t)row->gemm.n));
        json_object_set_new(o, "k", json_integer((json_int_t)row->gemm.k));
        json_object_set_new(o, "count", json_integer((json_int_t)row->count));
        print_json(t, o);
        return;
    }
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)row->gemm.m,
             (unsigned long long)row->gemm.n, (unsigned long long)row->gemm.k);
    printf("%-34s %20s %6llu %12.3f %12.3f", row->name, shape, (unsigned long long)row->count,
           1e6 * t->seconds / (double)row->count, 1e6 * t->dram_s / (double)row->count);
    if (isnan(t->measured_s))
        printf(" %12s\n", "-");
    else
        printf(" %12.3f\n", 1e6 * t->measured_s / (double)row->count);
}

static void print_sum(const struct sq_run_request *in, const struct sq_gpu *gpu, const char *name,
                      const struct sq_gpu_total *t)
{
    const bool is_measured = t->measured > 0;
    const char *basis = is_measured ? "modelled, against measured times" : "modelled, not measured";
    if (in->is_json) {
        json_t *o = json_object();
        json_object_set_new(o, "summary", json_true());
        json_object_set_new(o, "machine", sq_cli_json_text(gpu->name));
        json_object_set_new(o, "workload", sq_cli_json_text(name));
        json_object_set_new(o, "format", json_string(in->recipe.format->name));
        json_object_set_new(o, "shapes", json_integer((json_int_t)t->shapes));
        json_object_set_new(o, "measured_shapes", json_integer((json_int_t)t->measured));
        json_object_set_new(o, "provenance", sq_cli_provenance("shapes", basis, 0));
        print_json(t, o);
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
    if (!in->is_json) {
        printf("%s on %s: format %s, cold operands\n", sq_cli_text(name), sq_cli_text(gpu->name),
               in->recipe.format->name);
        printf("%-34s %20s %6s %12s %12s %12s\n", "layer", "MxNxK", "count", "us", "DRAM us",
               "measured us");
    }
    for (size_t i = 0; i < w->n; i++) {
        print_row(in, &w->row[i], &row[i]);
        sq_gpu_total_add(&sum, &row[i]);
    }
    print_sum(in, gpu, name, &sum);
}

// Nothing is printed before every row has passed.
static enum sq_status time_all(const struct sq_run_request *in, const struct sq_gpu *gpu,
                               const struct sq_workload *w, const struct sq_gpu_records *records,
                               const char *name, struct sq_error *err)
{
    struct sq_gpu_total *row = calloc(w->n, sizeof *row);
    enum sq_status status = SQ_OK;
    if (!row)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu rows", w->n);
    for (size_t i = 0; i < w->n && status == SQ_OK; i++) {
        const struct sq_workload one = {1, &w->row[i]};
        status = sq_gpu_total_recipe(gpu, &in->recipe, &one, records, &row[i], err);
    }
    if (status == SQ_OK)
        print_all(in, gpu, w, row, name);
    free(row);
    return status;
}

enum sq_status sq_run_on_gpu(const struct sq_run_request *in, const struct sq_gpu *gpu,
                             const struct sq_workload *w, const char *name, struct sq_error *err)
{
    const struct sq_core_config *core = &in->core;
    struct sq_gpu_records records = {.n = 0};
    if (in->is_causes || core->rows || core->cols || core->low_lanes || core->high_lanes ||
        core->gather <= SQ_GATHER_LOG)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s have no use on machine %s, a GPU",
                       in->is_causes ? "--causes" : "core options", gpu->name);
    if (in->records)
        SQ_TRY(sq_gpu_records_read(in->records, gpu->device, &records, err));
    const enum sq_status status = time_all(in, gpu, w, &records, name, err);
    sq_gpu_records_free(&records);
    return status;
}
