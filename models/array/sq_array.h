// SPDX-License-Identifier: Apache-2.0
// What sq_array must deliver: the integer sums of one bank, for one line (row or column) of the
// operand in the format (coded) and one line of the other operand (plain), in every format that
// takes a bank per cycle.
//
//   dense     low[b]                            P = sum low * x
//   sentinel  low[b] with mask codes, high[k]   SPEC A.6, A.7
//   split     low[b], mask[b], high[k]          SPEC A.11: code 2^low_bits * H + L; L stands in the
//                                               dense plane, also where masked
//   compact   low[b-k], mask[b], high[k]        SPEC A.6b
//   sp24      low[b/2], nibbles mask[b/4]       SPEC E.2
//
// one_acc: P_lo alone. split: low + 2^low_bits * high; sentinel and compact (tied scales, SPEC
// A.3): 2^(high_bits - low_bits) * low + high. Otherwise P_lo and P_hi have a scale each.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sq_array_layout {
    SQ_ARRAY_DENSE = 0,
    SQ_ARRAY_SENTINEL = 1,
    SQ_ARRAY_SPLIT = 2,
    SQ_ARRAY_COMPACT = 3,
    SQ_ARRAY_SP24 = 4,
};

struct sq_array_config {
    enum sq_array_layout layout;
    bool one_acc;
    unsigned bank;          // b, 2..SQ_BANK_MAX
    unsigned high_per_bank; // k
    unsigned high_len;      // k: high codes compact; b: one per element, read where masked
    unsigned low_bits, high_bits;
    // Crossbar with windows (sq_gather_mux): the high element of rank t counts only up to position
    // b-k+t, the low one of rank m of a compact plane only up to k+m. No matter in legal banks.
    bool has_window;
};

struct sq_array_line {
    const int32_t *low, *high, *mask; // unused ones may be NULL
};

unsigned sq_array_low_lanes(const struct sq_array_config *c); // b, b-k or b/2
unsigned sq_array_mask_len(const struct sq_array_config *c);  // b, b/4 or 0

// Adds the bank to *p_lo and *p_hi (32-bit wrap-around, like the accumulators). Returns whether the
// line is well-formed; otherwise surplus high elements are ignored (their low code is still 0 where
// the format says so), missing ones are 0, and a group with an illegal nibble contributes 0.
bool sq_array_bank(const struct sq_array_config *c, const struct sq_array_line *line,
                   const int32_t *plain, uint32_t *p_lo, uint32_t *p_hi);
