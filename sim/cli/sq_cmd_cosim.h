// SPDX-License-Identifier: Apache-2.0
// What the modes of `sqsim cosim` share: random cases (sq_cmd_cosim.c), the layers of a model
// (sq_cmd_cosim_model.c), kernel traces (sq_cmd_cosim_trace.c).
#ifndef SQ_CMD_COSIM_H
#define SQ_CMD_COSIM_H

#include "sim/cli/sq_cli.h"
#include "sim/cosim/sq_cosim.h"
#include "sim/cosim/sq_stream_cosim.h"

enum { SQ_COSIM_MAX_POINTS = 64, SQ_COSIM_MAX_FILES = 256 };

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
    bool is_all; // every block
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

struct sq_cosim_failure {
    const char *label; // of the directory for its waveform
    const struct sq_owned_case *failing;
    const struct sq_core_cosim_result *result;
};

// Prints the divergence with its operands and leaves the waveform.
void sq_cosim_print_failure(const struct sq_cosim_args *in, const struct sq_cosim_failure *f);

// The same for a block of sq_stream_block.h.
void sq_cosim_stream_failure(const struct sq_cosim_args *in, const char *label,
                             const struct sq_stream_case *failing,
                             const struct sq_core_cosim_result *result);

// "core", "gather", the name of a stream block, or "all".
const char *sq_cosim_block_name(const struct sq_cosim_args *in);

// Last line, exit code. `unit` is "points", "layers" or "traces"; `data` "real" or "synthetic".
int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *total, const char *data);

// `sqsim cosim --block core` and gather. sq_cosim_core_points() fills in->points from in->wanted
// (all without). sq_cosim_core() runs the campaign over them, prints a line per point and every
// divergence, and adds to *total; it returns an exit code, SQ_EXIT_OK also with mismatches.
enum sq_status sq_cosim_core_points(struct sq_cosim_args *in);
int sq_cosim_core_list(void);
int sq_cosim_core_waves(const struct sq_cosim_args *in);
int sq_cosim_core(const struct sq_cosim_args *in, struct sq_cosim_total *total);

// The same for the blocks of sq_stream_block.h: topk and the others.
enum sq_status sq_cosim_stream_points(const struct sq_cosim_args *in,
                                      const struct sq_stream_point **chosen, size_t *n_chosen);
int sq_cosim_stream_list(const struct sq_cosim_args *in);
int sq_cosim_stream_waves(const struct sq_cosim_args *in);
int sq_cosim_stream(const struct sq_cosim_args *in, struct sq_cosim_total *total);

// --mutants: in->n_mutants faults of the one point, a line per survivor (--json: per fault), the
// sums. SQ_EXIT_CHECK_FAILED only where the netlist without a fault already differs.
int sq_cosim_mutants(const struct sq_cosim_args *in);

// Every linear layer of a checkpoint, whole, through the one point of in->points. Returns an exit
// code.
int sq_cosim_model(const struct sq_cosim_args *in);

// Kernel traces in->file[], each through every block that takes it. Returns an exit code.
int sq_cosim_traces(const struct sq_cosim_args *in);

#endif
