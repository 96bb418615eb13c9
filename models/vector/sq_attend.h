// SPDX-License-Identifier: Apache-2.0
// The attention unit (SPEC R.5): attention of one query, key by key, in binary32 to the bit. Queries that share a cache
// are independent of each other, so that a group of them is a call for each; how many lanes the unit has changes no value.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SQ_ATTEND_HEAD_MAX = 256, SQ_ATTEND_KEYS_MAX = 1 << 16 };

// out[size] = the values of n keys, weighted by the softmax of their scores q . key. q[size] has the scale of the scores
// in it. key and value: what the cache gives back, `stride` elements from one key to the next; a window begins at its
// first key. 1 <= n <= SQ_ATTEND_KEYS_MAX, 1 <= size <= SQ_ATTEND_HEAD_MAX. Infinities and NaN spread as the operations
// spread them; every NaN counts as 7fc00000.
void sq_attend(const float *q, const float *key, const float *value, size_t stride, size_t n,
               size_t size, float *out);

// The same key by key, each step for `size` elements; *s zero at first. What the next key weighs; that weight on the sum of
// values in out[size], in the order of the keys; what is left to do behind the last one.
struct sq_attend_sum {
    float most, sum; // the largest score; of all e
    bool has_key;
};
struct sq_attend_weight {
    float e;
    bool is_first,
        is_larger; // the first key; its score is the largest so far, so that e multiplies what is there
};
struct sq_attend_weight sq_attend_key(struct sq_attend_sum *s, const float *q, const float *key,
                                      size_t size);
void sq_attend_value(struct sq_attend_weight w, const float *value, size_t size, float *out);
void sq_attend_end(const struct sq_attend_sum *s, size_t size, float *out);

// A row of keys or values as an INT8 cache gives it back that passes of the vector unit wrote (SPEC R.5), in place: the
// largest square over 127^2, one over its root, codes of integers where SQ_ATTEND_INTEGER is added, and a scale in binary16.
#define SQ_ATTEND_SQUARE (1.0f / 16129)
#define SQ_ATTEND_LEAST 0x1p-48f
#define SQ_ATTEND_INTEGER 12582912.0f
void sq_attend_round_int8(float *row, size_t size);
