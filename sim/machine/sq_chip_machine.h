// SPDX-License-Identifier: Apache-2.0
// A machine that is a chip (key `chip` of its YAML): its array, buffers and DRAM are those of rtl/top/sq_top.sv, and
// a GEMM takes the cycles of the chip's own cycle model (sq_chip_run.h), which are those of the RTL.
#pragma once

#include "sim/format/top/sq_chip_route.h"
#include "sim/machine/sq_machine_stats.h"

// What the chip has: the bus, the DMA, half of each buffer, the DRAM. SQ_ERR_ARG: the machine is no chip;
// SQ_ERR_RANGE: an ideal DRAM whose burst is no simple fraction of a cycle, or too far away.
enum sq_status sq_machine_chip(const struct sq_machine *machine, struct sq_chip *chip,
                               struct sq_error *err);

// Bit products that a PE of the chip may have; 0: the machine does not say, and a PE has what a beat of the format takes.
unsigned sq_machine_chip_products(const struct sq_machine *machine);

// The chip for a format, with at most so many bit products a PE (0: as many as a beat of the format takes): its parameters
// are those of all layers but for SQ_TOP_PARTS, and *layer is one that every format has.
enum sq_status sq_machine_chip_for(const struct sq_machine *machine, const struct sq_recipe *recipe,
                                   unsigned products, struct sq_chip_layer *layer,
                                   struct sq_error *err);

// Bits that are read from the buffers, or written into them, in a layer. The engine reads a beat of both operands for each
// beat that it takes, and scales for each result of a tile; sums of a tile wait between chunks of K.
uint64_t sq_chip_sram_nbits(const struct sq_chip_layer *c, bool is_write);

// sq_mapping_run on it. The plan is the one that the chip has for this layer (sq_chip_layer_of), the
// only one; what is refused there is refused here. Of stats, low and high are alike: busy, and
// blocked_output where the engine takes no operands that are there; memory: it waits for them. In `lo`
// are all beats of weights, with high codes, masks and padding; descriptors are in no stream. memo: of sq_chip_run.h, or NULL.
enum sq_status sq_chip_mapping_run(const struct sq_machine *machine, const struct sq_recipe *recipe,
                                   const struct sq_gemm *gemm, struct sq_mapping *plan,
                                   struct sq_machine_stats *stats, struct sq_chip_memo *memo,
                                   struct sq_error *err);
