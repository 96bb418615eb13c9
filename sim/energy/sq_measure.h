// SPDX-License-Identifier: Apache-2.0
// A block at a point on the operands of a case: its mapped netlist is run without delays and with
// them, both on the same operands, its outputs are compared with the golden model, its handshakes
// with the cycle model, and what changed is priced.
#pragma once

#include "sim/energy/sq_drive.h"
#include "sim/energy/sq_energy.h"
#include "sim/place/sq_wires.h"
#include "sim/synth/sq_synth.h"

enum sq_energy_mode { SQ_ZERO_DELAY, SQ_WITH_DELAYS, SQ_N_MODES };
const char *sq_energy_mode_name(enum sq_energy_mode mode); // "zero_delay", "with_delays"

struct sq_measured {
    struct sq_energy energy[SQ_N_MODES];
    struct sq_drive drive; // mismatch[0]: the netlist is not the block, and nothing else counts
    double volts;
    double settled; // seconds to the last change of any cycle; the clock must not be faster
    size_t n_cells, n_flops;
    double wire_um, wire_farads, pin_farads; // of all nets but the clock and the like (sq_place.h)
    double
        path_ns; // of the netlist for `period_ns`, in one piece; 0: of the smallest, not asked for
};

// The block for synthesis: its parts (PEs, decoders of lines, mask units) stay modules, as in
// `sqsim area --keep-parts`, so that gates can be told apart; without counters of causes.
struct sq_synth_block sq_measure_block(const struct sq_block *block, const struct sq_point *point);

struct sq_measure_options {
    uint64_t cycles;              // in each of 64 lanes
    double clock_ns;              // period at which it runs: leakage of a cycle
    const struct sq_wires *wires; // NULL: nets have no wires
    double
        period_ns; // 0: the smallest netlist; else how sq_synth_at_period made the block in one piece
};
// Errors of sq_synth_mapped, sq_synth_at_period, sq_netlist_read and sq_drive_run;
// SQ_ERR_UNSUPPORTED for a library whose cells have no tables of power (a figure without them would
// be half a figure).
enum sq_status sq_measure_run(const struct sq_synth *synth, const struct sq_case *c,
                              const struct sq_measure_options *options, struct sq_measured *out,
                              struct sq_error *err);
