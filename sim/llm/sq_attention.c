// SPDX-License-Identifier: Apache-2.0
// Multiplies queries with keys and weights with values, in vectors of one width (sq_attention.h).
#include "sim/llm/sq_attention.h"

#include <string.h>

#include "models/number/sq_lanes.h"

enum { LANES = 16, CHUNK = 2 }; // of a vector; vectors of a value at a time

// On every processor; where its vectors are narrower, the compiler takes several.
typedef float vec __attribute__((vector_size(4 * LANES)));

static inline __attribute__((always_inline)) void load(const float *x, size_t n, vec *to)
{
    float lane[LANES] = {0};
    memcpy(lane, x, n * sizeof *x);
    memcpy(to, lane, sizeof lane);
}

// The lanes as a tree: each half is added to the other.
static inline __attribute__((always_inline)) float add_lanes(const vec *v)
{
    float lane[LANES];
    memcpy(lane, v, sizeof lane);
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

static inline __attribute__((always_inline)) void scores_body(const float *q, const float *key,
                                                              size_t stride, size_t n, size_t size,
                                                              float scale, float *score)
{
    for (size_t i = 0; i < n; i++, key += stride) {
        vec sum = {0}, a, b;
        size_t j = 0;
        for (; j + LANES <= size; j += LANES) {
            memcpy(&a, q + j, sizeof a);
            memcpy(&b, key + j, sizeof b);
            sum += a * b;
        }
        if (j < size) {
            load(q + j, size - j, &a);
            load(key + j, size - j, &b);
            sum += a * b;
        }
        score[i] = scale * add_lanes(&sum);
    }
}

// Numbers [0, CHUNK * LANES) of the sum, or the first `size` of them.
static inline __attribute__((always_inline)) void sum_whole(const float *weight, const float *value,
                                                            size_t stride, size_t n, float *out)
{
    vec sum[CHUNK] = {{0}}, v[CHUNK];
    for (size_t i = 0; i < n; i++, value += stride) {
        memcpy(v, value, sizeof v);
        for (size_t c = 0; c < CHUNK; c++)
            sum[c] += weight[i] * v[c];
    }
    memcpy(out, sum, sizeof sum);
}

static inline __attribute__((always_inline)) void
sum_body(const float *weight, const float *value, size_t stride, size_t n, size_t size, float *out)
{
    size_t j = 0;
    for (; j + CHUNK * LANES <= size; j += CHUNK * LANES)
        sum_whole(weight, value + j, stride, n, out + j);
    for (; j < size; j++) {
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += weight[i] * value[i * stride + j];
        out[j] = sum;
    }
}

SQ_LANES_EACH(void, , scores,
              (const float *q, const float *key, size_t stride, size_t n, size_t size, float scale,
               float *score),
              q, key, stride, n, size, scale, score)
SQ_LANES_EACH(void, , sum,
              (const float *weight, const float *value, size_t stride, size_t n, size_t size,
               float *out),
              weight, value, stride, n, size, out)

void sq_attention_scores(const float *q, const float *key, size_t stride, size_t n, size_t size,
                         float scale, float *score)
{
    SQ_LANES_BEST(scores)(q, key, stride, n, size, scale, score);
}

void sq_attention_sum(const float *weight, const float *value, size_t stride, size_t n, size_t size,
                      float *out)
{
    SQ_LANES_BEST(sum)(weight, value, stride, n, size, out);
}
