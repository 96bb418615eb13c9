// SPDX-License-Identifier: Apache-2.0
// Reads and checks the table of formats row by row (sq_compare_formats.h).
#include "sim/cli/compare/sq_compare_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_option.h"
#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"

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
    if (status == SQ_OK)
        status = sq_cli_recipe(&in.format, recipe, &inner);
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
    struct sq_file_view map;
    memset(out, 0, sizeof *out);
    SQ_TRY(sq_file_map(path, &map, err));
    out->item = calloc(SQ_COMPARE_FORMATS_MAX, sizeof *out->item);
    enum sq_status status = out->item
                                ? sq_csv_reader_init(&r.csv, map.data ? (const char *)map.data : "",
                                                     map.nbytes, path, 4096, err)
                                : SQ_NO_MEMORY(err, "formats");
    if (status == SQ_OK)
        status = read_rows(&r);
    sq_csv_reader_free(&r.csv);
    sq_file_unmap(&map);
    return status;
}

void sq_compare_formats_free(struct sq_compare_formats *formats)
{
    for (size_t i = 0; i < formats->n; i++)
        sq_workload_free(&formats->item[i].row.workload);
    free(formats->item);
    memset(formats, 0, sizeof *formats);
}
