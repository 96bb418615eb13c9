// SPDX-License-Identifier: Apache-2.0
// Integer products by mma.sync: dense INT8, W4A8, W4A4 and static activation SQ as one fused
// kernel.
//
// A block makes 128 tokens x 128 channels with 8 warps of 64 x 32. K is walked in steps of 64 bytes
// of X through a ring of cp.async stages; the low part of K comes first, the high part follows in
// the same pipeline, each with its own INT32 accumulators. 4-bit operands stay packed until they
// are in registers: two masks and a shift give 16 times eight codes as bytes (sq_maps.cuh), and the
// exact sums are shifted back at the end: 16 * |P| (W4A8) and 256 * |P| (W4A4) stay below 2^31 up
// to K = 131071.
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"
#include "gpu/sq_ptx.cuh"

namespace
{

enum Segment { kNone, kA8W8, kA8W4, kA4W4Unpack, kA4W4S4 };

constexpr int kTileM = 128, kTileN = 128, kThreads = 256, kStages = 4;
constexpr int kWarpM = 64, kWarpN = 32, kFragsM = kWarpM / 16, kFragsN = kWarpN / 8;
constexpr int kXChunks = 4; // 64 bytes of X a step
constexpr int kStageNbytes = (kTileM + kTileN) * kXChunks * kChunkNbytes;

SQ_HD constexpr bool is_x4(Segment s)
{
    return s == kA4W4Unpack || s == kA4W4S4;
}
SQ_HD constexpr int w_chunks(Segment s) // bytes of W a step / 16
{
    return s == kA8W4 ? kXChunks / 2 : kXChunks;
}
SQ_HD constexpr int step_codes(Segment s)
{
    return kXChunks * kChunkNbytes * (is_x4(s) ? 2 : 1);
}
SQ_HD constexpr int sum_shift(Segment s) // accumulators hold P << shift
{
    return s == kA8W4 ? 4 : s == kA4W4Unpack ? 8 : 0;
}

using Accumulators = int32_t[kFragsM][kFragsN][4];

// kTileM rows of kChunks chunks from byte `byte0` of rows row0..; outside of the matrix zeros.
template <int kChunks>
SQ_DEVICE void load_tile(uint8_t *tile, const uint8_t *base, int row_nbytes, int row0, int n_rows,
                         int byte0)
{
#pragma unroll
    for (int i = 0; i < kTileM * kChunks / kThreads; i++) {
        const int at = i * kThreads + static_cast<int>(threadIdx.x);
        const int row = at / kChunks, chunk = at % kChunks, byte = byte0 + chunk * kChunkNbytes;
        const bool is_inside = row0 + row < n_rows && byte < row_nbytes;
        const uint8_t *from = base + static_cast<size_t>(row0 + row) * row_nbytes + byte;
        cp_async_16(tile + sq_tile_offset<kChunks>(row, chunk), is_inside ? from : base,
                    is_inside ? kChunkNbytes : 0);
    }
}

template <Segment kSegment>
SQ_DEVICE void load_stage(uint8_t *stage, const SqGemmImma &g, const SqPart &part, int step,
                          SqTile tile)
{
    constexpr int kW = w_chunks(kSegment);
    const int x_nbytes = is_x4(kSegment) ? part.k / 2 : part.k;
    const int w_nbytes = kSegment == kA8W8 ? part.k : part.k / 2;
    load_tile<kXChunks>(stage, part.x, x_nbytes, tile.row * kTileM, g.m,
                        step * kXChunks * kChunkNbytes);
    load_tile<kW>(stage + kTileM * kXChunks * kChunkNbytes, part.w, w_nbytes, tile.col * kTileN,
                  g.n, step * kW * kChunkNbytes);
}

// Words of chunk `chunk` of the warp's 32 channels: b[j] = column 8j + q, bytes 4t..4t+3.
template <int kChunks>
SQ_DEVICE void read_w(uint32_t (&b)[kFragsN], const uint8_t *tile, int row0, int chunk)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    ldmatrix_x4(b, tile + sq_tile_offset<kChunks>(row0 + sq_ldmatrix_b(lane), chunk));
}
SQ_DEVICE void read_x(uint32_t (&a)[4], const uint8_t *tile, int row0, int chunk)
{
    const SqCell at = sq_ldmatrix_a(static_cast<int>(threadIdx.x) % 32);
    ldmatrix_x4(a, tile + sq_tile_offset<kXChunks>(row0 + at.row, chunk + at.byte));
}

// Two chunks of X (32 bytes a row) against the matching chunks of W.
template <Segment kSegment>
SQ_DEVICE void multiply_pair(Accumulators &acc, const uint8_t *x, const uint8_t *w, int row_x,
                             int row_w, int pair)
{
    constexpr int kW = w_chunks(kSegment);
    uint32_t b[2][kFragsN]; // k-halves of the product; W4A4: of chunk 2 pair and 2 pair + 1
    if constexpr (kSegment == kA8W4) {
        uint32_t packed[kFragsN];
        read_w<kW>(packed, w, row_w, pair);
        for (int j = 0; j < kFragsN; j++)
            sq_unpack_nibbles(packed[j], &b[0][j], &b[1][j]);
    } else {
        read_w<kW>(b[0], w, row_w, 2 * pair);
        read_w<kW>(b[1], w, row_w, 2 * pair + 1);
    }
#pragma unroll
    for (int i = 0; i < kFragsM; i++) {
        uint32_t a[4];
        read_x(a, x, row_x + 16 * i, 2 * pair);
        if constexpr (kSegment == kA4W4Unpack) {
#pragma unroll
            for (int c = 0; c < 2; c++) { // chunk: 32 codes, even ones low, odd ones high nibbles
                uint32_t u[4];
                sq_unpack_nibbles(a[2 * c], &u[0], &u[2]);
                sq_unpack_nibbles(a[2 * c + 1], &u[1], &u[3]);
#pragma unroll
                for (int j = 0; j < kFragsN; j++) {
                    uint32_t even, odd;
                    sq_unpack_nibbles(b[c][j], &even, &odd);
                    mma_s8_m16n8k32(acc[i][j], u, even, odd);
                }
            }
        } else {
#pragma unroll
            for (int j = 0; j < kFragsN; j++) {
                if constexpr (kSegment == kA4W4S4)
                    mma_s4_m16n8k64(acc[i][j], a, b[0][j], b[1][j]);
                else
                    mma_s8_m16n8k32(acc[i][j], a, b[0][j], b[1][j]);
            }
        }
    }
}

template <Segment kSegment> SQ_DEVICE void multiply_stage(Accumulators &acc, const uint8_t *stage)
{
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const uint8_t *w = stage + kTileM * kXChunks * kChunkNbytes;
#pragma unroll
    for (int pair = 0; pair < kXChunks / 2; pair++)
        multiply_pair<kSegment>(acc, stage, w, warp % 2 * kWarpM, warp / 2 * kWarpN, pair);
}

SQ_DEVICE float combine_two(int32_t p_lo, int32_t p_hi, float s_lo, float s_hi, float s_w)
{
    const float t = __fadd_rn(__fmul_rn(static_cast<float>(p_lo), s_lo),
                              __fmul_rn(static_cast<float>(p_hi), s_hi));
    return __fadd_rn(0.0f, __fmul_rn(t, s_w));
}

template <Segment kLow, Segment kHigh>
SQ_DEVICE void store_tile(const SqGemmImma &g, const Accumulators &low, const Accumulators &high,
                          SqTile tile)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row0 = tile.row * kTileM + warp % 2 * kWarpM;
    const int col0 = tile.col * kTileN + warp / 2 * kWarpN;
#pragma unroll
    for (int i = 0; i < kFragsM; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = row0 + 16 * i + sq_fragment_d(lane, 2 * half).row;
            if (row >= g.m)
                continue;
            const float s_lo = kLow != kNone ? g.s_lo[row] : 0.0f;
            const float s_hi = kHigh != kNone ? g.s_hi[row] : 0.0f;
#pragma unroll
            for (int j = 0; j < kFragsN; j++) {
                const int col = col0 + 8 * j + sq_fragment_d(lane, 0).byte;
                if (col >= g.n)
                    continue;
                float y[2];
                int32_t p_lo[2], p_hi[2];
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    p_lo[e] = low[i][j][2 * half + e] >> sum_shift(kLow);
                    p_hi[e] = high[i][j][2 * half + e] >> sum_shift(kHigh);
                    const float s_w = g.s_w[col + e];
                    if constexpr (kLow != kNone && kHigh != kNone)
                        y[e] = combine_two(p_lo[e], p_hi[e], s_lo, s_hi, s_w);
                    else if constexpr (kLow != kNone)
                        y[e] = sq_scaled_sum(p_lo[e], s_w, s_lo);
                    else
                        y[e] = sq_scaled_sum(p_hi[e], s_w, s_hi);
                }
                const size_t at = static_cast<size_t>(row) * g.n + col;
                *reinterpret_cast<float2 *>(g.y + at) = make_float2(y[0], y[1]);
                if (kLow != kNone && g.p_lo)
                    *reinterpret_cast<int2 *>(g.p_lo + at) = make_int2(p_lo[0], p_lo[1]);
                if (kHigh != kNone && g.p_hi)
                    *reinterpret_cast<int2 *>(g.p_hi + at) = make_int2(p_hi[0], p_hi[1]);
            }
        }
}

template <Segment kLow, Segment kHigh>
SQ_KERNEL(kThreads, kLow == kNone ? 2 : 1) // 128 registers: two blocks a multiprocessor
gemm_imma_kernel(const SQ_GRID_CONSTANT SqGemmImma g)
{
    SQ_DYNAMIC_SHARED(shared);
    const SqTile tile =
        sq_tile_of(static_cast<int>(blockIdx.x), sq_div_up(g.m, kTileM), sq_div_up(g.n, kTileN));
    const int n_low = kLow == kNone ? 0 : sq_div_up(g.low.k, step_codes(kLow));
    const int n_steps = n_low + (kHigh == kNone ? 0 : sq_div_up(g.high.k, step_codes(kHigh)));
    const auto load = [&](int step) {
        uint8_t *stage = shared + step % kStages * kStageNbytes;
        if (kLow != kNone && step < n_low)
            load_stage<kLow>(stage, g, g.low, step, tile);
        else if (kHigh != kNone && step < n_steps)
            load_stage<kHigh>(stage, g, g.high, step - n_low, tile);
        cp_async_commit(); // an empty group keeps the count of groups equal to that of steps
    };
    Accumulators low = {}, high = {};
    for (int step = 0; step < kStages - 1; step++)
        load(step);
    for (int step = 0; step < n_steps; step++) {
        cp_async_wait<kStages - 2>();
        __syncthreads(); // the stage is there for all, and the one before it is free
        load(step + kStages - 1);
        const uint8_t *stage = shared + step % kStages * kStageNbytes;
        if (kLow != kNone && step < n_low)
            multiply_stage<kLow>(low, stage);
        else if (kHigh != kNone)
            multiply_stage<kHigh>(high, stage);
    }
    cp_async_wait<0>();
    store_tile<kLow, kHigh>(g, low, high, tile);
}

bool is_part_legal(const SqPart &p)
{
    return p.k > 0 && p.k % 32 == 0 && p.k <= kSqImmaMaxK;
}

template <Segment kLow, Segment kHigh>
enum sq_status launch(const SqGemmImma *g, cudaStream_t stream, struct sq_error *err)
{
    if ((kLow != kNone && !is_part_legal(g->low)) || (kHigh != kNone && !is_part_legal(g->high)))
        return SQ_FAIL(err, SQ_ERR_SHAPE, "k_lo = %d, k_hi = %d, need multiples of 32 up to %d",
                       g->low.k, g->high.k, kSqImmaMaxK);
    const size_t nbytes = static_cast<size_t>(kStages) * kStageNbytes;
    const unsigned n_blocks =
        static_cast<unsigned>(sq_div_up(g->m, kTileM) * sq_div_up(g->n, kTileN));
    auto *kernel = gemm_imma_kernel<kLow, kHigh>;
    SQ_TRY(sq_launch_prepare(kernel, nbytes, err));
    SQ_LAUNCH(kernel, n_blocks, kThreads, nbytes, stream, *g);
    return sq_launch_check(err);
}

} // namespace

const char *sq_int4_mode(SqImma kind, int cc_major)
{
    switch (kind) {
    case SQ_IMMA_W4A8:
    case SQ_IMMA_W4A4_UNPACK:
    case SQ_IMMA_SQ_A_UNPACK:
        return "emulated_unpack";
    case SQ_IMMA_W4A4_PTX_S4:
    case SQ_IMMA_SQ_A_PTX_S4:
        return cc_major == 8 ? "native" : "ptx_s4_emulated";
    default:
        return "none";
    }
}

enum sq_status sq_gemm_imma(SqImma kind, const SqGemmImma *g, cudaStream_t stream,
                            struct sq_error *err)
{
    if (g->m < 1 || g->n < 2 || g->n % 2 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "m = %d, n = %d, need m >= 1 and even n", g->m, g->n);
    switch (kind) {
    case SQ_IMMA_W8A8:
        return launch<kNone, kA8W8>(g, stream, err);
    case SQ_IMMA_W4A8:
        return launch<kNone, kA8W4>(g, stream, err);
    case SQ_IMMA_W4A4_UNPACK:
        return launch<kA4W4Unpack, kNone>(g, stream, err);
    case SQ_IMMA_W4A4_PTX_S4:
        return launch<kA4W4S4, kNone>(g, stream, err);
    case SQ_IMMA_SQ_A_UNPACK:
        return launch<kA4W4Unpack, kA8W4>(g, stream, err);
    case SQ_IMMA_SQ_A_PTX_S4:
        return launch<kA4W4S4, kA8W4>(g, stream, err);
    default:
        return SQ_FAIL(err, SQ_ERR_ARG, "integer kernel %d, need 0..%d", kind, SQ_IMMA_COUNT - 1);
    }
}
