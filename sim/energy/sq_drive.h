// SPDX-License-Identifier: Apache-2.0
// Simulates a block's netlist on the operands of a case (sim/block/flow/sq_case.h) in 64 lanes, each at another
// group of the case; streams never wait. All handshakes of every cycle are compared with the block's cycle
// model, and every output beat with its golden model.
#pragma once

#include "sim/block/flow/sq_case.h"
#include "sim/energy/sq_toggle.h"

struct sq_drive {
    uint64_t cycles;    // counted, all lanes together
    uint64_t beats;     // taken from the stream of operands (sq_ports.mac_stream) in them
    double macs;        // sq_ports.macs of each; 0: the block multiplies no matrices
    uint64_t outputs;   // output beats compared
    char mismatch[160]; // the first difference; "": none
};

enum { SQ_DRIVE_FILL = 24, SQ_DRIVE_MAX_CYCLES = 1 << 20 };

// Resets, fills for SQ_DRIVE_FILL cycles, then counts `cycles` in each of the n toggles, which are
// all of the same netlist and see the same operands. A lane at the end of the case begins again.
// SQ_ERR_UNSUPPORTED for a netlist without the ports of the block, a block with an
// environment, a case in which a stream has no beat; SQ_ERR_MEMORY.
enum sq_status sq_drive_run(const struct sq_case *c, struct sq_toggle *const *toggle, size_t n,
                            uint64_t cycles, struct sq_drive *out, struct sq_error *err);

// Draws operands uniformly from all legal values: at least 64 groups and about `beats` beats, in groups
// of 16 beats where the block takes any number. The caller frees with sq_case_free.
// SQ_ERR_UNSUPPORTED, SQ_ERR_MEMORY.
enum sq_status sq_drive_draw(const struct sq_block *block, const struct sq_point *point,
                             uint64_t seed, size_t beats, struct sq_case *c, struct sq_error *err);
