// SPDX-License-Identifier: Apache-2.0
// Rows of a sweep database as CSV and as lines of text. The same rows give the same bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim/sweep/sq_sweep_db.h"

// The members of a flat JSON object in their order.
enum { SQ_FIELDS_MAX = 96 };
struct sq_field {
    const char *name, *text; // without quotes; "" for null
    bool is_number;          // null counts as one
    double value;            // NaN for null and texts
    char digits[32];         // private
};
struct sq_fields {
    size_t n;
    struct sq_field field[SQ_FIELDS_MAX];
    struct json_t *owner;
};
// SQ_ERR_DAMAGED where a row of the database is no flat object of numbers and texts.
enum sq_status sq_fields_read(struct sq_fields *f, const char *json, struct sq_error *err);
void sq_fields_free(struct sq_fields *f);

// What whoever prints or writes a row relies on: the name fits a file (sq_name_is_stem), parameters
// and measures are flat objects, the provenance is a JSON object. SQ_ERR_DAMAGED with the value: a
// database may come from anywhere.
enum sq_status sq_sweep_row_check(const struct sq_sweep_row *row, struct sq_error *err);

// Line 1 of what a command shows of a sweep: "# sqsim COMMAND, NAME; provenance ...: {...}". The
// row has been checked.
void sq_csv_head(FILE *out, const char *command, const struct sq_sweep_row *row);

// The same as a JSON object, beside a CSV file, which has nothing but its head and its rows.
void sq_csv_sidecar(FILE *out, const char *command, const struct sq_sweep_row *row);

// The row of --json, on one line: sweep, key, each parameter, each measure, provenance. The row has
// been checked.
void sq_put_row_json(FILE *out, const struct sq_sweep_row *row);

// One row after another: a head line where the columns change, then parameters and measures,
// separated by commas. Texts with a comma, quote or line end are quoted (RFC 4180).
struct sq_csv {
    FILE *out;
    char *head; // of the rows so far, owned; start with NULL
};
enum sq_status sq_csv_row(struct sq_csv *csv, const struct sq_sweep_row *row, struct sq_error *err);
void sq_csv_free(struct sq_csv *csv);
