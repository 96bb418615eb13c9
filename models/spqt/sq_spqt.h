// SPDX-License-Identifier: Apache-2.0
// SpQt: activation sparsity at run time on Q4_K weights whose superblocks run down a column, so
// that a column can be skipped (SPEC G.2-G.7).
//
// Superblock (R, c) holds rows 256R .. 256R+255 of column c. For fixed R all K columns lie in a
// row: superblock R K + c, byte 144 (R K + c). N is padded to a multiple of 256 with rows of
// zeros, whose outputs are dropped.
//
// A product is: mask of the columns with |x| >= theta, their indices by prefix sums, then for every
// R the columns in P contiguous shares, one worker each, and the sums of the workers ascending.
// All in binary32, one rounding per operation, in the order given with each function.
//
// Nothing here allocates: the caller owns the buffers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/number/sq_q4k.h"

#define SQ_SPQT_SEGMENT 1024u // columns that one prefix sum covers
#define SQ_SPQT_WORKERS 64u   // 32 threadgroups of 2 simdgroups
#define SQ_SPQT_WORKERS_MAX 65536u

struct sq_spqt {
    size_t n, k;    // of the model
    uint8_t *block; // [sq_spqt_n_blocks][144]
};

size_t sq_spqt_n_rows(size_t n);                                // superblock rows, ceil(n / 256)
size_t sq_spqt_n_blocks(size_t n, size_t k);                    // ceil(n / 256) * k
size_t sq_spqt_address(size_t k, size_t block_row, size_t col); // byte offset (SPEC G.4)

// w[n][k] row-major. SQ_ERR_SHAPE for n or k = 0; errors of sq_q4k_encode name rows and column.
enum sq_status sq_spqt_encode(const float *w, struct sq_spqt *m, struct sq_error *err);

// Stored data of `nbytes` bytes: SQ_ERR_SHAPE (n, k), SQ_ERR_STREAM_LEN, SQ_ERR_SCALE.
enum sq_status sq_spqt_validate(const struct sq_spqt *m, size_t nbytes, struct sq_error *err);

// Values of a validated matrix: plane[ceil(n / 256)][k][256].
void sq_spqt_decode(const struct sq_spqt *m, float *plane);

// ---- index collection (SPEC G.6) ------------------------------------------------------------

// theta finite and >= 0, x finite: SQ_ERR_RANGE, SQ_ERR_NON_FINITE.
enum sq_status sq_spqt_check(const float *x, size_t k, float theta, struct sq_error *err);

// In place: the exclusive prefix sum of n values, n a power of two, up-sweep and down-sweep.
void sq_spqt_scan(uint32_t *a, size_t n);

// idx[k] receives the columns with |x| >= theta, ascending; returns how many. Segments of
// `segment` columns (a power of two, 1..SQ_SPQT_SEGMENT), bases in ascending segment order.
size_t sq_spqt_active(const float *x, size_t k, float theta, unsigned segment, uint32_t *idx);

// The same columns without the prefix sums of the hardware.
size_t sq_spqt_select(const float *x, size_t k, float theta, uint32_t *idx);

// ---- products (SPEC G.7) --------------------------------------------------------------------

// Both hold 256 weights of Q4_K in 144 bytes: 16 of scales, then a nibble for each weight.
enum sq_spqt_layout {
    SQ_SPQT_ZIGZAG, // 256 rows of one column (G.4); along K the columns follow each other
    SQ_SPQT_ROW,    // 256 columns of one row, as ggml stores it
    SQ_SPQT_LAYOUTS,
};

enum sq_spqt_schedule {
    SQ_SPQT_BALANCED, // worker p takes active columns [p n_ns / P, (p+1) n_ns / P)
    SQ_SPQT_STATIC,   // B2: worker p takes the active ones of columns [p K / P, (p+1) K / P)
};

// Share p of n things among P workers: [floor(p n / P), floor((p+1) n / P)). n, p < 2^32.
void sq_spqt_share(size_t n, unsigned workers, unsigned p, size_t *begin, size_t *end);

// y[n] from plane (sq_spqt_decode) and the n_idx columns of sq_spqt_active. Worker p starts at 0
// and adds x_c * w, columns ascending; y = 0 + sum of the workers, p ascending. workers >= 1.
void sq_spqt_gemv(const struct sq_spqt *m, const float *plane, const float *x, const uint32_t *idx,
                  size_t n_idx, unsigned workers, enum sq_spqt_schedule schedule, float *y);

// Dense prefill, y[m_tokens][n]: every column, in the order of the balanced product.
void sq_spqt_gemm_dense(const struct sq_spqt *m, const float *plane, const float *x,
                        size_t m_tokens, unsigned workers, float *y);

// Both for many tokens at once, the same bits: y[m_tokens][n] of x[m_tokens][k]. Token t multiplies
// the n_idx[t] columns of idx[t][k], shared out as SQ_SPQT_BALANCED has it; idx NULL: every column.
// A benchmark times this call.
struct sq_spqt_gemm {
    const struct sq_spqt *m;
    const float *plane; // fastest where it is 64-byte aligned
    const float *x;
    const uint32_t *idx;
    const size_t *n_idx;
    unsigned workers;
    float *y;
    unsigned level; // enum sq_lanes_level (sq_lanes.h), 0: the fastest
};
void sq_spqt_gemm(const struct sq_spqt_gemm *g, size_t m_tokens);
