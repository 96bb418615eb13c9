// SPDX-License-Identifier: Apache-2.0
// --wires, --lef, --wire and --utilisation: delays with placed wires (sim/place).
#pragma once

#include "sim/cli/sq_cli_row.h"
#include "sim/place/sq_wires.h"

// A part of a command's rows, SQ_CLI_WIRES(AT(wires)), beside a --seed of the command for wires.seed; start from sq_cli_wires_default().
struct sq_cli_wires {
    bool is_on;
    size_t n_files;
    char *file[SQ_LEF_FILES]; // owned
    struct sq_wires wires;    // once it is open
    struct sq_lef lef;
};
struct sq_cli_wires sq_cli_wires_default(void);
extern const struct sq_cli_row sq_cli_wires_rows[];
enum sq_status sq_cli_wires_end(void *wires, struct sq_error *err);
#define SQ_CLI_WIRES(...) SQ_CLI_PART(sq_cli_wires_rows, __VA_ARGS__, .end = sq_cli_wires_end)

// Reads the LEF files, the first time, and has `synth` place what it synthesizes from here on; nothing without --wires. Both must
// live as long as synth. Errors of sq_lef_read; SQ_ERR_ARG where neither they nor --wire say what a wire has.
enum sq_status sq_cli_wires_open(struct sq_cli_wires *w, struct sq_synth *synth,
                                 struct sq_error *err);
void sq_cli_wires_free(struct sq_cli_wires *w);
