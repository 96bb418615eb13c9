// SPDX-License-Identifier: Apache-2.0
// Streams keys and values past a query (sq_attend.h).
#include "models/vector/sq_attend.h"

#include <assert.h>

#include "models/number/sq_half.h"
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

struct sq_attend_weight sq_attend_key(struct sq_attend_sum *s, const float *q, const float *key,
                                      size_t size)
{
    const float score = dot(q, key, size);
    const bool is_first = !s->has_key;
    const bool is_larger = !is_first && sq_vector_rank(score) > sq_vector_rank(s->most);
    const float e =
        is_first ? 1.0f
                 : sq_vector_func(SQ_VECTOR_EXP, is_larger ? s->most - score : score - s->most);
    if (is_first || is_larger)
        s->most = score;
    s->sum = is_first ? 1.0f : is_larger ? s->sum * e + 1.0f : s->sum + e;
    s->has_key = true;
    return (struct sq_attend_weight){e, is_first, is_larger};
}

void sq_attend_value(struct sq_attend_weight w, const float *value, size_t size, float *out)
{
    for (size_t i = 0; i < size; i++)
        out[i] = w.is_first    ? value[i]
                 : w.is_larger ? out[i] * w.e + value[i]
                               : out[i] + w.e * value[i];
}

void sq_attend_end(const struct sq_attend_sum *s, size_t size, float *out)
{
    const float part = sq_vector_func(SQ_VECTOR_RECIPROCAL, s->sum);
    for (size_t i = 0; i < size; i++)
        out[i] *= part;
}

void sq_attend(const float *q, const float *key, const float *value, size_t stride, size_t n,
               size_t size, float *out)
{
    struct sq_attend_sum s = {.has_key = false};
    assert(n >= 1 && n <= SQ_ATTEND_KEYS_MAX && size >= 1 && size <= SQ_ATTEND_HEAD_MAX);
    for (size_t k = 0; k < n; k++)
        sq_attend_value(sq_attend_key(&s, q, key + k * stride, size), value + k * stride, size,
                        out);
    sq_attend_end(&s, size, out);
}

void sq_attend_round_int8(float *row, size_t size)
{
    float most = row[0] * row[0];
    for (size_t i = 1; i < size; i++)
        if (sq_vector_rank(row[i] * row[i]) > sq_vector_rank(most))
            most = row[i] * row[i];
    const float square = most * SQ_ATTEND_SQUARE;
    const float inverse = sq_vector_func(SQ_VECTOR_RSQRT, square + SQ_ATTEND_LEAST);
    const float scale = sq_half_round(sq_vector_func(SQ_VECTOR_RECIPROCAL, inverse));
    for (size_t i = 0; i < size; i++) {
        const float coded = row[i] * inverse;
        row[i] = (float)(int8_t)(sq_bits_of(coded + SQ_ATTEND_INTEGER) & 0xff) * scale;
    }
}
