// SPDX-License-Identifier: Apache-2.0
// Streams keys and values past a query (sq_attend.h).
#include "models/vector/sq_attend.h"

#include <assert.h>

#include "models/vector/sq_vector.h"

// Products in pairs, neighbours first; the last of an odd number passes.
static float dot(const float *q, const float *key, size_t size)
{
    float x[SQ_ATTEND_HEAD_MAX];
    for (size_t i = 0; i < size; i++)
        x[i] = q[i] * key[i];
    for (size_t n = size; n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n; i += 2)
            x[i / 2] = i + 1 < n ? x[i] + x[i + 1] : x[i];
    return x[0];
}

void sq_attend(const float *q, const float *key, const float *value, size_t stride, size_t n,
               size_t size, float *out)
{
    float most = 0, sum = 0;
    assert(n >= 1 && n <= SQ_ATTEND_KEYS_MAX && size >= 1 && size <= SQ_ATTEND_HEAD_MAX);
    for (size_t k = 0; k < n; k++, key += stride, value += stride) {
        const float s = dot(q, key, size);
        const bool is_larger = k > 0 && sq_vector_rank(s) > sq_vector_rank(most);
        const float e =
            k == 0 ? 1.0f : sq_vector_func(SQ_VECTOR_EXP, is_larger ? most - s : s - most);
        if (k == 0 || is_larger)
            most = s;
        sum = k == 0 ? 1.0f : is_larger ? sum * e + 1.0f : sum + e;
        for (size_t i = 0; i < size; i++)
            out[i] = k == 0 ? value[i] : is_larger ? out[i] * e + value[i] : out[i] + e * value[i];
    }
    const float part = sq_vector_func(SQ_VECTOR_RECIPROCAL, sum);
    for (size_t i = 0; i < size; i++)
        out[i] *= part;
}
