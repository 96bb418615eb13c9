// SPDX-License-Identifier: Apache-2.0
// Multiplies queries with keys and weights with values, in vectors of one width (sq_attention.h).
#include "sim/llm/sq_attention.h"

#include <string.h>

#include "models/number/sq_lanes.h"

enum { LANES = 16, KEYS = 8, CHUNK = 4 }; // of a sum; side by side; vectors of a value at a time

// Half of the lanes: a vector of AVX2 (GCC keeps one of all lanes in memory there).
typedef float vec __attribute__((vector_size(2 * LANES)));
typedef float vec_in __attribute__((vector_size(2 * LANES), aligned(4), may_alias)); // in memory

#define BODY static inline __attribute__((always_inline))
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// sum[] += q * key, of the first n lanes.
BODY void add_products(const float *q, const float *key, size_t n, vec sum[2])
{
    float of_q[LANES] = {0}, of_key[LANES] = {0};
    if (n < LANES) {
        memcpy(of_q, q, n * sizeof *q);
        memcpy(of_key, key, n * sizeof *key);
        q = of_q;
        key = of_key;
    }
    for (size_t half = 0; half < 2; half++)
        sum[half] += ((const vec_in *)q)[half] * ((const vec_in *)key)[half];
}

// The lanes of q . key as a tree: each half is added to the other; here its first step, from 16 lanes to 8.
BODY void half_tree(const float *q, const float *key, size_t size, vec *to)
{
    vec sum[2] = {{0}};
    size_t j = 0;
    for (; j + LANES <= size; j += LANES)
        add_products(q + j, key + j, LANES, sum);
    if (j < size)
        add_products(q + j, key + j, size - j, sum);
    *to = sum[0] + sum[1];
}

// The rest of the trees of eight keys side by side: lane i is of v[i].
BODY void rest_of_trees(const vec v[KEYS], vec *to)
{
    vec two[4], one[2];
    for (size_t i = 0; i < 4; i++)
        two[i] = PICK(v[2 * i], v[2 * i + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                 PICK(v[2 * i], v[2 * i + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    for (size_t i = 0; i < 2; i++)
        one[i] = PICK(two[2 * i], two[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                 PICK(two[2 * i], two[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    const vec all = PICK(one[0], one[1], 0, 2, 8, 10, 4, 6, 12, 14) +
                    PICK(one[0], one[1], 1, 3, 9, 11, 5, 7, 13, 15);
    *to = PICK(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
}

BODY void scores_body(const float *q, const float *key, size_t stride, size_t n, size_t size,
                      float scale, float *score)
{
    for (size_t i = 0; i < n; i += KEYS, key += KEYS * stride) {
        const size_t keys = n - i < KEYS ? n - i : KEYS;
        vec v[KEYS] = {{0}};
        if (keys == KEYS) // a loop of a known length stays in registers
            for (size_t k = 0; k < KEYS; k++)
                half_tree(q, key + k * stride, size, &v[k]);
        else
            for (size_t k = 0; k < keys; k++)
                half_tree(q, key + k * stride, size, &v[k]);
        vec all;
        rest_of_trees(v, &all);
        all *= scale;
        memcpy(score + i, &all, keys * sizeof *score);
    }
}

// The first n_vec vectors of the sum.
BODY void sum_vectors(const float *weight, const float *value, size_t stride, size_t n,
                      size_t n_vec, float *out)
{
    vec sum[CHUNK] = {{0}};
    for (size_t i = 0; i < n; i++, value += stride)
        for (size_t c = 0; c < n_vec; c++)
            sum[c] += weight[i] * ((const vec_in *)value)[c];
    for (size_t c = 0; c < n_vec; c++)
        ((vec_in *)out)[c] = sum[c];
}

BODY void sum_body(const float *weight, const float *value, size_t stride, size_t n, size_t size,
                   float *out)
{
    size_t j = 0;
    for (; j + CHUNK * LANES / 2 <= size; j += CHUNK * LANES / 2)
        sum_vectors(weight, value + j, stride, n, CHUNK, out + j);
    for (; j + LANES / 2 <= size; j += LANES / 2)
        sum_vectors(weight, value + j, stride, n, 1, out + j);
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
