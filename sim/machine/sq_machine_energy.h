// SPDX-License-Identifier: Apache-2.0
// Joules of a GEMM on a machine, by part, each with its range: what was measured of the format's blocks
// (sq_energy_table.h) and of memory (sq_energy_memory.h), times what the plan and its run count.
//
//   part            low                                        high
//   products        MACs, changes inside of PEs, no delays     with delays
//   array clock     clock pins of PEs where a MAC is made      of all PEs in every cycle
//   array leakage   of all PEs, all the time                   the same
//   lines           1 / longer side of the array of those      1 / shorter side of what is in use;
//                   of a 1x1 block, clock as above             clock and leakage of all, always
//   output          changes, no delays                         with delays; clock and leakage of as
//                                                              many lanes as the port takes outputs
//   sram read       bits read, by the array and to be stored   by the other macro; formats whose
//                                                              columns choose their own elements of
//                                                              K read activations for each column
//   sram write      bits loaded, and sums of tiles             by the other macro
//   sram leakage    of all bits of the buffers, all the time
//   dram            bytes moved, joules a bit of its type; of a DRAM that keeps time and has energies (sq_dram_device.h)
//                   its commands, refreshes and standby, low with banks closed, high with banks open
//   vector          changes of an operation, no delays; clock  with delays; clock pins of all lanes all
//                   pins of lanes at work; leakage             the time; leakage
//
// On a machine that is a chip, its engine was measured as it is (sq_energy_array): products, lines and output are changes, each
// of a beat that the engine takes. array clock is clock pins of the engine in the chip's netlist, low in cycles in which it
// takes a beat, high in all; array leakage is its leakage, and
//   chip clock      clock pins of all around the engine, in all cycles
//   chip leakage    of all around the engine
//   sram            words of the memories by the counts of the run; nothing where buffers are flip-flops
//
// A third figure, gated, is high with clocks that stop for the whole array while it waits for memory:
// clock pins count in cycles in which the array, or a vector unit, has a job.
//
// Blocks narrower or wider than the machine's PEs count by their MAC slots.
#pragma once

#include "sim/energy/sq_energy_chip.h"
#include "sim/energy/sq_energy_memory.h"
#include "sim/energy/sq_energy_table.h"
#include "sim/machine/sq_machine_run.h"

enum sq_machine_part {
    SQ_MACHINE_PRODUCTS,
    SQ_MACHINE_CLOCK,
    SQ_MACHINE_LEAKAGE,
    SQ_MACHINE_LINES,
    SQ_MACHINE_OUTPUT,
    SQ_MACHINE_SRAM_READ,
    SQ_MACHINE_SRAM_WRITE,
    SQ_MACHINE_SRAM_LEAKAGE,
    SQ_MACHINE_DRAM,
    SQ_MACHINE_VECTOR, // of whole passes (sq_pass.h)
    SQ_MACHINE_CHIP_CLOCK,
    SQ_MACHINE_CHIP_LEAKAGE,
    SQ_MACHINE_ATTEND, // of a token that a chip computes by itself
    SQ_N_MACHINE_PARTS
};
const char *sq_machine_part_name(enum sq_machine_part part);

// What is counted. Bits of activations: read for all columns of an array together; engines read them once
// and keep them, and at most (SQ_HIGH) each read from what it keeps counts like one of the buffer.
struct sq_machine_accesses {
    double macs;                               // that are made
    double slots;                              // MACs that the PEs had room for in all cycles
    double act_nbits[SQ_N_ENDS], weight_nbits; // read by the array
    double out_nbits;                          // sums of tiles, written; read as many times
    double load_nbits;                         // written into both operand buffers
    double dram_nbits;
    double dram_joules[SQ_N_ENDS]; // by its commands; 0: it has no energies
    double busy;                   // share of the cycles in which the array has a job
};
void sq_machine_count(const struct sq_machine *machine, const struct sq_mapping *plan,
                      const struct sq_machine_stats *stats, struct sq_machine_accesses *a);

// The ends of the range, and high with gated clocks.
enum { SQ_CASE_LOW = SQ_LOW, SQ_CASE_HIGH = SQ_HIGH, SQ_CASE_GATED, SQ_N_CASES };

// Whole picojoules, which add up to the total in the last digit; SQ_COUNT_OVER: does not fit.
struct sq_machine_energy {
    bool is_chip, has_attend;
    bool lacks_vector; // it has vector units that nobody measured: that part is absent
    uint64_t pj[SQ_N_MACHINE_PARTS][SQ_N_CASES];
};
// Which parts it has, the first of all: without the chip's, without attention.
static inline unsigned sq_machine_n_parts(const struct sq_machine_energy *e)
{
    return e->has_attend ? SQ_N_MACHINE_PARTS
           : e->is_chip  ? SQ_MACHINE_ATTEND
                         : SQ_MACHINE_CHIP_CLOCK;
}
// Joules of vector units that do so many operations of a lane in `busy` of `seconds` seconds, for
// e->pj[SQ_MACHINE_VECTOR].
void sq_machine_energy_vector(const struct sq_machine *machine, const struct sq_vector_energy *v,
                              double operations, double busy, double seconds,
                              struct sq_machine_energy *e);
// The changes of a unit of a chip, so many, for e->pj[part]: its clock pins and leakage are among those of the chip.
void sq_machine_energy_unit(const struct sq_vector_energy *v, double n, enum sq_machine_part part,
                            struct sq_machine_energy *e);
// chip: of a machine that is one, else NULL; then plan is not asked.
void sq_machine_energy(const struct sq_machine *machine, const struct sq_mac_energy *mac,
                       const struct sq_energy_memory *memory, const struct sq_energy_chip *chip,
                       const struct sq_mapping *plan, const struct sq_machine_accesses *a,
                       double cycles, struct sq_machine_energy *e);
// *sum += n * *e, and the total of one case.
void sq_machine_energy_add(struct sq_machine_energy *sum, const struct sq_machine_energy *e,
                           uint64_t n);
uint64_t sq_machine_energy_total(const struct sq_machine_energy *e, unsigned of);
