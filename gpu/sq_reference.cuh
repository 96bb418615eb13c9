// SPDX-License-Identifier: Apache-2.0
// Slow, obviously right versions on the GPU, to judge the kernels at sizes that a CPU cannot check;
// and the input data. The references themselves are compared with the golden model on small shapes
// at the start of every measurement (sq_golden.cu).
#pragma once

#include "gpu/sq_kernels.cuh"

// BF16 [rows][k]: roughly normal, a few channels 8..24 times larger (SPEC J.6); a function of seed.
enum sq_status sq_random_bf16(uint16_t *out, size_t rows, int k, float scale, uint64_t seed,
                              cudaStream_t stream, struct sq_error *err);
// BF16 -> binary32, exact.
enum sq_status sq_widen_bf16(const uint16_t *x, float *out, size_t n, cudaStream_t stream,
                             struct sq_error *err);

enum SqOrder { SQ_ORDER_BYTES, SQ_ORDER_NATURAL4, SQ_ORDER_HALVES4 };

// 4-bit codes [rows][k] in natural order -> [rows][n] of columns perm[0..n) (NULL: the first n).
enum sq_status sq_repack4(const uint8_t *codes, size_t rows, int k, const uint16_t *perm, int n,
                          SqOrder order, uint8_t *out, cudaStream_t stream, struct sq_error *err);

// One part of an integer product as the kernels see it.
struct SqRefPart {
    const uint8_t *x, *w;
    int k;
    SqOrder x_order, w_order;
};
// p[i][n] = sum over k for rows row0 + i * row_step, i < rows: plain loops in 64 bits, wrapped into
// 32 at the end (a sum that does not fit is a bug of the shape, and shows as a difference).
enum sq_status sq_ref_integer(const SqRefPart *part, int n, int rows, int row0, int row_step,
                              int64_t *p, cudaStream_t stream, struct sq_error *err);
// The same in binary64 for the (BF16, FP8) pair, scales applied; `allowed`: how far a right kernel
// may be from each of them.
enum sq_status sq_ref_pair(const SqGemmPair *g, int rows, int row0, int row_step, double *y,
                           double *allowed, cudaStream_t stream, struct sq_error *err);

// The tokens of m that are compared: all where they are few, else `most`, the first and the last
// among them, an odd step apart: at every place of a tile of 2^n tokens, of every warp and
// fragment.
struct SqRefRows {
    int rows, row0, step;
};
inline SqRefRows sq_ref_rows(int m, int most)
{
    SqRefRows r = {m < most ? m : most, 0, 1};
    if (r.rows > 1 && r.rows < m) {
        r.step = (m - 1) / (r.rows - 1);
        r.step -= r.step > 1 && r.step % 2 == 0;
        r.row0 = m - 1 - (r.rows - 1) * r.step;
    }
    return r;
}

struct SqDifference {
    unsigned long long n_wrong; // integers that differ; numbers that are further off than allowed
    unsigned long long first;   // flat index of one of them
    double sum_error, sum_ref;  // of squares
    double max_abs;
};
// got[row0 + i row_step][n] against want[i][n]; binary64 within allowed[i][n].
enum sq_status sq_compare_i32(const int32_t *got, const int64_t *want, int n, int rows, int row0,
                              int row_step, SqDifference *d, cudaStream_t stream,
                              struct sq_error *err);
enum sq_status sq_compare_bf16(const uint16_t *got, const double *want, const double *allowed,
                               int n, int rows, int row0, int row_step, SqDifference *d,
                               cudaStream_t stream, struct sq_error *err);
