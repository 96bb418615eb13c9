// SPDX-License-Identifier: Apache-2.0
// A memory behind AXI4, as the environment of a block that is its manager (sq_env.h). Streams of the
// block: asks axi_ar, axi_aw, axi_w, replies axi_r, axi_b, in this order, with the fields below.
//
//   kind 0  takes and answers everything at once; no errors but those of the map
//   kind 1  ideal: one DRAM for reads and writes, first come first served. A burst of n bytes occupies
//           it for ceil(n / burst) * num / den cycles; a beat comes `latency` cycles after its part
//           n[0] latency, n[1] num, n[2] den, n[3] burst in bytes
//   kind 2  random: any wait states on every channel, n[0] = 0 few .. 3 many; between two beats that
//           are read at most SQ_AXI_WAIT_MAX
//
// The map: what a beat holds, and how it fails, follows from its address alone, so that a golden model
// can say what comes.
//
//   31..28  0: a good address; else enum sq_axi_fault
//   27..20  number modulo 256 of the beat that fails, counted in beats from address 0
//   19..0   place
#ifndef SQ_AXI_MEMORY_H
#define SQ_AXI_MEMORY_H

#include "sim/block/sq_block.h"

enum { SQ_AXI_WAIT_MAX = 32, SQ_AXI_WORDS_MAX = 16 }; // cycles; words of 32 bits in a beat

enum sq_axi_fault {
    SQ_AXI_GOOD,
    SQ_AXI_SLVERR,
    SQ_AXI_DECERR,
    SQ_AXI_EARLY,   // a read: LAST with this beat, which ends its burst
    SQ_AXI_LATE,    // a read that ends with this beat: more beats come, LAST with the last of them
    SQ_AXI_MISSING, // the same: LAST does not come at all
    SQ_AXI_TWO,     // SLVERR, and DECERR with the beat behind it
    SQ_AXI_FAULTS
};

extern const struct sq_env sq_axi_memory;

// The first parameter of the block is the width of a beat in bits, of whole words of 32 bits. Streams
// and fields into a zeroed part of *p.
void sq_axi_ports(unsigned data_bits, struct sq_ports *p);

// SQ_AXI_TWO is told as what its beats respond.
enum sq_axi_fault sq_axi_fault_at(uint32_t addr, unsigned nbytes);
// Word i of the beat that is read there; of the one that must be written there.
int32_t sq_axi_read_word(uint32_t addr, unsigned i);
int32_t sq_axi_write_word(uint32_t addr, unsigned i);

#endif
