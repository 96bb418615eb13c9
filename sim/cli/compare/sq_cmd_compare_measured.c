// SPDX-License-Identifier: Apache-2.0
// sqsim compare --gpu RECORDS without a machine: what was measured, one row for each kernel and
// number of tokens, over all layers. Nothing is predicted.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_compare.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_json.h"

// One record. `speedup` is over BF16 of cuBLASLt, which was timed in turn with it; 0: it was not.
struct measured {
    char kernel[64], operands[40];
    uint64_t m;
    double tops, read_percent, speedup;
};

struct list {
    struct measured *r; // owned
    size_t n;
    char device[64];
};

static double number_of(const json_t *o, const char *object, const char *key)
{
    return json_number_value(json_object_get(json_object_get(o, object), key));
}

static const char *text_of(const json_t *o, const char *object, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(o, object), key));
    return text ? text : "";
}

static enum sq_status add(const json_t *o, unsigned line, void *user, struct sq_error *err)
{
    struct list *l = user;
    struct measured r = {.tops = number_of(o, "derived", "tops_dense_equiv"),
                         .read_percent = number_of(o, "derived", "pct_of_read")};
    const json_t *speedups = json_object_get(json_object_get(o, "derived"), "speedup_vs");
    const char *source = json_string_value(json_object_get(o, "source"));
    char what[32];
    if (!source || strcmp(source, "measured") != 0 || !(number_of(o, "timing", "median_us") > 0))
        return SQ_OK;
    snprintf(what, sizeof what, "line %u", line);
    SQ_TRY(sq_json_uint(json_object_get(o, "problem"), what, "M", 1, 1 << 24, 0, &r.m, err));
    r.speedup = json_number_value(json_object_get(speedups, "bf16_cublaslt"));
    snprintf(r.kernel, sizeof r.kernel, "%.30s %.30s", text_of(o, "kernel", "name"),
             text_of(o, "kernel", "variant"));
    snprintf(r.operands, sizeof r.operands, "%.12s x %.12s%s", text_of(o, "problem", "dtype_a"),
             text_of(o, "problem", "dtype_w"),
             strncmp(text_of(o, "timing", "includes"), "encode+", 7) == 0 ? ", encoded" : "");
    snprintf(l->device, sizeof l->device, "%.63s", text_of(o, "device", "name"));
    SQ_TRY(SQ_GROW(l->r, l->n, err, "%zu records", l->n));
    l->r[l->n++] = r;
    return SQ_OK;
}

// The most tokens first; a kernel's records beside each other.
static int by_kernel(const void *a, const void *b)
{
    const struct measured *x = a, *y = b;
    const int name = strcmp(x->kernel, y->kernel);
    return x->m != y->m ? (x->m < y->m ? 1 : -1) : name ? name : strcmp(x->operands, y->operands);
}

// Rows of one kernel: medians over its layers, and the range of its speedup.
static void print_kernel(struct sq_cli_table *table, const struct measured *r, size_t n,
                         double *scratch)
{
    double least = 0, most = 0;
    size_t n_speedups = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = r[i].tops;
    const double tops = sq_median(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = r[i].read_percent;
    const double read_percent = sq_median(scratch, n);
    for (size_t i = 0; i < n; i++) {
        if (!(r[i].speedup > 0))
            continue;
        least = n_speedups == 0 || r[i].speedup < least ? r[i].speedup : least;
        most = r[i].speedup > most ? r[i].speedup : most;
        scratch[n_speedups++] = r[i].speedup;
    }
    const struct sq_cli_column row[] = {
        SQ_COLUMN("m", r->m, "M", 5),
        SQ_COLUMN("kernel", r->kernel, "kernel", -29),
        SQ_COLUMN("operands", r->operands, "operands", -23),
        SQ_COLUMN("rows", n, "rows", 5),
        SQ_COLUMN("tops", tops, "TOPS", 7, .as = "%.1f"),
        SQ_COLUMN("read_percent", read_percent, "read %", 7, .as = "%.1f"),
        SQ_COLUMN("speedup", n_speedups ? sq_median(scratch, n_speedups) : 0, "BF16 x", 7,
                  .as = "%.2f"),
        SQ_COLUMN("speedup_min", least, "least", 6, .as = "%.2f"),
        SQ_COLUMN("speedup_max", most, "most", 6, .as = "%.2f"),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static enum sq_status print(struct list *l, const char *name, bool is_json, struct sq_error *err)
{
    struct sq_cli_table table = {.is_json = is_json};
    SQ_FREED double *scratch = calloc(l->n, sizeof *scratch);
    SQ_NEED(scratch, err, "%zu records", l->n);
    qsort(l->r, l->n, sizeof *l->r, by_kernel);
    if (!is_json)
        printf("%s: %zu times measured on %s; medians over the layers; read %%: of the rate of a "
               "read-only sum; BF16 x: times as fast as BF16 of cuBLASLt\n",
               sq_cli_text(name), l->n, sq_cli_text(l->device));
    for (size_t i = 0, n; i < l->n; i += n) {
        for (n = 1; i + n < l->n && by_kernel(&l->r[i], &l->r[i + n]) == 0; n++)
            continue;
        print_kernel(&table, &l->r[i], n, scratch);
    }
    if (is_json) {
        const struct sq_cli_column row[] = {
            SQ_KEYS("records", name, "device", l->device, "rows", l->n), SQ_COLUMNS_END};
        sq_cli_put_summary(row, sq_cli_provenance("real", "measured", 0));
    }
    return SQ_OK;
}

enum sq_status sq_compare_measured(const char *path, bool is_json, struct sq_error *err)
{
    struct list l = {.n = 0};
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    SQ_TRY(sq_file_map(path, &map, err));
    enum sq_status status =
        sq_json_lines(path, map.data ? (const char *)map.data : "", map.nbytes, add, &l, err);
    if (status == SQ_OK && l.n == 0)
        status = SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' holds no measured record", sq_path_tail(path));
    SQ_THEN(status, print(&l, sq_compare_name(path), is_json, err));
    free(l.r);
    return status;
}
