// SPDX-License-Identifier: Apache-2.0
// sqsim compare --joined: formats on the simulated accelerator, on GPUs as predicted and as
// measured, and in their papers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/gpu/sq_gpu_joined.h"
#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"

// ---- formats beside one another ----------------------------------------------------------------

// The table of formats for `sqsim compare --joined`: which formats of the accelerator stand beside
// which products of a GPU, and what their papers say. CSV with the columns
//   name         for people
//   m_min, m_max tokens that count, 1..2^24
//   format, base options as `sqsim run` takes them ("--format dense --weight-bits 8"); both empty: the
//                accelerator has no such format
//   kernel, base_kernel   what multiplies them on a GPU (sq_gpu_kernel_parse); both empty: what their
//                tables in sim/format say
//   workload     a table of traces/workloads, where nothing was measured
//   paper, source, note   its speedup (empty: none), where it stands, why it may differ

struct sq_compare_format {
    struct sq_gpu_joined_row row; // its workload is owned
    char name[64], source[96], note[160];
    double paper; // 0: none
};

enum { SQ_COMPARE_FORMATS_MAX = 256 };
struct sq_compare_formats {
    size_t n;
    struct sq_compare_format *item; // owned
};

// Refusals name line, column and value. Free it in any case; *formats is zeroed.
enum sq_status sq_compare_formats_read(const char *path, struct sq_compare_formats *formats,
                                       struct sq_error *err);

enum {
    NAME,
    M_MIN,
    M_MAX,
    FORMAT,
    BASE,
    KERNEL,
    BASE_KERNEL,
    WORKLOAD,
    PAPER,
    SOURCE,
    NOTE,
    N_COLUMNS
};
static const char *const columns[N_COLUMNS] = {"name",  "m_min",  "m_max",       "format",
                                               "base",  "kernel", "base_kernel", "workload",
                                               "paper", "source", "note"};

struct reader {
    const char *what;
    struct sq_csv_reader csv;
    struct sq_compare_formats *out;
    struct sq_error *err;
};

// A sentence about one cell of the row.
static enum sq_status refuse(const struct reader *r, unsigned column, const char *sentence)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %s = '%.60s', %.120s",
                   sq_path_tail(r->what), r->csv.line, columns[column], r->csv.cell[column],
                   sentence);
}

// ---- cells ----------------------------------------------------------------------------------

struct line_options {
    struct sq_cli_options format;
};

// "--format dense --weight-bits 8" as `run` reads it.
static enum sq_status read_recipe(const struct reader *r, unsigned column, struct sq_recipe *recipe)
{
    static const struct sq_cli_row rows[] = {
        SQ_CLI_FORMATS(SQ_IN_RUN, SQ_CLI_AT(struct line_options, format)), SQ_CLI_END};
    static const struct sq_cli_line line = {rows, "", ""};
    enum { WORDS_MAX = 32 };
    struct line_options in = {sq_cli_options_default(SQ_IN_RUN)};
    char command[] = "run", text[512], *save = NULL, *argv[WORDS_MAX + 1] = {command};
    struct sq_error inner;
    int argc = 1;
    snprintf(text, sizeof text, "%s", r->csv.cell[column]);
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        const bool is_name = argc % 2 == 1; // names and values take turns
        if (argc == WORDS_MAX || (is_name && (strncmp(w, "--", 2) != 0 || strchr(w, '='))) ||
            strcmp(w, "--help") == 0 || strcmp(w, "--complete") == 0 || strcmp(w, "-h") == 0)
            return refuse(r, column, "need options of a format, each with its value");
        argv[argc++] = w;
    }
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &inner);
    SQ_THEN(status, sq_cli_recipe(&in.format, recipe, &inner));
    return status == SQ_OK ? SQ_OK : refuse(r, column, inner.text);
}

static enum sq_status read_kernel(const struct reader *r, unsigned column,
                                  struct sq_gpu_kernel *kernel)
{
    struct sq_error inner;
    return sq_gpu_kernel_parse(r->csv.cell[column], kernel, &inner) == SQ_OK
               ? SQ_OK
               : refuse(r, column, inner.text);
}

static enum sq_status read_workload(const struct reader *r, struct sq_workload *w)
{
    const char *name = r->csv.cell[WORKLOAD];
    char relative[128];
    if (!sq_name_is_stem(name))
        return refuse(r, WORKLOAD, "need the name of a table in traces/workloads");
    snprintf(relative, sizeof relative, "traces/workloads/%s.csv", name);
    return sq_workload_read(sq_cli_home_path(relative), w, r->err);
}

static enum sq_status read_paper(const struct reader *r, double *paper)
{
    const char *text = r->csv.cell[PAPER];
    char *end;
    *paper = strtod(text, &end);
    if (!*text || (end != text && *end == '\0' && *paper > 0.01 && *paper < 100))
        return SQ_OK;
    return refuse(r, PAPER, "need a speedup of 0.01..100, or nothing");
}

static enum sq_status read_tokens(const struct reader *r, unsigned column, uint64_t *m)
{
    struct sq_error inner;
    return sq_cli_uint(columns[column], r->csv.cell[column], 1, 1 << 24, m, &inner) == SQ_OK
               ? SQ_OK
               : refuse(r, column, "need 1..16777216");
}

// ---- rows -----------------------------------------------------------------------------------

static enum sq_status check_pair(const struct reader *r, unsigned a, unsigned b, bool *has)
{
    *has = r->csv.cell[a][0] != '\0';
    return *has == (r->csv.cell[b][0] != '\0')
               ? SQ_OK
               : refuse(r, a, "and the base beside it: need both or none");
}

static enum sq_status read_row(const struct reader *r, struct sq_compare_format *f)
{
    char *const *cell = r->csv.cell;
    struct sq_gpu_joined_row *row = &f->row;
    if (r->csv.n != N_COLUMNS)
        return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %u columns, need %d",
                       sq_path_tail(r->what), r->csv.line, r->csv.n, N_COLUMNS);
    snprintf(f->name, sizeof f->name, "%s", cell[NAME]);
    snprintf(f->source, sizeof f->source, "%s", cell[SOURCE]);
    snprintf(f->note, sizeof f->note, "%s", cell[NOTE]);
    SQ_TRY(read_tokens(r, M_MIN, &row->min_m));
    SQ_TRY(read_tokens(r, M_MAX, &row->max_m));
    if (row->max_m < row->min_m)
        return refuse(r, M_MAX, "need m_min or more");
    SQ_TRY(check_pair(r, FORMAT, BASE, &row->is_simulated));
    SQ_TRY(check_pair(r, KERNEL, BASE_KERNEL, &row->has_kernels));
    if (!row->is_simulated && !row->has_kernels)
        return refuse(r, FORMAT, "and kernel too: need one of them");
    if (row->is_simulated) {
        SQ_TRY(read_recipe(r, FORMAT, &row->fast));
        SQ_TRY(read_recipe(r, BASE, &row->slow));
    }
    if (row->has_kernels) {
        SQ_TRY(read_kernel(r, KERNEL, &row->fast_kernel));
        SQ_TRY(read_kernel(r, BASE_KERNEL, &row->slow_kernel));
    } else if (!row->fast.format->gpu || !row->slow.format->gpu) {
        return refuse(r, KERNEL, "need one: no kernel in gpu/ multiplies the format or its base");
    }
    if (row->slow_kernel.gemm.low_share > 0)
        return refuse(r, BASE_KERNEL, "need no split");
    SQ_TRY(read_paper(r, &f->paper));
    return read_workload(r, &row->workload);
}

static enum sq_status read_head(const struct reader *r)
{
    bool is_head = r->csv.n == N_COLUMNS;
    for (unsigned i = 0; i < N_COLUMNS && is_head; i++)
        is_head = strcmp(r->csv.cell[i], columns[i]) == 0;
    return is_head ? SQ_OK
                   : SQ_FAIL(r->err, SQ_ERR_DAMAGED,
                             "'%s' line 1: need the columns name,m_min,m_max,format,base,kernel,"
                             "base_kernel,workload,paper,source,note",
                             sq_path_tail(r->what));
}

static enum sq_status read_rows(struct reader *r)
{
    bool more;
    SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
    if (more)
        SQ_TRY(read_head(r));
    while (more) {
        SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
        if (!more)
            break;
        if (r->out->n == SQ_COMPARE_FORMATS_MAX)
            return SQ_FAIL(r->err, SQ_ERR_RANGE, "'%s' line %u: more than %d formats",
                           sq_path_tail(r->what), r->csv.line, SQ_COMPARE_FORMATS_MAX);
        SQ_TRY(read_row(r, &r->out->item[r->out->n++]));
    }
    return r->out->n > 0 ? SQ_OK
                         : SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' holds no format, need one",
                                   sq_path_tail(r->what));
}

enum sq_status sq_compare_formats_read(const char *path, struct sq_compare_formats *out,
                                       struct sq_error *err)
{
    struct reader r = {.what = path, .out = out, .err = err};
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    memset(out, 0, sizeof *out);
    SQ_TRY(sq_file_map(path, &map, err));
    out->item = calloc(SQ_COMPARE_FORMATS_MAX, sizeof *out->item);
    enum sq_status status = out->item
                                ? sq_csv_reader_init(&r.csv, map.data ? (const char *)map.data : "",
                                                     map.nbytes, path, 4096, err)
                                : SQ_NO_MEMORY(err, "formats");
    SQ_THEN(status, read_rows(&r));
    sq_csv_reader_free(&r.csv);
    return status;
}

static void sq_compare_formats_free(struct sq_compare_formats *formats)
{
    for (size_t i = 0; i < formats->n; i++)
        sq_workload_free(&formats->item[i].row.workload);
    free(formats->item);
    memset(formats, 0, sizeof *formats);
}

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
    SQ_FREED struct sq_gpu_joined_row *row = calloc(j->formats.n, sizeof *row);
    SQ_NEED(row, err, "%zu formats", j->formats.n);
    for (size_t i = 0; i < j->formats.n; i++)
        row[i] = j->formats.item[i].row;
    return sq_gpu_joined(row, j->formats.n, &j->machine, &j->cross, j->in->g, &j->joined, err);
}

enum sq_status sq_compare_joined(const struct sq_compare_input *in, const char *formats,
                                 const char *picture, bool is_json, struct sq_error *err)
{
    struct joined j = {.in = in};
    enum sq_status status = load(&j, formats, err);
    SQ_THEN(status, sq_gpu_cross(in->gpu, in->g, in->n, NULL, &j.cross, err));
    SQ_THEN(status, join(&j, err));
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
