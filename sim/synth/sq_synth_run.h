// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of sq_synth.h; users include that.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "sim/synth/sq_synth.h"

enum { SQ_SYNTH_PATH_LEN = 1024, SQ_SYNTH_MAX_SOURCES = 256 };

// ---- sources (sq_synth_source.c) ---------------------------------------------------------------

struct sq_synth_source {
    char name[64];   // below rtl/ of the working directory
    char *text;      // owned
    char *path;      // owned; of a foreign one: as its user knows it
    bool is_module;  // of files.f; the others are named by scripts or included
    bool is_foreign; // of sq_synth_add_source, or included by one of these
    // Whether the text mentions the module of each source; 0: nobody has looked.
    _Atomic unsigned char names[SQ_SYNTH_MAX_SOURCES];
};

// One file of `dir` as a string the caller frees; name and contents into *digest.
enum sq_status sq_synth_read_file(const char *dir, const char *name, struct sq_digest *digest,
                                  char **text, struct sq_error *err);
// files.f, what it lists and what scripts name into s->source, their digest into s->digest. Freed
// by sq_synth_free_sources, also after a failure.
enum sq_status sq_synth_read_sources(struct sq_synth *s, struct sq_error *err);
void sq_synth_free_sources(struct sq_synth *s);
// What Yosys says of foreign sources, for their user: the own path in place of rtl/NAME. Where it
// names no line but a word (of something not declared), the first line that has the word.
void sq_synth_own_place(const struct sq_synth *s, char *text, size_t size);
// Takes out what Yosys skips even inside a word.
void sq_synth_drop_returns(char *text);
// Adds what source number `source`, read from `path`, includes from below its folder, and what that
// includes. SQ_ERR_ARG for a name that leads elsewhere and for files that include themselves; SQ_ERR_RANGE
// where the files become too many or too large, each counted as often as it is included.
enum sq_status sq_synth_add_includes(struct sq_synth *s, size_t source, const char *path,
                                     struct sq_error *err);

// Whether a foreign source declares this module or package: then ours of that name is not read.
bool sq_synth_is_replaced(const struct sq_synth *s, const char *module);
// Marks the sources that the block is built of; SQ_ERR_ARG where there is no such module.
enum sq_status sq_synth_select(const struct sq_synth *s, const struct sq_synth_block *block,
                               bool used[SQ_SYNTH_MAX_SOURCES], struct sq_error *err);
// Marks, besides, those that a script names.
void sq_synth_select_named(const struct sq_synth *s, const char *script,
                           bool used[SQ_SYNTH_MAX_SOURCES]);
enum sq_status sq_synth_digest_sources(const struct sq_synth *s, const struct sq_synth_block *block,
                                       const bool used[SQ_SYNTH_MAX_SOURCES],
                                       struct sq_digest *digest, struct sq_error *err);
// Their names for read_verilog, "rtl/a.sv rtl/b.sv ".
void sq_synth_print_files(const struct sq_synth *s, const bool used[SQ_SYNTH_MAX_SOURCES],
                          FILE *out);
// Makes work/rtl/ of them, as they were read, but for the one that the block has in place of another. Paths are relative to `work`: names of cells hold
// them, so that an absolute path would change results from one machine to the next.
enum sq_status sq_synth_write_sources(const struct sq_synth *s, const struct sq_synth_block *block,
                                      const bool used[SQ_SYNTH_MAX_SOURCES], const char *work,
                                      struct sq_error *err);

// ---- recipes (sq_synth_recipe.c) ---------------------------------------------------------------

struct sq_synth_recipe_text {
    const char *name;
    bool has_tree;
    unsigned max_ripple; // bits; wider sums are prefix adders; 0 = none is
    bool has_cells;      // full adders are cells of the library
    bool is_sized;       // between them
    char mapper;         // 'a' synth_map.ys, else a line of synth_speed.ys: 'c', 'n' or 'm'
};
const struct sq_synth_recipe_text *sq_synth_recipe_text(enum sq_synth_recipe recipe);

// ---- what the tools are told (sq_synth_job.c) --------------------------------------------------

// The library as the tools read it, unpacked in the working directory while they run.
#define SQ_SYNTH_LIBERTY "liberty.lib"
#define SQ_SYNTH_MACRO "macro.lib" // the memory of a block that has one

// Techmap of $fa to the full adder of the library.
void sq_synth_print_adder(FILE *out, const struct sq_lib_adder *adder);
// The script of Yosys; without a library up to generic gates.
enum sq_status sq_synth_print_script(FILE *out, const struct sq_synth *s,
                                     const struct sq_synth_block *block, struct sq_error *err);
// Yosys again: the netlist of an area entry ("/..."), its cells replaced by their functions.
void sq_synth_print_flatten(FILE *out, const struct sq_synth_block *block, const char *entry);
// ... or as it is, flat, into mapped.json; that of a chip is SQ_SYNTH_CHIP.
void sq_synth_print_mapped(FILE *out, const struct sq_synth_block *block, const char *entry);
// ... or of what was mapped of a chip, to which buffers came (sq_synth_buffer): counts and netlists of one mapper.
void sq_synth_print_buffered(FILE *out, const struct sq_synth_block *block, const char *mapper);
// The script of OpenSTA that writes the longest path of a netlist and the shortest period of its
// clock to SQ_SYNTH_DELAY, in ns; or "unclocked" where the clock (an input port; where there is none,
// no clock) does not reach all flip-flops. Inputs arrive with a slew of 50 ps at the edge at which
// what they reach takes them, outputs drive four NAND2 inputs, a path into a flip-flop includes its
// setup time. Both halves of a period are equally long.
#define SQ_SYNTH_DELAY "delay.txt"
// `spef`: a file with the wires, NULL: none; with one the slack of each pin goes to SQ_SYNTH_SLACK.
#define SQ_SYNTH_SLACK "slack.txt"
void sq_synth_print_sta(FILE *out, const struct sq_synth *s, const struct sq_synth_block *block,
                        const char *netlist, const char *spef, const char *clock);

// All of this together, for the digest; and the sources it names. The caller frees *text.
enum sq_status sq_synth_print_job(const struct sq_synth *s, const struct sq_synth_block *block,
                                  char **text, bool used[SQ_SYNTH_MAX_SOURCES],
                                  struct sq_error *err);

// ---- the clock of a module of somebody else (sq_synth_clock.c) ----------------------------------

// Commands of Yosys, before mapping, that list what the next function reads in `work`.
void sq_synth_print_clocks(FILE *out);
// The port that clocks all flip-flops: block->clock, or without that the only one; "" where there
// are none. SQ_ERR_ARG where there is no such port, or another clock as well.
enum sq_status sq_synth_find_clock(const struct sq_synth_block *block, const char *work,
                                   char clock[SQ_LIB_NAME_LEN], struct sq_error *err);

// ---- buffers of a chip (sq_synth_buffer.c) -------------------------------------------------------

// What is mapped of a chip, as Yosys writes it: MAPPER_mapped.json.
#define SQ_SYNTH_MAPPED "_mapped.json"
// What an entry keeps of it: the Verilog of a chip takes Yosys ten times the memory.
#define SQ_SYNTH_CHIP "chip.json"
// Puts trees of buffers into a netlist in that form, in place: behind each output that has more to drive than a quarter of its
// max_capacitance, and in a module behind each port that has more than 16 inputs of NAND2s. Clocks stay as they are: they
// are ideal here. A library without buffers, or without max_capacitance, changes nothing.
enum sq_status sq_synth_buffer(const struct sq_synth *s, const struct sq_synth_block *block,
                               const char *netlist, struct sq_error *err);

// ---- counts (sq_synth_count.c) ------------------------------------------------------------------

struct sq_synth_count {
    json_t *cells; // {cell of the library: how often}, over all instances of all modules
    json_t *parts; // {module: {"count": instances, "area": of all of them}}, of their own cells
    double area;   // of the cells, and the sum of the parts
};
// What Yosys printed of one netlist in `work`; the caller drops both references, after a failure too.
enum sq_status sq_synth_count(const struct sq_synth *s, const struct sq_synth_block *block,
                              const char *work, const char *mapper, struct sq_synth_count *count,
                              struct sq_error *err);
// A cell of the library, or the memory of the block; NULL where there is none with an area.
const struct sq_lib_cell *sq_synth_cell(const struct sq_synth *s,
                                        const struct sq_synth_block *block, const char *name);

// ---- parts of a chip, and their paths (sq_synth_parts.c) -----------------------------------------

// "$paramod$<digest>\\sq_pe", "$paramod\\sq_pe\\W=8" and "\\sq_pe" -> "sq_pe", of a chip with its unit in front: "PEs/sq_pe".
// Returns that unit, for what stands in the module; `unit`: that of what it stands in, NULL: it is the top.
const char *sq_synth_part_name(const struct sq_synth_block *block, const char *module,
                               const char *unit, char name[SQ_SYNTH_PART_LEN]);

// Yosys writes which module has which instances to SQ_SYNTH_INSTANCES; from there come the commands of OpenSTA
// that write the longest path that ends in each part to SQ_SYNTH_PART_PATHS, "ns name" a line, behind the
// script of sq_synth_print_sta; and from there each part of `parts` gets "path_ns".
#define SQ_SYNTH_INSTANCES "instances.il"
#define SQ_SYNTH_PART_PATHS "parts.txt"
extern const char sq_synth_part_script[]; // those of the commands that every chip has
enum sq_status sq_synth_print_part_paths(FILE *out, const struct sq_synth_block *block,
                                         const char *work, struct sq_error *err);
enum sq_status sq_synth_read_part_paths(json_t *parts, const char *work, struct sq_error *err);

// ---- cache entries (sq_synth_run.c) ------------------------------------------------------------

// Fills the empty directory `work` with what a cache entry holds (sq_cache.h). `area` is the area
// entry, a neighbour.
typedef enum sq_status sq_synth_make(const struct sq_synth *s, const struct sq_synth_block *block,
                                     const char *area, const char *work, struct sq_error *err);
sq_synth_make sq_synth_make_area;    // result.json, netlist.v, path.txt, synth.ys; area = itself
sq_synth_make sq_synth_make_mapped;  // mapped.json; reads netlist.v of the area entry
sq_synth_make sq_synth_make_netlist; // <top>.v; reads netlist.v of the area entry with a library
// path.txt and SQ_SYNTH_DELAY of sq_synth_time.
enum sq_status sq_synth_make_time(const struct sq_synth *s, const struct sq_synth_block *block,
                                  const char *clock, const char *verilog, const char *spef,
                                  const char *work, struct sq_error *err);
