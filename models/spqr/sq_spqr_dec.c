// SPDX-License-Identifier: Apache-2.0
// Takes the codes and the numbers of second order out of the words of a tile (sq_spqr_dec.h).
#include "models/spqr/sq_spqr_dec.h"

static unsigned bits(uint64_t word, unsigned from, unsigned n)
{
    return (unsigned)(word >> from) & ((1u << n) - 1);
}

void sq_spqr_dec_tile(const uint64_t word[SQ_SPQR_TILE], struct sq_spqr_tile *tile)
{
    uint64_t second = 0;
    tile->error = 0;
    for (unsigned r = 0; r < SQ_SPQR_TILE; r++) {
        const uint64_t w = word[r];
        const unsigned byte = bits(w, 54, 8);
        tile->scale[r] = (uint8_t)bits(w, 0, 3);
        tile->zero[r] = (uint8_t)bits(w, 3, 3);
        for (unsigned j = 0; j < SQ_SPQR_TILE; j++)
            tile->code[r][j] = (uint8_t)bits(w, 6 + 3 * j, 3);
        if (bits(w, 62, 2) != 0)
            tile->error |= SQ_SPQR_RESERVED;
        if (r % 2 == 0)
            second |= (uint64_t)byte << (8 * (r / 2));
        else if (byte != bits(word[r - 1], 54, 8))
            tile->error |= SQ_SPQR_DUPLICATE;
    }
    for (unsigned i = 0; i < 4; i++) {
        tile->second[i] = (uint16_t)bits(second, 16 * i, 16);
        if ((tile->second[i] & 0x7c00u) == 0x7c00u)
            tile->error |= SQ_SPQR_NON_FINITE;
    }
}
