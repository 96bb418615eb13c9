// SPDX-License-Identifier: Apache-2.0
// One whole pass of `sqsim run --phase`: what is timed, and what comes of it. Program code.
#pragma once

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/machine/sq_pass.h"

struct sq_run_one {
    const struct sq_run_request *request;
    const char *name; // of the model
    json_t *config;   // owned
    struct sq_machine machine;
    struct sq_run_fair fair;
    struct sq_recipe cache, head; // head: unless it is that of the layers
    struct sq_run_energy energy, cache_energy, head_energy;
    struct sq_workload workload;
    struct sq_pass_result result;
    // In rows: "own" PEs of the format, the "second" array, or "none" that RTL has; NULL: on the machine's multipliers.
    const char *attention_on, *head_on;
    double first_s;      // to the first token
    double encode_s;     // of a row of a chip that computes a token by itself: its encoders
    double seconds_host; // planning and timing
};

// The files of --energy, --kv-energy and --head-energy; a machine whose clock is that of its netlist gets it. Nothing without --energy.
enum sq_status sq_run_one_energy(struct sq_run_one *one, struct sq_error *err);
// Reads the model and the machine, whose clock may then be changed; plans and times. Freed in any case.
enum sq_status sq_run_one_open(const struct sq_run_request *request, struct sq_run_one *one,
                               struct sq_error *err);
enum sq_status sq_run_one_time(struct sq_run_one *one, struct sq_error *err);
void sq_run_one_free(struct sq_run_one *one);
// What takes the longest, if each alone took time.
const char *sq_run_binds(const struct sq_pass_result *x);
// The recipe of lm_head.
const struct sq_recipe *sq_run_head(const struct sq_run_one *one);

// A chip with vector and attention unit computes a token by itself (sq_cmd_run_token.c): SQ_ERR_UNSUPPORTED for what its time is not
// of; times and prints the token of an opened request with its joules' files, whose model is the checkpoint at path.
enum sq_status sq_run_token_check(const struct sq_run_request *request,
                                  const struct sq_machine *machine, struct sq_error *err);
enum sq_status sq_run_token(struct sq_run_one *one, const char *path, struct sq_error *err);
// The same as a row: the seconds of its parts go to one->result. synth: the silicon is that of the chip's own netlist, by unit, and the
// machine gets its clock but with --machine-clock; NULL: *silicon stays as it is. Errors of sq_area_chip_make, sq_synth_area.
enum sq_status sq_run_token_row(struct sq_run_one *one, const char *path,
                                const struct sq_synth *synth, struct sq_fair_silicon *silicon,
                                struct sq_error *err);
// Where the request's model is.
const char *sq_run_model_path(const struct sq_run_request *request);
