// SPDX-License-Identifier: Apache-2.0
// What a sweep database says, for people: a self-contained HTML page with CSV and JSON beside it,
// a text summary, and what changed between two databases. The same rows give the same bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/sweep/sq_sweep_db.h"

struct sq_report_row {
    char *parameters, *measures, *provenance; // JSON objects
    struct sq_digest key;
    char *order; // sorts like the parameters: numbers by value, texts as texts
    char *pair;  // the parameters that say which work and machine, a JSON object
};

// Points that may be compared: the same work on the same machine. Rows `first` to
// `first + n_rows - 1`.
struct sq_report_pair {
    const char *of; // JSON object, owned by its rows
    size_t first, n_rows;
};

struct sq_report_sweep {
    char *name, *title, *spec;
    size_t n_rows;
    struct sq_report_row *row; // by pair, then by parameters
    size_t n_pairs;
    struct sq_report_pair *pair;
    // What sq_report_hide_stale found: points left out, or why it could not tell ("": it could).
    size_t n_stale;
    char unchecked[200];
};

// The axes that tell pairs apart: model, workload, machine, m, n, k, context, batch. A front, a heat map or a
// smallest value over two of them would compare one token with a prefill of 2048, or a context of 128 with one of 128k.
bool sq_report_is_of_pair(const char *parameter);

struct sq_report {
    size_t n_sweeps;
    struct sq_report_sweep *sweep; // by name
};

// Everything the database at `path` holds, or one sweep of it (NULL: all). Refuses an unknown name
// and a database without points (SQ_ERR_RANGE), and rows that are damaged: names of sweeps that are
// no file names (sq_name_is_stem), objects that are no JSON, texts that are no UTF-8. What is
// loaded can be written: every other text is quoted.
enum sq_status sq_report_load(struct sq_report *r, const char *path, const char *sweep,
                              struct sq_error *err);
void sq_report_free(struct sq_report *r);

// Leaves out the points that the specification of their sweep, as it was last run, no longer has.
// Where the specification cannot be read (a machine file that is not here) all points stay, and
// `unchecked` says why. Machines are read from below `home`. SQ_ERR_RANGE where no point is left.
enum sq_status sq_report_hide_stale(struct sq_report *r, const char *home, struct sq_error *err);

// DIR/index.html, DIR/results.json, DIR/NAME.csv of each sweep. DIR is made where missing (not its
// parents). `page` is the template, sim/sweep/sq_report.html. Its Content-Security-Policy allows
// the scripts and the style that are in it, by SHA-256, and nothing else. The page shows at most
// SQ_REPORT_PAGE_ROWS points of a sweep and says so; the other files hold all. After a failure DIR
// is as it was: no file has its name before all are written.
#define SQ_REPORT_PAGE_ROWS 5000u
enum sq_status sq_report_write(const struct sq_report *r, const char *dir, const char *page,
                               struct sq_error *err);

// Ranges of the measures, Pareto fronts, bank x sparsity tables, of each pair; of more than
// SQ_REPORT_TEXT_PAIRS pairs only the ranges, of all together.
#define SQ_REPORT_TEXT_PAIRS 24u
enum sq_status sq_report_text(const struct sq_report *r, FILE *out, struct sq_error *err);

// ---- two databases ----------------------------------------------------------------------------

enum { SQ_CHANGES_MAX = 96 };
struct sq_changes {
    uint64_t only_a, only_b, same, changed; // points
    size_t n_measures;                      // that differ somewhere
    struct sq_change {
        char name[40];
        uint64_t n;        // points where it differs, or is in one of the two only
        double a, b;       // where the relative difference is largest
        double relative;   // |b - a| / |a|; infinite where a is 0 or one of the two is missing
        const char *sweep; // of the report a
        const char *parameters;
    } measure[SQ_CHANGES_MAX];
};
// By sweep and parameters. *c points into *a.
enum sq_status sq_report_compare(const struct sq_report *a, const struct sq_report *b,
                                 struct sq_changes *c, struct sq_error *err);
