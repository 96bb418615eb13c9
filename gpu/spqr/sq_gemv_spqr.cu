// SPDX-License-Identifier: Apache-2.0
// SpQR decode, twice.
//
// Published: a thread per tile row, second order rebuilt by three xor shuffles, weights dequantised
// one by one in binary16, binary32 multiply-add, x in shared memory. 9.9 instructions a weight
// in the machine code (gpu/README.md, "Predictions"): bound by issue on a fast memory.
//
// Repacked: the same bits in an order (sq_gemv_maps.cuh) in which one mask yields two codes as
// binary16, scale and zero of a row are one pair, and a quad of tiles shares its second order by
// two shuffles a tile: s (sum q x - z sum x). 4.05 instructions a weight in the
// machine code.
#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_ptx.cuh"

namespace
{

constexpr int kThreads = 256, kWorkers = kThreads / 16, kTile = 16;

// Outliers of the block's row r = thread % 16, entries of worker u = thread / 16, added to acc.
SQ_DEVICE float add_outliers(const SqGemvSpqr &g, int row, float acc)
{
    const uint32_t u = threadIdx.x / 16, r = threadIdx.x % 16;
    const uint32_t block = static_cast<uint32_t>(row) / kTile;
    const uint32_t begin = __ldg(&g.offsets[g.is_ptcsr ? block : static_cast<uint32_t>(row)]);
    const uint32_t end = __ldg(&g.offsets[g.is_ptcsr ? block + 1 : static_cast<uint32_t>(row) + 1]);
    const uint32_t n = g.is_ptcsr ? (end - begin) / 16 : end - begin;
    for (uint32_t t = u; t < n; t += kWorkers) {
        const uint32_t word = ld_stream_4(&g.outliers[begin + (g.is_ptcsr ? 16 * t + r : t)]);
        const float x = f16_to_f32(__ldg(&g.x[word & 0xffffu]));
        acc = __fmaf_rn(f16_to_f32(word >> 16), x, acc); // a missing entry is 0 x[0]
    }
    return acc;
}

// acc of worker u = thread / 16 and row r = thread % 16: the sum over workers ascending.
SQ_DEVICE void store_rows(const SqGemvSpqr &g, int row0, float acc)
{
    __shared__ float sums[kWorkers][kTile];
    sums[threadIdx.x / 16][threadIdx.x % 16] = acc;
    __syncthreads();
    if (threadIdx.x >= kTile)
        return;
    float y = sums[0][threadIdx.x];
#pragma unroll
    for (int u = 1; u < kWorkers; u++)
        y = __fadd_rn(y, sums[u][threadIdx.x]);
    g.y[row0 + static_cast<int>(threadIdx.x)] = __fadd_rn(y, 0.0f);
}

// ---- published ----------------------------------------------------------------------------------

SQ_DEVICE uint64_t or_over_tile(uint64_t v)
{
    uint32_t low = static_cast<uint32_t>(v), high = static_cast<uint32_t>(v >> 32);
#pragma unroll
    for (unsigned d = 2; d <= 8; d *= 2) { // rows 2i and 2i + 1 carry the same byte
        low |= __shfl_xor_sync(0xffffffffu, low, d);
        high |= __shfl_xor_sync(0xffffffffu, high, d);
    }
    return low | static_cast<uint64_t>(high) << 32;
}

// Integers 0..7 in both halves as binary16.
SQ_DEVICE uint32_t small_f16x2(uint32_t low, uint32_t high)
{
    return f16x2_add((low | high << 16) | 0x64006400u, kF16x2Minus1024);
}

SQ_KERNEL(kThreads, 4) gemv_spqr_kernel(const SQ_GRID_CONSTANT SqGemvSpqr g)
{
    SQ_DYNAMIC_SHARED(shared);
    uint16_t *const x = reinterpret_cast<uint16_t *>(shared);
    for (int i = static_cast<int>(threadIdx.x); i < g.k / 8; i += kThreads)
        reinterpret_cast<uint4 *>(x)[i] = __ldg(reinterpret_cast<const uint4 *>(g.x) + i);
    __syncthreads();
    const int row0 = static_cast<int>(blockIdx.x) * kTile, n_tiles = g.k / kTile;
    const int r = static_cast<int>(threadIdx.x) % kTile;
    const uint64_t *const words = static_cast<const uint64_t *>(g.words) +
                                  static_cast<size_t>(blockIdx.x) * n_tiles * kTile + r;
    float acc = 0;
    for (int tile = static_cast<int>(threadIdx.x) / 16; tile < n_tiles; tile += kWorkers) {
        const uint2 v = ld_stream_8(words + static_cast<size_t>(tile) * kTile);
        const SqSpqrRow row = sq_spqr_row_of(v.x | static_cast<uint64_t>(v.y) << 32);
        const uint64_t second =
            or_over_tile(static_cast<uint64_t>(row.second_order) << (8 * sq_spqr_byte(r)));
        // (scale, zero) = (q_ss, q_zs) ((a, c) - (q_sz, q_zz)), each rounded to binary16
        const uint32_t scales = static_cast<uint32_t>(second),
                       zeros = static_cast<uint32_t>(second >> 32);
        const uint32_t sz = f16x2_mul(scales, f16x2_sub(small_f16x2(row.scale, row.zero), zeros));
        const uint32_t s2 = (sz & 0xffffu) | sz << 16, z2 = sz >> 16 | (sz & 0xffff0000u);
#pragma unroll
        for (int j = 0; j < 16; j += 2) {
            const uint32_t q = small_f16x2(static_cast<uint32_t>(row.codes >> (3 * j)) & 7u,
                                           static_cast<uint32_t>(row.codes >> (3 * j + 3)) & 7u);
            const uint32_t w = f16x2_mul(s2, f16x2_sub(q, z2));
            const uint32_t xs = *reinterpret_cast<const uint32_t *>(&x[tile * kTile + j]);
            acc = __fmaf_rn(f16_to_f32(xs), f16_to_f32(w), acc);
            acc = __fmaf_rn(f16_to_f32(xs >> 16), f16_to_f32(w >> 16), acc);
        }
    }
    store_rows(g, row0, add_outliers(g, row0 + r, acc));
}

// ---- repacked -----------------------------------------------------------------------------------

// Both codes of pairs 0..2 at the lower end of a word, as binary16 pairs, exact.
SQ_DEVICE uint32_t pair0(uint32_t word)
{
    return f16x2_add((word & 0x00070007u) | 0x64006400u, kF16x2Minus1024);
}
SQ_DEVICE uint32_t pair1(uint32_t word)
{
    return f16x2_fma((word & 0x00380038u) | 0x64006400u, kF16x2Eighth, kF16x2Minus128);
}
SQ_DEVICE uint32_t pair2(uint32_t word)
{
    return f16x2_fma((word & 0x01c001c0u) | 0x64006400u, kF16x2SixtyFourth, kF16x2Minus16);
}

// A tile row times its 16 activations: s (sum q x - z sum x). second_scale = (q_ss, q_zs),
// second_zero = (q_sz, q_zz).
SQ_DEVICE float tile_row(uint32_t lo, uint32_t hi, uint32_t second_scale, uint32_t second_zero,
                         const uint4 *x, float x_sum, float acc)
{
    const uint4 xa = __ldg(x), xb = __ldg(x + 1);
    const uint32_t lo9 = lo >> 9, hi9 = hi >> 9;
    uint32_t p = f16x2_mul(pair0(lo), xa.x);
    p = f16x2_fma(pair1(lo), xa.y, p);
    p = f16x2_fma(pair2(lo), xa.z, p);
    p = f16x2_fma(pair0(lo9), xa.w, p);
    p = f16x2_fma(pair1(lo9), xb.x, p);
    p = f16x2_fma(pair0(hi), xb.y, p);
    p = f16x2_fma(pair1(hi), xb.z, p);
    p = f16x2_fma(pair2(hi), xb.w, p);
    const uint32_t sz = f16x2_mul(second_scale, f16x2_sub(pair0(hi9), second_zero));
    const float sum = __fadd_rn(f16_to_f32(p), f16_to_f32(p >> 16));
    return __fmaf_rn(f16_to_f32(sz), __fmaf_rn(-f16_to_f32(sz >> 16), x_sum, sum), acc);
}

struct Quad {
    uint4 tiles01, tiles23;
};
SQ_DEVICE Quad load_quad(const SqGemvSpqr &g, int quad, int r)
{
    const uint4 *const chunks = static_cast<const uint4 *>(g.words);
    const size_t n_quads = static_cast<size_t>(g.k / 64), q = static_cast<size_t>(quad);
    if (64 * quad >= g.k)
        return {make_uint4(0, 0, 0, 0), make_uint4(0, 0, 0, 0)};
    return {ld_stream_16(&chunks[sq_spqr_chunk(blockIdx.x, q, n_quads, 0, r)]),
            ld_stream_16(&chunks[sq_spqr_chunk(blockIdx.x, q, n_quads, 1, r)])};
}

SQ_KERNEL(kThreads, 4) gemv_spqr_repacked_kernel(const SQ_GRID_CONSTANT SqGemvSpqr g)
{
    SQ_DYNAMIC_SHARED(shared);
    float *const x_sum = reinterpret_cast<float *>(shared); // of every 16 activations
    const int r = static_cast<int>(threadIdx.x) % kTile, u = static_cast<int>(threadIdx.x) / kTile;
    const int row0 = static_cast<int>(blockIdx.x) * kTile;
    Quad next = load_quad(g, u, r);
    for (int i = static_cast<int>(threadIdx.x); i < g.k / kTile; i += kThreads) {
        float sum = 0;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint4 v = __ldg(reinterpret_cast<const uint4 *>(g.x) + 2 * i + h);
            const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum = __fadd_rn(__fadd_rn(sum, f16_to_f32(words[j])), f16_to_f32(words[j] >> 16));
        }
        x_sum[i] = sum;
    }
    __syncthreads();
    float acc = 0;
    const int n_rounds = sq_div_up(g.k / 64, kWorkers);
    const unsigned half_warp = threadIdx.x & 16u;
    for (int i = 0; i < n_rounds; i++) { // shuffles: all lanes, also those without a quad
        const int quad = u + i * kWorkers;
        const Quad q = next;
        next = load_quad(g, quad + kWorkers, r);
        const uint32_t lo[4] = {q.tiles01.x, q.tiles01.z, q.tiles23.x, q.tiles23.z};
        const uint32_t hi[4] = {q.tiles01.y, q.tiles01.w, q.tiles23.y, q.tiles23.w};
        const uint32_t carried = sq_spqr_carried(hi);
        const bool is_inside = 64 * quad < g.k;
        const int at = is_inside ? 64 * quad : 0; // words of zeros: s = 0
#pragma unroll
        for (int t = 0; t < 4; t++) {
            const uint32_t scales = __shfl_sync(
                0xffffffffu, carried, half_warp + static_cast<unsigned>(sq_spqr_carrier(t, 0)));
            const uint32_t zeros = __shfl_sync(
                0xffffffffu, carried, half_warp + static_cast<unsigned>(sq_spqr_carrier(t, 1)));
            acc = tile_row(lo[t], hi[t], scales, zeros,
                           reinterpret_cast<const uint4 *>(g.x + at + kTile * t),
                           x_sum[at / kTile + t], acc);
        }
    }
    store_rows(g, row0, add_outliers(g, row0 + r, acc));
}

// ---- repacking ----------------------------------------------------------------------------------

// One thread per row of a quad of tiles.
SQ_KERNEL(kThreads, 2) repack_kernel(const SQ_GRID_CONSTANT SqSpqrRepack g)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
    const size_t n_quads = static_cast<size_t>(g.k / 64), n_tiles = 4 * n_quads;
    const size_t row = i % kTile, quad = i / kTile % n_quads, tile_row = i / kTile / n_quads;
    if (tile_row >= static_cast<size_t>(g.n / kTile))
        return;
    const uint64_t *const words = g.words + (tile_row * n_tiles + 4 * quad) * kTile;
    // what this row carries: half (row % 4) / 2 of the second order of tile row / 4
    uint32_t carried = 0;
    for (int byte = 0; byte < 4; byte++) {
        const size_t from = 8 * (row % 4 / 2) + 2 * static_cast<size_t>(byte);
        carried |= sq_spqr_row_of(words[row / 4 * kTile + from]).second_order << (8 * byte);
    }
    uint32_t out[8];
    for (int t = 0; t < 4; t++) {
        const SqSpqrRow w = sq_spqr_row_of(words[static_cast<size_t>(t) * kTile + row]);
        const SqSpqrPair p = sq_spqr_repack(w.codes, w.scale, w.zero, sq_spqr_nibbles(carried, t));
        out[2 * t] = p.lo;
        out[2 * t + 1] = p.hi;
    }
    for (int h = 0; h < 2; h++)
        g.chunks[sq_spqr_chunk(tile_row, quad, n_quads, h, static_cast<int>(row))] =
            make_uint4(out[4 * h], out[4 * h + 1], out[4 * h + 2], out[4 * h + 3]);
}

enum sq_status check_shape(int n, int k, int step, struct sq_error *err)
{
    if (n < kTile || n % kTile != 0 || k < step || k % step != 0 || k > 65536)
        return SQ_FAIL(err, SQ_ERR_SHAPE,
                       "n = %d, k = %d: need n %% 16 = 0, k %% %d = 0, k <= 65536", n, k, step);
    return SQ_OK;
}

} // namespace

enum sq_status sq_gemv_spqr(const SqGemvSpqr *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(check_shape(g->n, g->k, 256, err));
    const size_t nbytes = 2 * static_cast<size_t>(g->k);
    SQ_TRY(sq_launch_prepare(gemv_spqr_kernel, nbytes, err));
    SQ_LAUNCH(gemv_spqr_kernel, static_cast<unsigned>(g->n / kTile), kThreads, nbytes, stream, *g);
    return sq_launch_check(err);
}

enum sq_status sq_gemv_spqr_repacked(const SqGemvSpqr *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_TRY(check_shape(g->n, g->k, 64, err));
    const size_t nbytes = 4 * static_cast<size_t>(g->k / kTile);
    SQ_LAUNCH(gemv_spqr_repacked_kernel, static_cast<unsigned>(g->n / kTile), kThreads, nbytes,
              stream, *g);
    return sq_launch_check(err);
}

enum sq_status sq_spqr_repack_words(const SqSpqrRepack *r, cudaStream_t stream,
                                    struct sq_error *err)
{
    SQ_TRY(check_shape(r->n, r->k, 64, err));
    const size_t n_threads = static_cast<size_t>(r->n) * static_cast<size_t>(r->k / 64);
    SQ_LAUNCH(repack_kernel, static_cast<unsigned>(sq_div_up<size_t>(n_threads, kThreads)),
              kThreads, 0, stream, *r);
    return sq_launch_check(err);
}
