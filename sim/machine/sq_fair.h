// SPDX-License-Identifier: Apache-2.0
// Fair machines: the same cores, buffers and DRAM, with PEs built for one format instead of those
// that the machine has, and as large as those: in bit products, or in synthesized area.
//
//   peak   no more bit products in a cycle than the machine's PE,
//            (L low_bits + H high_bits) act_bits                                        (sq_cost.h)
//   area   the silicon of all PEs of the machine, each of which is sq_pe with its L, H, bits and gather for banks of 32, 8
//            high: filled by PEs, decoders of lines, and what a second array takes. A PE has the most lanes, a power of two
//            that divides the scale group, whose smallest netlist is no larger than the machine's own; where none is, the
//            fewest. Columns, at most 64, fill the silicon; with fewer rows, down to three quarters, where that leaves less
//            than 3 % of it empty
//
// On a chip (key `chip`) a PE takes a beat of the format: the longest within the limit, and as many columns as the
// limit of all PEs together pays for, at most as many as a chip may have.
//
// By peak, among all numbers of lanes that stay within this limit, the ones with the fewest cycles per element win, and
// among equals the smallest. Formats on both paths (sq_w, sq_a_dynamic) get L and H that suit their banks; arrays get as
// many products as there is room for. What stands beside the PEs (walkers, mask units, the output stage) counts in neither
// measure.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/machine/sq_machine.h"
#include "sim/synth/sq_synth.h"

enum sq_fair { SQ_FAIR_NONE, SQ_FAIR_PEAK, SQ_FAIR_AREA };
extern const char *const sq_fair_names[]; // "none", "peak", "area", NULL
// What formats beside each other have in common by each: "of equal silicon: ...", behind the word formats.
extern const char *const sq_fair_texts[];

struct sq_fair_pe {
    unsigned low_lanes, high_lanes; // of the format's PE
    unsigned products, reference;   // bit products in a cycle: its, and those of the machine's PE
    double area_um2, reference_um2; // NAN for peak
    double line_um2;                // decoder of a line; NAN: the format has none
    double filled; // share of the silicon that is taken; NAN for peak, and on a chip
};

// Changes the core of `machine` into the fair one for r, of which sq_cost_check has nothing to say.
// synth: an open one with a library for area, else NULL; its period_ns says which netlists. taken_um2: of the silicon, by
// what is no PE of the format (sq_fair_second). The areas come from it, cached by content;
// thread-safe. Errors: SQ_ERR_UNSUPPORTED where RTL has no PE of the format, or its smallest one is
// larger than a row of the machine's PEs; SQ_ERR_ARG for a chip that states no multipliers; those of sq_synth_area (SQ_ERR_TOOL).
enum sq_status sq_fair_machine(enum sq_fair fair, const struct sq_synth *synth,
                               const struct sq_recipe *r, double taken_um2,
                               struct sq_machine *machine, struct sq_fair_pe *pe,
                               struct sq_error *err);

// A second, smaller array for products of another recipe, a cache's: a quarter of the machine's rows, half of its columns,
// PEs with the next number of whole lanes above the machine's bit products. The first token's heads that share keys seldom fill more rows.
struct sq_fair_second {
    struct sq_machine machine; // with its core; the buffers and the DRAM are the same ones
    unsigned lanes;
    double um2;       // of all its PEs; 0: RTL has no PE of the recipe
    double period_ns; // of its netlist; NAN without OpenSTA
};
enum sq_status sq_fair_second(const struct sq_synth *synth, const struct sq_recipe *r,
                              const struct sq_machine *machine, struct sq_fair_second *second,
                              struct sq_error *err);
// Rows and columns of a machine's core become those of its second array, rounded up.
void sq_fair_second_size(struct sq_core_config *core);
// Whether PEs of r are those of `other`, so that they multiply it, too.
bool sq_fair_takes(const struct sq_machine *machine, const struct sq_recipe *r,
                   const struct sq_recipe *other);

// Rows and columns of PEs of all cores: each has a decoder.
double sq_fair_n_lines(const struct sq_machine *machine);

// What `machine`, fair or not, is in silicon when it is built for r, before placement. Control and wires are not
// in it.
struct sq_fair_silicon {
    const char *sum, *unit; // how the PE adds scaled blocks (struct sq_cost_pe); NULL: it has none
    double pe_um2; // of a PE, with the lanes that the machine gives it; NAN where RTL has none
    double
        line_um2; // decoder of a row or a column, for a beat; NAN: the format has none of its own
    double period_ns;                    // the shortest clock period of both; NAN without OpenSTA
    double vector_ns;                    // of a vector unit
    double pe_mm2, line_mm2, vector_mm2; // of all of them
    double
        output_mm2;  // lanes of the output stage, for the width of the port; NAN: any width, a chip
    double sram_mm2; // buffers; NAN where no memory was given
    // Units of a chip that computes tokens by itself, else NAN; dma: with ring, sequencer and registers.
    double attend_mm2, encoder_mm2, dma_mm2, rest_mm2;
    double mm2; // the sum of those that are there; NAN without PE
};
extern const struct sq_fair_silicon sq_fair_silicon_none; // nothing is known: NAN
// What is synthesized: PEs and decoders, the vector unit with them, output stages as well.
enum sq_fair_extent { SQ_FAIR_PES, SQ_FAIR_VECTOR, SQ_FAIR_WHOLE };

// The netlists are those of synth->period_ns (sq_synth_for). At a period, and at the knee, the PE is the best of those with any tail: the
// smallest that meets the period, else the fastest; the least area times period. The decoder of a line is the smallest that
// keeps up with it. The vector unit is the smallest, with a clock of its own.
// sram_um2: of a bit in the buffers (sq_fair_sram); NAN: they are left out. What the extent leaves out is not
// synthesized, its fields are NAN, and so is mm2 but of SQ_FAIR_WHOLE. A vector unit counts by its lanes, each of them
// sq_vector with one, so that its registers between lanes are left out (.9 % in 4 lanes). Errors as above.
enum sq_status sq_fair_silicon_of(const struct sq_synth *synth, const struct sq_recipe *r,
                                  const struct sq_machine *machine, double sram_um2,
                                  enum sq_fair_extent extent, struct sq_fair_silicon *silicon,
                                  struct sq_error *err);

// Square micrometres of a bit in the densest memory of `dir`: Liberty files of 64-bit words (sq_synth_macros_read, whose
// errors it has).
enum sq_status sq_fair_sram(const char *dir, double *um2, struct sq_error *err);
