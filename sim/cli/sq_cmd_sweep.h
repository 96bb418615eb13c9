// SPDX-License-Identifier: Apache-2.0
// What `sqsim sweep` and `sqsim point` share. Program code.
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/sweep/sq_sweep.h"

// Prices of silicon and joules: options of both.
struct sq_sweep_prices {
    const char *liberty, *sram_area, *energy, *memory, *dram;
};
extern const struct sq_cli_row sq_sweep_prices_rows[];
#define SQ_SWEEP_PRICES(...) SQ_CLI_PART(sq_sweep_prices_rows, __VA_ARGS__)

// Home, caches, prices and provenance of this program, for one job and no database. *members, which the
// caller frees after use, holds tool, revision and code; NULL without memory.
struct sq_sweep_options sq_sweep_options_of(const struct sq_sweep_prices *prices, char **members);

// A row as one line of JSON on standard output (callback of a sweep, without context).
enum sq_status sq_sweep_print_json(void *context, const struct sq_sweep_row *row,
                                   struct sq_error *err);
