// SPDX-License-Identifier: Apache-2.0
// The ceilings of multiplication: what the vendor's libraries reach on a large product.
#include <algorithm>
#include <memory>
#include <string>

#include "gpu/measure/sq_layer_bench.cuh"
#include "gpu/measure/sq_vendor.cuh"
#include "gpu/sq_kernels.cuh"
#include "gpu/sq_reference.cuh"

namespace
{

// Products of 8192^3 on random data by the vendor's libraries, one candidate list so that they
// share the clocks. FP8 is the faster of its two ways of adding. A ceiling that no library gives
// stays 0: a kernel of ours is never one.
struct Peak {
    SqVendorType type;
    bool is_sparse;
    const void *x, *w;
    double *peak;
    const char *name;
};

enum sq_status time_peaks(SqBench *b, const Peak *peaks, size_t n, int size, int samples, void *y,
                          struct sq_error *err)
{
    std::vector<std::unique_ptr<SqVendorGemm>> gemms;
    std::vector<SqCandidate> list;
    std::vector<double *> to;
    for (size_t i = 0; i < n; i++) {
        const Peak p = peaks[i];
        std::unique_ptr<SqVendorGemm> gemm;
        struct sq_error why = {};
        const enum sq_status made =
            p.is_sparse
                ? sq_cusparselt_gemm(p.type, size, size, size, p.x, p.w, y, b->stream, &gemm, &why)
                : sq_cublaslt_gemm(p.type, size, size, size, p.x, p.w, y, b->workspace,
                                   b->workspace_nbytes, b->stream, &gemm, &why);
        if (made != SQ_OK) {
            b->skipped[std::string("ceiling of ") + p.name] = why.text;
            continue;
        }
        SqVendorGemm *const g = gemm.get();
        gemms.push_back(std::move(gemm));
        SqCandidate candidate;
        candidate.launch = [=](int, cudaStream_t st, struct sq_error *e) {
            return g->run(p.x, p.w, y, st, e);
        };
        list.push_back(candidate);
        to.push_back(p.peak);
    }
    SQ_TRY(sq_time_candidates(&list, samples, b->stream, err));
    for (size_t i = 0; i < list.size(); i++)
        *to[i] = std::max(*to[i], 2e-6 * size * static_cast<double>(size) *
                                      static_cast<double>(size) / list[i].record.median_us);
    b->run.sp24_int8_tops /= 2; // executed, not dense-equivalent
    return SQ_OK;
}

} // namespace

enum sq_status sq_measure_peaks(SqBench *b, int size, int samples, struct sq_error *err)
{
    const size_t n = static_cast<size_t>(size) * static_cast<size_t>(size);
    const size_t mark = b->arena.used();
    const cudaStream_t stream = b->stream;
    std::vector<uint16_t> identity(static_cast<size_t>(size));
    uint16_t *x = b->arena.take<uint16_t>(n), *w = b->arena.take<uint16_t>(n);
    uint8_t *x8 = b->arena.take<uint8_t>(n), *w8 = b->arena.take<uint8_t>(n);
    uint8_t *xf = b->arena.take<uint8_t>(n), *wf = b->arena.take<uint8_t>(n);
    uint8_t *pruned = b->arena.take<uint8_t>(n);
    uint32_t *y = b->arena.take<uint32_t>(n);
    uint16_t *order = b->arena.take<uint16_t>(identity.size());
    float *s = b->arena.take<float>(2 * identity.size());
    if (!s)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "no room for products of %d^3", size);
    for (int i = 0; i < size; i++)
        identity[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
    SQ_CUDA_TRY(cudaMemcpy(order, identity.data(), 2 * identity.size(), cudaMemcpyHostToDevice),
                err);
    SQ_TRY(sq_random_bf16(x, size, size, 1, b->seed, stream, err));
    SQ_TRY(sq_random_bf16(w, size, size, 1, b->seed + 1, stream, err));
    const SqEncodeToken tokens[] = {{size, size, 8, x, x8, s}, {size, size, 8, w, w8, s + size}};
    const SqEncodePair pairs[] = {{size, size, 0, x, order, order, xf, nullptr, s},
                                  {size, size, 0, w, order, order, wf, nullptr, s + size}};
    for (int i = 0; i < 2; i++) {
        SQ_TRY(sq_encode_token(&tokens[i], stream, err));
        SQ_TRY(sq_encode_pair(&pairs[i], stream, err));
    }
    std::vector<uint32_t> host(n / 4); // elements 0 and 2 of four
    SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);
    SQ_CUDA_TRY(cudaMemcpy(host.data(), w8, n, cudaMemcpyDeviceToHost), err);
    for (uint32_t &four : host)
        four &= 0x00ff00ffu;
    SQ_CUDA_TRY(cudaMemcpy(pruned, host.data(), n, cudaMemcpyHostToDevice), err);
    const Peak peaks[] = {
        {SQ_VENDOR_BF16, false, x, w, &b->run.bf16_tflops, "BF16"},
        {SQ_VENDOR_FP8, false, xf, wf, &b->run.fp8_tflops, "FP8"},
        {SQ_VENDOR_FP8_FAST, false, xf, wf, &b->run.fp8_tflops, "FP8, fast accumulation"},
        {SQ_VENDOR_INT8, false, x8, w8, &b->run.int8_tops, "INT8"},
        {SQ_VENDOR_INT8, true, x8, pruned, &b->run.sp24_int8_tops, "2:4 INT8"}};
    const enum sq_status status =
        time_peaks(b, peaks, sizeof peaks / sizeof peaks[0], size, samples, y, err);
    b->arena.rewind(mark);
    return status;
}
