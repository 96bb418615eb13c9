// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes metadata nibbles, and selects activations by them (sq_meta24.h).
#include "models/array/sq_meta24.h"

bool sq_meta24_decode(unsigned nibble, unsigned *i0, unsigned *i1)
{
    const unsigned first = nibble & 3, second = nibble >> 2 & 3;
    if (first >= second)
        return false;
    *i0 = first;
    *i1 = second;
    return true;
}

enum sq_status sq_meta24_encode(const int8_t *w, size_t k, int8_t *value, uint8_t *nibble,
                                struct sq_error *err)
{
    SQ_FAIL_IF(k % 4 != 0, err, SQ_ERR_SHAPE, "K = %zu, need a multiple of 4", k);
    for (size_t g = 0; g < k / 4; g++) {
        unsigned index[2] = {0, 0}, n = 0;
        for (unsigned i = 0; i < 4; i++) {
            if (w[4 * g + i] == 0)
                continue;
            SQ_FAIL_IF(n == 2, err, SQ_ERR_MASK_COUNT,
                       "columns %zu..%zu hold more than two non-zeros", 4 * g, 4 * g + 3);
            index[n++] = i;
        }
        if (n < 2) { // canonical: the single one second, unless it stands at 0
            index[1] = index[0] > 0 ? index[0] : 1;
            index[0] = 0;
        }
        value[2 * g] = w[4 * g + index[0]];
        value[2 * g + 1] = w[4 * g + index[1]];
        nibble[g] = (uint8_t)(index[0] | index[1] << 2);
    }
    return SQ_OK;
}

void sq_meta24_words(const uint8_t *nibble, size_t k, uint16_t *word)
{
    for (size_t i = 0; i < k / 16; i++) {
        unsigned bits = 0;
        for (unsigned g = 0; g < 4; g++)
            bits |= (unsigned)nibble[4 * i + g] << (4 * g);
        word[i] = (uint16_t)bits;
    }
}

bool sq_meta24_select(unsigned nibble, const int8_t act[4], int8_t taken[2])
{
    unsigned i0, i1;
    taken[0] = taken[1] = 0;
    if (!sq_meta24_decode(nibble, &i0, &i1))
        return false;
    taken[0] = act[i0];
    taken[1] = act[i1];
    return true;
}
