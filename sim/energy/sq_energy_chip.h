// SPDX-License-Identifier: Apache-2.0
// What the netlist of a chip takes whatever it works on, and the clock that it reaches: the line of the chip that `sqsim area
// --block top --machine M --of F --json` prints. The parts of its engine are told from those around it by the names of
// their modules.
#pragma once

#include "sim/energy/sq_energy.h"
#include "sim/io/sq_digest.h"

enum sq_chip_side { SQ_CHIP_ENGINE, SQ_CHIP_REST, SQ_N_CHIP_SIDES };

struct sq_energy_chip {
    struct sq_energy_idle idle[SQ_N_CHIP_SIDES]; // of a cycle, watts
    double period_ns;                            // shortest clock of the whole; NAN without OpenSTA
    char liberty[SQ_DIGEST_SIZE];                // digest of the library
    bool has_memories;                           // of the library; else buffers are flip-flops
};

// The line of `path` whose parameters are those of sq_top_block in `value`; what memories it has, and where counters
// begin, may differ. SQ_ERR_UNSUPPORTED where no line has them, or it has no joules (a library without tables of
// power); errors of sq_json_lines.
enum sq_status sq_energy_chip_read(const char *path, const unsigned *value,
                                   struct sq_energy_chip *chip, struct sq_error *err);
