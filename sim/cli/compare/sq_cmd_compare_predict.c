// SPDX-License-Identifier: Apache-2.0
// sqsim compare without a comparison: what the model of a GPU says of whole workloads, and, where
// records have it, what was measured and which ceiling the difference comes from.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_predict.h"
#include "sim/io/sq_quote.h"

// A workload at one number of tokens.
struct column {
    char name[24];
    uint64_t m; // 0: as the file has it
    struct sq_workload workload;
    struct sq_gpu_total total[SQ_GPU_KERNELS_MAX];
};

struct table {
    struct sq_gpu gpu;
    struct sq_gpu_records records;
    unsigned n_kernels;
    struct sq_gpu_kernel kernel[SQ_GPU_KERNELS_MAX]; // [0] dense BF16
    size_t n;
    struct column column[SQ_COMPARE_MAX * SQ_COMPARE_MAX];
    size_t n_measured; // GEMMs with a record
};

// ---- work -----------------------------------------------------------------------------------

static bool is_csv(const char *path)
{
    const size_t len = strlen(path);
    return len > 4 && strcmp(path + len - 4, ".csv") == 0;
}

// The last part of a path without its suffix, in characters that every output takes.
static void name_of(const char *path, char name[24])
{
    const char *slash = strrchr(path, '/');
    size_t n = 0;
    for (const char *c = slash ? slash + 1 : path; *c && *c != '.' && n < 23; c++)
        name[n++] = isalnum((unsigned char)*c) || *c == '-' ? *c : '_';
    name[n] = '\0';
}

static enum sq_status add_column(struct table *t, const char *path, uint64_t m,
                                 struct sq_error *err)
{
    struct column *c = &t->column[t->n];
    const struct sq_workload_options options = {.is_decode = true, .batch = m};
    c->m = m;
    name_of(path, c->name);
    SQ_TRY(m ? sq_workload_from_config(path, &options, &c->workload, err)
             : sq_workload_read(path, &c->workload, err));
    t->n++;
    for (unsigned k = 0; k < t->n_kernels; k++)
        SQ_TRY(sq_gpu_total_kernel(&t->gpu, &t->kernel[k], &c->workload, &t->records, &c->total[k],
                                   err));
    return SQ_OK;
}

static enum sq_status add_columns(struct table *t, const struct sq_compare_predict *in,
                                  const char *const workload[], size_t n_workloads,
                                  struct sq_error *err)
{
    static const uint64_t usual[] = {4096, 1};
    const uint64_t *m = in->n_m ? in->m : usual;
    const size_t n_m = in->n_m ? in->n_m : 2;
    for (size_t i = 0; i < n_workloads; i++) {
        if (is_csv(workload[i]) && in->n_m)
            return SQ_FAIL(err, SQ_ERR_ARG, "--m = %llu, but %.80s has its own M",
                           (unsigned long long)in->m[0], sq_path_tail(workload[i]));
        if (is_csv(workload[i]))
            SQ_TRY(add_column(t, workload[i], 0, err));
        for (size_t j = 0; !is_csv(workload[i]) && j < n_m; j++)
            SQ_TRY(add_column(t, workload[i], m[j], err));
    }
    return SQ_OK;
}

// Workloads of the repository.
static enum sq_status add_usual(struct table *t, const struct sq_compare_predict *in,
                                struct sq_error *err)
{
    static const char *const usual[] = {"traces/workloads/llama-2-7b.json",
                                        "traces/workloads/llama-3-8b.json",
                                        "traces/workloads/llama-3-70b.json"};
    for (unsigned i = 0; i < 3; i++) {
        const char *const one[] = {sq_cli_home_path(usual[i])};
        SQ_TRY(add_columns(t, in, one, 1, err));
    }
    return SQ_OK;
}

static enum sq_status fill(struct table *t, const struct sq_compare_predict *in,
                           struct sq_error *err)
{
    SQ_TRY(sq_gpu_load(in->machine ? in->machine : sq_cli_home_path("sim/machines/h200.yaml"),
                       &t->gpu, err));
    t->n_kernels = sq_gpu_kernels(&t->gpu, t->kernel);
    if (!sq_gpu_find_kind(&t->gpu, SQ_GPU_BF16, false))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "machine %s has no dense BF16 to compare with",
                       t->gpu.name);
    if (in->records)
        SQ_TRY(sq_gpu_records_read(in->records, t->gpu.device, &t->records, err));
    return in->n_workloads ? add_columns(t, in, in->workload, in->n_workloads, err)
                           : add_usual(t, in, err);
}

static double predicted_speedup(const struct column *c, unsigned kernel)
{
    return c->total[0].seconds / c->total[kernel].seconds;
}

static double measured_speedup(const struct column *c, unsigned kernel)
{
    return c->total[0].measured_s / c->total[kernel].measured_s;
}

static bool is_split(const struct sq_gpu_kernel *k)
{
    return strncmp(k->name, "SQ", 2) == 0;
}

// ---- text -----------------------------------------------------------------------------------

static const char *basis(const struct table *t)
{
    return t->n_measured ? "modelled, against measured times" : "modelled, not measured";
}

// One line for each source that a ceiling comes from.
static void print_ceilings(const struct sq_gpu *gpu)
{
    for (unsigned s = SQ_GPU_N_SOURCES; s-- > 0;) {
        char line[512];
        size_t at = 0;
        if (gpu->dram_source == s)
            at = (size_t)snprintf(line, sizeof line, ", DRAM %.3g TB/s",
                                  gpu->dram_bytes_per_s * 1e-12);
        for (unsigned i = 0; i < gpu->n_kinds; i++) {
            const struct sq_gpu_kind *k = &gpu->kind[i];
            if (k->source == s)
                at += (size_t)snprintf(line + at, sizeof line - at, ", %s%s %.0f T/s",
                                       sq_gpu_dtype_name(k->dtype), k->is_sparse ? " 2:4" : "",
                                       1e-12 * sq_gpu_ops_per_s(gpu, k));
        }
        if (at > 0)
            printf("ceilings %s: %s\n", sq_gpu_source_name(s), line + 2);
    }
    printf("constants %s%s: launch %.3g us of BF16\n",
           gpu->calibration[0] ? "fitted to " : "expected", sq_cli_text(gpu->calibration),
           1e6 * sq_gpu_find_kind(gpu, SQ_GPU_BF16, false)->launch_s);
}

static void print_cell(unsigned kernel, double seconds, double speedup)
{
    if (isnan(kernel ? speedup : seconds))
        printf(" %11s", "-");
    else if (kernel == 0)
        printf(" %8.3f ms", 1e3 * seconds);
    else
        printf(" %10.2fx", speedup);
}

static void print_table(const struct table *t)
{
    printf("%s, %s: the linear layers of one pass, operands cold; BF16, then how many times "
           "faster\n",
           sq_cli_text(t->gpu.name), basis(t));
    print_ceilings(&t->gpu);
    printf("%-20s", "");
    for (size_t i = 0; i < t->n; i++)
        printf(" %11.11s", sq_cli_text(t->column[i].name));
    printf("\n%-20s", "");
    for (size_t i = 0; i < t->n; i++) {
        char m[24] = "own M";
        if (t->column[i].m)
            snprintf(m, sizeof m, "M=%llu", (unsigned long long)t->column[i].m);
        printf(" %11s", m);
    }
    size_t n_rows = 0;
    for (unsigned k = 0; k < t->n_kernels; k++) {
        size_t n_whole = 0; // passes of which every layer was measured
        printf("\n%-20s", t->kernel[k].name);
        for (size_t i = 0; i < t->n; i++) {
            print_cell(k, t->column[i].total[k].seconds, predicted_speedup(&t->column[i], k));
            n_whole += isnan(t->column[i].total[k].measured_s) ? 0 : 1;
        }
        if (n_whole == 0)
            continue;
        n_rows++;
        printf("\n%-20s", "  measured");
        for (size_t i = 0; i < t->n; i++)
            print_cell(k, t->column[i].total[k].measured_s, measured_speedup(&t->column[i], k));
    }
    printf("\n%s",
           t->n_measured && !n_rows ? "measured: single layers, below, and no pass whole\n" : "");
}

// ---- gaps -----------------------------------------------------------------------------------

static void put_gap(struct sq_cli_table *table, const struct table *t, unsigned kernel,
                    const struct sq_gpu_record *r, const struct sq_gpu_gap *gap)
{
    const struct sq_gpu_gemm *g = &r->gemm;
    const double launch = 1e6 * gap->launch_s, dram = 1e6 * gap->dram_s, rate = 1e6 * gap->rate_s,
                 rest = 1e6 * gap->rest_s;
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)g->m,
             (unsigned long long)g->n, (unsigned long long)g->k);
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", t->gpu.name),
        SQ_COLUMN("kernel", t->kernel[kernel].name, "difference by,", -20, .unit = "us"),
        SQ_KEYS("m", g->m, "n", g->n, "k", g->k),
        SQ_COLUMN(NULL, shape, "MxNxK", 18),
        SQ_COLUMN("predicted_us", 1e6 * gap->predicted_s, "predicted", 10, .as = "%.1f"),
        SQ_COLUMN("measured_us", 1e6 * r->seconds, "measured", 9, .as = "%.1f"),
        SQ_COLUMN(NULL, launch, "launch", 8, .as = "%.1f"),
        SQ_COLUMN(NULL, dram, "DRAM", 8, .as = "%.1f"),
        SQ_COLUMN(NULL, rate, "rate", 8, .as = "%.1f"),
        SQ_COLUMN(NULL, rest, "rest", 8, .as = "%.1f"),
        SQ_KEYS("gap", json_pack("{s:f, s:f, s:f, s:f}", "launch_us", launch, "dram_us", dram,
                                 "rate_us", rate, "rest_us", rest)),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

// The GEMMs of all columns, by shape; `at` counts through the columns.
struct gemms {
    struct sq_gpu_place *place;
    size_t n;
};

static enum sq_status index_gemms(const struct table *t, struct gemms *all, struct sq_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += t->column[i].workload.n;
    *all = (struct gemms){calloc(n + 1, sizeof *all->place), 0};
    SQ_NEED(all->place, err, "%zu GEMMs", n);
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->column[i].workload.n; j++) {
            const struct sq_gemm *g = &t->column[i].workload.row[j].gemm;
            all->place[all->n] = (struct sq_gpu_place){g->m, g->n, g->k, all->n};
            all->n++;
        }
    sq_gpu_places_sort(all->place, all->n);
    return SQ_OK;
}

// Whether an earlier row or column has the same GEMM as number `at`.
static bool is_seen(const struct gemms *all, const struct sq_gpu_gemm *g, size_t at)
{
    const struct sq_gpu_place shape = {g->m, g->n, g->k, 0};
    size_t n;
    return sq_gpu_places_find(all->place, all->n, &shape, &n)->at < at;
}

// A row for every measured GEMM of the table once, or, `out` NULL, only their number.
static enum sq_status walk_gaps_of(struct table *t, const struct gemms *all,
                                   struct sq_cli_table *out, struct sq_error *err)
{
    for (unsigned k = 0; k < t->n_kernels; k++)
        for (size_t i = 0, at = 0; i < t->n; i++)
            for (size_t j = 0; j < t->column[i].workload.n; j++, at++) {
                struct sq_gpu_gemm g = t->kernel[k].gemm;
                struct sq_gpu_gap gap;
                if (is_split(&t->kernel[k]) && (g.low_share == 0 || g.low_share == 1))
                    continue; // listed as the plain product that it is
                g.m = t->column[i].workload.row[j].gemm.m;
                g.n = t->column[i].workload.row[j].gemm.n;
                g.k = t->column[i].workload.row[j].gemm.k;
                const struct sq_gpu_record *r = sq_gpu_find_record(&t->records, &g);
                if (!r || is_seen(all, &g, at))
                    continue;
                t->n_measured += !out;
                if (!out)
                    continue;
                SQ_TRY(sq_gpu_explain(&t->gpu, r, &gap, err));
                put_gap(out, t, k, r, &gap);
            }
    return SQ_OK;
}

static enum sq_status walk_gaps(struct table *t, struct sq_cli_table *out, struct sq_error *err)
{
    struct gemms all;
    SQ_TRY(index_gemms(t, &all, err));
    const enum sq_status status = walk_gaps_of(t, &all, out, err);
    free(all.place);
    return status;
}

// ---- JSON -----------------------------------------------------------------------------------

static void print_json(const struct table *t)
{
    struct sq_cli_table table = {.is_json = true};
    for (size_t i = 0; i < t->n; i++)
        for (unsigned k = 0; k < t->n_kernels; k++) {
            const struct column *c = &t->column[i];
            const struct sq_gpu_total *total = &c->total[k];
            const struct sq_cli_column row[] = {
                SQ_KEYS("machine", t->gpu.name, "workload", c->name),
                SQ_KEYS("m", c->m ? sq_cli_count(c->m) : sq_cli_string(NULL)),
                SQ_KEYS("kernel", t->kernel[k].name, "seconds", total->seconds),
                SQ_KEYS("launch_seconds", total->launch_s, "dram_seconds", total->dram_s),
                SQ_KEYS("speedup", predicted_speedup(c, k)),
                SQ_KEYS("measured_seconds", total->measured_s),
                SQ_KEYS("measured_speedup", measured_speedup(c, k)),
                SQ_COLUMNS_END};
            sq_cli_put(&table, row);
        }
}

static void print_json_summary(const struct table *t)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", t->gpu.name, "cells", t->n * t->n_kernels),
        SQ_KEYS("measured_gemms", t->n_measured), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("shapes", basis(t), 0));
}

// ---- plot -----------------------------------------------------------------------------------

// Left: the SQ split over s; right: the plain kinds.
static void plot_blocks(const struct table *t, FILE *f)
{
    for (unsigned block = 0; block < 2; block++) {
        fprintf(f, "$%s << EOD\n", block ? "split" : "plain");
        for (unsigned k = 0; k < t->n_kernels; k++) {
            const struct sq_gpu_kernel *x = &t->kernel[k];
            if (is_split(x) != (block == 1))
                continue;
            if (block == 1 && x->gemm.low_share == 0)
                fprintf(f, "\n"); // a line of its own for each pair
            fprintf(f, "\"%s\" %g", x->name, x->gemm.low_share);
            for (unsigned is_measured = 0; is_measured < 2; is_measured++)
                for (size_t i = 0; i < t->n; i++)
                    fprintf(f, " %.6g",
                            is_measured ? measured_speedup(&t->column[i], k)
                                        : predicted_speedup(&t->column[i], k));
            fprintf(f, "\n");
        }
        fprintf(f, "EOD\n");
    }
}

static void plot_columns(const struct table *t, const char *block, const char *x, FILE *f)
{
    for (unsigned is_measured = 0; is_measured < (t->n_measured ? 2u : 1u); is_measured++)
        for (size_t i = 0; i < t->n; i++) {
            const struct column *c = &t->column[i];
            char m[24] = "";
            if (c->m)
                snprintf(m, sizeof m, " M=%llu", (unsigned long long)c->m);
            char title[160];
            snprintf(title, sizeof title, "%.100s%s%s", c->name, m, is_measured ? " measured" : "");
            fprintf(f, "%s %s using %s%zu%s title ", is_measured + i ? "," : "plot", block, x,
                    3 + i + is_measured * t->n,
                    strcmp(block, "$plain") == 0 ? ":xtic(1)"
                    : is_measured                ? " with points pt 7"
                                                 : " with linespoints");
            sq_put_gnuplot(f, title);
            fputs(" noenhanced", f);
        }
    fprintf(f, "\n");
}

static enum sq_status plot(const struct table *t, const char *path, struct sq_error *err)
{
    struct sq_compare_plot p;
    SQ_TRY(sq_compare_plot_open(&p, path, 480, err));
    char title[160];
    plot_blocks(t, p.script);
    snprintf(title, sizeof title, "%s, %s: speedup over BF16", t->gpu.name, basis(t));
    fputs("set multiplot layout 1,2 title ", p.script);
    sq_put_gnuplot(p.script, title);
    fprintf(p.script,
            " noenhanced\n"
            "set datafile missing 'nan'\nset key top left\nset yrange [*<1:*]\nset grid y\n"
            "set xlabel 'share of K multiplied in the low data type (s)'\n");
    plot_columns(t, "$split", "2:", p.script);
    fprintf(p.script, "set xlabel ''\nset style data histogram\nset style fill solid 0.6\n"
                      "set yrange [0:*]\nset xtics rotate by -30\nset key below maxcols 2\n");
    plot_columns(t, "$plain", "", p.script);
    return sq_compare_plot_close(&p, err);
}

// ---- command --------------------------------------------------------------------------------

static enum sq_status predict(struct table *t, const struct sq_compare_predict *in,
                              struct sq_error *err)
{
    SQ_TRY(fill(t, in, err));
    struct sq_cli_table gaps = {.is_json = in->is_json};
    SQ_TRY(walk_gaps(t, NULL, err));
    if (in->is_json)
        print_json(t);
    else
        print_table(t);
    SQ_TRY(walk_gaps(t, &gaps, err));
    if (in->is_json)
        print_json_summary(t);
    return in->plot ? plot(t, in->plot, err) : SQ_OK;
}

enum sq_status sq_compare_predict(const struct sq_compare_predict *in, struct sq_error *err)
{
    SQ_FREED struct table *t = calloc(1, sizeof *t);
    SQ_NEED(t, err, "a table");
    const enum sq_status status = predict(t, in, err);
    for (size_t i = 0; i < t->n; i++)
        sq_workload_free(&t->column[i].workload);
    sq_gpu_records_free(&t->records);
    return status;
}
