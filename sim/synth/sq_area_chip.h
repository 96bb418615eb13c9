// SPDX-License-Identifier: Apache-2.0
// The chip sq_top as a row of `sqsim area`, and its netlist by unit: attention, vector unit, encoder, DMA and the others.
#pragma once

#include "sim/synth/sq_area_block.h"

// A chip with what its row points to: not moved. Free it, even after a failure.
struct sq_area_chip {
    struct sq_area_item item;
    struct sq_area_unit unit;
    struct sq_synth_macro memory[SQ_SYNTH_MACROS];
};
// The chip of these parameters of sq_top_block, for a machine of this name whose buffers have so many bytes. sram: a folder of Liberty
// files of memories, NULL: buffers are flip-flops. SQ_ERR_ARG where they are too large for that; errors of sq_synth_macros_read.
enum sq_status sq_area_chip_make(struct sq_area_chip *chip, const unsigned *value, const char *name,
                                 uint64_t nbytes, const char *sram, struct sq_error *err);
void sq_area_chip_free(struct sq_area_chip *chip);

// The unit of part `i` of a chip, with its area and its longest path; the part after its last one, as parts stand by name. The
// units add up to the area.
size_t sq_area_chip_unit(const struct sq_synth_result *r, size_t i, struct sq_synth_part *unit);
