// SPDX-License-Identifier: Apache-2.0
// Joules of memory: a YAML file, each figure a range with its source, or for SRAM the Liberty of macros.
//
//   name: default
//   dram:                    one or more types
//     - type: lpddr4
//       low: 5.9 pJ/bit      of a bit that is moved
//       high: 11.9 pJ/bit
//       source: ...
//   sram:
//     read_low: .6 pJ/bit    of a bit of a word; also read_high, write_low, write_high
//     leak_low: 1 pW/bit     also leak_high
//     source: ...
#pragma once

#include <stddef.h>

#include "models/sq_status.h"

enum { SQ_MEMORY_TYPES = 16 };

struct sq_memory_range {
    double end[2]; // low, high; joules or watts a bit
};

struct sq_energy_memory {
    char type[32], dram_source[512], sram_source[512];
    struct sq_memory_range dram, read, write, leak;
};

// Reads the file. `type` names one of its types of DRAM; NULL takes the first. Refused are a file of another
// form, a range whose low end is above its high end, and a type that the file does not have; the
// refusal then names the types that it has.
enum sq_status sq_energy_memory_load(const char *path, const char *type,
                                     struct sq_energy_memory *memory, struct sq_error *err);

// SRAM from the Liberty of n macros instead: each range from the least to the most of them. Read are the
// word width, the address width, leakage and the table of the clock pin in the states of its enables,
// which must end with MEN, WEN and REN as those of IHP's SG13G2 do. The energy of DIN is that of a whole
// bus and comes on top once, in the high end of a write. SQ_ERR_UNSUPPORTED for another file.
enum sq_status sq_energy_memory_macros(const char *const *path, size_t n,
                                       struct sq_energy_memory *memory, struct sq_error *err);
