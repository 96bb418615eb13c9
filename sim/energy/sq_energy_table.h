// SPDX-License-Identifier: Apache-2.0
// Joules of a MAC as `sqsim energy` has measured them: the lines that it prints with --layer and --json
// are the file. Those whose recipe is the one asked for count, all layers together.
//
// A block of one row and one column has three shares. Only the first is paid by every PE of an array:
//   PE       what lies inside of PEs
//   line     operand registers, decoders, masks, control: once for a row or a column
//   output   the output stage, whose work grows with the outputs
#pragma once

#include <stdbool.h>

#include "models/sq_status.h"
#include "sim/format/sq_recipe.h"
#include "sim/io/sq_digest.h"

enum sq_mac_share { SQ_MAC_PE, SQ_MAC_LINE, SQ_MAC_OUTPUT, SQ_N_MAC_SHARES };
enum { SQ_LOW, SQ_HIGH, SQ_N_ENDS }; // of a range

// A MAC slot is room for a MAC in a cycle, whether one is made or not.
struct sq_mac_energy {
    double change[SQ_N_MAC_SHARES][SQ_N_ENDS]; // joules a MAC: without delays and with them
    double clock[SQ_N_MAC_SHARES];             // joules a slot: clock pins
    double leak[SQ_N_MAC_SHARES];              // watts of what has one slot a cycle
    double slots; // of a PE and cycle, in the blocks that were measured
    char block[64];
    char liberty[SQ_DIGEST_SIZE]; // digest of the library
    char library[160];            // its file, without folders, and node; "": the lines do not say
    double needs_ns; // shortest period of the netlists, by changes and paths; 0: likewise
    unsigned n_layers;
    bool has_wires; // every line was measured with --wires
};

// PEs of the engines that count, and elements of K that one takes in a beat (0: any).
struct sq_energy_array {
    unsigned rows, cols, bank;
};

// array: NULL, 1x1 PEs. SQ_ERR_UNSUPPORTED where no line has this recipe, as a run shows it (sq_recipe_json); SQ_ERR_ARG
// where lines of it differ in block or library, are not golden, or are not of such PEs; SQ_ERR_RANGE for joules below 0;
// else as sq_json_parse.
enum sq_status sq_energy_table_read(const char *path, const struct sq_recipe *recipe,
                                    const struct sq_energy_array *array, struct sq_mac_energy *out,
                                    struct sq_error *err);

// Joules of a vector unit by the same file's lines of block `vector` (`sqsim energy --block vector --json`): of a lane.
struct sq_vector_energy {
    bool is_there;            // the file has such lines
    double change[SQ_N_ENDS]; // joules an operation: without delays and with them
    double clock;             // joules a cycle: clock pins
    double leak;              // watts
    char liberty[SQ_DIGEST_SIZE];
    double needs_ns; // the last change of a cycle
};
// Errors as above; none where the file has no such lines.
enum sq_status sq_energy_table_vector(const char *path, struct sq_vector_energy *out,
                                      struct sq_error *err);
// The same of an attention unit by the line of block `attend` whose parameters are these, up to the first without a name; a line
// of another unit is passed over. change: joules of a beat of a key and of the beat of its value.
struct sq_energy_need {
    const char *name;
    unsigned value;
};
enum sq_status sq_energy_table_attend(const char *path, const struct sq_energy_need *need,
                                      struct sq_vector_energy *out, struct sq_error *err);
