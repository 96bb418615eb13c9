// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of `sqsim area`: what is computed (sq_cmd_area.c) and how it is printed
// (sq_cmd_area_print.c).
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/synth/sq_area_chip.h"

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
    bool has_wires;   // every row: placed
    const struct sq_synth *synth;
    const char *liberty; // as given
    char *command;       // the command line
};

// ---- a module of somebody else (sq_cmd_area_source.c) -------------------------------------------

enum { SQ_AREA_FILES_MAX = 64 };
struct sq_area_files {
    const char *path[SQ_AREA_FILES_MAX];
    size_t n;
    struct sq_area_source module;
    char *name[SQ_SYNTH_MAX_PARAMS]; // of parameters; owned
};

// --source, --top, --param, --clock, --weights: a part of the rows of `area`.
extern const struct sq_cli_row sq_area_files_rows[];
// None of them, or a module and its sources.
enum sq_status sq_area_files_check(const struct sq_area_files *f, struct sq_error *err);
enum sq_status sq_area_files_add(const struct sq_area_files *f, struct sq_synth *s,
                                 struct sq_error *err);
void sq_area_files_free(struct sq_area_files *f);

// ---- a chip (sq_cmd_area_chip.c) ----------------------------------------------------------------

struct sq_area_chip_wanted {
    const char *machine, *format; // NULL: sim/machines/chip.yaml, dense
    const char *sram;             // folder of Liberty files of memories; NULL: flip-flops
    struct sq_area_chip chip;
};
// Makes *item the row of this chip, which must outlive it. SQ_ERR_ARG: the machine is no chip, its buffers are
// too large to be flip-flops; SQ_ERR_UNSUPPORTED: the chip does not run the format.
enum sq_status sq_area_chip_find(struct sq_area_chip_wanted *wanted, struct sq_area_item *item,
                                 struct sq_error *err);

// --svg, --def (sq_cmd_area_svg.c): the row, which has placed wires, drawn into a file and written into one; either may be NULL.
// Errors of sq_wires_place, sq_netlist_read; SQ_ERR_IO.
enum sq_status sq_area_draw(const struct sq_synth *s, struct sq_area_row *row, const char *svg,
                            const char *def, struct sq_error *err);

// Both write to `out`: the table, or one JSON object per row and a summary.
void sq_area_print_text(FILE *out, const struct sq_area_table *t);
void sq_area_print_json(FILE *out, const struct sq_area_table *t);

// All names of --block, by group: a line, or an object, for each.
void sq_area_print_list(FILE *out, bool is_json);

// The results of all rows of t->synth, by `jobs` threads (sq_cmd_area_work.c). A terminal is told
// which rows are at work. The error is that of a row that failed.
enum sq_status sq_area_synthesize(struct sq_area_table *t, unsigned jobs, struct sq_error *err);
