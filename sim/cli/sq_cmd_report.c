// SPDX-License-Identifier: Apache-2.0
// sqsim report: a sweep database as HTML, CSV, JSON and text. sqsim compare-runs: two of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_row.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/sweep/sq_report.h"

struct arguments {
    const char *db, *output, *sweep;
    const char *file[2];
    size_t n_files;
    bool is_json;
};

#define AT(field) SQ_CLI_AT(struct arguments, field)

// ---- report -------------------------------------------------------------------------------------

static const struct sq_cli_row report_rows[] = {
    SQ_CLI_TEXT("db", "FILE", AT(db), "database of sqsim sweep", .usual = "sweep.db"),
    SQ_CLI_TEXT("output", "DIR", AT(output),
                "write index.html, results.json and a CSV per sweep there", .letter = 'o',
                .is_output = true),
    SQ_CLI_TEXT("sweep", "NAME", AT(sweep), "only this sweep of the database", .usual = "all"),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per sweep, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_END};
static const char report_doc[] =
    "Shows what a sweep found: Pareto fronts, bank against sparsity, where the cycles go, of each "
    "workload and machine by itself. Prints a summary; -o also writes one self-contained HTML page "
    "(no network) with CSV and JSON beside it. Points that the specification, as it was last run, "
    "no longer has are left out of all of them, and counted.\v"
    "Examples:\n"
    "  sqsim report --db grid.db\n"
    "  sqsim report --db grid.db -o report\n"
    "  sqsim report --db all.db --sweep paper_grid --json\n";

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

int sq_cmd_report(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {.db = "sweep.db"};
    static const struct sq_cli_line line = {report_rows, "", report_doc};
    struct sq_report report;
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("report", &err);
    if (in.output && !*in.output) {
        (void)SQ_FAIL(&err, SQ_ERR_ARG, "--output = '', need the name of a directory");
        return sq_cli_fail("report", &err);
    }
    if (sq_report_load(&report, in.db, in.sweep, &err) != SQ_OK)
        return sq_cli_fail("report", &err);
    enum sq_status status = sq_report_hide_stale(&report, sq_cli_home(), &err);
    if (status == SQ_OK && in.output)
        status =
            sq_report_write(&report, in.output, sq_cli_home_path("sim/sweep/sq_report.html"), &err);
    if (status == SQ_OK && in.is_json)
        print_json(&in, &report);
    else if (status == SQ_OK)
        status = sq_report_text(&report, stdout, &err);
    sq_report_free(&report);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("report", &err);
}

// ---- compare-runs -------------------------------------------------------------------------------

static const struct sq_cli_row compare_rows[] = {
    SQ_CLI_TEXT("sweep", "NAME", AT(sweep), "only this sweep", .usual = "all"),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per measure that changed, the summary last",
                .group = SQ_CLI_COMMON),
    SQ_CLI_ARGUMENT("A B", SQ_CLI_LIST_AT(struct arguments, file, n_files)), SQ_CLI_END};
static const char compare_doc[] =
    "Shows what changed between two sweep databases: points that only one has, and for every "
    "measure how many points differ and where most. Exit status 0: no difference, 1: some.\v"
    "Examples:\n"
    "  sqsim compare-runs before.db after.db\n"
    "  sqsim compare-runs before.db after.db --sweep paper_grid --json\n";

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

int sq_cmd_compare_runs(int argc, char **argv)
{
    struct sq_error err;
    struct arguments in = {0};
    static const struct sq_cli_line line = {compare_rows, "A B", compare_doc};
    struct sq_report a, b = {0};
    static struct sq_changes changes; // large
    if (sq_cli_parse(&line, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("compare-runs", &err);
    if (in.n_files < 2) {
        (void)SQ_FAIL(&err, SQ_ERR_ARG, "needs two databases of sqsim sweep");
        return sq_cli_fail("compare-runs", &err);
    }
    if (sq_report_load(&a, in.file[0], in.sweep, &err) != SQ_OK)
        return sq_cli_fail("compare-runs", &err);
    enum sq_status status = sq_report_load(&b, in.file[1], in.sweep, &err);
    if (status == SQ_OK)
        status = sq_report_compare(&a, &b, &changes, &err);
    if (status == SQ_OK)
        print_changes(&in, &changes);
    sq_report_free(&a);
    sq_report_free(&b);
    if (status != SQ_OK)
        return sq_cli_fail("compare-runs", &err);
    return changes.changed || changes.only_a || changes.only_b ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK;
}
