// SPDX-License-Identifier: Apache-2.0
// What every CUDA file includes first: the words that let one source be compiled by nvcc for a GPU
// and by a plain C++ compiler for the emulator of tests/gpu (SQ_EMULATE), launches, and error
// forwarding. Kernels use only what is named here and in sq_ptx.cuh, so the emulator runs the very
// text that the GPU runs.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef SQ_EMULATE
#include "tests/gpu/emulate.h"
#else
#include <cuda_runtime.h>
#endif

extern "C" {
#include "models/sq_status.h"
}

#ifdef SQ_EMULATE
#define SQ_HD inline
#define SQ_DEVICE inline
#define SQ_KERNEL(threads, blocks_per_sm) static void
#define SQ_KERNEL_CLUSTER(threads, blocks_per_sm, cluster) static void
#define SQ_LAUNCH_CLUSTER(kernel, grid, block, nbytes_shared, stream, cluster, ...)                \
    ((void)(stream),                                                                               \
     emulate_launch((grid), (block), (nbytes_shared), [=] { kernel(__VA_ARGS__); }, (cluster)))
#define SQ_GRID_CONSTANT
#define SQ_DYNAMIC_SHARED(name) uint8_t *const name = emulate_dynamic_shared()
#define SQ_LAUNCH(kernel, grid, block, nbytes_shared, stream, ...)                                 \
    ((void)(stream), emulate_launch((grid), (block), (nbytes_shared), [=] { kernel(__VA_ARGS__); }))
#else
#define SQ_HD __host__ __device__ __forceinline__
#define SQ_DEVICE __device__ __forceinline__
#define SQ_KERNEL(threads, blocks_per_sm)                                                          \
    __global__ void __launch_bounds__((threads), (blocks_per_sm))
// A kernel whose blocks x, x + 1, ... form clusters; the launch is an ordinary one.
#define SQ_KERNEL_CLUSTER(threads, blocks_per_sm, cluster)                                         \
    __global__ void __cluster_dims__((cluster), 1, 1) __launch_bounds__((threads), (blocks_per_sm))
#define SQ_LAUNCH_CLUSTER(kernel, grid, block, nbytes_shared, stream, cluster, ...)                \
    kernel<<<(grid), (block), (nbytes_shared), (stream)>>>(__VA_ARGS__)
#define SQ_GRID_CONSTANT __grid_constant__
#define SQ_DYNAMIC_SHARED(name) extern __shared__ __align__(1024) uint8_t name[]
#define SQ_LAUNCH(kernel, grid, block, nbytes_shared, stream, ...)                                 \
    kernel<<<(grid), (block), (nbytes_shared), (stream)>>>(__VA_ARGS__)
#endif

// Forwards a CUDA failure as SQ_ERR_TOOL with the runtime's own sentence.
#define SQ_CUDA_TRY(expr, err)                                                                     \
    do {                                                                                           \
        const cudaError_t cuda_try_ = (expr);                                                      \
        if (cuda_try_ != cudaSuccess)                                                              \
            return SQ_FAIL(err, SQ_ERR_TOOL, "%s: %s", #expr, cudaGetErrorString(cuda_try_));      \
    } while (0)

template <class T> SQ_HD T sq_div_up(T a, T b)
{
    return (a + b - 1) / b;
}

// Dynamic shared memory beyond 48 KiB must be asked for, once per kernel; harmless below.
template <class Kernel>
enum sq_status sq_launch_prepare(Kernel *kernel, size_t nbytes_shared, struct sq_error *err)
{
    SQ_CUDA_TRY(cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(nbytes_shared)),
                err);
    return SQ_OK;
}

// The launch error of the kernel just launched.
inline enum sq_status sq_launch_check(struct sq_error *err)
{
    SQ_CUDA_TRY(cudaGetLastError(), err);
    return SQ_OK;
}
