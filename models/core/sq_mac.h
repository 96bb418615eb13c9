// SPDX-License-Identifier: Apache-2.0
// Activation quantizer and the dot product of SPEC A.7, with its intermediate integers.
//
//   P_lo[g] = sum over unmasked k in g of lo[k] * a[k]      INT32, exact
//   P_hi[g] = sum over masked   k in g of hi[k] * a[k]      INT32, exact
//   Y = s_a * (((t_0) + t_1) + ...), t_g = (float)P_lo*s_lo + (float)P_hi*s_hi, g ascending,
//   each operation one binary32 rounding.
//
// Every int8 activation is exact, -128 included, in groups of up to SQ_GROUP_LEN_MAX codes: what
// sq_matrix_validate lets pass. A Y that underflows below zero is +0 (SPEC 0.2).
#pragma once

#include "models/core/sq_format.h"

// Per-token symmetric activations (SPEC B.4): x[m][k_orig] -> codes[m][k] (zero padded to k) and
// s_a[m]. act_bits 4 or 8. Refuses non-finite input.
enum sq_status sq_act_quantize(const float *x, size_t m, size_t k_orig, size_t k, unsigned act_bits,
                               int8_t *codes, float *s_a, struct sq_error *err);

// The FP32 combine of A.7 over n_groups groups, before the product with s_a.
float sq_combine(const int32_t *p_lo, const int32_t *p_hi, const float *s_lo, const float *s_hi,
                 size_t n_groups);

// Scratch the caller provides to sq_gemm_sq_w, for any number of tokens and any kernel.
size_t sq_gemm_scratch_nbytes(const struct sq_matrix *w);

// Y[m][n] = X W^T on a validated matrix: act[m][w->k], s_a[m] -> y[m][w->n]. p_lo, p_hi, each
// [m][w->n][n_groups], receive the integers; either may be NULL. scratch is 64-byte aligned, of
// sq_gemm_scratch_nbytes. Single-threaded; rows [n0, n1) of w only, so that callers can split work
// (y and p keep their full strides). Each call unpacks its rows; for many products with one matrix
// there are cells (sq_codes.h) by the functions below.
void sq_gemm_sq_w(const struct sq_matrix *w, const int8_t *act, const float *s_a, size_t m,
                  size_t n0, size_t n1, float *y, int32_t *p_lo, int32_t *p_hi, void *scratch);

// The same in the terms of struct sq_gemm_codes: what its w and x are, without codes, and its row.
struct sq_codes;
struct sq_codes sq_gemm_sq_w_codes(const struct sq_matrix *w);
struct sq_codes sq_gemm_act_codes(float *s_a, size_t m, size_t k); // the codes: its act
void sq_gemm_sq_w_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                      float *s_hi);
