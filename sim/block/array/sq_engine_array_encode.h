// SPDX-License-Identifier: Apache-2.0
// Activations that are encoded in front of sq_engine_array: banks of bfloat16 with a mask of their own (SPEC C), whose low
// and high codes have a scale a token each, as sq_encode makes them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/array/sq_array.h"
#include "models/core/sq_act_token.h"

// A beat is of `rows` lines in SQ_ARRAY_COMPACT: low codes, high codes, mask. Elements are finite.

// Puts a bank of row `row`, whose scales are there, into a beat.
void sq_array_encode_bank(const struct sq_array_config *c, size_t rows, size_t row,
                          const uint16_t *x, const struct sq_act_token scale[2], int32_t *beat);
// The largest magnitude of a bank's elements that are not high.
uint16_t sq_array_largest_low(const struct sq_array_config *c, const uint16_t *x);

// Whole tokens by models/: x[rows][banks * bank], the first n elements of each row, into beats [banks][len] and
// scale[rows], of low codes, then of high ones.
void sq_array_encode_tokens(const struct sq_array_config *c, size_t rows, const uint16_t *x,
                            size_t n, size_t banks, int32_t *beat, float *scale);
