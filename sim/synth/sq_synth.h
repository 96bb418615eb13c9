// SPDX-License-Identifier: Apache-2.0
// Area and delay of a block: Yosys maps it to the cells of a Liberty library, the cells are counted
// here with the areas of the library, and OpenSTA, where it is installed, finds the longest path.
// Every block goes through the same scripts, rtl/synth_front.ys and rtl/synth_map.ys, which say
// what is done and why; no block has an option of its own. For a clock period, sq_synth_at_period
// searches a fixed list of recipes (rtl/synth_speed.ys), the same for every block.
//
// Results are cached by content: a digest over the sources and scripts that the tools get, the
// library and the versions of the tools names a directory below the cache directory (sq_cache.h).
// Concurrent runs, also of other processes, wait for each other; a directory appears complete or
// not at all, and a damaged result is made anew.
//
// Not promised: placed wires, clock tree, scan. Areas are sums of cells; delays are pre-layout, typical
// corner, with the wire load that the library puts on every net by itself (sq_synth_wire_load), and belong
// to the very netlist whose area is given.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/sq_status.h"
#include "sim/io/sq_digest.h"
#include "sim/synth/sq_liberty.h"

enum { SQ_SYNTH_MAX_PARAMS = 40, SQ_SYNTH_PART_LEN = 48 };

struct sq_synth_param {
    const char *name; // as the module declares it, e.g. "BankLen"
    unsigned value;
};

// How a netlist is made, from small to fast (sq_synth_recipe.c).
enum sq_synth_recipe {
    SQ_SYNTH_AREA,   // smallest area: ripple sums, full-adder cells, nothing sized
    SQ_SYNTH_TREE,   // the same with one carry-save tree per dot product
    SQ_SYNTH_WIDE,   // ... and prefix adders for sums of more than 20 bits: the accumulator
    SQ_SYNTH_PREFIX, // ... for all sums
    SQ_SYNTH_CELLS,  // ... and gates sized around the full-adder cells
    SQ_SYNTH_NF,     // all gates, mapped for area, sized for a target; trees, ripple sums
    SQ_SYNTH_MAP,    // ... mapped for delay
    SQ_SYNTH_FAST,   // ... with prefix adders
    SQ_SYNTH_N_RECIPES
};

// A memory of a library, which modules name by itself: it stays a cell.
struct sq_synth_macro {
    unsigned words;        // 0: none of that size
    struct sq_liberty lib; // of this cell alone
};

struct sq_synth_block {
    const char *top; // module, e.g. "sq_pe"
    size_t n_params;
    struct sq_synth_param param[SQ_SYNTH_MAX_PARAMS]; // others keep their default
    // PEs and lines (sq_pe*, sq_array_code) are synthesized once each and stay
    // modules of the netlist; cells are counted over all instances, no delay. For arrays too
    // large otherwise.
    bool keeps_parts;
    // With keeps_parts, those of the stages around an array as well: floating-point operators,
    // requantization, top-k, encoders, decoders, the tail of an engine.
    bool keeps_stages;
    // With keeps_parts, those of a chip as well: engine, DMA, buffers, memories, sequencer, registers. Such a
    // netlist has delays, and each part the longest path that ends in it.
    bool keeps_chip;
    const struct sq_synth_macro *macro; // NULL: the block has none
    // The module is in the sources that sq_synth_add_source added, which may name modules of ours.
    bool is_foreign;
    const char *clock; // of such a module: the input port; NULL: the only one there is
    // Writes the source of rtl/ that the block has in place of the one there, from `value`, and returns its name in
    // files.f; NULL: it has none such (struct sq_block).
    const char *(*source)(const unsigned *value, FILE *out);
    const unsigned *value;
    enum sq_synth_recipe recipe;
    unsigned target_ps; // what ABC is asked for, from SQ_SYNTH_NF on; 0 before
    double
        period_ns; // for which a placed netlist gets larger cells and buffers (sim/place); 0: it does not
};

struct sq_synth_cells {
    char name[SQ_LIB_NAME_LEN];
    unsigned count;
};

// A module that stayed one, with the cells of its own: not of the parts below it. Those of a chip stand in a unit, "attention/sq_fp_add".
struct sq_synth_part {
    char name[SQ_SYNTH_PART_LEN];
    unsigned count; // instances in the block
    double area;    // of all of them; square micrometres
    double
        path_ns; // of a chip: the longest that ends in a flip-flop or memory of its own; else NAN
    size_t n_types;              // of a chip
    struct sq_synth_cells *cell; // its own of all instances, by name; owned
};

struct sq_synth_result;

// What is common to all blocks of a run.
struct sq_synth {
    struct sq_liberty lib;           // empty when opened without
    char yosys_version[64];          // "Yosys 0.23 (...)"
    char sta_version[64];            // "" = OpenSTA is not installed: no delays
    struct sq_digest liberty_digest; // of the unpacked text
    struct sq_digest digest;         // of everything but block and parameters
    // The caller's, from any thread: the tools start on this block, as the cache has no area of it. NULL: nobody asks.
    void (*on_start)(void *context, const struct sq_synth_block *block);
    void *context;    // of on_start
    bool is_wireless; // the caller's: delays without the library's wire load
    double
        period_ns; // the caller's: which netlists designs are priced by (sq_synth_for, sq_fair.h)
    // The caller's, from any thread: what sq_synth_area does last with a result that has delays, as placing the netlist
    // for delays with its own wires (sim/place). NULL: nothing.
    enum sq_status (*on_area)(const struct sq_synth *s, const struct sq_synth_block *block,
                              struct sq_synth_result *result, struct sq_error *err);
    const void *on_area_context; // for on_area
    // private
    struct sq_digest base_digest; // the same without the modules
    size_t n_sources;
    struct sq_synth_source *source;
    const char *liberty_path; // as ABC is told it
    char *rtl_dir, *cache_dir, *script_front, *script_map, *script_speed;
};

// `rtl_dir` holds the modules and scripts, `liberty` is a file (plain or .gz) or NULL for
// sq_synth_netlist without library; `cache_dir` is made on demand and may have any characters.
// Errors: SQ_ERR_TOOL where yosys is not installed, those of sq_liberty_read, SQ_ERR_IO. After a
// failure *s is closed.
enum sq_status sq_synth_open(struct sq_synth *s, const char *rtl_dir, const char *liberty,
                             const char *cache_dir, struct sq_error *err);
void sq_synth_close(struct sq_synth *s);
// The wire load in the delays, by its name in the library; NULL: they have no wires, or those of on_area.
static inline const char *sq_synth_wire_load(const struct sq_synth *s)
{
    return s->is_wireless || s->on_area || !s->lib.wire_load[0] ? NULL : s->lib.wire_load;
}

// The memories of sq_sram.sv in the Liberty files of a folder (RM_IHPSG13_1P_<words>x64_c2_bm_bist*.lib), ascending;
// words = 0 behind the last. SQ_ERR_IO, SQ_ERR_ARG where there is none, those of sq_liberty_read_macros. The
// caller frees, after a failure too.
enum { SQ_SYNTH_MACROS = 5 };
enum sq_status sq_synth_macros_read(struct sq_synth_macro macro[SQ_SYNTH_MACROS], const char *dir,
                                    struct sq_error *err);
void sq_synth_macros_free(struct sq_synth_macro macro[SQ_SYNTH_MACROS]);
// The smallest that holds so many words, else the largest.
const struct sq_synth_macro *sq_synth_macro_for(const struct sq_synth_macro macro[SQ_SYNTH_MACROS],
                                                unsigned words);

// A file of somebody else, for blocks with is_foreign; before the first of these is synthesized. It
// may use modules and headers of rtl/ by name, and include files below its own folder by a path in
// quotes. What it is called below the working directory, and
// in what Yosys says of it, is the last part of `path`, or source<N>.sv where that is no plain name
// or taken. SQ_ERR_IO, SQ_ERR_RANGE.
enum sq_status sq_synth_add_source(struct sq_synth *s, const char *path, struct sq_error *err);

// Delays with wires that were placed (sim/place): then these are those of the result.
struct sq_synth_wires {
    double length_um;   // of all nets
    double utilisation; // area of the cells by that of the rows
    double farads;      // of the wires in delays, to the pins that they lead to not counted
    double without_ns;  // the longest path without any wires,
    double library_ns;  // ... with the wire load that the library puts on every net,
    double placed_ns;   // ... with the wires, before any cell was changed for a period
    unsigned n_sized, n_buffers; // larger cells and buffers for it
    double seconds;              // of the clock, for the placement
};

struct sq_synth_result {
    double area; // sum over cells; square micrometres (sq_liberty.h)
    double sequential_area;
    size_t n_parts;             // of a block that keeps its parts, which add up to the area; else 0
    struct sq_synth_part *part; // by name, the block itself is one of them; owned
    double nand2_equivalents;   // area / area of the smallest 2-input NAND
    char clock[SQ_LIB_NAME_LEN]; // port of the clock; of a foreign module without flip-flops ""
    bool has_delay;
    // Longest path, clock-to-clock or port-to-port, with setup time; and the shortest period of the
    // clock that leaves time for all paths: twice a path between opposite edges, as half the time
    // is left for it.
    double critical_path_ns, min_period_ns;
    char mapper[8]; // "nf" or "amap": which netlist is the smaller one; else sq_synth_recipe_name
    unsigned n_cells;
    size_t n_types;
    struct sq_synth_cells *cell; // by name; owned
    bool is_cached;              // nothing was run
    struct sq_synth_wires wires;
};

// Synthesizes, or takes the result from the cache. Thread-safe on a shared *s. The caller frees.
// Errors: SQ_ERR_UNSUPPORTED where yosys refuses the block or the library cannot build it, with the
// tool's own sentence.
enum sq_status sq_synth_area(const struct sq_synth *s, const struct sq_synth_block *block,
                             struct sq_synth_result *result, struct sq_error *err);
void sq_synth_result_free(struct sq_synth_result *result);

const char *sq_synth_recipe_name(enum sq_synth_recipe recipe); // "area", "tree", ...

// The block at a clock period, by a fixed search:
//
//   1. the smallest netlist of the recipes SQ_SYNTH_AREA to SQ_SYNTH_CELLS that meets the period
//      by OpenSTA;
//   2. if none does: the other recipes in turn, each with the period as its target, and retried
//      once with the target shortened by the slack violation; the first that meets the period;
//   3. if none does: each of them as fast as ABC makes it; the first that meets the period, or, where it meets it and
//      is smaller, that for half of the period;
//   4. if none does: the fastest netlist of all.
//
// *block gets the recipe and the target of the result. The period is met where min_period_ns <=
// period_ns. The search is deterministic, whatever the cache holds.
// period_ns in SQ_SYNTH_MIN_PERIOD..SQ_SYNTH_MAX_PERIOD. Errors: SQ_ERR_TOOL without OpenSTA, those
// of sq_synth_area.
#define SQ_SYNTH_MIN_PERIOD 0.01
#define SQ_SYNTH_MAX_PERIOD 1000.0
enum sq_status sq_synth_at_period(const struct sq_synth *s, struct sq_synth_block *block,
                                  double period_ns, struct sq_synth_result *result,
                                  struct sq_error *err);

// The delay of a netlist that was made of the block's, with the resistances and capacitances of its wires and no other
// ones: Verilog of a module block->top and SPEF (NULL: no wires) in, longest path and shortest period out, as those of
// sq_synth_result. *report: what OpenSTA prints of the path; *slack: with wires a line for each pin of a cell, "cell/pin ns", the time
// that it is early for a clock of SQ_SYNTH_CLOCK; the caller frees both, after a failure too. `clock`: its port of the clock, "": none. Cached by content.
// Errors: SQ_ERR_TOOL without OpenSTA, SQ_ERR_UNSUPPORTED where it finds no path.
#define SQ_SYNTH_CLOCK 10.0
struct sq_synth_delay {
    double path_ns, period_ns;
};
enum sq_status sq_synth_time(const struct sq_synth *s, const struct sq_synth_block *block,
                             const char *clock, const char *verilog, const char *spef,
                             struct sq_synth_delay *delay, char **report, char **slack,
                             struct sq_error *err);

// What placement finds of a netlist, by its nets and by the pins of its cells, both in the order of the JSON of
// sq_synth_mapped.
struct sq_synth_loads {
    const double *farads; // of the wire of each net; below 0: it has none, and stays as it is
    const double *slack;  // of each pin, ns
    const double
        *order;  // of each pin, from 0 on: sinks that are near each other in it share a buffer
    double late; // drivers with less slack are changed
    double
        share; // of its max_capacitance, that a driver may have to drive; behind a buffer at least .09
};
// Gives drivers that are late and have more to drive the size of their gate that may drive it, and what is still too much a
// tree of buffers, in place in that JSON. n: cells that are larger, buffers that came. A netlist of SQ_SYNTH's own library
// without buffers stays as it is. SQ_ERR_UNSUPPORTED, SQ_ERR_MEMORY.
struct json_t;
enum sq_status sq_synth_repair(const struct sq_synth *s, const struct sq_synth_block *block,
                               struct json_t *root, const struct sq_synth_loads *loads, size_t n[2],
                               struct sq_error *err);
// Cells and areas of a result, counted again in such a JSON.
enum sq_status sq_synth_recount(const struct sq_synth *s, const struct sq_synth_block *block,
                                struct json_t *root, struct sq_synth_result *result,
                                struct sq_error *err);

// By period_ns the netlist of sq_synth_area (SQ_SYNTH_SMALLEST); that with the least area times min_period_ns
// (SQ_SYNTH_KNEE) of all recipes, those that are sized for a target with half the period of the fastest of the others; or
// that of sq_synth_at_period. Without OpenSTA the knee is the smallest. Errors: theirs.
#define SQ_SYNTH_SMALLEST 0.0
#define SQ_SYNTH_KNEE (-1.0)
enum sq_status sq_synth_for(const struct sq_synth *s, struct sq_synth_block *block,
                            double period_ns, struct sq_synth_result *result, struct sq_error *err);

// Verilog of the synthesized block for simulation, self-contained: with a library the very netlist
// that sq_synth_area measures, each cell replaced by its function from the library; without one the
// gates of synth_front.ys. Module and port names are those of the source, parameters are applied.
// *path names a file in the cache; the caller frees the string.
enum sq_status sq_synth_netlist(const struct sq_synth *s, const struct sq_synth_block *block,
                                char **path, struct sq_error *err);

// The netlist that sq_synth_area measures as JSON of Yosys: one module, in which names of cells and
// nets begin with the path of the part they were in. It needs a library (SQ_ERR_ARG). *path names a
// file in the cache; the caller frees the string.
enum sq_status sq_synth_mapped(const struct sq_synth *s, const struct sq_synth_block *block,
                               char **path, struct sq_error *err);
