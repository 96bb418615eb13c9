// SPDX-License-Identifier: Apache-2.0
// The two products of attention for one query, in sums whose order depends on nothing but the size of a head: a
// query has the same bits alone, with others, and on every processor. (BLAS chooses its order by the shape.)
#pragma once

#include <stddef.h>

// score[i] = scale * (q . key i), of `size` numbers each; keys are `stride` apart.
void sq_attention_scores(const float *q, const float *key, size_t stride, size_t n, size_t size,
                         float scale, float *score);

// out[size] = the sum of weight[i] * value i by ascending i; values are `stride` apart.
void sq_attention_sum(const float *weight, const float *value, size_t stride, size_t n, size_t size,
                      float *out);
