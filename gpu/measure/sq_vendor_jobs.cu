// SPDX-License-Identifier: Apache-2.0
// The baselines of one layer shape: cuBLASLt and cuSPARSELt, their records and checks.
#include "gpu/measure/sq_layer_jobs.cuh"

enum sq_status SqLayerBench::add_vendor(SqVendorType type, struct sq_error *err)
{
    const bool is_fp8 = type == SQ_VENDOR_FP8 || type == SQ_VENDOR_FP8_FAST;
    struct sq_record r = base("cublaslt", type == SQ_VENDOR_FP8_FAST ? "tuned_fast_accum" : "tuned",
                              "gpu/measure/sq_cublaslt.cu");
    r.impl = "cublaslt";
    const bool is_int = type == SQ_VENDOR_INT8, is_bf16 = type == SQ_VENDOR_BF16;
    const size_t size = is_bf16 ? 2 : 1;
    uint8_t *x = is_bf16 ? reinterpret_cast<uint8_t *>(x_) : x8_;
    uint8_t *w = is_bf16 ? reinterpret_cast<uint8_t *>(w_) : w8_;
    float *s_x = ones_, *s_w = ones_;
    if (is_fp8) { // the operands of the fused kernel at s = 1
        SqLists all;
        SQ_TRY(make_lists(1, &all, err));
        SQ_TRY(take(&x, m_ * k_, err));
        SQ_TRY(take(&w, n_ * k_, err));
        SQ_TRY(take(&s_x, m_, err));
        SQ_TRY(take(&s_w, n_, err));
        const SqEncodePair ex = {s_.m, s_.k, 0, x_, all.perm_hi, all.perm_lo, x, nullptr, s_x};
        const SqEncodePair ew = {s_.n, s_.k, 0, w_, all.perm_hi, all.perm_lo, w, nullptr, s_w};
        SQ_TRY(sq_encode_pair(&ex, b_.stream, err));
        SQ_TRY(sq_encode_pair(&ew, b_.stream, err));
        r.dtype_x = r.dtype_w = "e4m3";
        r.peak_tops = b_.run.fp8_tflops;
    } else if (is_int) {
        r.dtype_x = r.dtype_w = "s8";
        r.dtype_acc = r.dtype_out = "s32";
        r.peak_tops = b_.run.int8_tops;
    } else {
        r.peak_tops = b_.run.bf16_tflops;
    }
    std::unique_ptr<SqVendorGemm> gemm;
    struct sq_error why = {};
    if (sq_cublaslt_gemm(type, s_.m, s_.n, s_.k, x, w, y_, b_.workspace, b_.workspace_nbytes,
                         b_.stream, &gemm, &why) != SQ_OK) {
        skip(std::string("cublaslt ") + r.variant + " " + r.dtype_x, why);
        return SQ_OK;
    }
    SqVendorGemm *const g = gemm.get();
    vendor_.push_back(std::move(gemm));
    r.bits_per_element = 8.0 * static_cast<double>(size);
    r.bytes_counted =
        bytes_of(m_ + n_, k_, r.bits_per_element) + bytes_of(m_, n_, is_int ? 32 : 16);
    std::vector<const uint8_t *> copies;
    SQ_TRY(rotate(static_cast<const uint8_t *>(w), n_ * k_ * size, &copies, err));
    uint8_t *const y = y_;
    const int n_copies = static_cast<int>(copies.size());
    const SqLaunch launch = [=](int i, cudaStream_t s, struct sq_error *e) {
        return g->run(x, copies[static_cast<size_t>(i)], y, s, e);
    };
    add(r, launch, n_copies, y_, 4 * m_ * n_, [=](struct sq_record *record, struct sq_error *e) {
        if (is_int)
            return check_sums({x, w, s_.k, SQ_ORDER_BYTES, SQ_ORDER_BYTES},
                              reinterpret_cast<const int32_t *>(y), record, e);
        // cuBLASLt applies no scales: ones here
        uint16_t *const to = reinterpret_cast<uint16_t *>(y);
        const int k_lo = is_bf16 ? 0 : s_.k, k_hi = s_.k - k_lo;
        SqGemmPair p = {s_.m, s_.n, x, w, x_, w_, k_lo, k_hi, ones_, ones_, to};
        return check_pair(p, record, e);
    });
    return SQ_OK;
}

enum sq_status SqLayerBench::add_vendor_24(SqVendorType type, struct sq_error *err)
{
    (void)err;
    struct sq_record r = base("cusparselt", "searched", "gpu/measure/sq_cusparselt.cu");
    const bool is_int = type == SQ_VENDOR_INT8;
    r.impl = "cusparselt";
    r.format = "sp24";
    r.sparsity = 0.5;
    r.bits_per_element = 5;
    r.macs_executed = r.macs_dense / 2;
    r.dtype_x = r.dtype_w = is_int ? "s8" : "e4m3";
    r.dtype_acc = r.dtype_out = is_int ? "s32" : "f32";
    if (!is_int)
        r.dtype_out = "bf16";
    r.peak_tops = is_int ? b_.run.sp24_int8_tops : 0;
    r.bytes_counted =
        bytes_of(m_, k_, 8) + bytes_of(n_, k_, 5) + bytes_of(m_, n_, is_int ? 32 : 16);
    uint8_t *pruned;
    SQ_TRY(take(&pruned, n_ * k_, err));
    std::vector<uint32_t> host(n_ * k_ / 4);
    SQ_CUDA_TRY(cudaMemcpy(host.data(), w8_, n_ * k_, cudaMemcpyDeviceToHost), err);
    for (uint32_t &four : host) { // elements 0 and 2: legal 2:4, and finite as E4M3
        four &= 0x00ff00ffu;
        if (!is_int)
            four &= 0xb7b7b7b7u;
    }
    SQ_CUDA_TRY(cudaMemcpy(pruned, host.data(), n_ * k_, cudaMemcpyHostToDevice), err);
    uint8_t *x = x8_;
    if (!is_int) { // INT8 codes with two exponent bits cleared are finite E4M3 as well
        std::vector<uint32_t> xs(m_ * k_ / 4);
        SQ_TRY(take(&x, m_ * k_, err));
        SQ_CUDA_TRY(cudaMemcpy(xs.data(), x8_, m_ * k_, cudaMemcpyDeviceToHost), err);
        for (uint32_t &four : xs)
            four &= 0xb7b7b7b7u;
        SQ_CUDA_TRY(cudaMemcpy(x, xs.data(), m_ * k_, cudaMemcpyHostToDevice), err);
    }
    std::unique_ptr<SqVendorGemm> gemm;
    struct sq_error why = {};
    if (sq_cusparselt_gemm(type, s_.m, s_.n, s_.k, x, pruned, y_, b_.stream, &gemm, &why) !=
        SQ_OK) {
        skip(std::string("cusparselt ") + r.dtype_x, why);
        return SQ_OK;
    }
    SqVendorGemm *const g = gemm.get();
    vendor_.push_back(std::move(gemm));
    uint8_t *const y = y_;
    r.notes = "the library owns one compressed weight: not rotated";
    const SqLaunch launch = [=](int, cudaStream_t s, struct sq_error *e) {
        return g->run(x, pruned, y, s, e);
    };
    add(r, launch, 1, y_, 4 * m_ * n_, [=](struct sq_record *record, struct sq_error *e) {
        if (is_int)
            return check_sums({x, pruned, s_.k, SQ_ORDER_BYTES, SQ_ORDER_BYTES},
                              reinterpret_cast<const int32_t *>(y), record, e);
        SqGemmPair p = {
            s_.m, s_.n, x, pruned, x_, w_, s_.k, 0, ones_, ones_, reinterpret_cast<uint16_t *>(y)};
        return check_pair(p, record, e);
    });
    return SQ_OK;
}
