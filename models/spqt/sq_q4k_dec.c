// SPDX-License-Identifier: Apache-2.0
// Multiplies the superblock's two halves by the 6-bit factors of each block (sq_q4k_dec.h).
#include "models/spqt/sq_q4k_dec.h"
#include "models/number/sq_bits.h"

#include <math.h>
#include <string.h>

uint32_t sq_q4k_scaled(uint16_t half, unsigned factor)
{
    const unsigned exponent = half >> 10 & 31u, fraction = half & 1023u;
    const unsigned significand = exponent ? fraction | 1024u : fraction;
    const float v = ldexpf((float)(significand * factor), (int)(exponent ? exponent : 1) - 25);
    return sq_bits_of(v) | (uint32_t)(half & 0x8000u) << 16;
}

// Infinite, NaN or below zero.
static bool is_refused(uint16_t half)
{
    return (half & 0x7c00u) == 0x7c00u || half > 0x8000u;
}

void sq_q4k_dec(const uint8_t in[SQ_Q4K_NBYTES], struct sq_q4k_dec *out)
{
    struct sq_q4k s;
    sq_q4k_unpack(in, &s);
    memcpy(out->code, s.code, sizeof out->code);
    for (unsigned j = 0; j < SQ_Q4K_BLOCKS; j++) {
        out->step[j] = sq_q4k_scaled(s.d, s.scale[j]);
        out->min[j] = sq_q4k_scaled(s.dmin, s.min[j]);
    }
    out->is_refused = is_refused(s.d) || is_refused(s.dmin);
}
