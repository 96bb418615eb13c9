// SPDX-License-Identifier: Apache-2.0
// 2:4 metadata (SPEC E.1-E.3): of every aligned group of four at most two elements are not zero,
// two values are stored, and a nibble i0 | i1 << 2 with i0 < i1 says where they stood.
//
//   kept    (0,1) (0,2) (0,3) (1,2) (1,3) (2,3)
//   nibble   0x4   0x8   0xC   0x9   0xD   0xE      the ten others are refused
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// The two positions; false for an illegal nibble, *i0 and *i1 are then left alone.
bool sq_meta24_decode(unsigned nibble, unsigned *i0, unsigned *i1);

// A row of k elements (k % 4 == 0: SQ_ERR_SHAPE) into value[k / 2] and nibble[k / 4]. Groups with
// fewer than two non-zeros take the canonical positions of SPEC E.2: none -> (0,1), one at p > 0 ->
// (0,p), one at 0 -> (0,1). More than two: SQ_ERR_MASK_COUNT.
enum sq_status sq_meta24_encode(const int8_t *w, size_t k, int8_t *value, uint8_t *nibble,
                                struct sq_error *err);

// Metadata words of 16 columns (SPEC E.3): group g of a word in bits 4g..4g+3. k % 16 == 0.
void sq_meta24_words(const uint8_t *nibble, size_t k, uint16_t *word);

// What the select muxes deliver for one group: act[i0], act[i1]; zeros and false if illegal.
bool sq_meta24_select(unsigned nibble, const int8_t act[4], int8_t taken[2]);
