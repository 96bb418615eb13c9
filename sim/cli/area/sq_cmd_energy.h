// SPDX-License-Identifier: Apache-2.0
// sqsim energy: what its parts share.
#pragma once

#include "sim/cli/cosim/sq_cmd_cosim.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_wires.h"
#include "sim/energy/sq_measure.h"

struct sq_energy_args {
    struct sq_cosim_args c; // block, point, layer and model, as cosim has them
    const char *liberty;    // NULL: SQ_CLI_LIBERTY
    struct sq_cli_wires wires;
    struct sq_measure_options run;
    struct sq_synth synth;
    char *command;
};

// One block that was measured.
struct sq_energy_row {
    const struct sq_block *block;
    const struct sq_point *point;
    const char *layer;                // NULL: operands were drawn
    const struct sq_route_outcome *o; // of the layer, else NULL
    const struct sq_recipe *recipe;   // of the layer, else NULL
    const struct sq_measured *m;
};

void sq_energy_print_head(const struct sq_energy_args *in);
// A table; as JSON a line.
void sq_energy_print_row(const struct sq_energy_args *in, const struct sq_energy_row *row);
void sq_energy_print_summary(const struct sq_energy_args *in, size_t n_rows, bool is_real);
