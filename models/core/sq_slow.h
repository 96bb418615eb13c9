// SPDX-License-Identifier: Apache-2.0
// The second, slow, obviously right version of the models; only tests use it, to judge them. It
// calls nothing of sq_format, sq_encode, sq_validate, sq_gather, sq_mac or sq_gemm and shares only
// the struct definitions: every rule is written down once more, straight from the SPEC, one bit and
// one element at a time.
#pragma once

#include "models/core/sq_format.h"

// Element i of a little-endian stream, bit by bit (SPEC 0.5).
int sq_slow_code(const uint8_t *stream, size_t i, unsigned bits);

// SPEC 0.4: definition (i), a stable sort by (-score, index), and (iii), a binary search on the
// magnitude bits (scores >= 0 only).
void sq_slow_topk_sort(const float *score, unsigned n, unsigned k, uint8_t *mask);
void sq_slow_topk_threshold(const float *score, unsigned n, unsigned k, uint8_t *mask);

// SPEC 0.3 in double: the quotient is rounded to binary32 once, ties to even by hand.
int sq_slow_quantize(float x, float s, unsigned bits);
float sq_slow_scale(float amax, unsigned bits);

// Code of element i of a row, counted from the start of its bank; *is_high says which stream it is
// from.
int sq_slow_weight(const struct sq_matrix *m, size_t row, size_t i, bool *is_high);
float sq_slow_decode(const struct sq_matrix *m, size_t row, size_t i);

// What RTN encoding must have stored for w[k_orig]: codes[k], is_high[k] of one row, and its scales
// s_lo, s_hi [n_groups]. `m` gives the shape only.
void sq_slow_encode_row(const float *w, const struct sq_matrix *m, int *codes, bool *is_high,
                        float *s_lo, float *s_hi);

// SPEC A.7, one (token, channel): integers p_lo, p_hi [n_groups] in 64 bits, and Y.
void sq_slow_dot(const struct sq_matrix *m, size_t row, const int8_t *act, int64_t *p_lo,
                 int64_t *p_hi);
float sq_slow_y(const struct sq_matrix *m, size_t row, const int64_t *p_lo, const int64_t *p_hi,
                float s_a);

// SPEC D.8 S1-S3 literally: prefix counts, then a one-hot select per slot.
bool sq_slow_gather(const int8_t *lo_codes, const int8_t *act, unsigned bank, unsigned k,
                    unsigned low_bits, int8_t *lo_clean, int8_t *gathered);
