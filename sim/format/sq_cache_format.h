// SPDX-License-Identifier: Apache-2.0
// The format of a KV cache. A row of the cache, a head of one token's keys or values, is stored like a layer of
// one row: its codes, the scales of its groups or blocks, and what is above them. So any format can be that
// of a cache whose weights need no calibration.
#pragma once

#include "sim/format/sq_recipe.h"

// "bf16", "int8", "int4", or "FORMAT:OPTION=VALUE:...". A scale is of the whole row, and rounding is to
// nearest, unless an option says otherwise. `scope` is SQ_IN_RUN or SQ_IN_EVAL. Sentences begin with "kv-format".
enum sq_status sq_cache_recipe(const char *text, unsigned scope, struct sq_recipe *r,
                               struct sq_error *err);

// Stored bits of a row of `width` elements; 16 an element where the recipe leaves it as it is.
double sq_cache_row_nbits(const struct sq_recipe *cache, uint64_t width);

// A row as the cache gives it back, in place.
enum sq_status sq_cache_round(const struct sq_recipe *cache, float *row, size_t width,
                              struct sq_error *err);
