// SPDX-License-Identifier: Apache-2.0
// What the two modes of `sqsim cosim` share: random cases (sq_cmd_cosim.c) and the layers of a
// model (sq_cmd_cosim_model.c).
#ifndef SQ_CMD_COSIM_H
#define SQ_CMD_COSIM_H

#include "sq_cli.h"
#include "sq_cosim.h"

enum { SQ_COSIM_MAX_POINTS = 64 };

struct sq_cosim_args {
    struct sq_cli_format format;
    struct sq_cli_core core;
    enum sq_rtl_block block;
    const struct sq_stream_block *stream;    // SQ_RTL_STREAM: which
    const char *wanted[SQ_COSIM_MAX_POINTS]; // names given with --point
    size_t n_wanted;
    struct sq_cosim_point *points; // chosen, without repeats
    size_t n_points;
    uint64_t cases, seed;
    unsigned jobs;
    bool is_netlist, is_json, is_list;
    bool is_model;
    const char *model;  // NULL: the embedded one
    const char *tokens; // NULL: the model's own
    size_t m;           // tokens with --layers
    const char *output; // NULL: build/cosim
    const char *waves;  // NULL: no waveform asked for
    struct sq_error *err;
};

struct sq_cosim_total {
    uint64_t cases, beats, value_mismatches, cycle_mismatches;
};

struct sq_cosim_failure {
    const char *label; // of the directory for its waveform
    const struct sq_owned_case *failing;
    const struct sq_core_cosim_result *result;
};

// Prints the divergence with its operands and leaves the waveform.
void sq_cosim_print_failure(const struct sq_cosim_args *in, const struct sq_cosim_failure *f);

// Last line, exit code. `unit` is "points" or "layers"; `data` "real" or "synthetic".
int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *total, const char *data);

// `sqsim cosim --block topk` and the other blocks of sq_stream_block.h. Each returns an exit code;
// sq_cosim_stream also serves --list and --waves.
int sq_cosim_stream(const struct sq_cosim_args *in);

// Every linear layer of a checkpoint, whole, through the one point of in->points. Returns an exit
// code.
int sq_cosim_model(const struct sq_cosim_args *in);

#endif
