// SPDX-License-Identifier: Apache-2.0
// A quantized operand unpacked, in any grid (sq_grid.h), weights [N][K] or activations [M][K]; how
// activations become codes; and the integer matrix products between two such operands.
//
// struct sq_matrix (sq_format.h) is the packed SQ-format of weights; struct sq_codes is what the
// offline algorithms write and what the datapaths of all other formats read. Both hold the same
// numbers: sq_codes_pack converts.
//
// Nothing here allocates: the caller owns the buffers.
#pragma once

#include "models/core/sq_format.h"
#include "models/number/sq_grid.h"

struct sq_codes {
    struct sq_grid grid;
    size_t n;               // rows: output channels or tokens
    size_t k;               // columns, zero-padded
    size_t k_orig;          // columns of the model
    size_t group;           // columns per scale, divides k; activations: k (one scale per token)
    unsigned bank;          // mixed grids: bank length, divides k and group
    unsigned high_per_bank; //
    int16_t *code;          // [n][k]; the code of a padding column is 0
    uint8_t *is_high;       // [n][k], 0 or 1; NULL for grids that are not mixed
    float *s_lo, *s_hi;     // [n][k / group]
};

// ---- conversions ----------------------------------------------------------------------------

// Codes of grid `own` or `tied` to the packed SQ-format; shapes and format must agree
// (SQ_ERR_SHAPE, SQ_ERR_UNSUPPORTED). Packing validates what it made (SPEC A.8).
enum sq_status sq_codes_pack(const struct sq_codes *c, struct sq_matrix *m, struct sq_error *err);

// One row as values, k_orig floats.
void sq_codes_decode_row(const struct sq_codes *c, size_t row, float *out);

// ---- round to nearest -----------------------------------------------------------------------

// The k largest magnitudes of score[] in each bank of a row of `k` columns of which k_orig are
// real; padding is chosen last (SPEC A.8). A NaN is larger than any number.
void sq_mask_row(const float *score, size_t k, size_t k_orig, unsigned bank, unsigned high_per_bank,
                 uint8_t *is_high);

// Weights with importance = magnitude (SPEC B.3, C3): masks, scales, codes of all rows.
// SQ_ERR_NON_FINITE for NaN and infinity.
enum sq_status sq_codes_encode_rtn(struct sq_codes *c, const float *w, struct sq_error *err);

// Weights of 8 bits in groups of 32 as ggml encodes Q8_0 (SPEC Q.10): codes by 127 / amax, the scale rounded to
// binary16 afterwards. Where that is 0 the codes are, and the scale is 1. SQ_ERR_NON_FINITE also for a scale
// beyond binary16.
enum sq_status sq_codes_encode_q8_0(struct sq_codes *c, const float *w, struct sq_error *err);

// ---- activations ----------------------------------------------------------------------------

enum sq_select {
    SQ_SELECT_STATIC,           // one mask of channels for all tokens (SPEC B.5)
    SQ_SELECT_DYNAMIC_FP,       // per token, the k largest |x| of a bank (SPEC C.1, SEL_SRC = FP)
    SQ_SELECT_DYNAMIC_INT8,     // the same on INT8 codes; low codes requantized from them (C.1)
    SQ_SELECT_DYNAMIC_INT8_MUL, // as INT8, requantized by a 16-bit integer and a shift (C.1)
};

// x[m][k_orig] into *c (n = m, group = k): one pair of scales per token. `mask`[k] is the static
// channel mask, NULL otherwise and for grids that are not mixed. `score` is scratch of 2k floats.
// INT8_MUL is for grid `own` with high codes of 8 bits. SQ_ERR_NON_FINITE names token and channel.
enum sq_status sq_codes_encode_act(struct sq_codes *c, const float *x, enum sq_select select,
                                   const uint8_t *mask, float *score, struct sq_error *err);

// ---- datapaths ------------------------------------------------------------------------------

// Y[m][n] = X W^T. Integers are exact INT32 inside one weight group; the FP32 combine is in
// ascending group order, each operation one rounding:
//
//   w single, x single: Y = s_x * sum_g (float)P[g] * s_w[g]
//   w own,    x single: Y = s_x * sum_g ((float)P_lo * s_lo[g] + (float)P_hi * s_hi[g])       A.7
//   w single, x own:    Y = sum_g ((float)P_lo * s_lo + (float)P_hi * s_hi) * s_w[g]          B.5
//   w single, x shift: Y = s * sum_g (float)(P_lo << a + P_hi << b) * s_w[g], s the smaller scale,
//                      the exact integer rounded once
//   w fp,     x fp8:    as «own x single», P_lo and P_hi in binary64, rounded once per group    A.9
//
// "single" is dense, tied or split. Rows [m0, m1) of x; y and p keep their full strides. p_lo and
// p_hi, [x->n][w->n][groups], receive the integers where not NULL (single: p_lo only); not for fp.
// scratch holds sq_gemm_codes_scratch bytes, 64-byte aligned. Refuses other pairs of grids and
// unequal k (SQ_ERR_UNSUPPORTED, SQ_ERR_SHAPE).
//
// Codes may stand elsewhere than in *x and *w, whose `code` is then not read: `act` as int8, dense
// activations; weights of int8 in any stored form, a row at a time by `row`.
//
// A row of `from` as planes of w->k integers: plane[k], and at plane + stride the high ones of grid
// own. Its scales by group are in s_lo, s_hi[groups].
typedef void sq_gemm_row_fn(const void *from, size_t row, int16_t *plane, size_t stride,
                            float *s_lo, float *s_hi);

struct sq_gemm_codes {
    const struct sq_codes *x, *w;
    const int8_t *act;    // [x->n][x->k], NULL: x->code
    sq_gemm_row_fn *row;  // NULL: from w
    const void *from;     //
    size_t n0, n1;        // channels of w, n1 = 0: all
    float *y;             //
    int32_t *p_lo, *p_hi; //
    const void *cells;    // weights laid out for many calls; NULL: in each call
    unsigned kernel;      // an enum sq_gemm_kernel (sq_gemm_kernels.h), 0: the fastest
};
enum sq_status sq_gemm_codes_check(const struct sq_gemm_codes *g, struct sq_error *err);
size_t sq_gemm_codes_scratch(const struct sq_gemm_codes *g);
// The weights of a layer as the products read them: bytes, a multiple of 64, and 64-byte aligned
// (0: for fp there are none); blocks 0.. of SQ_GEMM_CODES_BLOCK channels, in any order and on any
// thread. scratch: sq_gemm_codes_load_scratch bytes. x is read for its grid alone. With cells, n0
// is a multiple of a block; a benchmark times sq_gemm_codes with cells.
enum { SQ_GEMM_CODES_BLOCK = 32 };
size_t sq_gemm_codes_cells(const struct sq_gemm_codes *g);
size_t sq_gemm_codes_load_scratch(const struct sq_gemm_codes *g);
void sq_gemm_codes_load(const struct sq_gemm_codes *g, size_t block, void *cells, void *scratch);
// After sq_gemm_codes_check.
void sq_gemm_codes(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch);

// Dense weights with 16-bit activations (W4A16): x[m][k_orig] rounded to binary16, P[g] = sum of
// code * x in binary64 by ascending k, rounded once; Y = sum_g (float)P[g] * s_w[g].
// SQ_ERR_OVERFLOW where |x| rounds beyond 65504.
size_t sq_gemm_f16_scratch(const struct sq_codes *w, size_t m);
enum sq_status sq_gemm_f16(const struct sq_codes *w, const float *x, size_t m, float *y,
                           void *scratch, struct sq_error *err);
