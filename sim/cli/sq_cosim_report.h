// SPDX-License-Identifier: Apache-2.0
// What the modes of `sqsim cosim` share: the arguments, a divergence, the last line.
#ifndef SQ_COSIM_REPORT_H
#define SQ_COSIM_REPORT_H

#include "sim/cli/sq_cli.h"
#include "sim/cosim/sq_lockstep.h"

enum { SQ_COSIM_MAX_POINTS = 64, SQ_COSIM_MAX_FILES = 256 };

struct sq_cosim_args {
    struct sq_cli_format format;
    struct sq_cli_core core;
    const struct sq_block *block;
    const char *wanted[SQ_COSIM_MAX_POINTS]; // names given with --point
    size_t n_wanted;
    struct sq_point points[SQ_COSIM_MAX_POINTS]; // chosen, without repeats
    size_t n_points;
    uint64_t cases, seed;
    unsigned jobs;
    bool is_netlist, is_json, is_list;
    bool is_all; // every block, in turn
    bool has_block;
    bool is_model, is_trace;
    const char *file[SQ_COSIM_MAX_FILES]; // positional: a model, or kernel traces
    size_t n_files;
    const char *model;    // NULL: the embedded one
    const char *tokens;   // NULL: the model's own
    size_t m;             // tokens with --layers
    const char *output;   // NULL: build/cosim
    const char *waves;    // NULL: no waveform asked for
    const char *coverage; // NULL, or where each point leaves its coverage
    unsigned n_mutants;   // > 0: faults of one point
    struct sq_error *err;
};

struct sq_cosim_total {
    size_t points;
    uint64_t cases, beats, value_mismatches, cycle_mismatches;
};

// Prints the divergence of a shrunk case with its operands and leaves the waveform in a directory
// named `label`.
void sq_cosim_print_failure(const struct sq_cosim_args *in, const char *label,
                            const struct sq_case *failing, const struct sq_result *result);

// The name of the block, or "all".
const char *sq_cosim_block_name(const struct sq_cosim_args *in);

// Progress on the terminal, for campaigns; context: unused.
void sq_cosim_progress(void *context, uint64_t done, uint64_t total);

// Last line, exit code. `unit` is "points", "layers" or "traces"; `data` "real" or "synthetic".
int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *total, const char *data);

#endif
