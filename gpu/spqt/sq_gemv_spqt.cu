// SPDX-License-Identifier: Apache-2.0
// SpQt decode: Q4_K superblocks run down the columns, and only the columns of active inputs are read.
// Every CUDA block collects the indices itself (x is small and in L2), which needs no second launch and
// no atomics: each thread counts the active inputs in its chunks of x, a scan of the counts gives the
// place of its first index, and the block keeps the indices of its own share.
//
// A warp takes eight active columns at a time. Lane 8c + j decodes scale and minimum of block j of
// columns c and c + 4; the codes of a column are one 128-byte load, so that a lane owns eight rows
// (sq_q4k_row). A code becomes binary32 1 + q/16 by one shift and one mask; the decoding lane sums
// what the 1 adds, together with the minima, and the sum is subtracted once at the end.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_ptx.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kThreads = 256, kWarps = kThreads / 32, kColumns = 8;

SQ_DEVICE int warp_scan(int v) // inclusive
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int below = __shfl_sync(0xffffffffu, v, static_cast<unsigned>(lane - d) & 31u);
        v += lane >= d ? below : 0;
    }
    return v;
}

// Exclusive prefix of `count` over the block, and the sum of all.
SQ_DEVICE int block_scan(int count, int *total)
{
    __shared__ int sums[kWarps];
    const int warp = static_cast<int>(threadIdx.x) / 32, inclusive = warp_scan(count);
    if (threadIdx.x % 32 == 31)
        sums[warp] = inclusive;
    __syncthreads();
    int before = inclusive - count;
    *total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; w++) {
        before += w < warp ? sums[w] : 0;
        *total += sums[w];
    }
    return before;
}

SQ_DEVICE uint32_t active_bits(const SqGemvSpqt &g, int chunk) // of columns 8 chunk .. + 7
{
    if (8 * chunk >= g.k)
        return 0;
    const uint4 v = __ldg(reinterpret_cast<const uint4 *>(g.x) + chunk);
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        bits |= static_cast<uint32_t>(fabsf(f16_to_f32(words[i])) >= g.threshold) << (2 * i);
        bits |= static_cast<uint32_t>(fabsf(f16_to_f32(words[i] >> 16)) >= g.threshold)
                << (2 * i + 1);
    }
    return bits;
}

SQ_DEVICE int share(int p, int n_workers, int n)
{
    return static_cast<int>(static_cast<long long>(p) * n / n_workers);
}

// Writes the active columns of this block's share to idx, ascending; *first of all active columns come
// before them. Returns how many are active in all.
SQ_DEVICE int collect(const SqGemvSpqt &g, uint16_t *idx, int *first)
{
    const int n_chunks = sq_div_up(g.k / 8, kThreads),
              chunk0 = static_cast<int>(threadIdx.x) * n_chunks;
    int count = 0, total;
    for (int c = 0; c < n_chunks; c++)
        count += __popc(active_bits(g, chunk0 + c));
    int at = block_scan(count, &total);
    const int n_workers = kWarps * g.n_splits, split = static_cast<int>(blockIdx.x);
    const int from = share(kWarps * split, n_workers, total);
    const int to = share(kWarps * (split + 1), n_workers, total);
    if (at < to && at + count > from)
        for (int c = 0; c < n_chunks; c++)
            for (uint32_t bits = active_bits(g, chunk0 + c); bits; bits &= bits - 1, at++)
                if (at >= from && at < to)
                    idx[at - from] =
                        static_cast<uint16_t>(8 * (chunk0 + c) + __popc((bits & (0u - bits)) - 1u));
    __syncthreads();
    *first = from;
    return total;
}

// x times step and x times minimum of block lane % 8 of a superblock.
struct Scaled {
    float step, min;
};
SQ_DEVICE Scaled decode_header(const uint8_t *superblock, float x)
{
    const uint4 h = __ldg(reinterpret_cast<const uint4 *>(superblock));
    const SqQ4kScale s = sq_q4k_scale(h.y, h.z, h.w, static_cast<int>(threadIdx.x) % kColumns);
    const float d = __fmul_rn(f16_to_f32(h.x), static_cast<float>(s.scale));
    const float min = __fmul_rn(f16_to_f32(h.x >> 16), static_cast<float>(s.min));
    return {__fmul_rn(x, d), __fmul_rn(x, min)};
}

// acc[e] += x w over the active columns idx[from..to) of superblock row `row`; lane owns rows
// sq_q4k_row(lane, e).
SQ_DEVICE void add_columns(const SqGemvSpqt &g, const uint16_t *idx, int from, int to, int row,
                           float (&acc)[8])
{
    const int lane = static_cast<int>(threadIdx.x) % 32, pair = lane / 8;
    const uint8_t *const base = g.w + static_cast<size_t>(row) * g.k * kSqQ4kNbytes;
    float correction = 0; // of block lane % 8, columns lane / 8 + 4 i
    for (; from < to; from += kColumns) {
        uint32_t codes[kColumns];
#pragma unroll
        for (int i = 0; i < kColumns; i++) {
            const int at = from + i < to ? from + i : to - 1;
            codes[i] =
                ld_stream_4(base + static_cast<size_t>(idx[at]) * kSqQ4kNbytes + 16 + 4 * lane);
        }
        float step[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = from + 4 * h + pair, column = idx[i < to ? i : to - 1];
            const float x = i < to ? f16_to_f32(__ldg(&g.x[column])) : 0.0f;
            const Scaled s = decode_header(base + static_cast<size_t>(column) * kSqQ4kNbytes, x);
            step[h] = __fmul_rn(16.0f, s.step);
            correction = __fadd_rn(correction, __fadd_rn(step[h], s.min));
        }
#pragma unroll
        for (int i = 0; i < kColumns; i++) {
            const unsigned source = static_cast<unsigned>(8 * (i % 4) + 2 * pair);
            const float low = __shfl_sync(0xffffffffu, step[i / 4], source);
            const float high = __shfl_sync(0xffffffffu, step[i / 4], source + 1);
#pragma unroll
            for (int e = 0; e < 8; e++)
                acc[e] = __fmaf_rn(e < 4 ? low : high,
                                   __uint_as_float(sq_q4k_fraction(codes[i], e)), acc[e]);
        }
    }
    correction = __fadd_rn(correction, __shfl_xor_sync(0xffffffffu, correction, 8));
    correction = __fadd_rn(correction, __shfl_xor_sync(0xffffffffu, correction, 16));
    const float low = __shfl_sync(0xffffffffu, correction, static_cast<unsigned>(2 * pair));
    const float high = __shfl_sync(0xffffffffu, correction, static_cast<unsigned>(2 * pair + 1));
#pragma unroll
    for (int e = 0; e < 8; e++)
        acc[e] = __fadd_rn(acc[e], e < 4 ? -low : -high);
}

// The last CUDA block to arrive at a superblock row adds the sums of all of them, splits ascending.
SQ_DEVICE void combine(const SqGemvSpqt &g, int row, float sum)
{
    __shared__ bool is_last;
    const int thread = static_cast<int>(threadIdx.x);
    float *const part = g.part + static_cast<size_t>(row) * g.n_splits * kSqQ4kRows;
    part[blockIdx.x * kSqQ4kRows + static_cast<unsigned>(thread)] = sum;
    __threadfence();
    __syncthreads();
    if (thread == 0)
        is_last = atomicAdd(&g.arrived[row], 1u) == static_cast<unsigned>(g.n_splits - 1);
    __syncthreads();
    if (!is_last)
        return;
    __threadfence();
    float y = 0;
    for (int p = 0; p < g.n_splits; p++)
        y = __fadd_rn(y, part[p * kSqQ4kRows + thread]);
    g.y[static_cast<size_t>(row) * kSqQ4kRows + thread] = y;
    if (thread == 0)
        g.arrived[row] = 0;
}

SQ_KERNEL(kThreads, 3) gemv_spqt_kernel(const SQ_GRID_CONSTANT SqGemvSpqt g)
{
    __shared__ float sums[kWarps][kSqQ4kRows];
    SQ_DYNAMIC_SHARED(shared);
    uint16_t *const idx = reinterpret_cast<uint16_t *>(shared);
    int first;
    const int total = collect(g, idx, &first);
    if (g.n_active && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
        *g.n_active = static_cast<uint32_t>(total);
    if (g.index && blockIdx.y == 0) { // this block's share
        const int split = static_cast<int>(blockIdx.x) + 1;
        const int n = share(kWarps * split, kWarps * g.n_splits, total) - first;
        for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads)
            g.index[first + i] = idx[i];
    }
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int n_workers = kWarps * g.n_splits;
    const int worker = kWarps * static_cast<int>(blockIdx.x) + warp;
    const int from = share(worker, n_workers, total) - first;
    const int to = share(worker + 1, n_workers, total) - first;
    for (int row = static_cast<int>(blockIdx.y); row < g.n / kSqQ4kRows;
         row += static_cast<int>(gridDim.y)) {
        float acc[8] = {};
        add_columns(g, idx, from, to, row, acc);
#pragma unroll
        for (int e = 0; e < 8; e++)
            sums[warp][sq_q4k_row(lane, e)] = acc[e];
        __syncthreads();
        float sum = 0;
#pragma unroll
        for (int w = 0; w < kWarps; w++)
            sum = __fadd_rn(sum, sums[w][threadIdx.x]);
        if (g.n_splits == 1)
            g.y[static_cast<size_t>(row) * kSqQ4kRows + threadIdx.x] = sum;
        else
            combine(g, row, sum);
        __syncthreads();
    }
}

} // namespace

int sq_spqt_splits(int n, int k, int n_sms)
{
    const int n_rows = sq_div_up(n, kSqQ4kRows), most = sq_div_up(k, 4 * kWarps * kColumns);
    const int wanted = sq_div_up(4 * n_sms, n_rows);
    return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

enum sq_status sq_gemv_spqt(const SqGemvSpqt *g, cudaStream_t stream, struct sq_error *err)
{
    if (g->n < 1 || g->n % kSqQ4kRows != 0 || g->k < 8 || g->k % 8 != 0 || g->k > 65536 ||
        g->n_splits < 1 || (g->n_splits > 1 && (!g->part || !g->arrived)))
        return SQ_FAIL(
            err, SQ_ERR_SHAPE,
            "n = %d, k = %d, splits = %d: need n %% 256 = 0, k %% 8 = 0, k <= 65536, and "
            "room for the sums of more than one split",
            g->n, g->k, g->n_splits);
    const int n_rows = g->n / kSqQ4kRows;
    const dim3 grid(static_cast<unsigned>(g->n_splits), static_cast<unsigned>(n_rows));
    const size_t nbytes = 2 * static_cast<size_t>(sq_div_up(g->k, g->n_splits) + 1);
    SQ_TRY(sq_launch_prepare(gemv_spqt_kernel, nbytes, err));
    SQ_LAUNCH(gemv_spqt_kernel, grid, kThreads, nbytes, stream, *g);
    return sq_launch_check(err);
}
