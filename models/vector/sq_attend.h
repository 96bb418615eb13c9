// SPDX-License-Identifier: Apache-2.0
// The attention unit (SPEC R.5): attention of one query, key by key, in binary32 to the bit. Queries that share a cache
// are independent of each other, so that a group of them is a call for each; how many lanes the unit has changes no value.
#pragma once

#include <stddef.h>

enum { SQ_ATTEND_HEAD_MAX = 256, SQ_ATTEND_KEYS_MAX = 1 << 16 };

// out[size] = the values of n keys, weighted by the softmax of their scores q . key. q[size] has the scale of the scores
// in it. key and value: what the cache gives back, `stride` elements from one key to the next; a window begins at its
// first key. 1 <= n <= SQ_ATTEND_KEYS_MAX, 1 <= size <= SQ_ATTEND_HEAD_MAX. Infinities and NaN spread as the operations
// spread them; every NaN counts as 7fc00000.
void sq_attend(const float *q, const float *key, const float *value, size_t stride, size_t n,
               size_t size, float *out);
