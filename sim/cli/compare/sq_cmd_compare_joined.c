// SPDX-License-Identifier: Apache-2.0
// sqsim compare --joined: formats on the simulated accelerator, on GPUs as predicted and as
// measured, and in their papers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/compare/sq_compare_formats.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_joined.h"
#include "sim/io/sq_quote.h"

struct joined {
    const struct sq_compare_input *in;
    struct sq_compare_formats formats;
    struct sq_machine machine;
    struct sq_gpu_cross cross;
    struct sq_gpu_joined joined;
};

// The step that changes the speedup most; its factor is above 1 where the GPU gains by it.
static bool largest_step(const struct sq_gpu_joined_line *l, enum sq_gpu_step *step)
{
    bool has = false;
    for (unsigned s = 0; s < SQ_GPU_N_STEPS; s++)
        if (isfinite(l->step[s]) && (!has || fabs(log(l->step[s])) > fabs(log(l->step[*step])))) {
            *step = (enum sq_gpu_step)s;
            has = true;
        }
    return has;
}

// ">=128", "1..64", "512"
static const char *tokens_of(const struct sq_compare_format *f, char text[48])
{
    const unsigned long long min = f->row.min_m, max = f->row.max_m;
    if (max == 1 << 24)
        snprintf(text, 48, ">=%llu", min);
    else if (min == max)
        snprintf(text, 48, "%llu", min);
    else
        snprintf(text, 48, "%llu..%llu", min, max);
    return text;
}

// ---- text -----------------------------------------------------------------------------------

static void print_speedup(double v, const char *unit)
{
    if (isnan(v))
        printf(" %9s", "-");
    else
        printf(" %8.2f%s", v, unit);
}

static void print_heading(const struct sq_compare_format *f, bool with_note)
{
    char m[48];
    printf("%s, M %s", sq_cli_text(f->name), tokens_of(f, m));
    if (f->paper > 0)
        printf("; paper %.2fx", f->paper);
    if (with_note && f->source[0])
        printf(": %s", sq_cli_text(f->source));
    if (with_note && f->note[0])
        printf("\n  note: %s", sq_cli_text(f->note));
    printf("\n");
}

static void print_line(const struct joined *j, const struct sq_gpu_joined_line *l)
{
    const struct sq_compare_input *in = j->in;
    enum sq_gpu_step step = SQ_GPU_STEP_SHEET;
    char where[96];
    snprintf(where, sizeof where, "%.60s%s%.30s", l->shapes ? sq_cli_text(in->name[l->file]) : "",
             l->shapes ? " on " : "", in->gpu[l->file].name);
    printf("  %-50.50s %5zu |", where, l->shapes);
    print_speedup(l->simulated, "x");
    printf(" |");
    print_speedup(l->measured, "x");
    print_speedup(l->predicted, "x");
    print_speedup(l->roofline, "x");
    if (largest_step(l, &step))
        printf(" | %s %.2f", sq_gpu_step_name(step), l->step[step]);
    else
        printf(" | -");
    printf("\n");
}

static void print_text(const struct joined *j)
{
    printf(
        "Speedups, geometric means over the shapes that a file has both times of; 0 shapes: of a "
        "workload, nothing is measured.\n"
        "predicted, roofline: fitted to other GPUs. largest step: what changes the speedup most on "
        "the way from simulated to measured, and its factor.\n\n");
    printf("  %-50s %5s |%10s |%10s%10s%10s | %s\n", "times and GPU", "n", "simulated", "measured",
           "predicted", "roofline", "largest step");
    for (size_t i = 0; i < j->joined.n; i++) {
        const struct sq_gpu_joined_line *l = &j->joined.line[i];
        if (i == 0 || l->row != j->joined.line[i - 1].row)
            print_heading(&j->formats.item[l->row], true);
        print_line(j, l);
    }
    printf("\nStatic splits of which both parts of K are measured as GEMMs of their own: the same "
           "shapes in one kernel, and in two\n");
    printf("  %-50s %5s |%10s%12s\n", "times and GPU", "n", "one kernel", "two kernels");
    size_t row = SIZE_MAX;
    for (size_t i = 0; i < j->joined.n; i++) {
        const struct sq_gpu_joined_line *l = &j->joined.line[i];
        if (l->parts.shapes == 0)
            continue;
        if (l->row != row)
            print_heading(&j->formats.item[l->row], false);
        row = l->row;
        printf("  %-50.50s %5zu |%9.2fx%11.2fx\n", sq_cli_text(j->in->name[l->file]),
               l->parts.shapes, l->parts.one_kernel, l->parts.two_kernels);
    }
}

// ---- JSON -----------------------------------------------------------------------------------

static double known(double v)
{
    return isfinite(v) ? v : NAN;
}

static void print_json_line(const struct joined *j, const struct sq_gpu_joined_line *l)
{
    const struct sq_compare_format *f = &j->formats.item[l->row];
    enum sq_gpu_step step = SQ_GPU_STEP_SHEET;
    char m[48];
    json_t *steps = json_object();
    for (unsigned s = 0; s < SQ_GPU_N_STEPS; s++)
        json_object_set_new(steps, sq_gpu_step_name((enum sq_gpu_step)s),
                            sq_cli_json_number(known(l->step[s])));
    const struct sq_cli_column row[] = {
        SQ_KEYS("format", f->name, "m", tokens_of(f, m)),
        SQ_KEYS("records", l->shapes ? j->in->name[l->file] : NULL),
        SQ_KEYS("machine", j->in->gpu[l->file].name, "rows", l->shapes),
        SQ_KEYS("simulated_speedup", known(l->simulated)),
        SQ_KEYS("measured_speedup", known(l->measured), "speedup", known(l->predicted)),
        SQ_KEYS("roofline_speedup", known(l->roofline), "steps", steps),
        SQ_KEYS("reason", largest_step(l, &step) ? sq_gpu_step_name(step) : NULL),
        SQ_KEYS("paper_speedup", f->paper > 0 ? f->paper : NAN),
        SQ_KEYS("paper", f->source[0] ? f->source : NULL, "note", f->note[0] ? f->note : NULL),
        SQ_KEYS("parts_rows", l->parts.shapes, "one_kernel_speedup", known(l->parts.one_kernel)),
        SQ_KEYS("two_kernels_speedup", known(l->parts.two_kernels)),
        SQ_COLUMNS_END};
    sq_cli_json_line(sq_cli_object(row));
}

static void print_json(const struct joined *j)
{
    for (size_t i = 0; i < j->joined.n; i++)
        print_json_line(j, &j->joined.line[i]);
    const struct sq_cli_column row[] = {
        SQ_KEYS("files", j->in->n, "formats", j->formats.n, "machine", j->machine.name),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("real", "modelled, against measured times", 0));
}

// ---- plot -----------------------------------------------------------------------------------

// The first row of this name; a panel shows all of them.
static size_t first_row(const struct joined *j, size_t row)
{
    size_t i = 0;
    while (strcmp(j->formats.item[i].name, j->formats.item[row].name) != 0)
        i++;
    return i;
}

static bool has_points(const struct joined *j, size_t panel)
{
    for (size_t i = 0; i < j->joined.n_points; i++)
        if (first_row(j, j->joined.point[i].row) == panel)
            return true;
    return false;
}

static void plot_points(const struct joined *j, size_t panel, FILE *f)
{
    for (unsigned is_small = 0; is_small < 2; is_small++) {
        fprintf(f, "$p%zu_%u << EOD\n", panel, is_small);
        for (size_t i = 0; i < j->joined.n_points; i++) {
            const struct sq_gpu_joined_point *p = &j->joined.point[i];
            if (first_row(j, p->row) == panel && (p->m <= 64) == (is_small == 1))
                fprintf(f, "%.3g %.3g\n", p->measured, p->predicted);
        }
        fprintf(f, "0 0\nEOD\n"); // no block is empty
    }
}

static enum sq_status plot(const char *path, const struct joined *j, struct sq_error *err)
{
    enum { COLUMNS = 6 };
    struct sq_compare_plot p;
    size_t n = 0;
    SQ_TRY(sq_compare_plot_open(&p, path, 700, err));
    for (size_t i = 0; i < j->formats.n; i++)
        if (has_points(j, i)) {
            plot_points(j, i, p.script);
            n++;
        }
    fprintf(p.script,
            "set multiplot layout %zu,%d title 'speedups on GPUs that the law was not fitted to: "
            "predicted over measured; blue: M from 65 on, orange: M up to 64'\n"
            "set logscale xy\nset xrange [.1:10]\nset yrange [.1:10]\nunset key\n"
            "set tics font ',8'\nset format '%%g'\nset lmargin 4\nset rmargin 1\n",
            n > 0 ? (n + COLUMNS - 1) / COLUMNS : 1, COLUMNS);
    for (size_t i = 0; i < j->formats.n; i++)
        if (has_points(j, i)) {
            fputs("set title ", p.script);
            sq_put_gnuplot(p.script, j->formats.item[i].name);
            fprintf(p.script,
                    " noenhanced font ',8'\nplot $p%zu_0 pt 7 ps .3 lc 'dark-blue', "
                    "$p%zu_1 pt 7 ps .3 lc 'orange', x lc 'black'\n",
                    i, i);
        }
    return sq_compare_plot_close(&p, err);
}

// ---- command --------------------------------------------------------------------------------

static enum sq_status load(struct joined *j, const char *formats, struct sq_error *err)
{
    const char *usual = sq_cli_home_path("traces/gpu_measured/formats.csv");
    SQ_TRY(sq_compare_formats_read(formats ? formats : usual, &j->formats, err));
    return sq_machine_load(sq_cli_home_path("sim/machines/default.yaml"), &j->machine, err);
}

static enum sq_status join(struct joined *j, struct sq_error *err)
{
    struct sq_gpu_joined_row *row = calloc(j->formats.n, sizeof *row);
    SQ_NEED(row, err, "%zu formats", j->formats.n);
    for (size_t i = 0; i < j->formats.n; i++)
        row[i] = j->formats.item[i].row;
    const enum sq_status status =
        sq_gpu_joined(row, j->formats.n, &j->machine, &j->cross, j->in->g, &j->joined, err);
    free(row);
    return status;
}

enum sq_status sq_compare_joined(const struct sq_compare_input *in, const char *formats,
                                 const char *picture, bool is_json, struct sq_error *err)
{
    struct joined j = {.in = in};
    enum sq_status status = load(&j, formats, err);
    if (status == SQ_OK)
        status = sq_gpu_cross(in->gpu, in->g, in->n, NULL, &j.cross, err);
    if (status == SQ_OK)
        status = join(&j, err);
    if (status == SQ_OK && is_json)
        print_json(&j);
    else if (status == SQ_OK)
        print_text(&j);
    if (status == SQ_OK && picture)
        status = plot(picture, &j, err);
    sq_gpu_joined_free(&j.joined);
    sq_gpu_cross_free(&j.cross);
    sq_compare_formats_free(&j.formats);
    return status;
}
