// SPDX-License-Identifier: Apache-2.0
// What the TopK unit must deliver (SPEC C.1, C.3, D.8): the mask of the k largest magnitudes of a
// bank, ties to the lowest index. The choice itself is sq_topk (sq_format.h); here are the
// magnitudes that hardware compares.
#pragma once

#include <stdint.h>

enum sq_topk_arch {
    SQ_TOPK_RANK = 0,  // all pairs, one bank per cycle
    SQ_TOPK_RADIX = 1, // one magnitude bit per cycle
    SQ_TOPK_TREE = 2,  // by knock-out, one bank per cycle; k = 1 or 2, bank a power of two
};

// |code| of an integer code, up to 2^15.
static inline uint16_t sq_magnitude_int(int code)
{
    return (uint16_t)(code < 0 ? -code : code);
}

// FP16 and BF16: the 15 bits below the sign order like the numbers (NaN is the caller's to refuse).
static inline uint16_t sq_magnitude_fp(uint16_t pattern)
{
    return pattern & 0x7fffu;
}

// mag[bank] -> mask[bank], exactly k ones; bank 1..SQ_BANK_MAX, 1 <= k <= bank.
void sq_topk_bank(const uint16_t *mag, unsigned bank, unsigned k, uint8_t *mask);
