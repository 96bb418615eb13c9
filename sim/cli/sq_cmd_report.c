// SPDX-License-Identifier: Apache-2.0
// sqsim report: a sweep database as HTML, CSV, JSON and text; or what changed between two of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_row.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/sweep/sq_report.h"

enum { CHANGES = 2 };

struct arguments {
    const char *db, *output, *sweep;
    const char *file[2];
    size_t n_files;
    bool is_changes, is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("db", "FILE", AT(db), "database of sqsim sweep", .usual = "sweep.db"),
    SQ_CLI_TEXT("output", "DIR", AT(output),
                "write index.html, results.json and a CSV per sweep there", .letter = 'o',
                .is_output = true),
    SQ_CLI_FLAG("changes", AT(is_changes), "what changed between two databases, A and B",
                .mode = CHANGES),
    SQ_CLI_TEXT("sweep", "NAME", AT(sweep), "only this sweep of a database", .usual = "all",
                .modes = SQ_CLI_ALL),
    SQ_CLI_FLAG("json", AT(is_json),
                "one JSON object per sweep, or measure that changed, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_ARGUMENT("A B", SQ_CLI_LIST_AT(struct arguments, file, n_files), .modes = CHANGES),
    SQ_CLI_END};
static const char doc[] =
    "Shows what a sweep found: Pareto fronts, bank against sparsity, where the cycles go, of each "
    "workload (with its context and batch) and machine by itself. Prints a summary; -o also "
    "writes one self-contained HTML page (no network) with CSV and JSON beside it. Points that "
    "the specification, as it was last run, no longer has are left out of all of them, and "
    "counted. With --changes: points that only one of two databases has, and for every measure "
    "how many points differ and where most; exit status 0: no difference, 1: some.\v"
    "Examples:\n"
    "  sqsim report --db grid.db\n"
    "  sqsim report --db grid.db -o report\n"
    "  sqsim report --db all.db --sweep paper_grid --json\n"
    "  sqsim report --changes before.db after.db\n";

// ---- one database -------------------------------------------------------------------------------

static void print_json(const struct arguments *in, const struct sq_report *r)
{
    struct sq_cli_table table = {.is_json = true};
    size_t points = 0;
    for (size_t i = 0; i < r->n_sweeps; i++) {
        const struct sq_report_sweep *s = &r->sweep[i];
        const struct sq_cli_column row[] = {
            SQ_KEYS("sweep", s->name, "title", s->title ? s->title : "", "points", s->n_rows),
            SQ_KEYS("pairs", s->n_pairs, "stale", s->n_stale),
            SQ_KEYS("unchecked", s->unchecked[0] ? s->unchecked : NULL), SQ_COLUMNS_END};
        points += s->n_rows;
        sq_cli_put(&table, row);
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("sweeps", r->n_sweeps, "points", points, "directory", in->output), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance(NULL, NULL, 1));
}

static enum sq_status report(const struct arguments *in, struct sq_error *err)
{
    SQ_CLOSED(sq_report_free) struct sq_report r = {0};
    if (in->output && !*in->output)
        return SQ_FAIL(err, SQ_ERR_ARG, "--output = '', need the name of a directory");
    SQ_TRY(sq_report_load(&r, in->db, in->sweep, err));
    enum sq_status status = sq_report_hide_stale(&r, sq_cli_home(), err);
    if (status == SQ_OK && in->output)
        status = sq_report_write(&r, in->output, sq_cli_home_path("sim/sweep/sq_report.html"), err);
    if (status == SQ_OK && in->is_json)
        print_json(in, &r);
    else if (status == SQ_OK)
        status = sq_report_text(&r, stdout, err);
    return status;
}

// ---- two databases ------------------------------------------------------------------------------

static void print_changes(const struct arguments *in, const struct sq_changes *c)
{
    struct sq_cli_table table = {.is_json = in->is_json};
    for (size_t i = 0; i < c->n_measures; i++) {
        const struct sq_change *m = &c->measure[i];
        const struct sq_cli_column row[] = {
            SQ_COLUMN("measure", m->name, "measure", -24),
            SQ_COLUMN("points", m->n, "points", 8),
            SQ_COLUMN("was", m->a, "largest: was", 14),
            SQ_COLUMN("is", m->b, "is", 14),
            SQ_KEYS("relative_change", isfinite(m->relative) ? m->relative : NAN),
            SQ_COLUMN(NULL, m->relative, "change", 10, .as = "%.3g%%", .scale = 100),
            SQ_COLUMN("sweep", m->sweep, " at", 0, .as = " %s"),
            SQ_COLUMN(NULL, m->parameters, "", 0),
            SQ_KEYS("parameters", json_loads(m->parameters, 0, NULL)),
            SQ_COLUMNS_END};
        sq_cli_put(&table, row);
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("same", c->same, "changed", c->changed, "only_a", c->only_a, "only_b", c->only_b),
        SQ_COLUMNS_END};
    if (in->is_json)
        sq_cli_put_summary(row, sq_cli_provenance(NULL, NULL, 1));
    else
        printf("%llu points equal, %llu changed, %llu only in %s, %llu only in %s\n",
               (unsigned long long)c->same, (unsigned long long)c->changed,
               (unsigned long long)c->only_a, in->file[0], (unsigned long long)c->only_b,
               in->file[1]);
}

static enum sq_status compare(const struct arguments *in, bool *differ, struct sq_error *err)
{
    SQ_CLOSED(sq_report_free) struct sq_report a = {0};
    SQ_CLOSED(sq_report_free) struct sq_report b = {0};
    static struct sq_changes changes; // large
    if (in->n_files < 2)
        return SQ_FAIL(err, SQ_ERR_ARG, "--changes needs two databases of sqsim sweep");
    SQ_TRY(sq_report_load(&a, in->file[0], in->sweep, err));
    SQ_TRY(sq_report_load(&b, in->file[1], in->sweep, err));
    SQ_TRY(sq_report_compare(&a, &b, &changes, err));
    print_changes(in, &changes);
    *differ = changes.changed || changes.only_a || changes.only_b;
    return SQ_OK;
}

int sq_cmd_report(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.db = "sweep.db"};
    static const struct sq_cli_line line = {rows, "[A B]", doc};
    bool differ = false;
    enum sq_status status = sq_cli_parse(&line, argc, argv, &in, &err);
    SQ_THEN(status, in.is_changes ? compare(&in, &differ, &err) : report(&in, &err));
    return status != SQ_OK ? sq_cli_fail("report", &err)
           : differ        ? SQ_EXIT_CHECK_FAILED
                           : SQ_EXIT_OK;
}
