// SPDX-License-Identifier: Apache-2.0
// A weight matrix in 2:4 (SPEC E): values and metadata as `mma.sp` and the metadata decoder read
// them, and its products. Values have 4 to 8 bits and scales, or are binary16 numbers without.
//
//   values  int8  [N][K/2]   two of every four columns, ascending, -qmax(bits)..qmax(bits)
//   half    f16   [N][K/2]   in place of values: finite numbers
//   meta    bytes [N][K/8]   16-bit little-endian words, group g of 4 columns in bits 4g..4g+3 (E.3)
//   scale   float [N][K/group]  finite and > 0; beside half: none
//
// K is the stored width, a multiple of 64 (hardware tiles of s8, E.8) and of the group; columns beyond
// k_orig, which is a multiple of 4, hold zeros. Nothing here allocates.
#pragma once

#include "models/array/sq_meta24.h"

#define SQ_SP24_TILE 64u // columns of a hardware tile

struct sq_sp24 {
    size_t n, k, k_orig;
    unsigned bits; // of a value: 4..8; 16: binary16; 0: 8
    size_t group;  // columns that share a scale: 16, 32, 64, 128; 0: all of a row
    int8_t *value;
    uint16_t *half;
    uint8_t *meta;
    float *scale;
};

// k_orig rounded up to whole tiles, and to whole groups.
size_t sq_sp24_padded(size_t k_orig, size_t group);
unsigned sq_sp24_bits(const struct sq_sp24 *m);
size_t sq_sp24_groups(const struct sq_sp24 *m); // scales of a row, 0 beside half

// SQ_ERR_UNSUPPORTED: bits, group. SQ_ERR_SHAPE: no rows, K % 64, k_orig % 4, K not k_orig padded.
enum sq_status sq_sp24_check_shape(const struct sq_sp24 *m, struct sq_error *err);

// Row `row` from dense codes[k_orig]; of half the metadata alone, from marks of what is kept.
// SQ_ERR_MASK_COUNT for a group with more than two non-zeros, SQ_ERR_CODE for -128. After
// sq_sp24_check_shape.
enum sq_status sq_sp24_pack_row(struct sq_sp24 *m, size_t row, const int8_t *codes,
                                struct sq_error *err);

// The values of a row, out[k_orig].
void sq_sp24_decode_row(const struct sq_sp24 *m, size_t row, float *out);

// Everything a product relies on: shape; numbers of values, bytes of metadata and scales
// (SQ_ERR_STREAM_LEN); metadata ordered (SQ_ERR_INDEX); values (SQ_ERR_CODE); padding columns zero
// (SQ_ERR_PADDING); scales finite and positive (SQ_ERR_SCALE). The sentence names row and columns.
enum sq_status sq_sp24_validate(const struct sq_sp24 *m, size_t n_values, size_t meta_nbytes,
                                size_t n_scales, struct sq_error *err);

// y[t][n] = (sum over groups of (float)P * scale) * s_a[t] for act[n_tokens][k]; a result below the
// smallest number is +0 (SPEC 0.2). p, where not NULL, receives P[t][n][groups]. Values of 4..8 bits.
void sq_gemm_sp24(const struct sq_sp24 *m, const int8_t *act, const float *s_a, size_t n_tokens,
                  float *y, int32_t *p);

// y[t][n] = sum over groups of (float)P * scale, P in binary64 by ascending column, of binary16
// x[n_tokens][k] in binary32 (SPEC E.7); half: one P a row, no scale. Values of any width.
void sq_gemm_sp24_f16(const struct sq_sp24 *m, const float *x, size_t n_tokens, float *y);

// sq_gemm_sp24 by sq_gemm_codes (sq_codes.h): *m as its w, without codes, and its rows; scratch
// and cells are the caller's. sq_gemm_sp24 is the plain loop that it is held to.
struct sq_codes;
struct sq_codes sq_sp24_codes(const struct sq_sp24 *m);
void sq_sp24_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                 float *s_hi);
