// SPDX-License-Identifier: Apache-2.0
// 2:4 INT8 (SPEC E): compression on the GPU and the product by mma.sp::ordered_metadata.
//
// The sparse operand of the instruction is its A, so a block computes 128 channels x 128 tokens of
// the transposed output; lanes q = 0..7 hold consecutive channels of one token, 32 bytes of Y.
// Metadata lie in lane order (sq_meta24_index): each lane reads its operand word with no shuffling.
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"
#include "gpu/sq_ptx.cuh"

namespace
{

// ---- product ------------------------------------------------------------------------------------

constexpr int kTileN = 128, kTileM = 128, kThreads = 256, kStages = 4;
constexpr int kWarpN = 64, kWarpM = 32, kFragsN = kWarpN / 16, kFragsM = kWarpM / 8;
constexpr int kStepK = 128; // dense columns a step: 64 bytes of W, 128 of X
constexpr int kWChunks = 4, kXChunks = 8, kStepTiles = kStepK / 64;
constexpr int kWNbytes = kTileN * kWChunks * kChunkNbytes;
constexpr int kXNbytes = kTileM * kXChunks * kChunkNbytes;
constexpr int kMetaNbytes = kTileN / 16 * kStepTiles * 32 * 4;
constexpr int kStageNbytes = kWNbytes + kXNbytes + kMetaNbytes;

template <int kChunks>
SQ_DEVICE void load_rows(uint8_t *tile, const uint8_t *base, int row_nbytes, int row0, int n_rows,
                         int byte0)
{
#pragma unroll
    for (int i = 0; i < 128 * kChunks / kThreads; i++) {
        const int at = i * kThreads + static_cast<int>(threadIdx.x);
        const int row = at / kChunks, chunk = at % kChunks, byte = byte0 + chunk * kChunkNbytes;
        const bool is_inside = row0 + row < n_rows && byte < row_nbytes;
        const uint8_t *from = base + static_cast<size_t>(row0 + row) * row_nbytes + byte;
        cp_async_16(tile + sq_tile_offset<kChunks>(row, chunk), is_inside ? from : base,
                    is_inside ? kChunkNbytes : 0);
    }
}

// The stage's two 16 x 64 tiles of each of 8 groups of 16 channels: 256 contiguous bytes a group.
// Channels beyond n read the last group, columns beyond k are never multiplied: no lane ever sees a
// metadata word that was not written by the encoder.
SQ_DEVICE void load_meta(uint8_t *meta, const SqGemmSp24 &g, int step, int n0)
{
    const int at = static_cast<int>(threadIdx.x), row16 = at / 16, chunk = at % 16;
    if (at >= kMetaNbytes / kChunkNbytes)
        return;
    const int n_tiles = g.k / 64, tile = step * kStepTiles + chunk / 8;
    const int last = g.n / 16 - 1, group = n0 / 16 + row16 < last ? n0 / 16 + row16 : last;
    const uint32_t *from =
        g.meta + sq_meta24_index(static_cast<size_t>(group), static_cast<size_t>(tile),
                                 static_cast<size_t>(n_tiles), chunk % 8 * 4);
    cp_async_16(meta + at * kChunkNbytes, tile < n_tiles ? from : g.meta,
                tile < n_tiles ? kChunkNbytes : 0);
}

using Accumulators = int32_t[kFragsN][kFragsM][4];

// One 64-column slice of a stage.
SQ_DEVICE void multiply_slice(Accumulators &acc, const uint8_t *stage, int slice, int row_n,
                              int row_m)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint8_t *w = stage, *x = stage + kWNbytes;
    const uint32_t *meta = reinterpret_cast<const uint32_t *>(stage + kWNbytes + kXNbytes);
    uint32_t b[4][kFragsM]; // [16-row part of B][token block]
#pragma unroll
    for (int part = 0; part < 4; part++)
        ldmatrix_x4(b[part],
                    x + sq_tile_offset<kXChunks>(row_m + sq_ldmatrix_b(lane), 4 * slice + part));
#pragma unroll
    for (int i = 0; i < kFragsN; i++) {
        uint32_t a[4];
        const SqCell at = sq_ldmatrix_a(lane);
        ldmatrix_x4(a, w + sq_tile_offset<kWChunks>(row_n + 16 * i + at.row, 2 * slice + at.byte));
        const uint32_t e = meta[((row_n / 16 + i) * kStepTiles + slice) * 32 + lane];
#pragma unroll
        for (int j = 0; j < kFragsM; j++) {
            const uint32_t column[4] = {b[0][j], b[1][j], b[2][j], b[3][j]};
            mma_sp_s8_m16n8k64(acc[i][j], a, column, e);
        }
    }
}

SQ_DEVICE void store_tile(const SqGemmSp24 &g, const Accumulators &acc, int n0, int m0)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < kFragsM; j++)
#pragma unroll
        for (int i = 0; i < kFragsN; i++)
#pragma unroll
            for (int reg = 0; reg < 4; reg++) {
                const SqCell at = sq_fragment_d(lane, reg);
                const int channel = n0 + 16 * i + at.row, token = m0 + 8 * j + at.byte;
                if (channel >= g.n || token >= g.m)
                    continue;
                const int32_t p = acc[i][j][reg];
                const size_t to = static_cast<size_t>(token) * g.n + channel;
                g.y[to] = sq_scaled_sum(p, g.s_w[channel], g.s_x[token]);
                if (g.p)
                    g.p[to] = p;
            }
}

SQ_KERNEL(kThreads, 1) gemm_sp24_kernel(const SQ_GRID_CONSTANT SqGemmSp24 g)
{
    SQ_DYNAMIC_SHARED(shared);
    const SqTile tile =
        sq_tile_of(static_cast<int>(blockIdx.x), sq_div_up(g.m, kTileM), sq_div_up(g.n, kTileN));
    const int n0 = tile.col * kTileN, m0 = tile.row * kTileM;
    const int n_tiles = g.k / 64, n_steps = sq_div_up(g.k, kStepK);
    const auto load = [&](int step) {
        uint8_t *stage = shared + step % kStages * kStageNbytes;
        if (step < n_steps) {
            load_rows<kWChunks>(stage, g.w_values, g.k / 2, n0, g.n, step * kStepK / 2);
            load_rows<kXChunks>(stage + kWNbytes, g.x, g.k, m0, g.m, step * kStepK);
            load_meta(stage + kWNbytes + kXNbytes, g, step, n0);
        }
        cp_async_commit();
    };
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int row_n = warp % 2 * kWarpN, row_m = warp / 2 * kWarpM;
    Accumulators acc = {};
    for (int step = 0; step < kStages - 1; step++)
        load(step);
    for (int step = 0; step < n_steps; step++) {
        cp_async_wait<kStages - 2>();
        __syncthreads();
        load(step + kStages - 1);
        const uint8_t *stage = shared + step % kStages * kStageNbytes;
        multiply_slice(acc, stage, 0, row_n, row_m);
        if (step * kStepTiles + 1 < n_tiles)
            multiply_slice(acc, stage, 1, row_n, row_m);
    }
    cp_async_wait<0>();
    store_tile(g, acc, n0 + row_n, m0 + row_m);
}

// ---- compression -------------------------------------------------------------------------------

constexpr int kCompressThreads = 256;

// 16 dense codes -> 8 values and one 16-bit metadata word (SPEC E.3).
SQ_DEVICE uint32_t compress_word(const uint4 &dense, bool prune, uint2 *values, unsigned *refused)
{
    const uint32_t four[4] = {dense.x, dense.y, dense.z, dense.w};
    uint32_t word = 0, pair[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t nibble = 0;
        pair[i] = 0;
        if (!sq_meta24_compress(prune ? sq_prune24(four[i]) : four[i], &pair[i], &nibble)) {
            nibble = sq_meta24_nibble(0, 1);
            ++*refused;
        }
        word |= nibble << (4 * i);
    }
    *values = make_uint2(pair[0] | pair[1] << 16, pair[2] | pair[3] << 16);
    return word;
}

// One thread makes one metadata operand: 32 dense columns of one row. A warp makes a 16 x 64 tile.
SQ_KERNEL(kCompressThreads, 4) compress24_kernel(const SQ_GRID_CONSTANT SqCompress24 c)
{
    const size_t index = static_cast<size_t>(blockIdx.x) * kCompressThreads + threadIdx.x;
    const size_t n_col64 = static_cast<size_t>(c.k) / 64, tile = index / 32;
    if (tile >= static_cast<size_t>(c.n) / 16 * n_col64)
        return;
    const int lane = static_cast<int>(index % 32);
    const SqCell at = sq_meta24_lane(lane);
    const size_t row = tile / n_col64 * 16 + static_cast<size_t>(at.row);
    const size_t col = tile % n_col64 * 64 + static_cast<size_t>(at.byte) * 16;
    const uint4 *from = reinterpret_cast<const uint4 *>(c.w + row * c.k + col);
    uint2 values[2];
    unsigned refused = 0;
    const uint32_t low = compress_word(from[0], c.prune, &values[0], &refused);
    const uint32_t high = compress_word(from[1], c.prune, &values[1], &refused);
    *reinterpret_cast<uint4 *>(c.w_values + (row * c.k + col) / 2) =
        make_uint4(values[0].x, values[0].y, values[1].x, values[1].y);
    c.meta[index] = low | high << 16;
    if (c.meta_rows)
        *reinterpret_cast<uint32_t *>(c.meta_rows + (row * c.k + col) / 16) = low | high << 16;
    if (refused)
        atomicAdd(c.n_refused, refused);
}

} // namespace

enum sq_status sq_sp24_check_shape(int n, int k, struct sq_error *err)
{
    if (n < 16 || n % 16 != 0 || k < 64 || k % 64 != 0 || k > 131072)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "2:4 with n = %d, k = %d, need n %% 16 = 0, k %% 64 = 0, k <= 131072", n, k);
    return SQ_OK;
}

enum sq_status sq_gemm_sp24(const SqGemmSp24 *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(sq_sp24_check_shape(g->n, g->k, err));
    if (g->m < 1)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "m = %d, need >= 1", g->m);
    const size_t nbytes = static_cast<size_t>(kStages) * kStageNbytes;
    const unsigned n_blocks =
        static_cast<unsigned>(sq_div_up(g->m, kTileM) * sq_div_up(g->n, kTileN));
    SQ_TRY(sq_launch_prepare(gemm_sp24_kernel, nbytes, err));
    SQ_LAUNCH(gemm_sp24_kernel, n_blocks, kThreads, nbytes, stream, *g);
    return sq_launch_check(err);
}

enum sq_status sq_compress24(const SqCompress24 *c, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(sq_sp24_check_shape(c->n, c->k, err));
    const size_t n_threads = static_cast<size_t>(c->n) / 16 * (static_cast<size_t>(c->k) / 64) * 32;
    const unsigned n_blocks =
        static_cast<unsigned>(sq_div_up(n_threads, static_cast<size_t>(kCompressThreads)));
    SQ_LAUNCH(compress24_kernel, n_blocks, kCompressThreads, 0, stream, *c);
    return sq_launch_check(err);
}
