// SPDX-License-Identifier: Apache-2.0
// A layer on the chip (rtl/top/sq_top.sv) with an ideal memory, from the start in CONTROL to the response of
// the last write, as the chip's own counters say: in two ways that agree in every counter.
#pragma once

#include "sim/machine/sq_chip_state.h"

// value: the parameters of the block sq_top; memory: of kind 1 (sq_axi_memory.h). The layer is one that
// such a chip takes (sq_top_layer_decode), its regions placed. SQ_ERR_MEMORY.
//
// The definition: the cycle model of the chip (sim/block/top/sq_top_sim.h), which the co-simulation holds to
// the RTL in every signal of every cycle, called for every cycle.
enum sq_status sq_chip_run_step(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err);
// The same, with a memory that keeps time (SQ_AXI_TIMED) as well, whose account goes to *dram.
enum sq_status sq_chip_run_timed(const unsigned *value, const struct sq_env_choice *memory,
                                 const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                 struct sq_dram_stats *dram, struct sq_error *err);
// The same of any descriptor: a layer, an encoder, a pass, attention. SQ_ERR_INTERNAL where it ends with an error.
enum sq_status sq_chip_run_descriptor(const unsigned *value, const struct sq_env_choice *memory,
                                      const uint32_t word[SQ_DESC_WORDS],
                                      struct sq_chip_stats *stats, struct sq_error *err);
// What the counters of the chip are.
struct sq_chip_stats sq_chip_stats_of(const struct sq_top_regs_sim *regs);
// The same in every counter. From one job to the next, what happens follows from the state of the chip and
// from the steps of the layer that come in between, so it is computed once for each state and steps alike
// (sq_chip_state.h); so are whole blocks of a loop.
enum sq_status sq_chip_run_fast(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err);
// The same for many layers: the memo keeps what followed from states, for as long as the same chip with the same memory
// comes; NULL: none.
struct sq_chip_memo;
// limit: bytes after which what follows from tiles, from jobs is forgotten. NULL: no memory.
enum { SQ_CHIP_MEMO_NBYTES = 1 << 26 };
struct sq_chip_memo *sq_chip_memo_new(size_t limit);
void sq_chip_memo_free(struct sq_chip_memo *memo);
enum sq_status sq_chip_run_next(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_memo *memo,
                                struct sq_chip_stats *stats, struct sq_error *err);
