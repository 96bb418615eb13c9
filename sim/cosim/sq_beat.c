// SPDX-License-Identifier: Apache-2.0
#include "sim/cosim/sq_beat.h"

#include <string.h>

#include "models/sq_format.h"

void sq_beat_put(uint32_t *words, size_t bit, unsigned width, uint32_t value)
{
    const uint32_t field = value & (UINT32_MAX >> (32 - width));
    words[bit / 32] |= field << (bit % 32);
    if (bit % 32 + width > 32)
        words[bit / 32 + 1] |= field >> (32 - bit % 32);
}

void sq_beat_fill(uint32_t *words, size_t n_words, const int8_t *src, unsigned lines,
                  unsigned lanes, unsigned len, unsigned step, unsigned width, struct sq_rng *noise)
{
    size_t bit = 0;
    memset(words, 0, n_words * sizeof *words);
    for (unsigned line = 0; line < lines; line++)
        for (unsigned i = 0; i < lanes; i++, bit += width) {
            const unsigned e = step * lanes + i;
            const uint32_t v =
                e < len ? (uint32_t)src[(size_t)line * len + e] : (uint32_t)sq_rng_next(noise);
            sq_beat_put(words, bit, width, v);
        }
}

int32_t sq_beat_field(const uint32_t *words, size_t i, unsigned width)
{
    const size_t bit = i * width;
    const uint64_t two = (uint64_t)words[bit / 32 + 1] << 32 | words[bit / 32];
    const uint32_t field = (uint32_t)(two >> (bit % 32));
    return width == 32 ? (int32_t)field : sq_sign_extend(field, width);
}
