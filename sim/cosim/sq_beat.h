// SPDX-License-Identifier: Apache-2.0
// Beats as the RTL's data ports carry them: fields of any width packed from bit 0 of word 0.
#ifndef SQ_BEAT_H
#define SQ_BEAT_H

#include <stddef.h>
#include <stdint.h>

#include "models/sq_rng.h"

// Words for a port of `bits` bits, with room for what 64-bit ports and unaligned fields touch.
static inline size_t sq_beat_words(size_t bits)
{
    return (bits + 31) / 32 + 2;
}

// One step of `lines` rows or columns: elements [step*lanes, +lanes) of src[line][len] into
// words[n_words]; lanes beyond len carry noise, which the RTL must ignore. width 1..16.
void sq_beat_fill(uint32_t *words, size_t n_words, const int8_t *src, unsigned lines,
                  unsigned lanes, unsigned len, unsigned step, unsigned width,
                  struct sq_rng *noise);

// Ors `width` (1..32) bits of value into the words at a bit position; the field is still zero.
void sq_beat_put(uint32_t *words, size_t bit, unsigned width, uint32_t value);

// Field i of width `width` (1..32), as a signed integer.
int32_t sq_beat_field(const uint32_t *words, size_t i, unsigned width);

#endif
