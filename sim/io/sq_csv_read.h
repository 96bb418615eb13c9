// SPDX-License-Identifier: Apache-2.0
// CSV files row by row (RFC 4180, by libcsv): cells in quotes may hold commas, line ends and
// doubled quotes. Blanks around a cell that is not quoted go away, as do carriage returns at the
// end of a line; lines of nothing but blanks are no rows.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"

enum { SQ_CSV_CELLS_MAX = 32 };

struct sq_csv_reader {
    unsigned line;                // of the row's first character, from 1
    unsigned n;                   // cells, also beyond those that are kept
    char *cell[SQ_CSV_CELLS_MAX]; // the first of them, terminated, valid until the next row
    struct sq_csv_state *state;   // private
};

// Reads text[nbytes], which the caller keeps; `what` names it in errors; rows of at most max_row
// bytes, 1..2^20. A byte order mark is passed over. free is harmless after a failure.
enum sq_status sq_csv_reader_init(struct sq_csv_reader *r, const char *text, size_t nbytes,
                                  const char *what, size_t max_row, struct sq_error *err);
void sq_csv_reader_free(struct sq_csv_reader *r);

// The next row; *more = false at the end, and the cells are then gone. SQ_ERR_DAMAGED with the line
// for a longer row, a zero byte, a quote inside a cell that is not quoted or after one that is, a
// quote that does not end.
enum sq_status sq_csv_next(struct sq_csv_reader *r, bool *more, struct sq_error *err);

// The number of the cell of a head with this name, whatever its case; false where there is none.
bool sq_csv_column(const struct sq_csv_reader *r, const char *name, unsigned *at);
