// SPDX-License-Identifier: Apache-2.0
// What the decoder of Q4_K superblocks must deliver (SPEC G.3): codes, and per block of 32 the two
// numbers that turn a code into a weight, w = D q - Mn.
#pragma once

#include <stdbool.h>

#include "models/number/sq_q4k.h"

struct sq_q4k_dec {
    uint8_t code[SQ_Q4K_LEN];                         // 0..15
    uint32_t step[SQ_Q4K_BLOCKS], min[SQ_Q4K_BLOCKS]; // D, Mn: patterns of binary32
    bool is_refused;                                  // d or dmin infinite, NaN or negative
};

// D = d sc, the pattern of binary32; exact, since 11 and 6 bits make 17. An exponent of 31 counts
// like the others: 2^16 times 1.f.
uint32_t sq_q4k_scaled(uint16_t half, unsigned factor);
void sq_q4k_dec(const uint8_t in[SQ_Q4K_NBYTES], struct sq_q4k_dec *out);
