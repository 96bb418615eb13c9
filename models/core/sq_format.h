// SPDX-License-Identifier: Apache-2.0
// The SQ-format on weights: encode, pack, validate, unpack, decode (SPEC 0.3-0.5, A.2-A.8).
//
//   W[N][K] row-major, K contiguous; a bank is b consecutive k of one row, a scale group G.
//   LO stream, per row: K codes of low_bits, natural order; masked positions hold the mask code
//     MC(h) = -2^(h-1).
//   HI stream, per row: (K/b)*k codes of high_bits; bank j starts at element j*k, ascending
//   position. s_lo, s_hi: [N][K/G] binary32. Streams are little-endian bit streams (element i in
//   bits [h*i, h*i+h)), rows start on a byte.
//
// Nothing here allocates or does I/O. struct sq_matrix is a view: the caller owns every buffer and
// sizes it with the functions below.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/core/sq_config.h"
#include "models/number/sq_bits.h"

// Longest scale group whose INT32 sums cannot overflow: 127 * 128 * 2^17 < 2^31 (SPEC 0.6).
#define SQ_GROUP_LEN_MAX 131072u

// ---- integers -------------------------------------------------------------------------------

// qmax(h) = 2^(h-1) - 1 and MC(h) = -2^(h-1) (SPEC 0.3); h in 2..8.
int sq_qmax(unsigned bits);
int sq_mask_code(unsigned bits);

// Scale of a set of elements from its largest magnitude: amax/qmax; 1 where that is zero (SPEC
// 0.3).
float sq_scale_from_amax(float amax, unsigned bits);

// Finite and > 0: what A.8 demands of every stored scale.
bool sq_scale_is_valid(float s);

// Qs(x, s, h) = clamp(rne(x/s), -qmax, qmax) (SPEC 0.3). s > 0, x finite.
int8_t sq_quantize(float x, float s, unsigned bits);

// ---- bit streams (SPEC 0.5) -----------------------------------------------------------------

size_t sq_packed_nbytes(size_t n_codes, unsigned bits);

// Writes ceil(n*bits/8) bytes, padding bits 0. codes[i] must fit `bits` bits.
void sq_pack(const int8_t *codes, size_t n, unsigned bits, uint8_t *out);
void sq_unpack(const uint8_t *in, size_t n, unsigned bits, int8_t *codes);

// ---- selection (SPEC 0.4) -------------------------------------------------------------------

// mask[i] = 1 for the k largest scores of a bank, ties to the lowest index. n <= SQ_BANK_MAX,
// k <= n, scores not NaN.
void sq_topk(const float *score, unsigned n, unsigned k, uint8_t *mask);

// ---- matrix ---------------------------------------------------------------------------------

struct sq_matrix {
    struct sq_format format;
    size_t n;      // rows = output channels
    size_t k;      // columns as stored: a multiple of bank and group
    size_t k_orig; // columns before zero padding (K of the model); k_orig <= k
    uint8_t *lo;   // [n][sq_lo_row_nbytes]
    uint8_t *hi;   // [n][sq_hi_row_nbytes]
    float *s_lo;   // [n][sq_n_groups]
    float *s_hi;   // [n][sq_n_groups]
};

// K rounded up to a multiple of max(bank, group) (SPEC A.8); 0 when k_orig is 0 or it overflows.
size_t sq_k_padded(const struct sq_format *f, size_t k_orig);

// Derived sizes of a matrix with padded width k. sq_group_len resolves group = 0 to k.
size_t sq_group_len(const struct sq_format *f, size_t k);
size_t sq_n_groups(const struct sq_format *f, size_t k);
size_t sq_lo_row_nbytes(const struct sq_format *f, size_t k);
size_t sq_hi_row_nbytes(const struct sq_format *f, size_t k);
size_t sq_hi_row_codes(const struct sq_format *f, size_t k);

// Every check of SPEC A.8 on stored data. `lo_nbytes`, `hi_nbytes`, `n_scales` are the lengths the
// container declares for the whole matrix; nothing outside them is read.
enum sq_status sq_matrix_validate(const struct sq_matrix *m, size_t lo_nbytes, size_t hi_nbytes,
                                  size_t n_scales, struct sq_error *err);

// Unpacks one row of a *validated* matrix into two dense planes of k codes: lo holds the low code,
// 0 at masked positions; hi the high code, 0 at unmasked ones. mask may be NULL.
void sq_row_planes(const struct sq_matrix *m, size_t row, int8_t *lo, int8_t *hi, uint8_t *mask);

// Unpacks one row as stored: k low codes (mask codes included) and sq_hi_row_codes high codes.
void sq_row_codes(const struct sq_matrix *m, size_t row, int8_t *lo, int8_t *hi);

// W^ of one row, k_orig floats: s_lo*lo or s_hi*hi, one rounding each (SPEC A.6 decode).
void sq_decode_row(const struct sq_matrix *m, size_t row, float *w);
