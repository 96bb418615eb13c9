// SPDX-License-Identifier: Apache-2.0
// Dense decode baselines: binary16, W4A16 (the arithmetic of Marlin: mask, or, subtract), W4A8
// (dp4a). A block owns kRows output rows; its warps take steps of K in turn, every lane 16 bytes
// of each row, so that all of a small layer is in flight at once. x is read through L1, w around
// it.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_ptx.cuh"

namespace
{

constexpr int kThreads = 128, kWarps = kThreads / 32, kMaxTokens = 8;

// Output rows of a block, and blocks that share an SM: codes and sums take registers.
template <int kTokens> struct Tile {
    static constexpr int kRows = kTokens == 1 ? 8 : 4;
    static constexpr int kBlocks = kTokens >= 8 ? 2 : 4;
};

// acc[row][token] over the lanes and warps of the block, in a fixed order; thread i writes sum i.
// While a lane has several sums it gives half of them away and takes over the other half's lanes,
// so that n sums cost n + 4 shuffles and not 5 n.
template <int kTokens>
SQ_DEVICE void reduce_and_store(float (&acc)[Tile<kTokens>::kRows][kTokens], int m, int n, int row0,
                                const float *s_x, float *y)
{
    constexpr int kSums = Tile<kTokens>::kRows * kTokens;
    __shared__ float sums[kWarps][kSums];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    float v[kSums];
    int left = kSums, sum_of_lane = 0; // which sum v[0] is in the end
#pragma unroll
    for (int i = 0; i < kSums; i++)
        v[i] = acc[i / kTokens][i % kTokens];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        if (left == 1) {
            v[0] = __fadd_rn(v[0], __shfl_xor_sync(0xffffffffu, v[0], static_cast<unsigned>(d)));
            continue;
        }
        left /= 2;
        const bool is_upper = (lane & d) != 0;
        sum_of_lane += is_upper ? left : 0;
#pragma unroll
        for (int i = 0; i < kSums / 2; i++)
            if (i < left) {
                const float given = is_upper ? v[i] : v[i + left];
                v[i] = __fadd_rn(is_upper ? v[i + left] : v[i],
                                 __shfl_xor_sync(0xffffffffu, given, static_cast<unsigned>(d)));
            }
    }
    sums[warp][sum_of_lane] = v[0]; // lanes of one sum hold the same
    __syncthreads();
    const int i = static_cast<int>(threadIdx.x), row = row0 + i / kTokens, token = i % kTokens;
    if (i >= kSums || row >= n || token >= m)
        return;
    float sum = sums[0][i];
#pragma unroll
    for (int w = 1; w < kWarps; w++)
        sum = __fadd_rn(sum, sums[w][i]);
    y[static_cast<size_t>(token) * n + row] =
        __fadd_rn(s_x ? __fmul_rn(sum, s_x[token]) : sum, 0.0f);
}

SQ_DEVICE int clamp_row(int row, int n)
{
    return row < n ? row : n - 1;
}

// ---- binary16 -----------------------------------------------------------------------------------

template <int kTokens>
SQ_KERNEL(kThreads, Tile<kTokens>::kBlocks)
gemv_f16_kernel(const SQ_GRID_CONSTANT SqGemvF16 g)
{
    constexpr int kRows = Tile<kTokens>::kRows;
    const int row0 = static_cast<int>(blockIdx.x) * kRows;
    float acc[kRows][kTokens] = {};
    for (int k0 = 8 * static_cast<int>(threadIdx.x); k0 < g.k; k0 += 8 * kThreads) {
        uint4 w[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++)
            w[r] = ld_stream_16(g.w + static_cast<size_t>(clamp_row(row0 + r, g.n)) * g.k + k0);
#pragma unroll
        for (int t = 0; t < kTokens; t++) {
            const int token = t < g.m ? t : 0;
            const uint4 x =
                __ldg(reinterpret_cast<const uint4 *>(g.x + static_cast<size_t>(token) * g.k + k0));
            const uint32_t xs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                const uint32_t ws[4] = {w[r].x, w[r].y, w[r].z, w[r].w};
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    acc[r][t] = __fmaf_rn(f16_to_f32(ws[i]), f16_to_f32(xs[i]), acc[r][t]);
                    acc[r][t] =
                        __fmaf_rn(f16_to_f32(ws[i] >> 16), f16_to_f32(xs[i] >> 16), acc[r][t]);
                }
            }
        }
    }
    reduce_and_store<kTokens>(acc, g.m, g.n, row0, nullptr, g.y);
}

// ---- W4A16 --------------------------------------------------------------------------------------

// Eight codes of a word as four pairs of binary16, exact: pair i = codes 2i, 2i + 1.
SQ_DEVICE void unpack_pairs(uint32_t word, uint32_t (&q)[4])
{
    const uint32_t upper = word >> 8;
    q[0] = f16x2_add(sq_f16x2_nibbles0(word), kF16x2Minus1032);
    q[1] = f16x2_fma(sq_f16x2_nibbles1(word), kF16x2Sixteenth, kF16x2Minus72);
    q[2] = f16x2_add(sq_f16x2_nibbles0(upper), kF16x2Minus1032);
    q[3] = f16x2_fma(sq_f16x2_nibbles1(upper), kF16x2Sixteenth, kF16x2Minus72);
}

template <int kTokens>
SQ_KERNEL(kThreads, Tile<kTokens>::kBlocks)
gemv_w4a16_kernel(const SQ_GRID_CONSTANT SqGemvW4A16 g)
{
    constexpr int kRows = Tile<kTokens>::kRows;
    const int row0 = static_cast<int>(blockIdx.x) * kRows, n_groups = g.k / kSqGemvGroup;
    float acc[kRows][kTokens] = {};
    for (int k0 = 32 * static_cast<int>(threadIdx.x); k0 < g.k; k0 += 32 * kThreads) {
        uint32_t w[kRows][4], pairs[kRows][kTokens] = {};
        float s[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const size_t row = static_cast<size_t>(clamp_row(row0 + r, g.n));
            const uint4 v = ld_stream_16(g.w + (row * g.k + k0) / 2);
            w[r][0] = v.x;
            w[r][1] = v.y;
            w[r][2] = v.z;
            w[r][3] = v.w;
            s[r] = f16_to_f32(__ldg(g.s + row * n_groups + k0 / kSqGemvGroup));
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            uint32_t q[kRows][4];
#pragma unroll
            for (int r = 0; r < kRows; r++)
                unpack_pairs(w[r][j], q[r]);
#pragma unroll
            for (int t = 0; t < kTokens; t++) {
                const int token = t < g.m ? t : 0;
                const uint4 x = __ldg(reinterpret_cast<const uint4 *>(
                    g.x + static_cast<size_t>(token) * g.k + k0 + 8 * j));
#pragma unroll
                for (int r = 0; r < kRows; r++) {
                    uint32_t p = pairs[r][t];
                    p = f16x2_fma(q[r][0], x.x, p);
                    p = f16x2_fma(q[r][1], x.y, p);
                    p = f16x2_fma(q[r][2], x.z, p);
                    pairs[r][t] = f16x2_fma(q[r][3], x.w, p);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < kRows; r++)
#pragma unroll
            for (int t = 0; t < kTokens; t++) {
                const uint32_t p = pairs[r][t];
                acc[r][t] =
                    __fmaf_rn(__fadd_rn(f16_to_f32(p), f16_to_f32(p >> 16)), s[r], acc[r][t]);
            }
    }
    reduce_and_store<kTokens>(acc, g.m, g.n, row0, nullptr, g.y);
}

// ---- W4A8 ---------------------------------------------------------------------------------------

template <int kTokens>
SQ_KERNEL(kThreads, Tile<kTokens>::kBlocks)
gemv_w4a8_kernel(const SQ_GRID_CONSTANT SqGemvW4A8 g)
{
    constexpr int kRows = Tile<kTokens>::kRows;
    const int row0 = static_cast<int>(blockIdx.x) * kRows, n_groups = g.k / kSqGemvGroup;
    float acc[kRows][kTokens] = {};
    for (int k0 = 32 * static_cast<int>(threadIdx.x); k0 < g.k; k0 += 32 * kThreads) {
        uint32_t w[kRows][8]; // codes 4j..4j+3 in word j, 16 times their value
        float s[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const size_t row = static_cast<size_t>(clamp_row(row0 + r, g.n));
            const uint4 v = ld_stream_16(g.w + (row * g.k + k0) / 2);
            sq_unpack_nibbles(v.x, &w[r][0], &w[r][4]);
            sq_unpack_nibbles(v.y, &w[r][1], &w[r][5]);
            sq_unpack_nibbles(v.z, &w[r][2], &w[r][6]);
            sq_unpack_nibbles(v.w, &w[r][3], &w[r][7]);
            s[r] = __fmul_rn(f16_to_f32(__ldg(g.s + row * n_groups + k0 / kSqGemvGroup)), 0.0625f);
        }
#pragma unroll
        for (int t = 0; t < kTokens; t++) {
            const int token = t < g.m ? t : 0;
            const uint4 *const at =
                reinterpret_cast<const uint4 *>(g.x + static_cast<size_t>(token) * g.k + k0);
            const uint4 a = __ldg(at), b = __ldg(at + 1);
            const uint32_t x[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                int p = 0;
#pragma unroll
                for (int j = 0; j < 8; j++)
                    p = __dp4a(static_cast<int>(w[r][j]), static_cast<int>(x[j]), p);
                acc[r][t] = __fmaf_rn(static_cast<float>(p), s[r], acc[r][t]);
            }
        }
    }
    reduce_and_store<kTokens>(acc, g.m, g.n, row0, g.s_x, g.y);
}

// ---- launching ----------------------------------------------------------------------------------

template <int kTokens> unsigned n_blocks(int n)
{
    return static_cast<unsigned>(sq_div_up(n, Tile<kTokens>::kRows));
}

enum sq_status check_shape(int m, int n, int k, int step, struct sq_error *err)
{
    if (m < 1 || m > kMaxTokens || n < 1 || k < step || k % step != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "m = %d, n = %d, k = %d: need m of 1..%d and k a multiple of %d", m, n, k,
                       kMaxTokens, step);
    return SQ_OK;
}

// The smallest kernel that takes m tokens.
#define SQ_GEMV_LAUNCH(kernel, g, stream)                                                          \
    do {                                                                                           \
        if ((g)->m == 1)                                                                           \
            SQ_LAUNCH(kernel<1>, n_blocks<1>((g)->n), kThreads, 0, stream, *(g));                  \
        else if ((g)->m <= 2)                                                                      \
            SQ_LAUNCH(kernel<2>, n_blocks<2>((g)->n), kThreads, 0, stream, *(g));                  \
        else if ((g)->m <= 4)                                                                      \
            SQ_LAUNCH(kernel<4>, n_blocks<4>((g)->n), kThreads, 0, stream, *(g));                  \
        else                                                                                       \
            SQ_LAUNCH(kernel<8>, n_blocks<8>((g)->n), kThreads, 0, stream, *(g));                  \
    } while (0)

} // namespace

enum sq_status sq_gemv_f16(const SqGemvF16 *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(check_shape(g->m, g->n, g->k, 8, err));
    SQ_GEMV_LAUNCH(gemv_f16_kernel, g, stream);
    return sq_launch_check(err);
}

enum sq_status sq_gemv_w4a16(const SqGemvW4A16 *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(check_shape(g->m, g->n, g->k, kSqGemvGroup, err));
    SQ_GEMV_LAUNCH(gemv_w4a16_kernel, g, stream);
    return sq_launch_check(err);
}

enum sq_status sq_gemv_w4a8(const SqGemvW4A8 *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(check_shape(g->m, g->n, g->k, kSqGemvGroup, err));
    SQ_GEMV_LAUNCH(gemv_w4a8_kernel, g, stream);
    return sq_launch_check(err);
}
