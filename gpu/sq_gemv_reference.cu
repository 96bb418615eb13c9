// SPDX-License-Identifier: Apache-2.0
// Unpacks each format and multiplies in binary64, one thread per element (sq_gemv_reference.cuh).
#include "gpu/sq_gemv_reference.cuh"

#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

constexpr int kThreads = 256;

unsigned n_blocks(size_t n)
{
    return static_cast<unsigned>((n + kThreads - 1) / kThreads);
}
SQ_DEVICE size_t thread_index()
{
    return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

SQ_DEVICE uint64_t mix(uint64_t z) // splitmix64 of a counter
{
    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// ---- random operands ----------------------------------------------------------------------------

// Two binary16 of exponent 2^-9, fraction at random.
SQ_DEVICE uint32_t random_scales(uint32_t bits)
{
    return 0x18001800u | (bits & 0x03ff03ffu);
}

// Half `half` of the word of row r, tile t: q_ss, q_zs about 2^-9 and 1/4, q_sz, q_zz about -1, -2.
SQ_DEVICE uint32_t random_spqr(size_t i, uint64_t seed)
{
    const size_t word = i / 2, tile = word / 16;
    const uint64_t noise = mix(seed + tile), codes = mix(seed ^ mix(word));
    const uint64_t second = UINT64_C(0xc000bc0034001800) | (noise & UINT64_C(0x00ff00ff00ff00ff));
    const SqSpqrRow row = {static_cast<uint32_t>(codes & 7u),
                           static_cast<uint32_t>(codes >> 3 & 7u), codes >> 16,
                           static_cast<uint32_t>(second >> (8 * sq_spqr_byte(word % 16)) & 255u)};
    return static_cast<uint32_t>(sq_spqr_word(row) >> (32 * (i % 2)));
}

SQ_KERNEL(kThreads, 2) random_kernel(SqRandom kind, uint32_t *out, size_t n, uint64_t seed)
{
    const size_t i = thread_index();
    if (i >= n)
        return;
    const uint32_t bits = static_cast<uint32_t>(mix(seed ^ mix(i)));
    const bool is_scale = kind == SQ_RANDOM_SCALES || (kind == SQ_RANDOM_Q4K && i % 36 == 0);
    out[i] = kind == SQ_RANDOM_SPQR_WORDS ? random_spqr(i, seed)
             : is_scale                   ? random_scales(bits)
                                          : bits;
}

SQ_KERNEL(kThreads, 2) narrow_kernel(const uint16_t *x, uint16_t *out, size_t n)
{
    const size_t i = thread_index();
    if (i < n) {
        const float v = sq_from_bf16(x[i]);
        out[i] = sq_to_f16(v > 65504.0f ? 65504.0f : v < -65504.0f ? -65504.0f : v);
    }
}

// ---- formats ------------------------------------------------------------------------------------

SQ_KERNEL(kThreads, 2)
unpack_dense_kernel(SqUnpack kind, int n, int k, const void *w, const uint16_t *s, float *out)
{
    const size_t i = thread_index();
    if (i >= static_cast<size_t>(n) * k)
        return;
    if (kind == SQ_UNPACK_F16) {
        out[i] = sq_from_f16(static_cast<const uint16_t *>(w)[i]);
        return;
    }
    const size_t row = i / k;
    const int column = static_cast<int>(i % k);
    const int nibble =
        kind == SQ_UNPACK_PAIRS ? sq_pairs_position(column) : sq_halves_position(column);
    const int code =
        static_cast<const uint8_t *>(w)[row * (k / 2) + nibble / 2] >> (4 * (nibble % 2)) & 15;
    const int q = kind == SQ_UNPACK_PAIRS ? code - 8 : code >= 8 ? code - 16 : code;
    out[i] =
        static_cast<float>(q) * sq_from_f16(s[row * (k / kSqGemvGroup) + column / kSqGemvGroup]);
}

SQ_KERNEL(kThreads, 2) unpack_gqsa_kernel(const SQ_GRID_CONSTANT SqGemvGqsa g, float *out)
{
    const size_t row = thread_index();
    if (row >= static_cast<size_t>(g.n))
        return;
    for (uint32_t e = g.row_index[row]; e < g.row_index[row + 1]; e++) {
        const SqGqsaMeta meta = sq_gqsa_meta_of(g.meta[e]);
        for (int i = 0; i < kSqGqsaGroup; i++) {
            const int nibble = sq_gqsa_position(i);
            const int q =
                g.codes[8 * static_cast<size_t>(e) + nibble / 2] >> (4 * (nibble % 2)) & 15;
            out[row * g.k + meta.column * kSqGqsaGroup + i] =
                static_cast<float>(q - static_cast<int>(meta.zero)) *
                sq_from_f16(static_cast<uint16_t>(meta.scale));
        }
    }
}

// Byte by byte as SPEC G.3 has it.
SQ_KERNEL(kThreads, 2) unpack_q4k_kernel(int n, int k, const uint8_t *w, float *out)
{
    const size_t i = thread_index();
    if (i >= static_cast<size_t>(n) * k)
        return;
    const size_t row = i / k, column = i % k, at = row % kSqQ4kRows, j = at / 32, l = at % 32;
    const uint8_t *const b = w + (row / kSqQ4kRows * k + column) * kSqQ4kNbytes, *const sc = b + 4;
    const int scale = j < 4 ? sc[j] & 63 : (sc[j + 4] & 15) | (sc[j - 4] >> 6) << 4;
    const int min = j < 4 ? sc[j + 4] & 63 : sc[j + 4] >> 4 | (sc[j] >> 6) << 4;
    const int q = b[16 + 32 * (j / 2) + l] >> (4 * (j % 2)) & 15;
    const float d = sq_from_f16(static_cast<uint16_t>(b[0] | b[1] << 8));
    const float dmin = sq_from_f16(static_cast<uint16_t>(b[2] | b[3] << 8));
    out[i] = d * static_cast<float>(scale) * static_cast<float>(q) - dmin * static_cast<float>(min);
}

// A sum, difference or product of two binary16, rounded to binary16.
SQ_DEVICE float half_round(float x)
{
    return sq_from_f16(sq_to_f16(x));
}

SQ_KERNEL(kThreads, 2) unpack_spqr_kernel(const SQ_GRID_CONSTANT SqGemvSpqr g, float *out)
{
    const size_t i = thread_index(), n_tiles = static_cast<size_t>(g.k / 16);
    if (i >= static_cast<size_t>(g.n) * n_tiles)
        return;
    const size_t r = i % 16, tile = i / 16 % n_tiles, tile_row = i / 16 / n_tiles;
    const uint64_t *const words =
        static_cast<const uint64_t *>(g.words) + (tile_row * n_tiles + tile) * 16;
    float second[4]; // q_ss, q_zs, q_sz, q_zz
    for (int q = 0; q < 4; q++)
        second[q] =
            sq_from_f16(static_cast<uint16_t>(sq_spqr_row_of(words[4 * q]).second_order |
                                              sq_spqr_row_of(words[4 * q + 2]).second_order << 8));
    const SqSpqrRow row = sq_spqr_row_of(words[r]);
    const float s = half_round(second[0] * half_round(static_cast<float>(row.scale) - second[2]));
    const float z = half_round(second[1] * half_round(static_cast<float>(row.zero) - second[3]));
    for (int j = 0; j < 16; j++) {
        const float w = static_cast<float>(row.codes >> (3 * j) & 7u);
        out[(tile_row * 16 + r) * g.k + tile * 16 + static_cast<size_t>(j)] =
            half_round(s * half_round(w - z));
    }
}

// Sums of binary16 weights and outliers fit binary32.
SQ_KERNEL(kThreads, 2) add_outliers_kernel(const SQ_GRID_CONSTANT SqGemvSpqr g, float *out)
{
    const size_t row = thread_index();
    if (row >= static_cast<size_t>(g.n))
        return;
    const uint32_t begin = g.offsets[g.is_ptcsr ? row / 16 : row];
    const uint32_t end = g.offsets[(g.is_ptcsr ? row / 16 : row) + 1];
    for (uint32_t e = begin; e < end; e++)
        if (!g.is_ptcsr || e % 16 == row % 16)
            out[row * g.k + (g.outliers[e] & 0xffffu)] +=
                sq_from_f16(static_cast<uint16_t>(g.outliers[e] >> 16));
}

// ---- product ------------------------------------------------------------------------------------

// A warp per row, lanes stride over k.
SQ_KERNEL(kThreads, 2) ref_kernel(const SQ_GRID_CONSTANT SqRefGemv g)
{
    const size_t row = thread_index() / 32, lane = thread_index() % 32;
    if (row >= static_cast<size_t>(g.n))
        return;
    for (int t = 0; t < g.m; t++) {
        double sum = 0;
        for (size_t i = lane; i < static_cast<size_t>(g.k); i += 32) {
            const size_t at = static_cast<size_t>(t) * g.k + i;
            const float x = g.type == SQ_INPUT_F16
                                ? sq_from_f16(static_cast<const uint16_t *>(g.x)[at])
                                : static_cast<float>(static_cast<const int8_t *>(g.x)[at]);
            if (fabsf(x) >= g.threshold)
                sum += static_cast<double>(x) * static_cast<double>(g.w[row * g.k + i]);
        }
        for (unsigned d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (lane == 0)
            g.y[static_cast<size_t>(t) * g.n + row] =
                g.s_x ? sum * static_cast<double>(g.s_x[t]) : sum;
    }
}

SQ_KERNEL(kThreads, 2)
compare_kernel(const float *got, const double *want, size_t n, SqDifference *d)
{
    const size_t i = thread_index();
    if (i >= n)
        return;
    const double error = fabs(static_cast<double>(got[i]) - want[i]);
    if (!(error < 1e30)) {
        atomicAdd(&d->n_wrong, 1ull);
        d->first = i;
        return;
    }
    atomicAdd(&d->sum_error, error * error);
    atomicAdd(&d->sum_ref, want[i] * want[i]);
    atomicMax(reinterpret_cast<unsigned long long *>(&d->max_abs),
              static_cast<unsigned long long>(__double_as_longlong(error)));
}

} // namespace

enum sq_status sq_random_words(SqRandom kind, uint32_t *out, size_t n_words, uint64_t seed,
                               cudaStream_t stream, struct sq_error *err)
{
    SQ_LAUNCH(random_kernel, n_blocks(n_words), kThreads, 0, stream, kind, out, n_words, seed);
    return sq_launch_check(err);
}

enum sq_status sq_bf16_to_f16(const uint16_t *x, uint16_t *out, size_t n, cudaStream_t stream,
                              struct sq_error *err)
{
    SQ_LAUNCH(narrow_kernel, n_blocks(n), kThreads, 0, stream, x, out, n);
    return sq_launch_check(err);
}

enum sq_status sq_unpack_dense(SqUnpack kind, int n, int k, const void *w, const uint16_t *s,
                               float *out, cudaStream_t stream, struct sq_error *err)
{
    SQ_LAUNCH(unpack_dense_kernel, n_blocks(static_cast<size_t>(n) * static_cast<size_t>(k)),
              kThreads, 0, stream, kind, n, k, w, s, out);
    return sq_launch_check(err);
}

enum sq_status sq_unpack_gqsa(const SqGemvGqsa *g, float *out, cudaStream_t stream,
                              struct sq_error *err)
{
    const size_t n = static_cast<size_t>(g->n) * static_cast<size_t>(g->k);
    SQ_CUDA_TRY(cudaMemsetAsync(out, 0, n * sizeof *out, stream), err);
    SQ_LAUNCH(unpack_gqsa_kernel, n_blocks(static_cast<size_t>(g->n)), kThreads, 0, stream, *g,
              out);
    return sq_launch_check(err);
}

enum sq_status sq_unpack_q4k(int n, int k, const uint8_t *w, float *out, cudaStream_t stream,
                             struct sq_error *err)
{
    SQ_LAUNCH(unpack_q4k_kernel, n_blocks(static_cast<size_t>(n) * static_cast<size_t>(k)),
              kThreads, 0, stream, n, k, w, out);
    return sq_launch_check(err);
}

enum sq_status sq_unpack_spqr(const SqGemvSpqr *g, float *out, cudaStream_t stream,
                              struct sq_error *err)
{
    SQ_LAUNCH(unpack_spqr_kernel,
              n_blocks(static_cast<size_t>(g->n) * (static_cast<size_t>(g->k) / 16)), kThreads, 0,
              stream, *g, out);
    SQ_TRY(sq_launch_check(err));
    SQ_LAUNCH(add_outliers_kernel, n_blocks(static_cast<size_t>(g->n)), kThreads, 0, stream, *g,
              out);
    return sq_launch_check(err);
}

enum sq_status sq_ref_gemv(const SqRefGemv *g, cudaStream_t stream, struct sq_error *err)
{
    SQ_LAUNCH(ref_kernel, n_blocks(32 * static_cast<size_t>(g->n)), kThreads, 0, stream, *g);
    return sq_launch_check(err);
}

enum sq_status sq_compare_f32(const float *got, const double *want, size_t n, SqDifference *d,
                              cudaStream_t stream, struct sq_error *err)
{
    SqDifference *on_device;
    SQ_CUDA_TRY(cudaMallocAsync(&on_device, sizeof *d, stream), err);
    SQ_CUDA_TRY(cudaMemsetAsync(on_device, 0, sizeof *d, stream), err);
    SQ_LAUNCH(compare_kernel, n_blocks(n), kThreads, 0, stream, got, want, n, on_device);
    SQ_TRY(sq_launch_check(err));
    SQ_CUDA_TRY(cudaMemcpyAsync(d, on_device, sizeof *d, cudaMemcpyDeviceToHost, stream), err);
    SQ_CUDA_TRY(cudaFreeAsync(on_device, stream), err);
    SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);
    return SQ_OK;
}
