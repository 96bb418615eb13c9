// SPDX-License-Identifier: Apache-2.0
// cuSPARSELt, optional twice: the header at build time, the library at run time (CUSPARSELT_LIB or
// the usual name). Where either is missing, or their versions differ, SQ_ERR_TOOL says which.
#include "gpu/measure/sq_vendor.cuh"

#if __has_include(<cusparseLt.h>)
#include <cstdlib>
#include <cusparseLt.h>
#include <dlfcn.h>

namespace
{

struct Library {
    void *so = nullptr;
    decltype(&cusparseLtInit) init;
    decltype(&cusparseLtDestroy) destroy;
    decltype(&cusparseLtGetVersion) version;
    decltype(&cusparseLtDenseDescriptorInit) dense;
    decltype(&cusparseLtStructuredDescriptorInit) structured;
    decltype(&cusparseLtMatmulDescriptorInit) matmul_init;
    decltype(&cusparseLtMatmulAlgSelectionInit) alg_init;
    decltype(&cusparseLtMatmulPlanInit) plan_init;
    decltype(&cusparseLtMatmulPlanDestroy) plan_destroy;
    decltype(&cusparseLtMatmulGetWorkspace) workspace;
    decltype(&cusparseLtMatmul) matmul;
    decltype(&cusparseLtMatmulSearch) search;
    decltype(&cusparseLtSpMMACompressedSize) compressed_size;
    decltype(&cusparseLtSpMMACompress) compress;
};

template <class F> bool look_up(void *so, const char *name, F *f)
{
    *f = reinterpret_cast<F>(dlsym(so, name));
    return *f != nullptr;
}

bool load(Library *l)
{
    const char *name = getenv("CUSPARSELT_LIB");
    l->so = dlopen(name ? name : "libcusparseLt.so.0", RTLD_NOW);
    return l->so && look_up(l->so, "cusparseLtInit", &l->init) &&
           look_up(l->so, "cusparseLtDestroy", &l->destroy) &&
           look_up(l->so, "cusparseLtGetVersion", &l->version) &&
           look_up(l->so, "cusparseLtDenseDescriptorInit", &l->dense) &&
           look_up(l->so, "cusparseLtStructuredDescriptorInit", &l->structured) &&
           look_up(l->so, "cusparseLtMatmulDescriptorInit", &l->matmul_init) &&
           look_up(l->so, "cusparseLtMatmulAlgSelectionInit", &l->alg_init) &&
           look_up(l->so, "cusparseLtMatmulPlanInit", &l->plan_init) &&
           look_up(l->so, "cusparseLtMatmulPlanDestroy", &l->plan_destroy) &&
           look_up(l->so, "cusparseLtMatmulGetWorkspace", &l->workspace) &&
           look_up(l->so, "cusparseLtMatmul", &l->matmul) &&
           look_up(l->so, "cusparseLtMatmulSearch", &l->search) &&
           look_up(l->so, "cusparseLtSpMMACompressedSize", &l->compressed_size) &&
           look_up(l->so, "cusparseLtSpMMACompress", &l->compress);
}

const Library *library()
{
    static Library l;
    static const bool is_there = load(&l);
    return is_there ? &l : nullptr;
}

int version_of(const Library *l)
{
    cusparseLtHandle_t handle;
    int version = 0;
    if (l->init(&handle) != CUSPARSE_STATUS_SUCCESS)
        return 0;
    l->version(&handle, &version);
    l->destroy(&handle);
    return version;
}

#define SQ_SP_TRY(expr, err)                                                                       \
    do {                                                                                           \
        const cusparseStatus_t sp_try_ = (expr);                                                   \
        if (sp_try_ != CUSPARSE_STATUS_SUCCESS)                                                    \
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: cuSPARSE status %d", #expr,               \
                           static_cast<int>(sp_try_));                                             \
    } while (0)

// W [n][k] sparse, row-major; X [m][k] row-major, transposed; D [n][m] column-major = Y [m][n].
class CusparseLtGemm final : public SqVendorGemm
{
  public:
    explicit CusparseLtGemm(const Library *l) : l_(l)
    {
    }
    ~CusparseLtGemm() override
    {
        if (has_plan_)
            l_->plan_destroy(&plan_);
        if (has_handle_)
            l_->destroy(&handle_);
        cudaFree(compressed_);
        cudaFree(workspace_);
    }

    enum sq_status init(SqVendorType type, int m, int n, int k, struct sq_error *err)
    {
        const cudaDataType in = type == SQ_VENDOR_INT8 ? CUDA_R_8I : CUDA_R_8F_E4M3;
        const cudaDataType out = type == SQ_VENDOR_INT8 ? CUDA_R_32I : CUDA_R_16BF;
        const cusparseComputeType compute =
            type == SQ_VENDOR_INT8 ? CUSPARSE_COMPUTE_32I : CUSPARSE_COMPUTE_32F;
        SQ_SP_TRY(l_->init(&handle_), err);
        has_handle_ = true;
        SQ_SP_TRY(l_->structured(&handle_, &a_, n, k, k, 16, in, CUSPARSE_ORDER_ROW,
                                 CUSPARSELT_SPARSITY_50_PERCENT),
                  err);
        SQ_SP_TRY(l_->dense(&handle_, &b_, m, k, k, 16, in, CUSPARSE_ORDER_ROW), err);
        SQ_SP_TRY(l_->dense(&handle_, &d_, n, m, n, 16, out, CUSPARSE_ORDER_COL), err);
        SQ_SP_TRY(l_->matmul_init(&handle_, &matmul_, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                  CUSPARSE_OPERATION_TRANSPOSE, &a_, &b_, &d_, &d_, compute),
                  err);
        SQ_SP_TRY(l_->alg_init(&handle_, &alg_, &matmul_, CUSPARSELT_MATMUL_ALG_DEFAULT), err);
        SQ_SP_TRY(l_->plan_init(&handle_, &plan_, &matmul_, &alg_), err);
        has_plan_ = true;
        return SQ_OK;
    }

    // Compression, then the library's own search for the fastest algorithm.
    enum sq_status prepare(const void *x, const void *w, void *y, cudaStream_t stream,
                           struct sq_error *err)
    {
        size_t nbytes = 0, nbytes_scratch = 0, nbytes_workspace = 0;
        void *scratch = nullptr;
        SQ_SP_TRY(l_->compressed_size(&handle_, &plan_, &nbytes, &nbytes_scratch), err);
        SQ_CUDA_TRY(cudaMalloc(&compressed_, nbytes), err);
        SQ_CUDA_TRY(cudaMalloc(&scratch, nbytes_scratch + 1), err);
        const cusparseStatus_t status =
            l_->compress(&handle_, &plan_, w, compressed_, scratch, stream);
        SQ_CUDA_TRY(cudaStreamSynchronize(stream), err);
        SQ_CUDA_TRY(cudaFree(scratch), err);
        SQ_SP_TRY(status, err);
        const float one = 1, zero = 0;
        SQ_SP_TRY(
            l_->search(&handle_, &plan_, &one, compressed_, x, &zero, y, y, nullptr, &stream, 1),
            err);
        SQ_SP_TRY(l_->workspace(&handle_, &plan_, &nbytes_workspace), err);
        SQ_CUDA_TRY(cudaMalloc(&workspace_, nbytes_workspace + 1), err);
        return SQ_OK;
    }

    enum sq_status run(const void *x, const void *, void *y, cudaStream_t stream,
                       struct sq_error *err) override
    {
        const float one = 1, zero = 0;
        SQ_SP_TRY(
            l_->matmul(&handle_, &plan_, &one, compressed_, x, &zero, y, y, workspace_, &stream, 1),
            err);
        return SQ_OK;
    }

  private:
    const Library *l_;
    cusparseLtHandle_t handle_;
    cusparseLtMatDescriptor_t a_, b_, d_;
    cusparseLtMatmulDescriptor_t matmul_;
    cusparseLtMatmulAlgSelection_t alg_;
    cusparseLtMatmulPlan_t plan_;
    bool has_handle_ = false, has_plan_ = false;
    void *compressed_ = nullptr, *workspace_ = nullptr;
};

} // namespace

enum sq_status sq_cusparselt_gemm(SqVendorType type, int m, int n, int k, const void *x,
                                  const void *w, void *y, cudaStream_t stream,
                                  std::unique_ptr<SqVendorGemm> *gemm, struct sq_error *err)
{
    const Library *l = library();
    if (!l)
        return SQ_FAIL(err, SQ_ERR_TOOL, "libcusparseLt is not found (CUSPARSELT_LIB)");
    // The handles are plain bytes whose size changed between minor versions.
    const int found = version_of(l);
    if (found / 100 != CUSPARSELT_VERSION / 100)
        return SQ_FAIL(err, SQ_ERR_TOOL, "libcusparseLt %d, the header is %d", found,
                       CUSPARSELT_VERSION);
    auto made = std::make_unique<CusparseLtGemm>(l);
    SQ_TRY(made->init(type, m, n, k, err));
    SQ_TRY(made->prepare(x, w, y, stream, err));
    *gemm = std::move(made);
    return SQ_OK;
}

std::string sq_cusparselt_version()
{
    const Library *l = library();
    return l ? std::to_string(version_of(l)) : "none";
}

#else

enum sq_status sq_cusparselt_gemm(SqVendorType, int, int, int, const void *, const void *, void *,
                                  cudaStream_t, std::unique_ptr<SqVendorGemm> *,
                                  struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_TOOL, "built without cusparseLt.h");
}

std::string sq_cusparselt_version()
{
    return "none";
}

#endif
