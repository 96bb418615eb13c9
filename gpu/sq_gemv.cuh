// SPDX-License-Identifier: Apache-2.0
// Launchers of the decode kernels: y[m][n] = x[m][k] W[n][k]^T for few tokens, bound by the bytes
// of W. Device pointers, 16-byte aligned; launches are asynchronous; the caller owns every buffer.
// Shapes outside of what each struct says return SQ_ERR_SHAPE with one sentence.
//
// Every kernel adds in an order that depends on the shape alone: two runs agree in every bit. The
// order is not the golden model's, except where it is said; with scales of one every sum is an
// integer and exact in any order, which the tests use.
#pragma once

#include "gpu/sq_cuda.cuh"

// ---- dense baselines (sq_gemv_w4.cu) -----------------------------------------------------------

// binary16 weights and activations, binary32 sums. k % 8 = 0, m <= 8.
struct SqGemvF16 {
    int m, n, k;
    const uint16_t *w, *x;
    float *y;
};
enum sq_status sq_gemv_f16(const SqGemvF16 *g, cudaStream_t stream, struct sq_error *err);

// W4A16: codes q in -8..7 stored as q + 8 in pairs order (sq_gemv_maps.cuh), one binary16 scale per
// 128 weights, s[n][k/128]. Products and sums of 16 in binary16, folded into binary32: |x| <= 511.
// k % 128 = 0, m <= 8.
struct SqGemvW4A16 {
    int m, n, k;
    const uint8_t *w;
    const uint16_t *s, *x;
    float *y;
};
enum sq_status sq_gemv_w4a16(const SqGemvW4A16 *g, cudaStream_t stream, struct sq_error *err);

// W4A8: two's complement codes in halves order (sq_maps.cuh), the same scales, x INT8 with a scale
// per token: y = s_x sum over blocks of 32 of (float)(integer sum) s. k % 128 = 0, m <= 8.
struct SqGemvW4A8 {
    int m, n, k;
    const uint8_t *w;
    const uint16_t *s;
    const int8_t *x;
    const float *s_x;
    float *y;
};
enum sq_status sq_gemv_w4a8(const SqGemvW4A8 *g, cudaStream_t stream, struct sq_error *err);

// ---- GQSA (sq_gemv_gqsa.cu) --------------------------------------------------------------------

// Kept groups of 16 in row order (SPEC F.4): row_index[n + 1] in groups, one word meta and 8 bytes
// codes each (sq_gemv_maps.cuh). Stream-K over n_workers warps; first_row[p]: sq_gqsa_first_rows.
// y = s_x sum over groups of (float)(sum q x - z sum x) s. slot[n_workers][m]: zeros before the
// first launch, and again after each. k % 16 = 0, k <= 65536, m <= 4, m k <= 98304.
struct SqGemvGqsa {
    int m, n, k;
    uint32_t n_workers, n_groups;
    const uint32_t *row_index, *meta;
    const uint8_t *codes;
    const uint32_t *first_row;
    uint64_t *slot;
    const int8_t *x;
    const float *s_x;
    float *y;
};
enum sq_status sq_gemv_gqsa(const SqGemvGqsa *g, cudaStream_t stream, struct sq_error *err);

// On the host: the first row that ends inside or after the range of each worker.
void sq_gqsa_first_rows(const uint32_t *row_index, int n, uint32_t n_workers, uint32_t *first_row);
// Workers that fill `n_sms` processors at once.
uint32_t sq_gqsa_workers(int n_sms);

// Kept groups of w[n][k] (binary32, finite) -> meta and codes, bit-identical to
// sq_gqsa_quantize_group (SPEC F.2). kept[n_groups]: row * (k / 16) + group column, ascending.
// *n_refused counts scales beyond binary16 (it is added to).
struct SqEncodeGqsa {
    int k;
    uint32_t n_groups;
    const float *w;
    const uint32_t *kept;
    uint32_t *meta;
    uint8_t *codes;
    unsigned *n_refused;
};
enum sq_status sq_encode_gqsa(const SqEncodeGqsa *e, cudaStream_t stream, struct sq_error *err);

// ---- SpQt (sq_gemv_spqt.cu) --------------------------------------------------------------------

// Zigzag superblocks w[n/256][k][144] (SPEC G.3, G.4); x binary16; columns with |x| >= threshold
// are active. Index collection is part of the kernel: every block counts all of x, so that the
// split is balanced and the order ascending. n_splits blocks of 8 warps share a superblock row:
// worker p of 8 n_splits takes active columns [p n_ns / P, (p + 1) n_ns / P), workers are added
// ascending. part[n/256][n_splits][256] and arrived[n/256] (zeros before the first launch, and
// again after each) may be NULL for n_splits = 1. n % 256 = 0, k % 8 = 0, k <= 65536.
struct SqGemvSpqt {
    int n, k, n_splits;
    float threshold;
    const uint8_t *w;
    const uint16_t *x;
    float *part;
    unsigned *arrived;
    float *y;
    uint32_t *n_active;        // receives the number of active columns; may be NULL
    uint32_t *index = nullptr; // and [k]: their indices, ascending
};
enum sq_status sq_gemv_spqt(const SqGemvSpqt *g, cudaStream_t stream, struct sq_error *err);
// Splits that fill `n_sms` processors about four times.
int sq_spqt_splits(int n, int k, int n_sms);

// w[n][k] binary32, finite -> superblocks, bit-identical to sq_q4k_encode (SPEC G.5). *n_refused
// counts superblocks whose d or dmin is beyond binary16 (it is added to).
struct SqEncodeQ4k {
    int n, k;
    const float *w;
    uint8_t *out;
    unsigned *n_refused;
};
enum sq_status sq_encode_q4k(const SqEncodeQ4k *e, cudaStream_t stream, struct sq_error *err);

// ---- SpQR (sq_gemv_spqr.cu) --------------------------------------------------------------------

// Outliers as CSR (row_offsets[n + 1]) or PTCSR (offsets[n/16 + 1]), words binary16 << 16 | column.
// Every entry is added to what the dense code gives (SPEC H.4, add semantics). x binary16.
struct SqGemvSpqr {
    int n, k;
    const void *words; // published: 64-bit words; repacked: 16-byte chunks
    bool is_ptcsr;
    const uint32_t *offsets, *outliers;
    const uint16_t *x;
    float *y;
};
// As published: dequantised in binary16, binary32 sums, in the canonical order of SPEC H.7 with 16
// workers a tile row: bit-identical to the golden model. n % 16 = 0, k % 256 = 0.
enum sq_status sq_gemv_spqr(const SqGemvSpqr *g, cudaStream_t stream, struct sq_error *err);
// Repacked: codes times x in binary16 per 16 columns, s (sum - z sum x) in binary32. |x| <= 1169.
// n % 16 = 0, k % 64 = 0.
enum sq_status sq_gemv_spqr_repacked(const SqGemvSpqr *g, cudaStream_t stream,
                                     struct sq_error *err);

// Published words [n/16][k/16][16] -> repacked chunks: bits are moved, none is lost.
struct SqSpqrRepack {
    int n, k;
    const uint64_t *words;
    uint4 *chunks;
};
enum sq_status sq_spqr_repack_words(const SqSpqrRepack *r, cudaStream_t stream,
                                    struct sq_error *err);
