// SPDX-License-Identifier: Apache-2.0
// SpQt on a machine, in closed form (SPEC G.3, G.4, G.6 to G.8, P10): what its layout fetches, what
// its workers wait for each other, and how long its index unit takes. Columns are active
// independently of each other with probability `active`, 0..1.
#pragma once

#include <stdint.h>

#include "models/spqt/sq_spqt.h"

extern const char *const sq_spqt_layout_names[]; // of --layout; a NULL follows

// Expected bytes fetched over bytes stored. The DRAM moves whole bursts of `burst` bytes, and a
// burst is fetched iff a column with bytes in it is active: its superblock (zigzag); its nibble, or
// the scales of the superblock it is in (row). With c such columns that is 1 - (1 - active)^c;
// superblocks follow each other without gaps, so 144 / gcd(144, burst) bursts repeat for ever.
// burst = 0: superblocks are fetched alone and whole, c = 1 or 256: P10's 1 - p^256.
double sq_spqt_fetched(enum sq_spqt_layout layout, unsigned burst, double active);

// Cycles in which sq_spqt_idx, of the point that `sqsim area --block spqt_idx` prices, scans a
// vector of k columns with round(k active) of them spread evenly: from the first segment in to the
// last indices out, by its cycle model (sq_spqt_idx_block.h), which equals the RTL.
uint64_t sq_spqt_index_cycles(uint64_t k, double active);
