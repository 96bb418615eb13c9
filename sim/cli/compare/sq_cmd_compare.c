// SPDX-License-Identifier: Apache-2.0
// sqsim compare: the times and speedups a GPU model predicts against measured ones; and the
// calibration of its constants.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_compare.h"
#include "sim/gpu/sq_gpu_fit.h"
#include "sim/io/sq_quote.h"

enum { MAX_GPUS = 16 };

enum { CROSS = 2, JOINED = 4, ATTENTION = 8 };

struct arguments {
    const char *records[MAX_GPUS], *machine[MAX_GPUS]; // in pairs
    size_t n_records, n_machines;
    struct sq_compare_predict predict;
    const char *plot, *calibrate, *formats;
    uint64_t min_m, worst;
    bool worst_given, min_given, is_cross, is_joined, is_attention, is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
#define LIST(field, n) SQ_CLI_LIST_AT(struct arguments, field, n)
#define GIVEN(field) .given = offsetof(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("gpu", "RECORDS", LIST(records, n_records),
                "measured times: CSV (also aiconfigurator's), or JSON records one per line; with "
                "--machine, up to 16 pairs; one without: what it measured",
                .found = SQ_HOME_RECORDS, .modes = SQ_CLI_ALL),
    SQ_CLI_TEXT("workload", "FILE", LIST(predict.workload, predict.n_workloads),
                "predict: a model's config.json at each --m, or a CSV of GEMMs as it is; up to 4",
                .usual = "Llama-2-7B, Llama-3-8B and 70B", .found = SQ_HOME_CONFIG),
    SQ_CLI_UINT("m", "M", 1, 1 << 24, LIST(predict.m, predict.n_m), "predict: tokens; up to 4",
                .usual = "4096 and 1"),
    SQ_CLI_TEXT("machine", "FILE", LIST(machine, n_machines),
                "the GPU as a machine; predict: sim/machines/h200.yaml, unless another is given",
                .found = SQ_HOME_MACHINE, .modes = SQ_CLI_ALL),
    SQ_CLI_UINT("min-m", "M", 1, 1 << 24, AT(min_m),
                "rows with fewer tokens are left out; 1: none is", GIVEN(min_given)),
    SQ_CLI_UINT("worst", "N", 0, 1000, AT(worst), "how many of the worst rows are listed",
                GIVEN(worst_given)),
    SQ_CLI_TEXT("plot", "FILE", AT(plot), "scatter plot of latencies and speedups, .svg or .png",
                .is_output = true, .modes = SQ_CLI_PLAIN | CROSS | JOINED),
    SQ_CLI_TEXT("calibrate", "FILE", AT(calibrate),
                "fit the machine's constants to one shape in ten and write the machine here",
                .is_output = true),
    SQ_CLI_FLAG("cross", AT(is_cross),
                "leave one GPU out: fit model and roofline to all others, print both errors on it; "
                "without --gpu the measured times of the repository",
                .mode = CROSS),
    SQ_CLI_FLAG("joined", AT(is_joined),
                "formats on the simulated accelerator, on each GPU as measured and as predicted by "
                "the fit to the others, and in their papers; files as with --cross",
                .mode = JOINED),
    SQ_CLI_FLAG(
        "attention", AT(is_attention),
        "attention kernels: fit one point in ten of aiconfigurator's files, print errors on "
        "the others, by prompt and decode and by data type",
        .mode = ATTENTION),
    SQ_CLI_TEXT("formats", "FILE", AT(formats),
                "which formats beside which kernels, CSV as traces/gpu_measured/formats.csv",
                .modes = JOINED),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per row, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_END};

static const char doc[] =
    "Predicts every measured GEMM from the machine file and prints the errors: latencies, speedups "
    "of 2:4 against dense and of INT8 and FP8 against BF16, their rank correlation, and the worst "
    "rows with what decided the prediction. Rows the machine was calibrated on are left out. "
    "Records without a machine: a table of what was measured.\v"
    "Examples:\n"
    "  sqsim compare --gpu A100 --machine a100_pcie_80g\n"
    "  sqsim compare\n"
    "  sqsim compare --machine sim/machines/h100_pcie.yaml --workload my-model/config.json --m 16\n"
    "  sqsim compare --gpu reports/gpu/nvidia_h100_80gb_hbm3.jsonl\n"
    "  sqsim compare --gpu reports/gpu/nvidia_h100_80gb_hbm3.jsonl --machine "
    "sim/machines/h100_sxm.yaml --plot h100.svg\n"
    "  sqsim compare --gpu traces/gpu_measured/RTX4090.csv --machine sim/machines/rtx4090.yaml "
    "--plot rtx4090.svg\n"
    "  sqsim compare --gpu A100.csv --machine a100.yaml --calibrate a100_new.yaml\n"
    "  sqsim compare --cross\n"
    "  sqsim compare --joined\n"
    "  sqsim compare --attention --gpu generation_attention_h200.csv --machine h200\n";

static bool is_predict(const struct arguments *in)
{
    return in->n_records == 0 || in->predict.n_workloads > 0 || in->predict.n_m > 0;
}

// Records of one GPU, and no machine whose predictions could stand beside them.
static bool is_measured(const struct arguments *in)
{
    return in->n_records == 1 && in->n_machines == 0 && !is_predict(in);
}

static enum sq_status check_predict(const struct arguments *in, struct sq_error *err)
{
    const char *unused = in->calibrate     ? "calibrate"
                         : in->min_given   ? "min-m"
                         : in->worst_given ? "worst"
                                           : NULL;
    if (unused)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s compares times: no --gpu given, or a --workload",
                       unused);
    if (in->n_machines > 1 || in->n_records > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "predictions are of one machine, %zu given",
                       in->n_machines > 1 ? in->n_machines : in->n_records);
    return SQ_OK;
}

static enum sq_status check(const struct arguments *in, struct sq_error *err)
{
    const bool is_table = in->is_cross || in->is_joined || in->is_attention;
    if (!is_table && is_predict(in))
        return check_predict(in, err);
    if (!is_table && is_measured(in)) {
        const char *unused = in->calibrate     ? "calibrate"
                             : in->min_given   ? "min-m"
                             : in->worst_given ? "worst"
                             : in->plot        ? "plot"
                                               : NULL;
        return unused ? SQ_FAIL(err, SQ_ERR_ARG, "--%s: no --machine given, need one", unused)
                      : SQ_OK;
    }
    if (in->n_records != in->n_machines)
        return SQ_FAIL(err, SQ_ERR_ARG, "%zu --gpu and %zu --machine given, need pairs",
                       in->n_records, in->n_machines);
    if (in->is_attention && in->n_records == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--attention needs --gpu FILE --machine FILE");
    if (in->calibrate && in->n_records > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "--calibrate takes one GPU, not %zu", in->n_records);
    if (in->calibrate && (in->plot || in->worst_given || in->min_given))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--calibrate writes a machine: no --plot, --worst, --min-m with it");
    return SQ_OK;
}

// ---- calibration ----------------------------------------------------------------------------

static enum sq_status calibrate(const struct arguments *in, const struct sq_gpu_records *g,
                                struct sq_gpu *gpu, struct sq_error *err)
{
    const char *records = sq_compare_name(in->records[0]),
               *machine = sq_compare_name(in->machine[0]);
    struct sq_outfile out;
    char comment[320];
    double error;
    SQ_TRY(sq_gpu_fit(g, gpu, &error, err));
    snprintf(gpu->calibration, sizeof gpu->calibration, "%.63s", records);
    snprintf(comment, sizeof comment,
             "# Constants fitted to one shape in ten of %.60s:\n"
             "# sqsim compare --gpu %.60s --machine %.60s --calibrate FILE\n",
             sq_cli_text(records), sq_cli_text(records), sq_cli_text(machine));
    SQ_TRY(sq_outfile_open(&out, in->calibrate, err));
    sq_gpu_write(gpu, comment, out.stream);
    SQ_TRY(sq_outfile_commit(&out, err));
    size_t n_rows = 0;
    for (size_t i = 0; i < g->n; i++)
        n_rows += g->r[i].is_calibration && !g->r[i].is_repeat;
    if (!in->is_json) {
        printf("%zu calibration rows of %zu, mean error %.2f %% of them\n", n_rows, g->n,
               100 * error);
        sq_compare_print_outliers(gpu, g);
        sq_compare_print_left(&g->left);
        return SQ_OK;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("rows", g->n, "calibration_rows", n_rows, "mean_abs_error", error),
        SQ_KEYS("outliers", sq_compare_json_outliers(gpu, g)),
        SQ_KEYS("left_out", sq_compare_json_left(&g->left)), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real", "fitted", 0));
    return SQ_OK;
}

// ---- plot -----------------------------------------------------------------------------------

static void plot_points(const struct sq_gpu_comparison *c, FILE *f)
{
    fprintf(f, "$latency << EOD\n");
    for (size_t i = 0; i < c->n; i++)
        fprintf(f, "%.6g %.6g\n", 1e6 * c->point[i].measured_s,
                1e6 * c->point[i].predicted.seconds);
    fprintf(f, "EOD\n");
    for (unsigned is_24 = 0; is_24 < 2; is_24++) {
        fprintf(f, "$speedup%u << EOD\n", is_24);
        for (size_t i = 0; i < c->n_speedups; i++)
            if (c->speedup[i].is_24 == is_24)
                fprintf(f, "%.6g %.6g\n", c->speedup[i].measured, c->speedup[i].predicted);
        fprintf(f, "0 0\nEOD\n"); // no block is empty
    }
}

static enum sq_status plot(const char *path, const char *name, const struct sq_gpu_comparison *c,
                           struct sq_error *err)
{
    struct sq_compare_plot p;
    char title[160];
    SQ_TRY(sq_compare_plot_open(&p, path, 480, err));
    plot_points(c, p.script);
    snprintf(title, sizeof title, "%.80s: median error %.1f %%, of speedups %.1f %%", name,
             100 * c->median_abs_error, 100 * c->median_speedup_error);
    fputs("set multiplot layout 1,2 title ", p.script);
    sq_put_gnuplot(p.script, title);
    fprintf(p.script,
            " noenhanced\n"
            "set key top left\nset xlabel 'measured us'\nset ylabel 'predicted us'\n"
            "set logscale xy\nplot $latency notitle pt 7 ps .4, x notitle lc 'black'\n"
            "unset logscale\nset xlabel 'measured speedup'\nset ylabel 'predicted speedup'\n"
            "set xrange [.5:*]\nset yrange [.5:*]\n"
            "plot $speedup0 title '8 bit : BF16' pt 7 ps .4, "
            "$speedup1 title '2\\:4 : dense' pt 7 ps .4, x notitle lc 'black'\n");
    return sq_compare_plot_close(&p, err);
}

// ---- output ---------------------------------------------------------------------------------

static size_t left_out(const struct sq_gpu_records *g)
{
    return g->other_kind + g->other_device + g->other_source + g->no_time;
}

static void print_json_points(const struct sq_gpu *gpu, const struct sq_gpu_comparison *c)
{
    struct sq_cli_table table = {.is_json = true};
    for (size_t i = 0; i < c->n; i++) {
        const struct sq_gpu_point *p = &c->point[i];
        const struct sq_gpu_gemm *g = &p->gemm;
        char reason[64];
        sq_gpu_reason(&p->predicted, reason);
        const struct sq_cli_column row[] = {
            SQ_KEYS("machine", gpu->name, "dtype", sq_gpu_dtype_name(g->dtype)),
            SQ_KEYS("sparsity", sq_compare_sparsity(g), "m", g->m, "n", g->n, "k", g->k),
            SQ_KEY_IF(p->name[0], "name", p->name),
            SQ_KEYS("timed", sq_gpu_timed_name(g->timed), "measured_us", 1e6 * p->measured_s),
            SQ_KEY_IF(p->high_s > 0, "p10_us", 1e6 * p->low_s),
            SQ_KEY_IF(p->high_s > 0, "p90_us", 1e6 * p->high_s),
            SQ_KEYS("predicted_us", 1e6 * p->predicted.seconds),
            SQ_KEYS("quantize_us", 1e6 * p->predicted.quantize_s, "error", p->error),
            SQ_KEYS("reason", reason),
            SQ_COLUMNS_END};
        sq_cli_put(&table, row);
    }
}

// Prints the summary of one machine, or of all together ("all").
static void print_json_summary(const char *machine, const char *records, size_t skipped,
                               const struct sq_gpu_lefts *left, const struct sq_gpu_comparison *c)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", machine, "rows", c->n, "calibration_rows", c->n_calibration),
        SQ_KEYS("below_min_m", c->n_below, "not_modelled", skipped, "speedups", c->n_speedups),
        SQ_KEYS("median_abs_error", c->median_abs_error, "mean_abs_error", c->mean_abs_error),
        SQ_KEYS("median_speedup_error", c->median_speedup_error, "spearman", c->spearman),
        SQ_KEYS("spearman_24", c->spearman_24, "spearman_latency", c->spearman_latency),
        SQ_KEYS("roofline_error", c->roofline_error),
        SQ_KEYS("roofline_speedup_error", c->roofline_speedup_error),
        SQ_KEYS("roofline_spearman", c->roofline_spearman),
        SQ_KEYS("left_out", sq_compare_json_left(left), "records", records),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real", "modelled, against measured times", 0));
}

// Rows of one data type and sparsity, or split between two data types.
static void print_kind(struct sq_cli_table *table, const struct sq_gpu_comparison *c,
                       const struct sq_gpu_gemm *kind, double *scratch)
{
    size_t n = 0;
    double mean = 0, bias = 0;
    char name[32];
    for (size_t i = 0; i < c->n; i++) {
        const struct sq_gpu_point *p = &c->point[i];
        if (p->gemm.dtype != kind->dtype || p->gemm.is_sparse != kind->is_sparse ||
            (p->gemm.low_share > 0) != (kind->low_share > 0))
            continue;
        scratch[n++] = fabs(p->error);
        mean += fabs(p->error);
        bias += p->error;
    }
    if (n == 0)
        return;
    snprintf(name, sizeof name, "%-5s %s", sq_gpu_dtype_name(kind->dtype),
             sq_compare_sparsity(kind));
    const struct sq_cli_column row[] = {
        SQ_COLUMN(NULL, name, "kind", -12),
        SQ_COLUMN(NULL, n, "rows", 6),
        SQ_COLUMN(NULL, sq_median(scratch, n), "median", 10, .as = "%.2f%%", .scale = 100),
        SQ_COLUMN(NULL, mean / (double)n, "mean", 10, .as = "%.2f%%", .scale = 100),
        SQ_COLUMN(NULL, bias / (double)n, "bias", 10, .as = "%+.2f%%", .scale = 100),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

static void print_kinds(const struct sq_gpu *gpu, const struct sq_gpu_comparison *c,
                        double *scratch)
{
    struct sq_cli_table table = {.is_json = false};
    for (unsigned k = 0; k < gpu->n_kinds; k++) {
        struct sq_gpu_gemm kind = {.dtype = gpu->kind[k].dtype,
                                   .is_sparse = gpu->kind[k].is_sparse};
        print_kind(&table, c, &kind, scratch);
        kind.low_share = 1;
        if (!kind.is_sparse)
            print_kind(&table, c, &kind, scratch);
    }
}

// Where times hold more than the kernel.
static void print_timed(const struct sq_gpu_comparison *c)
{
    size_t n[SQ_GPU_N_TIMED] = {0};
    for (size_t i = 0; i < c->n; i++)
        n[c->point[i].gemm.timed]++;
    if (n[SQ_GPU_TIMED_KERNEL] < c->n)
        printf("timed: %zu rows the kernel alone, %zu with quantizing, %zu a framework's call (its "
               "host time is not modelled)\n",
               n[SQ_GPU_TIMED_KERNEL], n[SQ_GPU_TIMED_QUANTIZING], n[SQ_GPU_TIMED_CALL]);
}

static void print_worst(const struct arguments *in, const struct sq_gpu_comparison *c,
                        double *scratch)
{
    for (size_t i = 0; i < c->n; i++)
        scratch[i] = fabs(c->point[i].error);
    if (in->worst > 0)
        printf("worst rows:\n");
    for (uint64_t listed = 0; listed < in->worst && listed < c->n; listed++) {
        size_t worst = 0;
        for (size_t i = 1; i < c->n; i++)
            if (scratch[i] > scratch[worst])
                worst = i;
        scratch[worst] = -1;
        const struct sq_gpu_point *p = &c->point[worst];
        char reason[64];
        sq_gpu_reason(&p->predicted, reason);
        char interval[64] = "";
        if (p->high_s > 0)
            snprintf(interval, sizeof interval, " (%.1f to %.1f)", 1e6 * p->low_s, 1e6 * p->high_s);
        printf("  %s%s%s %-5s %llux%llux%llu: measured %.1f us%s, predicted %.1f (%+.0f %%): "
               "%s\n",
               sq_cli_text(p->name), p->name[0] ? " " : "", sq_gpu_dtype_name(p->gemm.dtype),
               sq_compare_sparsity(&p->gemm), (unsigned long long)p->gemm.m,
               (unsigned long long)p->gemm.n, (unsigned long long)p->gemm.k, 1e6 * p->measured_s,
               interval, 1e6 * p->predicted.seconds, 100 * p->error, reason);
    }
}

static void print_figures(const struct sq_gpu_comparison *c)
{
    if (c->n_spread > 0)
        printf("predicted between the tenth and the ninetieth percentile: %zu of %zu rows that "
               "have them\n",
               c->n_inside, c->n_spread);
    printf("latency: median error %.2f %%, mean %.2f %%, rank correlation %.3f\n",
           100 * c->median_abs_error, 100 * c->mean_abs_error, c->spearman_latency);
    if (c->n_speedups > 0)
        printf("speedup: %zu pairs, median error %.2f %%, rank correlation %.3f, within 2:4 %.3f\n",
               c->n_speedups, 100 * c->median_speedup_error, c->spearman, c->spearman_24);
    if (c->n_roofline > 0)
        printf("baseline, t0 + max(MACs / rate, bytes / bandwidth), fitted to one shape in ten: "
               "%zu rows, median error %.2f %%, of speedups %.2f %%, rank correlation %.3f\n",
               c->n_roofline, 100 * c->roofline_error, 100 * c->roofline_speedup_error,
               c->roofline_spearman);
}

static enum sq_status print_text(const struct arguments *in, size_t index, const struct sq_gpu *gpu,
                                 const struct sq_gpu_records *g, const struct sq_gpu_comparison *c,
                                 struct sq_error *err)
{
    SQ_FREED double *scratch = calloc(c->n + 1, sizeof *scratch);
    SQ_NEED(scratch, err, "%zu rows", c->n);
    printf("%s on %s: %zu rows (left out: %zu of the calibration, %zu with M < %llu, %zu of other "
           "devices, kinds or sources)\n",
           sq_cli_text(sq_compare_name(in->records[index])), sq_cli_text(gpu->name), c->n,
           c->n_calibration, c->n_below, (unsigned long long)in->min_m, left_out(g));
    sq_compare_print_left(&g->left);
    sq_compare_print_left(&c->left);
    print_kinds(gpu, c, scratch);
    print_timed(c);
    print_figures(c);
    print_worst(in, c, scratch);
    return SQ_OK;
}

// One GPU; its points join *all.
static enum sq_status compare_one(const struct arguments *in, size_t index,
                                  const struct sq_gpu *gpu, const struct sq_gpu_records *g,
                                  struct sq_gpu_comparison *all, struct sq_error *err)
{
    SQ_CLOSED(sq_gpu_comparison_free) struct sq_gpu_comparison c = {0};
    const char *records = sq_compare_name(in->records[index]);
    const bool same_file = strcmp(gpu->calibration, records) == 0;
    enum sq_status status = SQ_OK;
    SQ_TRY(sq_gpu_compare(gpu, g, same_file, in->min_m, &c, err));
    if (in->is_json) {
        print_json_points(gpu, &c);
        print_json_summary(gpu->name, records, left_out(g), &g->left, &c);
    } else {
        status = print_text(in, index, gpu, g, &c, err);
    }
    SQ_THEN(status, sq_gpu_comparison_add(all, &c, err));
    return status;
}

static enum sq_status run_one(const struct arguments *in, size_t index,
                              struct sq_gpu_comparison *all, size_t *skipped, struct sq_error *err)
{
    SQ_CLOSED(sq_gpu_records_free) struct sq_gpu_records g = {0};
    struct sq_gpu gpu;
    SQ_TRY(sq_gpu_load(in->machine[index], &gpu, err));
    SQ_TRY(sq_gpu_records_read(in->records[index], gpu.device, &g, err));
    const enum sq_status status =
        in->calibrate ? calibrate(in, &g, &gpu, err) : compare_one(in, index, &gpu, &g, all, err);
    *skipped += left_out(&g);
    return status;
}

// All GPUs together, where there are several.
static void print_all(const struct arguments *in, const struct sq_gpu_comparison *all,
                      size_t skipped)
{
    if (in->n_records < 2)
        return;
    if (in->is_json) {
        print_json_summary("all", "all", skipped, &all->left, all);
        return;
    }
    printf("all %zu GPUs together: %zu rows\n", in->n_records, all->n);
    print_figures(all);
}

static enum sq_status run_files(const struct arguments *in, struct sq_error *err)
{
    if (in->is_attention)
        return sq_compare_attention(in->records, in->machine, in->n_records, in->is_json, err);
    struct sq_compare_input *files = calloc(1, sizeof *files);
    SQ_NEED(files, err, "%zu files", in->n_records);
    enum sq_status status =
        sq_compare_input_read(in->records, in->machine, in->n_records, files, err);
    SQ_THEN(status, in->is_cross
                        ? sq_compare_cross(files, in->plot, in->is_json, err)
                        : sq_compare_joined(files, in->formats, in->plot, in->is_json, err));
    sq_compare_input_free(files);
    return status;
}

static enum sq_status run(struct arguments *in, struct sq_error *err)
{
    SQ_CLOSED(sq_gpu_comparison_free) struct sq_gpu_comparison all = {.n = 0};
    size_t skipped = 0;
    if (in->is_cross || in->is_joined || in->is_attention)
        return run_files(in, err);
    if (is_predict(in)) {
        in->predict.machine = in->n_machines ? in->machine[0] : NULL;
        in->predict.records = in->n_records ? in->records[0] : NULL;
        in->predict.plot = in->plot;
        in->predict.is_json = in->is_json;
        return sq_compare_predict(&in->predict, err);
    }
    if (is_measured(in))
        return sq_compare_measured(in->records[0], in->is_json, err);
    for (size_t i = 0; i < in->n_records; i++)
        SQ_TRY(run_one(in, i, &all, &skipped, err));
    if (!in->calibrate)
        print_all(in, &all, skipped);
    const char *const name = in->n_records > 1 ? "all" : sq_compare_name(in->machine[0]);
    return in->plot ? plot(in->plot, name, &all, err) : SQ_OK;
}

int sq_cmd_compare(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.min_m = 128, .worst = 10};
    static const struct sq_cli_line line = {rows, "", doc};
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    SQ_THEN(status, check(&in, &err));
    SQ_THEN(status, run(&in, &err));
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("compare", &err);
}
