// SPDX-License-Identifier: Apache-2.0
// Products of the vendor's libraries, the baselines: cuBLASLt (BF16, FP8, INT8, binary16) and,
// where the library is found at run time, cuSPARSELt (2:4 INT8 and FP8). Y[M][N] = X[M][K]
// W[N][K]^T; BF16 and FP8 write BF16, binary16 writes binary32, cuBLASLt INT8 writes INT32,
// cuSPARSELt INT8 writes INT32 (or BF16 where it refuses).
#pragma once

#include <memory>
#include <string>

#include "gpu/sq_cuda.cuh"

// FP8_FAST: partial sums stay in the tensor core, as in our own kernel; plain FP8 moves them to
// FP32 registers on the way. Both are measured.
enum SqVendorType {
    SQ_VENDOR_BF16,
    SQ_VENDOR_FP8,
    SQ_VENDOR_INT8,
    SQ_VENDOR_F16,
    SQ_VENDOR_FP8_FAST
};

// A tuned product of one shape. run() may be captured into a graph.
class SqVendorGemm
{
  public:
    virtual ~SqVendorGemm() = default;
    virtual enum sq_status run(const void *x, const void *w, void *y, cudaStream_t stream,
                               struct sq_error *err) = 0;
};

// Tunes over the heuristic's algorithms by timing each on the given operands; the workspace is the
// caller's. SQ_ERR_UNSUPPORTED where the library has none.
enum sq_status sq_cublaslt_gemm(SqVendorType type, int m, int n, int k, const void *x,
                                const void *w, void *y, void *workspace, size_t workspace_nbytes,
                                cudaStream_t stream, std::unique_ptr<SqVendorGemm> *gemm,
                                struct sq_error *err);
std::string sq_cublaslt_version();

// w is dense [n][k] with at most two non-zeros of four; *w_compressed is made by this call with
// plain allocations and lives as long as the object. run() ignores `w`. SQ_ERR_TOOL where the
// library is absent.
enum sq_status sq_cusparselt_gemm(SqVendorType type, int m, int n, int k, const void *x,
                                  const void *w, void *y, cudaStream_t stream,
                                  std::unique_ptr<SqVendorGemm> *gemm, struct sq_error *err);
// "none" where it is not found.
std::string sq_cusparselt_version();
