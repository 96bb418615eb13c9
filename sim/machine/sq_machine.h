// SPDX-License-Identifier: Apache-2.0
// A machine: C cores in lock step, their buffers, and one DRAM that all share. Described in YAML
// (sim/machines/), every quantity with its unit.
//
//   name: default
//   clock: 1 GHz             of cores, buffers and the DRAM interface; of a chip also `netlist`: what its netlist
//                            reaches, which `run --energy` knows
//   cores: 1                 1..1024
//   core:                    the array and its multipliers (sq_config.h)
//     rows: 32               PE rows = tokens, 1..64
//     cols: 32               PE columns = output channels, 1..64
//     low_lanes: 16          L, 1..128
//     high_lanes: 4          H, 1..64
//     low_bits: 4            weight bits of a low multiplier, 2..4
//     high_bits: 8           weight bits of a high multiplier, 4 or 8
//     act_bits: 8            activation bits of both, 4 or 8
//     gather: crossbar       or log
//     output: 64 B           of a finished tile, that leave in a cycle, 1 B..8 KiB; 64 B where it
//                            is left out
//   buffers:                 of one core; both halves of the double buffer together
//     activation: 256 KiB
//     weight: 256 KiB
//     output: 128 KiB        FP32 sums of the tiles in work
//   dram:
//     bandwidth: 64 GB/s
//     latency: 100 ns
//     burst: 64 B            every transfer is rounded up to it
//   dram:                    or one that keeps time (sim/dram/), in place of these three
//     device: ddr5-4800      one of those that come with sqsim
//     channels: 2            1..16, a power of two; this key and those below may be left out: 1
//     map: groups            sq_dram_map.h
//     page: open             or closed
//     refresh: all           bank or none
//     queue: 8               bursts of a bank, 1..16
//   capacity: 16 GiB         optional: of the DRAM; a model and its cache that need more are refused
//   vector:                  optional: what computes element by element (sq_vector_time.h)
//     lanes: 32              of one core, 1..4096; as many as the core has columns where it is left out
//   link:                    optional: between chips that share a model (sq_pass.h); modelled
//     bandwidth: 50 GB/s     of a chip to its neighbour in a ring
//     latency: 1 us          of a step around it
//   chip:                    optional: the RTL rtl/top/sq_top.sv with this array and these buffers is the
//                            machine (sq_chip_machine.h); it has one core. low_lanes and high_lanes, and with
//                            them the bits, may then be left out: a PE has what a beat of the format takes
//     bus: 8 B               of a beat between chip and DRAM: 4, 8, 16, 32 or 64 B
//     burst: 32              beats of its longest burst, 1..256
//     outstanding: 4         bursts that are asked for ahead, 2..32
//     writes: 4              bursts that are written at once, 1..16; 4 where it is left out
//     encoder: yes           makes activations of outputs, which are bfloat16 then; no where it is left out
//     vector: yes            passes over rows in memory; no where it is left out
//     attend: 4              attention: queries that share a cache, 1..8; none where it is left out
//     head: 128              elements of its largest head, a power of two up to 256; 128 where it is left out
//     cache: int8            its keys and values, or binary16; that where it is left out
#pragma once

#include <stdint.h>

#include "models/core/sq_config.h"
#include "sim/dram/sq_dram.h"

struct sq_machine {
    char name[64];
    struct sq_core_config core; // bits are those of the multipliers; bank, high_per_bank follow
                                // from the format (sq_machine_core)
    unsigned port_nbits;        // of one core: bits that leave it in a cycle; 0: any number
    unsigned cores;
    double clock_hz;
    bool is_clock_netlist; // until sq_machine_set_netlist; clock_hz says nothing
    uint64_t act_nbytes, weight_nbytes, out_nbytes; // buffers of one core
    uint64_t
        scale_nbytes; // of a chip, for scales of rows and as much for those of columns; 0: as is usual
    double dram_bytes_per_s;
    unsigned burst_nbytes;
    double dram_latency_ns;
    // In clock cycles: one burst occupies the DRAM for burst_num/burst_den of them (lowest terms).
    uint64_t dram_latency;
    uint64_t burst_num, burst_den;
    // A DRAM that keeps time: then the numbers above are its peak, its latency of an open row and its burst, with which
    // plans are chosen, and of which bounds are made. `at` says which end of its ranges is run.
    struct sq_machine_dram {
        bool is_timed, is_range;
        enum sq_dram_end at;
        struct sq_dram_setup end[2];
    } timed;
    uint64_t capacity_nbytes; // of the DRAM; 0: any
    unsigned vector_lanes;    // of one core
    double vector_hz;         // clock of the vector units where it is slower; 0: the machine's
    double link_bytes_per_s, link_latency_ns; // 0: there is none
    struct sq_machine_chip {
        unsigned bus_nbytes;                     // 0: the machine is no chip
        unsigned max_burst, outstanding, writes; // writes 0: as is usual
        unsigned sum,
            aligned; // core.sum, core.aligned: enum sq_scaled_acc of block-scaled PEs, bits of 2, 3
        unsigned cut,
            carry; // core.cut, core.carry: registers in their tail, bits between saved carries
        unsigned has_encoder, has_vector; // 0, 1
        unsigned attend;                  // sq_ta_param; 0: none
        bool
            has_lanes; // core says how many multipliers a PE has at most; else as many as a beat of the format takes
    } chip;
};

// Refused in one sentence with file and field: see sq_yaml.h; also quantities without a unit, zero,
// negative or absurd values, a core that sq_core_config_check refuses.
enum sq_status sq_machine_load(const char *path, struct sq_machine *machine, struct sq_error *err);
// The same, for a caller that knows the netlist: the clock may be that of it; sq_machine_check_clock refuses it.
enum sq_status sq_machine_load_unclocked(const char *path, struct sq_machine *machine,
                                         struct sq_error *err);
enum sq_status sq_machine_check_clock(const struct sq_machine *machine, const char *path,
                                      struct sq_error *err);
// The same on text; `what` names it.
enum sq_status sq_machine_parse(const char *text, size_t nbytes, const char *what,
                                struct sq_machine *machine, struct sq_error *err);

// Recomputes the cycles of a burst from the others; for callers that change a loaded machine.
void sq_machine_derive(struct sq_machine *machine);
// Another clock for the cores and buffers: the DRAM keeps its bandwidth and its latency, in other
// numbers of cycles.
void sq_machine_set_clock(struct sq_machine *machine, double hz);

// The clock of a netlist whose cycle takes so many nanoseconds at least. That of a chip behind an ideal DRAM is at most a
// thousandth of a cycle of a burst slower, so that a burst takes thousandths of cycles; SQ_ERR_RANGE where that is none.
enum sq_status sq_machine_set_netlist(struct sq_machine *machine, double period_ns,
                                      struct sq_error *err);

// Another DRAM, which keeps time: a device that comes with sqsim, by its name. SQ_ERR_ARG, SQ_ERR_RANGE.
enum sq_status sq_machine_set_dram(struct sq_machine *machine, const char *device,
                                   const struct sq_dram_options *options, struct sq_error *err);

// Whether it is a chip that computes a token by itself (sim/llm/chip/sq_token_program.h).
static inline bool sq_machine_has_token(const struct sq_machine *machine)
{
    return machine->chip.has_vector && machine->chip.attend > 0;
}

// Both halves of the buffers of a core; without those for scales of a chip, 2 scale_nbytes.
static inline uint64_t sq_machine_buffer_nbytes(const struct sq_machine *machine)
{
    return machine->act_nbytes + machine->weight_nbytes + machine->out_nbytes;
}

// Clock of the vector units.
static inline double sq_machine_vector_hz(const struct sq_machine *machine)
{
    const double hz = machine->vector_hz;
    return hz > 0 && hz < machine->clock_hz ? hz : machine->clock_hz;
}

// The core as one format uses it. A format wider than the multipliers is refused; a narrower one
// leaves their upper bits unused.
enum sq_status sq_machine_core(const struct sq_machine *machine, const struct sq_format *format,
                               unsigned act_bits, struct sq_core_config *core,
                               struct sq_error *err);
