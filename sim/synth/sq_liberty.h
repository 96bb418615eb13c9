// SPDX-License-Identifier: Apache-2.0
// What area reports need to know about a standard-cell library in Liberty format: names and areas
// of the cells, which of them store state, the reference gate, the full adder. Delays, tables and
// power are read by sq_liberty_power.h where energies need them; OpenSTA reads them itself.
//
// Liberty gives no unit of area; SPEC D.6 assumes square micrometres, and so does every report.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sq_status.h"

enum { SQ_LIB_NAME_LEN = 64 }; // longest cell or pin name, with its terminator
enum { SQ_LIB_MAX_NBYTES = 256 << 20, SQ_LIB_MAX_CELLS = 100000 };

struct sq_lib_cell {
    char name[SQ_LIB_NAME_LEN];
    double area; // the unit of the file; < 0 where it gives none
    bool is_sequential;
};

// A full adder: sum and carry of three inputs, each output possibly inverted.
struct sq_lib_adder {
    char cell[SQ_LIB_NAME_LEN]; // "" = the library has none
    char in[3][SQ_LIB_NAME_LEN];
    char sum[SQ_LIB_NAME_LEN], carry[SQ_LIB_NAME_LEN];
    bool sum_inverted, carry_inverted;
    double area;
};

struct sq_liberty {
    char *text; // the file, decompressed, terminated; owned
    size_t nbytes;
    size_t n_cells;
    struct sq_lib_cell *cell;        // by name; owned
    const struct sq_lib_cell *nand2; // smallest cell whose only function is !(A & B)
    double nand2_input_cap;          // of its first input, in the unit of the file
    struct sq_lib_adder adder;       // smallest usable one
    char wire_load
        [SQ_LIB_NAME_LEN]; // default_wire_load, with which OpenSTA loads every net; "" = none
};

// Reads a file, plain or gzip, of at most SQ_LIB_MAX_NBYTES unpacked: no more memory is taken,
// whatever a .gz would become (SQ_ERR_RANGE). Refuses with the line number what is no Liberty text,
// ends early or has more than SQ_LIB_MAX_CELLS cells, names of cells, pins and other groups that
// are more than a Verilog identifier (sq_quote.h: Yosys and OpenSTA read the same file and write
// its names into netlists), zero bytes, comments inside a statement, include_file
// (SQ_ERR_DAMAGED), and a library without
// flip-flop or 2-input NAND (SQ_ERR_UNSUPPORTED). Cells marked dont_use serve neither as nand2 nor
// as adder. The caller frees; after a failure there is nothing to free.
enum sq_status sq_liberty_read(struct sq_liberty *lib, const char *path, struct sq_error *err);
// A library of memories, which has neither flip-flop nor NAND: the same refusals but for these.
enum sq_status sq_liberty_read_macros(struct sq_liberty *lib, const char *path,
                                      struct sq_error *err);
void sq_liberty_free(struct sq_liberty *lib);

// NULL where there is none.
const struct sq_lib_cell *sq_liberty_find(const struct sq_liberty *lib, const char *name);

// Truth table of a Liberty function over n <= 3 named inputs: bit i is the value where input j is
// bit j of i. Operators ! ' ^ * & + | and juxtaposition. False where the text is no such function.
bool sq_liberty_truth(const char *function, char in[][SQ_LIB_NAME_LEN], size_t n, unsigned *table);
