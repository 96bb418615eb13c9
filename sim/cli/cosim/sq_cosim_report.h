// SPDX-License-Identifier: Apache-2.0
// What the modes of `sqsim cosim` share: the arguments, a divergence, the last line.
#pragma once

#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/cosim/sq_route_cosim.h"
#include "sim/llm/text/sq_token_source.h"

enum { SQ_COSIM_MAX_POINTS = 64, SQ_COSIM_MAX_FILES = 256 };

struct sq_cosim_args {
    struct sq_cli_options options; // of the format
    struct sq_cli_core core;
    struct sq_cli_tools tools;
    const struct sq_block *block;
    const char *wanted[SQ_COSIM_MAX_POINTS]; // names given with --point
    const char *parameter[SQ_PARAMS_MAX];    // NAME=N of --parameter
    size_t n_parameters;
    size_t n_wanted;
    struct sq_point points[SQ_COSIM_MAX_POINTS]; // chosen, without repeats
    size_t n_points;
    uint64_t cases, seed;
    bool has_case;  // --case: only the one of this number
    bool has_cases; // --cases: with --case so many from it on
    uint64_t number;
    char **argv; // as given
    int argc;
    unsigned jobs;
    bool is_netlist, is_json, is_list;
    bool is_all; // every block, in turn
    bool has_block;
    bool is_model, is_trace;
    const char *file[SQ_COSIM_MAX_FILES]; // positional: a model, or kernel traces
    size_t n_files;
    const char *model;             // NULL: the embedded one
    struct sq_token_source source; // a token file or a text, or the model's own
    const char *calib;             // tokens of the calibration; NULL: the model's own
    const char *weights;           // encoded layers in their place; NULL: encoded here
    const char *layer;             // a pattern of names; NULL: all
    size_t m;                      // tokens with --layers
    bool is_free;                  // --layers without stalls and resets
    bool is_ring;                  // ... on the chip, all as one ring
    unsigned encode;               // ... and where activations come from, an enum sq_program_source
    unsigned depth;                // of the chip (struct sq_chip)
    const char *machine;           // a file; NULL: none
    uint64_t base;                 // where the images of the chip begin; 0 unless --base says it
    struct sq_chip chip;           // ... what the chip in it has
    unsigned array[2];             // ... rows and columns
    const char *output;            // NULL: build/cosim
    const char *waves;             // NULL: no waveform asked for
    const char *coverage;          // NULL, or where each point leaves its coverage
    unsigned n_mutants;            // > 0: faults of one point
    struct sq_error *err;
};

struct sq_cosim_total {
    size_t points;
    struct sq_compared compared;
    uint64_t cases, value_mismatches, cycle_mismatches;
    char blocks[96]; // names of those that routes went through
};

// The command that repeats what was run: case `number` of a point, or NULL where there are no
// numbered cases. The caller frees it; NULL without memory.
char *sq_cosim_command(const struct sq_cosim_args *in, const struct sq_case *failing,
                       const uint64_t *number);

// Prints the divergence of a shrunk case with its operands and the command that repeats it
// (`number` as above), and leaves the waveform in a directory named `label`.
void sq_cosim_print_failure(const struct sq_cosim_args *in, const char *label,
                            const struct sq_case *failing, const uint64_t *number,
                            const struct sq_result *result);

// "value", "handshake", ...
const char *sq_cosim_kind(enum sq_mismatch_kind kind);

// The chip of in->machine: its array and the rest.
enum sq_status sq_cosim_load_chip(struct sq_cosim_args *in);
// Products on the chip: --block top with --layers or traces.
bool sq_cosim_is_chip(const struct sq_cosim_args *in);
// Sizes, netlist and seed for routes. Without --rows and the like, arrays that build in seconds.
struct sq_route_options sq_cosim_route_options(const struct sq_cosim_args *in,
                                               const struct sq_core_config *core);
// What a route gave, of a layer or trace: a row, whose first columns, ending with SQ_COLUMNS_END, are
// the caller's, and which has the widths of block and shape; a line for each difference, the waveform
// under `label`; into the sums.
void sq_cosim_put_route(struct sq_cli_table *table, const struct sq_cli_column *first,
                        int block_width, int shape_width, const struct sq_route_outcome *out);
void sq_cosim_print_route(const struct sq_cosim_args *in, const char *name, const char *label,
                          const struct sq_route_outcome *out);
void sq_cosim_add_route(struct sq_cosim_total *total, const struct sq_route_outcome *out);

// The name of the block, or "all".
const char *sq_cosim_block_name(const struct sq_cosim_args *in);

// Progress on the terminal, for campaigns; context: unused.
void sq_cosim_progress(void *context, uint64_t done, uint64_t total);

// Last line, exit code. `unit` is "points", "layers" or "traces"; `data` "real" or "synthetic".
int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *total, const char *data);
