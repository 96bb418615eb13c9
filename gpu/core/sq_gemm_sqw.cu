// SPDX-License-Identifier: Apache-2.0
// SQ on weights on a GPU that has no gather unit: the mask is decoded and the high codes are placed
// by CUDA cores, products by dp4a. A reference path: it shows what the format costs without
// hardware (SPEC D.2), bit-identical to sq_gemm_sq_w.
//
// One warp owns one output channel and kTokens tokens. Lane l holds codes 4l..4l+3 of a chunk of
// 128; the high codes of a row are one sequence, so the index of a lane's first one is a prefix
// count over the warp (four ballots).
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"

namespace
{

constexpr int kTokens = 8, kThreads = 256, kChunk = 128;

struct Weights {
    int lo, hi; // four codes each, 0 where the other one is
};

// Codes of this lane from its 16 bits of the low stream and the high codes of the row. *n_before
// counts the high codes of the row before the chunk and moves on.
SQ_DEVICE Weights decode_chunk(uint32_t codes, const uint8_t *hi_row, int *n_before)
{
    const unsigned lane = threadIdx.x % 32, below = (1u << lane) - 1;
    uint32_t is_high[4];
    int first = *n_before, total = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        is_high[i] = (codes >> (4 * i) & 15u) == 8u;
        const unsigned all = __ballot_sync(0xffffffffu, is_high[i] != 0);
        first += __popc(all & below);
        total += __popc(all);
    }
    uint32_t lo = 0, hi = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t code = codes >> (4 * i) & 15u;
        const uint32_t byte = (code & 8u ? code | 0xf0u : code) & 255u; // sign extension
        lo |= (is_high[i] ? 0u : byte) << (8 * i);
        if (is_high[i])
            hi |= static_cast<uint32_t>(__ldg(&hi_row[first++])) << (8 * i);
    }
    *n_before += total;
    return {static_cast<int>(lo), static_cast<int>(hi)};
}

SQ_KERNEL(kThreads, 2) gemm_sqw_kernel(const SQ_GRID_CONSTANT SqGemmSqW g)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int channel =
        static_cast<int>(blockIdx.x) * (kThreads / 32) + static_cast<int>(threadIdx.x) / 32;
    const int token0 = static_cast<int>(blockIdx.y) * kTokens;
    if (channel >= g.n)
        return; // whole warps leave
    const uint8_t *lo_row = g.lo + static_cast<size_t>(channel) * (g.k / 2);
    const uint8_t *hi_row = g.hi + static_cast<size_t>(channel) * (g.k / g.bank * g.high_per_bank);
    const int n_groups = g.k / g.group;
    int n_before = 0;
    float y[kTokens] = {};
    for (int group = 0; group < n_groups; group++) {
        int p_lo[kTokens] = {}, p_hi[kTokens] = {};
        for (int k0 = group * g.group; k0 < (group + 1) * g.group; k0 += kChunk) {
            const int at = k0 + 4 * lane;
            const uint32_t codes = *reinterpret_cast<const uint16_t *>(lo_row + at / 2);
            const Weights w = decode_chunk(codes, hi_row, &n_before);
#pragma unroll
            for (int t = 0; t < kTokens; t++) {
                const int token = token0 + t < g.m ? token0 + t : g.m - 1;
                const int a =
                    *reinterpret_cast<const int *>(g.act + static_cast<size_t>(token) * g.k + at);
                p_lo[t] = __dp4a(w.lo, a, p_lo[t]);
                p_hi[t] = __dp4a(w.hi, a, p_hi[t]);
            }
        }
        const float s_lo = g.s_lo[static_cast<size_t>(channel) * n_groups + group];
        const float s_hi = g.s_hi[static_cast<size_t>(channel) * n_groups + group];
#pragma unroll
        for (int t = 0; t < kTokens; t++) { // the combine of SPEC A.7, on every lane alike
            const int sum_lo = __reduce_add_sync(0xffffffffu, p_lo[t]);
            const int sum_hi = __reduce_add_sync(0xffffffffu, p_hi[t]);
            const float t1 = __fmul_rn(static_cast<float>(sum_lo), s_lo);
            const float t2 = __fmul_rn(static_cast<float>(sum_hi), s_hi);
            y[t] = __fadd_rn(y[t], __fadd_rn(t1, t2));
            if (g.p_lo && lane == t && token0 + t < g.m) {
                const size_t at =
                    (static_cast<size_t>(token0 + t) * g.n + channel) * n_groups + group;
                g.p_lo[at] = sum_lo;
                g.p_hi[at] = sum_hi;
            }
        }
    }
#pragma unroll
    for (int t = 0; t < kTokens; t++)
        if (lane == t && token0 + t < g.m)
            g.y[static_cast<size_t>(token0 + t) * g.n + channel] =
                __fadd_rn(__fmul_rn(y[t], g.s_a[token0 + t]), 0.0f);
}

} // namespace

enum sq_status sq_gemm_sqw(const SqGemmSqW *g, cudaStream_t stream, struct sq_error *err)
{
    if (g->m < 1 || g->n < 1 || g->k < kChunk || g->bank < 4 || g->bank > 128 ||
        g->group % kChunk != 0 || g->group < kChunk || g->k % g->group != 0 ||
        kChunk % g->bank != 0 || g->high_per_bank < 1 || g->high_per_bank >= g->bank)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "m = %d, n = %d, k = %d, bank = %d, high = %d, group = %d: need groups of "
                       "multiples of 128 that divide k",
                       g->m, g->n, g->k, g->bank, g->high_per_bank, g->group);
    const dim3 grid(static_cast<unsigned>(sq_div_up(g->n, kThreads / 32)),
                    static_cast<unsigned>(sq_div_up(g->m, kTokens)));
    SQ_LAUNCH(gemm_sqw_kernel, grid, kThreads, 0, stream, *g);
    return sq_launch_check(err);
}
