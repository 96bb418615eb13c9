// SPDX-License-Identifier: Apache-2.0
// sqsim report: a sweep database as HTML, CSV, JSON and text. sqsim compare-runs: two of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_row.h"
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
                "write index.html, results.json and a CSV per sweep there", .letter = 'o'),
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
    size_t points = 0;
    json_t *o;
    for (size_t i = 0; i < r->n_sweeps; i++) {
        points += r->sweep[i].n_rows;
        o = json_object();
        json_object_set_new(o, "sweep", json_string(r->sweep[i].name));
        json_object_set_new(o, "title", json_string(r->sweep[i].title ? r->sweep[i].title : ""));
        json_object_set_new(o, "points", json_integer((json_int_t)r->sweep[i].n_rows));
        json_object_set_new(o, "pairs", json_integer((json_int_t)r->sweep[i].n_pairs));
        json_object_set_new(o, "stale", json_integer((json_int_t)r->sweep[i].n_stale));
        json_object_set_new(o, "unchecked",
                            r->sweep[i].unchecked[0] ? sq_cli_json_text(r->sweep[i].unchecked)
                                                     : json_null());
        sq_cli_json_line(o);
    }
    o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "sweeps", json_integer((json_int_t)r->n_sweeps));
    json_object_set_new(o, "points", json_integer((json_int_t)points));
    json_object_set_new(o, "directory", in->output ? sq_cli_json_text(in->output) : json_null());
    json_object_set_new(o, "provenance", sq_cli_provenance(NULL, NULL, 1));
    sq_cli_json_line(o);
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
    char *page = sq_cli_home_path("sim/sweep/sq_report.html");
    if (!page)
        status = SQ_FAIL(&err, SQ_ERR_MEMORY, "out of memory for a report");
    else if (status == SQ_OK && in.output)
        status = sq_report_write(&report, in.output, page, &err);
    if (status == SQ_OK && in.is_json)
        print_json(&in, &report);
    else if (status == SQ_OK)
        status = sq_report_text(&report, stdout, &err);
    free(page);
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

static json_t *number_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static void print_changes(const struct arguments *in, const struct sq_changes *c)
{
    json_t *o;
    if (!in->is_json && c->n_measures)
        printf("%-24s %8s %14s %14s %10s  %s\n", "measure", "points", "largest: was", "is",
               "change", "at");
    for (size_t i = 0; i < c->n_measures; i++) {
        if (!in->is_json) {
            printf("%-24s %8llu %14.6g %14.6g %9.3g%%  %s %s\n", c->measure[i].name,
                   (unsigned long long)c->measure[i].n, c->measure[i].a, c->measure[i].b,
                   100 * c->measure[i].relative, c->measure[i].sweep, c->measure[i].parameters);
            continue;
        }
        o = json_object();
        json_object_set_new(o, "measure", json_string(c->measure[i].name));
        json_object_set_new(o, "points", json_integer((json_int_t)c->measure[i].n));
        json_object_set_new(o, "was", number_or_null(c->measure[i].a));
        json_object_set_new(o, "is", number_or_null(c->measure[i].b));
        json_object_set_new(o, "relative_change", number_or_null(c->measure[i].relative));
        json_object_set_new(o, "sweep", json_string(c->measure[i].sweep));
        json_object_set_new(o, "parameters", json_loads(c->measure[i].parameters, 0, NULL));
        sq_cli_json_line(o);
    }
    if (!in->is_json) {
        printf("%llu points equal, %llu changed, %llu only in %s, %llu only in %s\n",
               (unsigned long long)c->same, (unsigned long long)c->changed,
               (unsigned long long)c->only_a, in->file[0], (unsigned long long)c->only_b,
               in->file[1]);
        return;
    }
    o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "same", json_integer((json_int_t)c->same));
    json_object_set_new(o, "changed", json_integer((json_int_t)c->changed));
    json_object_set_new(o, "only_a", json_integer((json_int_t)c->only_a));
    json_object_set_new(o, "only_b", json_integer((json_int_t)c->only_b));
    json_object_set_new(o, "provenance", sq_cli_provenance(NULL, NULL, 1));
    sq_cli_json_line(o);
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
