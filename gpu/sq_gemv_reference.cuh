// SPDX-License-Identifier: Apache-2.0
// What the decode kernels are judged by: every format unpacked to binary32 by plain code from its
// stored order, one product in binary64 for all, and random operands of full size.
#pragma once

#include "gpu/sq_gemv.cuh"
#include "gpu/sq_reference.cuh"

// ---- random operands ---------------------------------------------------------------------------

enum SqRandom {
    SQ_RANDOM_BITS,      // words
    SQ_RANDOM_SCALES,    // pairs of binary16 in [1/512, 1/256)
    SQ_RANDOM_Q4K,       // superblocks of 36 words: d and dmin in [1/512, 1/256), other bits random
    SQ_RANDOM_SPQR_WORDS // 64-bit words of 16 x 16 tiles with a legal second order
};
enum sq_status sq_random_words(SqRandom kind, uint32_t *out, size_t n_words, uint64_t seed,
                               cudaStream_t stream, struct sq_error *err);
// BF16 -> binary16, saturating at 65504.
enum sq_status sq_bf16_to_f16(const uint16_t *x, uint16_t *out, size_t n, cudaStream_t stream,
                              struct sq_error *err);

// ---- formats -> w[n][k] binary32 ---------------------------------------------------------------

enum SqUnpack {
    SQ_UNPACK_F16,   // w: binary16
    SQ_UNPACK_PAIRS, // W4A16: q + 8 in pairs order, s[n][k/128]
    SQ_UNPACK_HALVES // W4A8: two's complement in halves order, s[n][k/128]
};
enum sq_status sq_unpack_dense(SqUnpack kind, int n, int k, const void *w, const uint16_t *s,
                               float *out, cudaStream_t stream, struct sq_error *err);
enum sq_status sq_unpack_gqsa(const SqGemvGqsa *g, float *out, cudaStream_t stream,
                              struct sq_error *err);
enum sq_status sq_unpack_q4k(int n, int k, const uint8_t *w, float *out, cudaStream_t stream,
                             struct sq_error *err);
// g->words in published order.
enum sq_status sq_unpack_spqr(const SqGemvSpqr *g, float *out, cudaStream_t stream,
                              struct sq_error *err);

// ---- product and comparison --------------------------------------------------------------------

enum SqInput { SQ_INPUT_F16, SQ_INPUT_S8 };
// y[m][n] in binary64; columns with |x| < threshold are left out; s_x[m] may be NULL.
struct SqRefGemv {
    int m, n, k;
    const float *w;
    SqInput type;
    const void *x;
    const float *s_x;
    float threshold;
    double *y;
};
enum sq_status sq_ref_gemv(const SqRefGemv *g, cudaStream_t stream, struct sq_error *err);
// NaN and infinity are counted as wrong.
enum sq_status sq_compare_f32(const float *got, const double *want, size_t n, SqDifference *d,
                              cudaStream_t stream, struct sq_error *err);
