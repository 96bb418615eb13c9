// SPDX-License-Identifier: Apache-2.0
// Launchers of all kernels: device pointers, shapes they take, errors. Everything else returns
// SQ_ERR_SHAPE or SQ_ERR_UNSUPPORTED with one sentence. Launches are asynchronous on `stream`; the
// caller owns every buffer.
//
//   Y[M][N] = X[M][K] W[N][K]^T, rows contiguous along K (SPEC 0.1).
#pragma once

#include "gpu/sq_cuda.cuh"

// ---- integer products by mma.sync (sq_gemm_imma.cu) --------------------------------------------

enum SqImma {
    SQ_IMMA_W8A8,        // dense INT8
    SQ_IMMA_W4A8,        // 4-bit weights unpacked to INT8
    SQ_IMMA_W4A4_UNPACK, // both 4-bit, unpacked to INT8
    SQ_IMMA_W4A4_PTX_S4, // both 4-bit, the s4 instruction of PTX
    SQ_IMMA_SQ_A_UNPACK, // static activation SQ: low part W4A4 (unpacked), high part W4A8
    SQ_IMMA_SQ_A_PTX_S4, // the same, low part by the s4 instruction
    SQ_IMMA_COUNT
};

// How INT4 products are really done on a device: "native" only on compute capability 8.x.
const char *sq_int4_mode(SqImma kind, int cc_major);

// One part of K. x: [m] rows of k codes, 8 or 4 bits (natural order); w: [n] rows of k codes, 8
// bits, or 4 bits in natural order beside 4-bit x, in halves order (sq_maps.cuh) beside 8-bit x.
struct SqPart {
    const uint8_t *x, *w;
    int k; // codes, multiple of 32
};
// W8A8, W4A8: part `high`, scale s_hi. W4A4: part `low`, scale s_lo. SQ_A: both; n is even.
//   one part:  y = ((float)P * s_w[n]) * s_x[m]
//   two parts: y = ((float)P_lo * s_lo[m] + (float)P_hi * s_hi[m]) * s_w[n]             SPEC B.5, G
//   = K
// Each operation is rounded once: bit-identical to sq_gemm_codes. p_lo, p_hi [m][n] may be NULL.
struct SqGemmImma {
    int m, n;
    SqPart low, high;
    const float *s_lo, *s_hi, *s_w;
    float *y;
    int32_t *p_lo, *p_hi;
};
enum sq_status sq_gemm_imma(SqImma kind, const SqGemmImma *g, cudaStream_t stream,
                            struct sq_error *err);
constexpr int kSqImmaMaxK = 131071; // 16 * |P| (W4A8), 256 * |P| (W4A4) and |P| (W8A8) < 2^31
// W8A8 and W4A8 by wgmma, the same operands and the same bits (sq_gemm_wgmma_s8.cu, sm_90a).
enum sq_status sq_gemm_wgmma_s8(SqImma kind, const SqGemmImma *g, int n_sms, cudaStream_t stream,
                                struct sq_error *err);

// ---- 2:4 INT8 by mma.sp (sq_gemm_sp24.cu) ------------------------------------------------------

// w_values [n][k/2] kept codes, meta [n/16][k/64][32] words in lane order (sq_maps.cuh), x [m][k].
// n % 16 = 0, k % 64 = 0. y = ((float)P * s_w[n]) * s_x[m]; p may be NULL.
struct SqGemmSp24 {
    int m, n, k;
    const uint8_t *x, *w_values;
    const uint32_t *meta;
    const float *s_x, *s_w;
    float *y;
    int32_t *p;
};
enum sq_status sq_gemm_sp24(const SqGemmSp24 *g, cudaStream_t stream, struct sq_error *err);
enum sq_status sq_sp24_check_shape(int n, int k, struct sq_error *err);
// The same by wgmma (sq_gemm_wgmma_s8.cu, sm_90a).
enum sq_status sq_gemm_wgmma_sp24(const SqGemmSp24 *g, int n_sms, cudaStream_t stream,
                                  struct sq_error *err);

// Dense INT8 codes [n][k] -> the operands above; `prune` first keeps the two largest magnitudes of
// every four (SPEC E.6). meta_rows [n][k/16] 16-bit words in row order (SPEC E.3), may be NULL.
// *n_refused counts groups with more than two non-zeros (it is added to; 0 where pruned).
struct SqCompress24 {
    int n, k;
    const int8_t *w;
    bool prune;
    uint8_t *w_values;
    uint32_t *meta;
    uint16_t *meta_rows;
    unsigned *n_refused;
};
enum sq_status sq_compress24(const SqCompress24 *c, cudaStream_t stream, struct sq_error *err);

// ---- FP32-accumulating products by wgmma (sq_gemm_wgmma.cu, sm_90a) ----------------------------

// y[m][n] (BF16) = s_x[m] s_w[n] (sum over low part of FP8 products + sum over high part of BF16
// products), one set of FP32 accumulators, low part first. Either part may be empty (k = 0): the
// same kernel is the dense BF16 and the dense FP8 product. BF16 k % 8 = 0, FP8 k % 16 = 0, n % 2 =
// 0.
struct SqGemmPair {
    int m, n;
    const uint8_t *x_lo, *w_lo;  // E4M3 [m][k_lo], [n][k_lo]
    const uint16_t *x_hi, *w_hi; // BF16 [m][k_hi], [n][k_hi]
    int k_lo, k_hi;
    const float *s_x, *s_w;
    uint16_t *y;
};
enum sq_status sq_gemm_pair(const SqGemmPair *g, int n_sms, cudaStream_t stream,
                            struct sq_error *err);

// ---- weight SQ with the gather on CUDA cores (sq_gemm_sqw.cu) ----------------------------------

// The packed SQ(8,4,b,s) of sq_format.h, any bank of 4..128, G = K or a multiple of 128; act
// [m][k]. y is bit-identical to sq_gemm_sq_w (SPEC A.7); p_lo, p_hi [m][n][k / group] may be NULL.
struct SqGemmSqW {
    int m, n, k, bank, high_per_bank, group;
    const uint8_t *lo, *hi;
    const float *s_lo, *s_hi; // [n][k / group]
    const int8_t *act;
    const float *s_a;
    float *y;
    int32_t *p_lo = nullptr, *p_hi = nullptr;
};
enum sq_status sq_gemm_sqw(const SqGemmSqW *g, cudaStream_t stream, struct sq_error *err);

// ---- encoders (sq_encode.cu) -------------------------------------------------------------------

// SQ(8,4,b,s) of w[n][k], binary32, importance = magnitude; k % max(b, G) = 0, no padding here.
// bank in {16, 32} with high in {b/2, b/4, b/8}, or 64 with 16; group = 128. Outputs as sq_matrix.
struct SqEncodeW {
    int n, k, bank, high_per_bank, group;
    const float *w;
    uint8_t *lo, *hi;
    float *s_lo, *s_hi;
};
enum sq_status sq_encode_w(const SqEncodeW *e, cudaStream_t stream, struct sq_error *err);

// Static activation SQ of x[m][k] BF16 by index lists (SPEC B.5): hi [m][k_hi] bytes, lo
// [m][k_lo/2] nibbles, scales per token. k <= 32768, k_lo and k_hi multiples of 32.
struct SqEncodeStatic {
    int m, k, k_hi;
    const uint16_t *x;
    const uint16_t *perm_hi, *perm_lo;
    uint8_t *lo, *hi;
    float *s_lo, *s_hi;
};
enum sq_status sq_encode_static(const SqEncodeStatic *e, cudaStream_t stream, struct sq_error *err);

// The same split for the (BF16, FP8) pair: hi BF16 x / s_x, lo E4M3 x / s_x, s_x the power-of-two
// scale of the low part (sq_quant.cuh).
struct SqEncodePair {
    int m, k, k_hi;
    const uint16_t *x;
    const uint16_t *perm_hi, *perm_lo;
    uint8_t *lo;
    uint16_t *hi;
    float *s_x;
};
enum sq_status sq_encode_pair(const SqEncodePair *e, cudaStream_t stream, struct sq_error *err);

// Dynamic activation SQ (SPEC B.6, C, SEL_SRC = FP) of x[m][k] BF16: per token and bank the k
// largest |x|. bank in {16, 32, 64}, k/b in {1/2, 1/4, 1/8}, k % 32 = 0, k <= 32768.
//   planes: lo_plane [m][k/2] nibbles, 0 at high places; hi_plane [m][k] bytes, 0 at low ones
//   compact (SPEC A.6b): lo [m][k s / 2], hi [m][k (1-s)], in bank order
// Either set of outputs may be NULL; mask [m][k/8] and the scales are always written.
struct SqEncodeDynamic {
    int m, k, bank, high_per_bank;
    const uint16_t *x;
    uint8_t *lo_plane, *hi_plane;
    uint8_t *lo, *hi;
    uint8_t *mask;
    float *s_lo, *s_hi;
};
enum sq_status sq_encode_dynamic(const SqEncodeDynamic *e, cudaStream_t stream,
                                 struct sq_error *err);

// Per-token symmetric codes of x[m][k] BF16 (SPEC B.4): bits 8, or 4 packed in natural order.
struct SqEncodeToken {
    int m, k, bits;
    const uint16_t *x;
    uint8_t *codes;
    float *s;
};
enum sq_status sq_encode_token(const SqEncodeToken *e, cudaStream_t stream, struct sq_error *err);
