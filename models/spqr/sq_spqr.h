// SPDX-License-Identifier: Apache-2.0
// SpQR: 3-bit codes whose scales and zeros are 3-bit codes themselves, and outliers in binary16
// beside them (SPEC H).
//
// Tile (I, J): rows 16I..16I+15, columns 16J..16J+15. Four binary16 numbers of second order belong
// to the tile, a scale code a and a zero code c to each of its rows, a code w to each weight:
//
//   s = q_ss (a - q_sz)    z = q_zs (c - q_zz)    w^ = s (w - z)      binary16, each operation
//   rounded
//
// One 64-bit word per row of a tile, tiles of a tile row one after the other, word
// (I K/16 + J) 16 + r:
//
//   63:62  61:54         53:6                  5:3   2:0
//    0     byte r/2 of V  w_15 .. w_1 w_0       c     a        V = q_ss | q_zs<<16 | q_sz<<32 |
//    q_zz<<48
//
// N and K are padded to multiples of 16: the codes of padding are 0, its outputs are dropped and
// its inputs are 0. Columns may be permuted: column j of the words is input channel in_perm[j].
//
// Outliers (sq_spqr_csr.h) add: W = dense + sparse, where the encoder stored sparse = fp16(w -
// dense). With `is_absolute` it stored fp16(w), as the published encoder does beside a kernel that
// adds.
//
// Nothing here allocates: the caller owns the buffers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/spqr/sq_spqr_csr.h"
#include "models/spqr/sq_spqr_dec.h"
#include "models/sq_status.h"

enum { SQ_SPQR_K_MAX = 32768 };

// ---- tiles (SPEC H.2, H.3) ------------------------------------------------------------------

// Places in struct sq_spqr_tile (sq_spqr_dec.h): second[], the order of V.
enum sq_spqr_second { SQ_SPQR_SS, SQ_SPQR_ZS, SQ_SPQR_SZ, SQ_SPQR_ZZ, SQ_SPQR_SECONDS };

void sq_spqr_pack(const struct sq_spqr_tile *t, uint64_t word[SQ_SPQR_TILE]);

// sq_spqr_dec_tile, refused: SQ_ERR_PADDING for bits 63:62, SQ_ERR_DAMAGED where rows 2i and 2i+1
// carry different bytes, SQ_ERR_SCALE for a second-order number that is infinite or NaN.
enum sq_status sq_spqr_unpack(const uint64_t word[SQ_SPQR_TILE], struct sq_spqr_tile *t,
                              struct sq_error *err);

// Scale and zero of a row, and a weight from them, as binary32 that are binary16 numbers; they may
// be infinite or NaN where the numbers of second order are large.
void sq_spqr_row(const struct sq_spqr_tile *t, unsigned row, float *s, float *z);
float sq_spqr_value(float s, float z, unsigned code);

// ---- matrix ---------------------------------------------------------------------------------

struct sq_spqr {
    size_t n, k;       // of the model; k <= SQ_SPQR_K_MAX
    bool is_absolute;  //
    uint16_t *in_perm; // [k], a permutation; NULL: in order
    uint64_t *dense;   // [sq_spqr_n_words]
    struct sq_spqr_csr outliers;
};

size_t sq_spqr_n_words(size_t n, size_t k); // padded n * padded k / 16

// Every check of SPEC H.3 and H.4, and that no decoded weight is infinite or NaN (SQ_ERR_OVERFLOW)
// and in_perm is a permutation (SQ_ERR_INDEX; `seen` is scratch of k bytes).
enum sq_status sq_spqr_validate(const struct sq_spqr *m, size_t n_words, size_t n_offsets,
                                size_t n_entries, uint8_t *seen, struct sq_error *err);

// Dense part of a validated matrix: plane[padded n / 16][padded k][16 rows].
void sq_spqr_decode_dense(const struct sq_spqr *m, float *plane);

// One row as the product uses it, w[k] in the order of the model's channels.
// `is_replace`: the outlier takes the place of the dense weight, as the published reference has it.
void sq_spqr_decode_row(const struct sq_spqr *m, const float *plane, size_t row, bool is_replace,
                        float *w);

// ---- product (SPEC H.7) ---------------------------------------------------------------------

// Workers of a tile row: the largest of 16, 8, 4, 2, 1 that divides its tiles.
unsigned sq_spqr_workers(size_t k);

// x[k] to binary16, permuted, padded with zeros: out[padded k], binary32. SQ_ERR_NON_FINITE and
// SQ_ERR_OVERFLOW name the channel.
enum sq_status sq_spqr_load(const struct sq_spqr *m, const float *x, float *out,
                            struct sq_error *err);

// y[n] from plane and x of sq_spqr_load. Worker u of a row takes tiles J = u, u + BW, .. ascending,
// inside a tile columns ascending, acc = fma(x, w, acc) in binary32; then entries u, u + BW, .. of
// the row's outliers. The workers are summed ascending and the sum rounded to binary16.
// SQ_ERR_OVERFLOW names the row. `p` not NULL: the outliers are taken from there instead; the
// result is the same.
enum sq_status sq_spqr_gemv(const struct sq_spqr *m, const struct sq_spqr_ptcsr *p,
                            const float *plane, const float *x, float *y, struct sq_error *err);

// The same for n_tokens at once, outliers from m->outliers: y[n_tokens][n] of x[n_tokens][padded k],
// rows of sq_spqr_load. The error is that of the first token that has one. Scratch:
// sq_spqr_gemm_scratch bytes, 64-byte aligned. A benchmark times this call.
struct sq_spqr_gemm {
    const struct sq_spqr *m;
    const float *plane, *x;
    float *y;
    unsigned level; // enum sq_lanes_level (sq_lanes.h), 0: the fastest
};
size_t sq_spqr_gemm_scratch(const struct sq_spqr *m);
enum sq_status sq_spqr_gemm(const struct sq_spqr_gemm *g, size_t n_tokens, void *scratch,
                            struct sq_error *err);
