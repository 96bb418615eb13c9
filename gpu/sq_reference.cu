// SPDX-License-Identifier: Apache-2.0
// Makes random inputs, and multiplies them with one plain thread per output (sq_reference.cuh).
#include "gpu/sq_reference.cuh"

#include "gpu/sq_maps.cuh"
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

// splitmix64 of a counter: the generator of models/sq_rng.h, one draw per element.
SQ_DEVICE uint64_t mix(uint64_t z)
{
    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

SQ_KERNEL(kThreads, 2) random_kernel(uint16_t *out, size_t n, int k, float scale, uint64_t seed)
{
    const size_t i = thread_index();
    if (i >= n)
        return;
    const uint64_t bits = mix(seed ^ mix(i)), channel = mix(seed + i % static_cast<size_t>(k));
    int sum = -2 * 65536; // four uniforms of 16 bits: mean 0, deviation 0.58 of 65536
    for (int j = 0; j < 4; j++)
        sum += static_cast<int>(bits >> (16 * j) & 0xffffu);
    const float outlier = channel % 128 == 0 ? static_cast<float>(8 + (channel >> 32) % 17) : 1.0f;
    out[i] = sq_to_bf16((static_cast<float>(sum) + 0.5f) / 65536.0f * scale * outlier);
}

SQ_KERNEL(kThreads, 2) widen_kernel(const uint16_t *x, float *out, size_t n)
{
    const size_t i = thread_index();
    if (i < n)
        out[i] = sq_from_bf16(x[i]);
}

SQ_DEVICE int code_at(const uint8_t *row, int i, SqOrder order)
{
    if (order == SQ_ORDER_BYTES)
        return static_cast<int8_t>(row[i]);
    const int nibble = order == SQ_ORDER_HALVES4 ? sq_halves_position(i) : i;
    const int code = row[nibble / 2] >> (4 * (nibble % 2)) & 15;
    return code >= 8 ? code - 16 : code;
}

SQ_DEVICE int row_nbytes(int k, SqOrder order)
{
    return order == SQ_ORDER_BYTES ? k : k / 2;
}

SQ_KERNEL(kThreads, 2)
repack_kernel(const uint8_t *codes, size_t rows, int k, const uint16_t *perm, int n, SqOrder order,
              uint8_t *out)
{
    const size_t i = thread_index();
    if (i >= rows * static_cast<size_t>(n / 2))
        return;
    const size_t row = i / static_cast<size_t>(n / 2);
    const int byte = static_cast<int>(i % static_cast<size_t>(n / 2));
    const int first = order == SQ_ORDER_HALVES4 ? byte / 16 * 32 + byte % 16 : 2 * byte;
    const int second = first + (order == SQ_ORDER_HALVES4 ? 16 : 1);
    const uint8_t *from = codes + row * static_cast<size_t>(k / 2);
    const int lo = code_at(from, perm ? perm[first] : first, SQ_ORDER_NATURAL4);
    const int hi = code_at(from, perm ? perm[second] : second, SQ_ORDER_NATURAL4);
    out[i] = static_cast<uint8_t>((lo & 15) | (hi & 15) << 4);
}

SQ_KERNEL(kThreads, 2)
ref_integer_kernel(SqRefPart part, int n, int rows, int row0, int row_step, int64_t *p)
{
    const size_t i = thread_index();
    if (i >= static_cast<size_t>(rows) * n)
        return;
    const size_t row = static_cast<size_t>(row0) + i / n * row_step, col = i % n;
    const uint8_t *x = part.x + row * row_nbytes(part.k, part.x_order);
    const uint8_t *w = part.w + col * row_nbytes(part.k, part.w_order);
    int64_t sum = 0;
    for (int k = 0; k < part.k; k++)
        sum += code_at(x, k, part.x_order) * code_at(w, k, part.w_order);
    p[i] = sum;
}

// What a right kernel may be off by: BF16 output keeps 8 bits; FP8 products are added 32 at a time
// with 13 fraction bits kept (arXiv 2412.19437, section 3.5.2), BF16 ones in FP32. `low` and `high`
// are sums of magnitudes of products.
SQ_DEVICE double pair_allowance(double sum, double low, double high, int k_lo)
{
    const double steps = static_cast<double>(k_lo / 32);
    return fabs(sum) * (0x1p-8 + steps * 0x1p-13) + low * 0x1p-9 + high * 0x1p-16;
}

SQ_KERNEL(kThreads, 2)
ref_pair_kernel(SqGemmPair g, int rows, int row0, int row_step, double *y, double *allowed)
{
    const size_t i = thread_index();
    if (i >= static_cast<size_t>(rows) * g.n)
        return;
    const size_t row = static_cast<size_t>(row0) + i / g.n * row_step, col = i % g.n;
    double sum = 0, low = 0, high = 0;
    for (int k = 0; k < g.k_lo; k++) {
        const double p = static_cast<double>(sq_from_e4m3(g.x_lo[row * g.k_lo + k])) *
                         static_cast<double>(sq_from_e4m3(g.w_lo[col * g.k_lo + k]));
        sum += p;
        low += fabs(p);
    }
    for (int k = 0; k < g.k_hi; k++) {
        const double p = static_cast<double>(sq_from_bf16(g.x_hi[row * g.k_hi + k])) *
                         static_cast<double>(sq_from_bf16(g.w_hi[col * g.k_hi + k]));
        sum += p;
        high += fabs(p);
    }
    const double scale = static_cast<double>(g.s_x[row]) * static_cast<double>(g.s_w[col]);
    y[i] = sum * scale;
    allowed[i] = pair_allowance(sum, low, high, g.k_lo) * fabs(scale);
}

SQ_DEVICE double atomic_max(double *at, double v)
{
    unsigned long long *word = reinterpret_cast<unsigned long long *>(at);
    return __longlong_as_double(static_cast<long long>(
        atomicMax(word, static_cast<unsigned long long>(__double_as_longlong(v))))); // v >= 0
}

template <class Got, class Want>
SQ_KERNEL(kThreads, 2)
compare_kernel(const Got *got, const Want *want, const double *allowed, int n, int rows, int row0,
               int row_step, SqDifference *d)
{
    const size_t i = thread_index();
    if (i >= static_cast<size_t>(rows) * n)
        return;
    const size_t at = (static_cast<size_t>(row0) + i / n * row_step) * n + i % n;
    if constexpr (sizeof(Got) == 4) {
        if (static_cast<Want>(got[at]) != want[i]) {
            atomicAdd(&d->n_wrong, 1ull);
            d->first = at;
        }
    } else {
        const double value = static_cast<double>(sq_from_bf16(got[at]));
        const double error = value - want[i];
        if (!(fabs(error) <= allowed[i])) { // or NaN: a poisoned output that nobody wrote
            atomicAdd(&d->n_wrong, 1ull);
            d->first = at;
        }
        if (!(error == error))
            return;
        atomicAdd(&d->sum_error, error * error);
        atomicAdd(&d->sum_ref, want[i] * want[i]);
        atomic_max(&d->max_abs, fabs(error));
    }
}

template <class Got, class Want>
enum sq_status compare(const Got *got, const Want *want, const double *allowed, int n, int rows,
                       int row0, int row_step, SqDifference *out, cudaStream_t stream,
                       struct sq_error *err)
{
    SqDifference *d;
    SQ_CUDA_TRY(cudaMallocAsync(&d, sizeof *d, stream), err);
    SQ_CUDA_TRY(cudaMemsetAsync(d, 0, sizeof *d, stream), err);
    auto *kernel = compare_kernel<Got, Want>;
    SQ_LAUNCH(kernel, n_blocks(static_cast<size_t>(rows) * n), kThreads, 0, stream, got, want,
              allowed, n, rows, row0, row_step, d);
    SQ_TRY(sq_launch_check(err));
    SQ_CUDA_TRY(cudaMemcpyAsync(out, d, sizeof *d, cudaMemcpyDeviceToHost, stream), err);
    SQ_CUDA_TRY(cudaFreeAsync(d, stream), err);
    SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);
    return SQ_OK;
}

} // namespace

enum sq_status sq_random_bf16(uint16_t *out, size_t rows, int k, float scale, uint64_t seed,
                              cudaStream_t stream, struct sq_error *err)
{
    const size_t n = rows * static_cast<size_t>(k);
    SQ_LAUNCH(random_kernel, n_blocks(n), kThreads, 0, stream, out, n, k, scale, seed);
    return sq_launch_check(err);
}

enum sq_status sq_widen_bf16(const uint16_t *x, float *out, size_t n, cudaStream_t stream,
                             struct sq_error *err)
{
    SQ_LAUNCH(widen_kernel, n_blocks(n), kThreads, 0, stream, x, out, n);
    return sq_launch_check(err);
}

enum sq_status sq_repack4(const uint8_t *codes, size_t rows, int k, const uint16_t *perm, int n,
                          SqOrder order, uint8_t *out, cudaStream_t stream, struct sq_error *err)
{
    if (order == SQ_ORDER_BYTES || n % 32 != 0 || k % 2 != 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "repack of %d columns, need 4-bit orders and n %% 32 = 0",
                       n);
    SQ_LAUNCH(repack_kernel, n_blocks(rows * static_cast<size_t>(n / 2)), kThreads, 0, stream,
              codes, rows, k, perm, n, order, out);
    return sq_launch_check(err);
}

enum sq_status sq_ref_integer(const SqRefPart *part, int n, int rows, int row0, int row_step,
                              int64_t *p, cudaStream_t stream, struct sq_error *err)
{
    SQ_LAUNCH(ref_integer_kernel, n_blocks(static_cast<size_t>(rows) * n), kThreads, 0, stream,
              *part, n, rows, row0, row_step, p);
    return sq_launch_check(err);
}

enum sq_status sq_ref_pair(const SqGemmPair *g, int rows, int row0, int row_step, double *y,
                           double *allowed, cudaStream_t stream, struct sq_error *err)
{
    SQ_LAUNCH(ref_pair_kernel, n_blocks(static_cast<size_t>(rows) * g->n), kThreads, 0, stream, *g,
              rows, row0, row_step, y, allowed);
    return sq_launch_check(err);
}

enum sq_status sq_compare_i32(const int32_t *got, const int64_t *want, int n, int rows, int row0,
                              int row_step, SqDifference *d, cudaStream_t stream,
                              struct sq_error *err)
{
    return compare(got, want, nullptr, n, rows, row0, row_step, d, stream, err);
}

enum sq_status sq_compare_bf16(const uint16_t *got, const double *want, const double *allowed,
                               int n, int rows, int row0, int row_step, SqDifference *d,
                               cudaStream_t stream, struct sq_error *err)
{
    return compare(got, want, allowed, n, rows, row0, row_step, d, stream, err);
}
