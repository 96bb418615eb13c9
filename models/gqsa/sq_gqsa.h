// SPDX-License-Identifier: Apache-2.0
// GQSA weights (SPEC F): whole groups of G columns of a row are kept or pruned; kept ones are asymmetric
// codes of 4 or 8 bits in BSR arrays, or binary16 numbers without scales.
//
//   row_index u32 [N+1]     offsets in groups: 0 first, never falling, nnz last
//   groups    u16 [nnz]     group column k/G, ascending inside a row
//   codes     u4  [nnz][G]  little-endian nibbles, G/2 bytes a group (one 64-bit word at G = 16); of 8
//                           bits bytes, of 16 little-endian binary16
//   scale     f16 [nnz]     finite and > 0
//   zero      u8  [nnz]     0..15; stored as nibbles (sq_gqsa_pack_zeros); of 8 bits 0..255
//
//   value = (code - zero) * scale, SPEC F.2; of 16 bits the number itself: there is no scale, no zero
//
// K is a multiple of G; columns beyond k_orig stand for zero: their code is the group's zero.
// Nothing here allocates.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_gqsa {
    size_t n, k, k_orig, nnz;
    unsigned group; // G: 4, 8, 16, 32, 64 or 128
    unsigned bits;  // of a value: 4, 8 or 16; 0: 4
    uint32_t *row_index;
    uint16_t *groups;
    uint8_t *codes;
    uint16_t *scale;
    uint8_t *zero;
};

unsigned sq_gqsa_bits(const struct sq_gqsa *m);
unsigned sq_gqsa_max_code(const struct sq_gqsa *m); // 15 or 255
// k_orig rounded up to whole groups.
size_t sq_gqsa_padded(size_t k_orig, unsigned group);

// The stored stream of zeros, 4 bits each: sq_gqsa_zero_nbytes(nnz) bytes. Unpacking refuses a last
// byte whose unused upper half is not 0 (SQ_ERR_PADDING).
size_t sq_gqsa_zero_nbytes(size_t nnz);
void sq_gqsa_pack_zeros(const uint8_t *zero, size_t nnz, uint8_t *packed);
enum sq_status sq_gqsa_unpack_zeros(const uint8_t *packed, size_t nnz, uint8_t *zero,
                                    struct sq_error *err);

// SQ_ERR_UNSUPPORTED for G and bits; SQ_ERR_SHAPE: no rows, K % G, k_orig, more than 65536 group columns.
enum sq_status sq_gqsa_check_shape(const struct sq_gqsa *m, struct sq_error *err);

// Everything a product relies on. SQ_ERR_OFFSETS for row_index; SQ_ERR_INDEX for a group out of
// range or not ascending; SQ_ERR_SCALE; SQ_ERR_CODE for a zero above the largest code or a number that is not finite; SQ_ERR_PADDING for columns
// beyond k_orig.
enum sq_status sq_gqsa_validate(const struct sq_gqsa *m, struct sq_error *err);

unsigned sq_gqsa_code(const struct sq_gqsa *m, size_t e,
                      size_t i);                        // element i of kept group e, its bits
float sq_gqsa_scale(const struct sq_gqsa *m, size_t e); // exact; 1 beside 16 bits
// code - zero, or the number of 16 bits.
float sq_gqsa_value(const struct sq_gqsa *m, size_t e, size_t i);
void sq_gqsa_set_code(struct sq_gqsa *m, size_t e, size_t i, unsigned code);

// The group quantizer of 4 bits (F.2, V7): w[0..len-1], zero included in their range, into codes[len], a
// binary16 scale and a zero of 4 bits. SQ_ERR_OVERFLOW for a scale beyond binary16,
// SQ_ERR_NON_FINITE.
enum sq_status sq_gqsa_quantize_group(const float *w, size_t len, uint8_t *codes, uint16_t *scale,
                                      uint8_t *zero, struct sq_error *err);
// The same of 4 or 8 bits.
enum sq_status sq_gqsa_quantize_bits(unsigned bits, const float *w, size_t len, uint8_t *codes,
                                     uint16_t *scale, uint8_t *zero, struct sq_error *err);
// Code of one value on given scale and zero, 0..max_code.
unsigned sq_gqsa_quantize(float w, float scale, unsigned zero, unsigned max_code);

// Row `row` as values, out[k_orig].
void sq_gqsa_decode_row(const struct sq_gqsa *m, size_t row, float *out);

// y[n] of one token x[k] in binary32: inner sum by ascending column, times scale, added by
// ascending group, each operation one rounding (F.5).
void sq_gqsa_gemv(const struct sq_gqsa *m, const float *x, float *y);

// The same for many tokens, y[n_tokens][n] of x[n_tokens][k]: the same bits, a lane (sq_lanes.h) for
// each token. scratch: sq_gqsa_gemm_scratch bytes, 64-byte aligned. A benchmark times this call.
size_t sq_gqsa_gemm_scratch(const struct sq_gqsa *m);
void sq_gqsa_gemm(const struct sq_gqsa *m, const float *x, size_t n_tokens, float *y, void *scratch,
                  unsigned level); // enum sq_lanes_level, 0: the fastest

// The same on INT8 activations, of 4 and 8 bits: acc = sum q x - zero * sum x in INT32, y = s_a * sum (float)acc *
// scale. sum_x[k / G] is scratch: the sums of x, shared by all rows. acc, where not NULL, receives
// [nnz].
void sq_gqsa_gemv_int8(const struct sq_gqsa *m, const int8_t *x, float s_a, int32_t *sum_x,
                       float *y, int32_t *acc);

// The same by sq_gemm_codes (sq_codes.h), acc = sum (q - zero) x: *m as its w, without codes, and
// its rows, pruned groups as zeros of scale 0, which add +0. sq_gqsa_gemv_int8 is the plain loop
// that it is held to.
struct sq_codes;
struct sq_codes sq_gqsa_codes(const struct sq_gqsa *m);
void sq_gqsa_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                 float *s_hi);
