// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of `sqsim area`: what is computed (sq_cmd_area.c) and how it is printed
// (sq_cmd_area_print.c).
#ifndef SQ_CMD_AREA_H
#define SQ_CMD_AREA_H

#include "sim/cli/sq_cli.h"
#include "sim/synth/sq_area_block.h"

struct sq_area_row {
    struct sq_area_item block;
    struct sq_synth_block synth;
    double period_ns; // 0 = the smallest netlist, whatever its delay
    struct sq_synth_result result;
};

struct sq_area_table {
    size_t n;
    struct sq_area_row *row;
    bool keeps_parts; // every row
    bool has_periods; // every row
    const struct sq_synth *synth;
    const char *liberty; // as given
    char *command;       // the command line
};

// Both write to `out`: the table, or one JSON object per row and a summary.
void sq_area_print_text(FILE *out, const struct sq_area_table *t);
void sq_area_print_json(FILE *out, const struct sq_area_table *t);

#endif
