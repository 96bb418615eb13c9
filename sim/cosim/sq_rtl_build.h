// SPDX-License-Identifier: Apache-2.0
// Makes verilated blocks: RTL sources (or their Yosys netlist) and a parameter point in, a loaded
// shared object behind struct sq_rtl_api out. Objects are cached by content (sq_cache.h):
// HOME/build/ rtl/<name>-<digest>/, digest over sources, bridge, parameters and tool version; a
// damaged object is built anew, never loaded. Several processes may build at once. HOME may have
// any characters. Needs verilator, make and a C++ compiler (SQ_ERR_TOOL where they are missing);
// VERILATOR and YOSYS of the environment name others.
#pragma once

#include <stdbool.h>

#include "sim/block/flow/sq_block.h"
#include "sim/cosim/sq_rtl.h"

struct sq_rtl_point {
    const struct sq_block *block;
    const struct sq_point *point; // of its table, or another with legal values
    bool netlist;                 // simulate the netlist that Yosys makes of the block, not the RTL
    bool trace;                   // compiled with FST tracing
    bool coverage;                // compiled with line and toggle counters (RTL only)
    bool is_brief;                // runs for a second or two: compiled in half the time, and slower
    // > 0: a netlist with so many faults, drawn by Yosys' `mutate` from this seed and numbered from
    // 1; api->select_mutant turns one on, 0 none.
    unsigned n_mutants, mutant_seed;
};

#define SQ_RTL_PATH_NBYTES 1024
#define SQ_RTL_MUTANTS_MAX 60000u
struct sq_rtl {
    void *library;
    const struct sq_rtl_api *api;
    // Where it was built. With mutants: stat.txt (cells), mutants.txt (a line each), original.il.
    char dir[SQ_RTL_PATH_NBYTES];
};

// Builds what is not cached (seconds to a minute) and loads it; *built says which. `home` is the
// directory with rtl/ and sim/cosim/sq_bridge.h. Where a tool refuses the sources: SQ_ERR_BUILD,
// its first complaint with file and line, and the log, HOME/build/rtl/<name>-<digest>.log.
enum sq_status sq_rtl_load(struct sq_rtl *rtl, const struct sq_rtl_point *point, const char *home,
                           bool *built, struct sq_error *err);
// <name of the point>.dat in directory `dir`, from the models destroyed so far; the point must have
// been built with coverage. SQ_ERR_IO.
enum sq_status sq_rtl_write_coverage(const struct sq_rtl *rtl, const struct sq_rtl_point *point,
                                     const char *dir, struct sq_error *err);
void sq_rtl_unload(struct sq_rtl *rtl);
