// SPDX-License-Identifier: Apache-2.0
// GQSA decode: kept groups of 16 INT4 codes, INT8 activations, dp4a. Stream-K: every warp takes an
// equal range of the list of kept groups, whatever rows it covers. A row that several warps share
// is written by the warp that holds its end; the others hand it their sums through slots, and it
// adds them in ascending worker order, so the result does not depend on timing. Every warp hands
// over before it waits, and waits only for lower numbers.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_ptx.cuh"

namespace
{

constexpr int kThreads = 256, kWarps = kThreads / 32, kMaxTokens = 4, kBlocksPerSm = 4;
constexpr uint32_t kBatch = 4; // loads of a lane in flight, of codes and of meta

constexpr int kMaxX = 96 << 10; // bytes of activations in shared memory

// One kept group times its 16 activations: sum (q - z) x.
SQ_DEVICE int group_sum(uint2 codes, int zero, uint4 x)
{
    constexpr uint32_t kLow = 0x0f0f0f0fu;
    constexpr int kOnes = 0x01010101;
    const uint32_t xs[4] = {x.x, x.y, x.z, x.w};
    const uint32_t q[4] = {codes.x & kLow, codes.y & kLow, codes.x >> 4 & kLow,
                           codes.y >> 4 & kLow};
    int p = 0, sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        p = __dp4a(static_cast<int>(q[i]), static_cast<int>(xs[i]), p);
        sum = __dp4a(kOnes, static_cast<int>(xs[i]), sum);
    }
    return p - zero * sum;
}

// Groups [from, to) of one row, on all lanes alike.
template <int kTokens>
SQ_DEVICE void row_sum(const SqGemvGqsa &g, const uint4 *x, uint32_t from, uint32_t to,
                       float (&acc)[kTokens])
{
    const uint32_t lane = threadIdx.x % 32;
    const int n_columns = g.k / kSqGqsaGroup;
#pragma unroll
    for (int t = 0; t < kTokens; t++)
        acc[t] = 0;
    for (; from < to; from += 32 * kBatch) {
        uint32_t words[kBatch];
        uint2 codes[kBatch];
#pragma unroll
        for (uint32_t i = 0; i < kBatch; i++) {
            const uint32_t e = from + 32 * i + lane;
            words[i] = e < to ? ld_stream_4(g.meta + e) : 0; // scale 0: adds 0
            codes[i] = e < to ? ld_stream_8(g.codes + 8 * static_cast<size_t>(e)) : uint2{0, 0};
        }
#pragma unroll
        for (uint32_t i = 0; i < kBatch; i++) {
            if (from + 32 * i >= to)
                break; // the same on all lanes
            const SqGqsaMeta meta = sq_gqsa_meta_of(words[i]);
            const float s = f16_to_f32(meta.scale);
#pragma unroll
            for (int t = 0; t < kTokens; t++) {
                const int token = t < g.m ? t : 0; // only m tokens are in shared memory
                const int p = group_sum(codes[i], static_cast<int>(meta.zero),
                                        x[token * n_columns + static_cast<int>(meta.column)]);
                acc[t] = __fmaf_rn(static_cast<float>(p), s, acc[t]);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < kTokens; t++)
#pragma unroll
        for (unsigned d = 16; d > 0; d /= 2)
            acc[t] = __fadd_rn(acc[t], __shfl_xor_sync(0xffffffffu, acc[t], d));
}

// Lane t < m: the sum of token t. Scaled, and -0 becomes +0.
template <int kTokens>
SQ_DEVICE void store_row(const SqGemvGqsa &g, int row, const float (&acc)[kTokens])
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int t = 0; t < kTokens; t++)
        if (lane == t && t < g.m)
            g.y[static_cast<size_t>(t) * g.n + row] = __fadd_rn(__fmul_rn(acc[t], g.s_x[t]), 0.0f);
}

// The sums that workers below `worker` hold of the row that starts at group `row_begin`, ascending.
template <int kTokens>
SQ_DEVICE void add_before(const SqGemvGqsa &g, uint32_t worker, uint32_t row_begin,
                          float (&head)[kTokens])
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    uint32_t first = worker - 1;
    while (sq_stream_begin(first, g.n_workers, g.n_groups) > row_begin)
        first--;
    float sum[kTokens] = {};
    for (uint32_t p = first; p < worker; p++) {
        if (sq_stream_begin(p, g.n_workers, g.n_groups) ==
            sq_stream_begin(p + 1, g.n_workers, g.n_groups))
            continue; // more workers than groups
#pragma unroll
        for (int t = 0; t < kTokens; t++)
            if (lane == t && t < g.m)
                sum[t] = __fadd_rn(
                    sum[t], __uint_as_float(slot_take(&g.slot[static_cast<size_t>(p) * g.m + t])));
    }
#pragma unroll
    for (int t = 0; t < kTokens; t++)
        head[t] = __fadd_rn(sum[t], head[t]);
}

template <int kTokens>
SQ_KERNEL(kThreads, kBlocksPerSm)
gemv_gqsa_kernel(const SQ_GRID_CONSTANT SqGemvGqsa g)
{
    SQ_DYNAMIC_SHARED(shared);
    uint4 *const x = reinterpret_cast<uint4 *>(shared);
    const int n_columns = g.k / kSqGqsaGroup;
    for (int i = static_cast<int>(threadIdx.x); i < g.m * n_columns; i += kThreads)
        x[i] = __ldg(reinterpret_cast<const uint4 *>(g.x) + i);
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t worker = blockIdx.x * kWarps + threadIdx.x / 32;
    if (worker >= g.n_workers)
        return;
    const uint32_t begin = sq_stream_begin(worker, g.n_workers, g.n_groups);
    const uint32_t end = sq_stream_begin(worker + 1, g.n_workers, g.n_groups);
    int row = static_cast<int>(__ldg(&g.first_row[worker])), head_row = -1;
    uint32_t at = begin, head_begin = row < g.n ? __ldg(&g.row_index[row]) : 0;
    float acc[kTokens], head[kTokens] = {};
    uint32_t ends = 0; // row_index[base + lane + 1]
    for (int i = 0; row < g.n; row++, i++) {
        if (i % 32 == 0)
            ends = __ldg(&g.row_index[row + lane < g.n ? row + lane + 1 : g.n]);
        const uint32_t row_end = __shfl_sync(0xffffffffu, ends, static_cast<unsigned>(i % 32));
        const bool is_whole = row_end <= end;
        if (!is_whole && at == end)
            break; // the next worker's
        row_sum<kTokens>(g, x, at, is_whole ? row_end : end, acc);
        if (!is_whole) {
#pragma unroll
            for (int t = 0; t < kTokens; t++)
                if (lane == t && t < g.m)
                    slot_put(&g.slot[static_cast<size_t>(worker) * g.m + t],
                             __float_as_uint(acc[t]));
            break;
        }
        if (i == 0 && head_begin < begin) { // began with another worker: last, see above
            head_row = row;
#pragma unroll
            for (int t = 0; t < kTokens; t++)
                head[t] = acc[t];
        } else {
            store_row<kTokens>(g, row, acc);
        }
        at = row_end;
    }
    if (head_row >= 0) {
        add_before<kTokens>(g, worker, head_begin, head);
        store_row<kTokens>(g, head_row, head);
    }
}

} // namespace

void sq_gqsa_first_rows(const uint32_t *row_index, int n, uint32_t n_workers, uint32_t *first_row)
{
    uint32_t row = 0;
    for (uint32_t p = 0; p < n_workers; p++) {
        const uint32_t begin = sq_stream_begin(p, n_workers, row_index[n]);
        while (p > 0 && row < static_cast<uint32_t>(n) && row_index[row + 1] <= begin)
            row++;
        first_row[p] = row;
    }
}

uint32_t sq_gqsa_workers(int n_sms)
{
    return static_cast<uint32_t>(n_sms) * kBlocksPerSm * kWarps;
}

enum sq_status sq_gemv_gqsa(const SqGemvGqsa *g, cudaStream_t stream, struct sq_error *err)
{
    if (g->m < 1 || g->m > kMaxTokens || g->n < 1 || g->k < kSqGqsaGroup || g->k > 65536 ||
        g->k % kSqGqsaGroup != 0 || g->m * g->k > kMaxX || g->n_workers < 1)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "m = %d, n = %d, k = %d, workers = %u: need m of 1..%d, k a multiple of %d "
                       "up to 65536, m k up to %d, a worker",
                       g->m, g->n, g->k, g->n_workers, kMaxTokens, kSqGqsaGroup, kMaxX);
    const unsigned grid = static_cast<unsigned>(sq_div_up<uint32_t>(g->n_workers, kWarps));
    const size_t nbytes = static_cast<size_t>(g->m) * static_cast<size_t>(g->k);
    if (g->m == 1) {
        SQ_TRY(sq_launch_prepare(gemv_gqsa_kernel<1>, nbytes, err));
        SQ_LAUNCH(gemv_gqsa_kernel<1>, grid, kThreads, nbytes, stream, *g);
    } else {
        SQ_TRY(sq_launch_prepare(gemv_gqsa_kernel<kMaxTokens>, nbytes, err));
        SQ_LAUNCH(gemv_gqsa_kernel<kMaxTokens>, grid, kThreads, nbytes, stream, *g);
    }
    return sq_launch_check(err);
}
