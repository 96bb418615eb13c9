// SPDX-License-Identifier: Apache-2.0
// cuBLASLt works on column-major matrices: Y^T[N][M] = W X^T, so W is its A (transposed, K x N) and
// X its B (K x M). That is the layout FP8 and INT8 want.
#include <cublasLt.h>

#include "gpu/measure/sq_vendor.cuh"

#define SQ_LT_TRY(expr, err)                                                                       \
    do {                                                                                           \
        const cublasStatus_t lt_try_ = (expr);                                                     \
        if (lt_try_ != CUBLAS_STATUS_SUCCESS)                                                      \
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: cuBLAS status %d", #expr,                 \
                           static_cast<int>(lt_try_));                                             \
    } while (0)

namespace
{

struct Types {
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
};

Types types_of(SqVendorType type)
{
    switch (type) {
    case SQ_VENDOR_FP8:
    case SQ_VENDOR_FP8_FAST:
        return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case SQ_VENDOR_INT8:
        return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    case SQ_VENDOR_F16:
        return {CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
        return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    }
}

class CublasLtGemm final : public SqVendorGemm
{
  public:
    ~CublasLtGemm() override
    {
        cublasLtMatmulPreferenceDestroy(preference_);
        cublasLtMatrixLayoutDestroy(a_);
        cublasLtMatrixLayoutDestroy(b_);
        cublasLtMatrixLayoutDestroy(d_);
        cublasLtMatmulDescDestroy(op_);
        cublasLtDestroy(lt_);
    }

    enum sq_status init(SqVendorType type, int m, int n, int k, void *workspace, size_t nbytes,
                        struct sq_error *err)
    {
        const Types t = types_of(type);
        const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
        workspace_ = workspace;
        workspace_nbytes_ = nbytes;
        is_integer_ = type == SQ_VENDOR_INT8;
        SQ_LT_TRY(cublasLtCreate(&lt_), err);
        SQ_LT_TRY(cublasLtMatmulDescCreate(&op_, t.compute, t.scale), err);
        SQ_LT_TRY(cublasLtMatmulDescSetAttribute(op_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                                 sizeof transposed),
                  err);
        SQ_LT_TRY(
            cublasLtMatmulDescSetAttribute(op_, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain),
            err);
        if (type == SQ_VENDOR_FP8 || type == SQ_VENDOR_FP8_FAST) {
            const int8_t is_fast = type == SQ_VENDOR_FP8_FAST;
            SQ_LT_TRY(cublasLtMatmulDescSetAttribute(op_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &is_fast,
                                                     sizeof is_fast),
                      err);
        }
        SQ_LT_TRY(cublasLtMatrixLayoutCreate(&a_, t.in, k, n, k), err);
        SQ_LT_TRY(cublasLtMatrixLayoutCreate(&b_, t.in, k, m, k), err);
        SQ_LT_TRY(cublasLtMatrixLayoutCreate(&d_, t.out, n, m, n), err);
        SQ_LT_TRY(cublasLtMatmulPreferenceCreate(&preference_), err);
        SQ_LT_TRY(cublasLtMatmulPreferenceSetAttribute(preference_,
                                                       CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                       &nbytes, sizeof nbytes),
                  err);
        return SQ_OK;
    }

    // Ten launches of each proposed algorithm; the fastest stays.
    enum sq_status tune(const void *x, const void *w, void *y, cudaStream_t stream,
                        struct sq_error *err)
    {
        constexpr int kMost = 8, kLaunches = 10;
        cublasLtMatmulHeuristicResult_t found[kMost];
        int n_found = 0;
        SQ_LT_TRY(cublasLtMatmulAlgoGetHeuristic(lt_, op_, a_, b_, d_, d_, preference_, kMost,
                                                 found, &n_found),
                  err);
        cudaEvent_t begin, end;
        SQ_CUDA_TRY(cudaEventCreate(&begin), err);
        SQ_CUDA_TRY(cudaEventCreate(&end), err);
        float best = 0;
        for (int i = 0; i < n_found; i++) {
            float ms = 0;
            algo_ = found[i].algo;
            if (found[i].state != CUBLAS_STATUS_SUCCESS || run(x, w, y, stream, nullptr) != SQ_OK)
                continue;
            SQ_CUDA_TRY(cudaEventRecord(begin, stream), err);
            for (int l = 0; l < kLaunches; l++)
                SQ_TRY(run(x, w, y, stream, err));
            SQ_CUDA_TRY(cudaEventRecord(end, stream), err);
            SQ_CUDA_TRY(cudaEventSynchronize(end), err);
            SQ_CUDA_TRY(cudaEventElapsedTime(&ms, begin, end), err);
            if (best == 0 || ms < best) {
                best = ms;
                best_algo_ = algo_;
            }
        }
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
        algo_ = best_algo_;
        return best > 0 ? SQ_OK : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "cuBLASLt offers no algorithm");
    }

    enum sq_status run(const void *x, const void *w, void *y, cudaStream_t stream,
                       struct sq_error *err) override
    {
        const float one = 1, zero = 0;
        const int32_t one_i = 1, zero_i = 0;
        const void *alpha = is_integer_ ? static_cast<const void *>(&one_i) : &one;
        const void *beta = is_integer_ ? static_cast<const void *>(&zero_i) : &zero;
        SQ_LT_TRY(cublasLtMatmul(lt_, op_, alpha, w, a_, x, b_, beta, y, d_, y, d_, &algo_,
                                 workspace_, workspace_nbytes_, stream),
                  err);
        return SQ_OK;
    }

  private:
    cublasLtHandle_t lt_ = nullptr;
    cublasLtMatmulDesc_t op_ = nullptr;
    cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
    cublasLtMatmulPreference_t preference_ = nullptr;
    cublasLtMatmulAlgo_t algo_ = {}, best_algo_ = {};
    void *workspace_ = nullptr;
    size_t workspace_nbytes_ = 0;
    bool is_integer_ = false;
};

} // namespace

enum sq_status sq_cublaslt_gemm(SqVendorType type, int m, int n, int k, const void *x,
                                const void *w, void *y, void *workspace, size_t workspace_nbytes,
                                cudaStream_t stream, std::unique_ptr<SqVendorGemm> *gemm,
                                struct sq_error *err)
{
    auto made = std::make_unique<CublasLtGemm>();
    SQ_TRY(made->init(type, m, n, k, workspace, workspace_nbytes, err));
    SQ_TRY(made->tune(x, w, y, stream, err));
    *gemm = std::move(made);
    return SQ_OK;
}

std::string sq_cublaslt_version()
{
    return std::to_string(cublasLtGetVersion());
}
