// SPDX-License-Identifier: Apache-2.0
// A CUDA block on one CPU thread: enough of the CUDA language for the kernels of gpu/, so that
// their own text, index arithmetic and synchronisation included, is run and compared with the
// golden model on machines without a GPU.
//
// Every CUDA thread is a fiber. A fiber runs until it must wait for others (a barrier, a warp- or
// warpgroup-wide instruction); the last one to arrive executes the instruction for all. A block in
// which every fiber waits is a deadlock: it is reported, and the program ends. Blocks run one after
// the other. What a race would do is not modelled, except that fibers run in an order that differs
// from lane order, that warps and blocks stand still now and then, and that asynchronous work
// (copies, warpgroup products) is done early or late (emulate_async.h), all by SQ_SEED: code which
// forgets a barrier, a wait or a fence is likely to show (mutants.t).
//
// The semantics of the PTX instructions are in emulate_ptx.h, written from the PTX ISA fragment
// tables, not from the kernels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

// ---- the language -----------------------------------------------------------------------------

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(8) int2 {
    int32_t x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}
inline int2 make_int2(int32_t x, int32_t y)
{
    return {x, y};
}
inline float2 make_float2(float x, float y)
{
    return {x, y};
}

#define __shared__ static
#define __align__(n) alignas(n)

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

uint8_t *emulate_dynamic_shared();

// Runs `body` for every thread of every block of the grid. Dynamic shared memory is filled with
// 0xa5 before each block and guarded behind its end.
// Blocks x, x + 1, ... of a cluster run together.
void emulate_launch(dim3 grid, dim3 block, size_t nbytes_shared, const std::function<void()> &body,
                    unsigned cluster_size = 1);

// ---- waiting ----------------------------------------------------------------------------------

// Lets other fibers run.
void emulate_yield();

// Rendezvous of `size` threads with consecutive numbers, the group that the calling thread is in:
// the last to arrive calls op(args, size), args[i] being the pointer that member i passed.
using emulate_op = void (*)(void *const *args, unsigned size);
void emulate_collective(unsigned size, void *arg, emulate_op op);

// Barrier `id` among `n_threads` of the block.
void emulate_barrier(unsigned id, unsigned n_threads);

inline void __syncthreads()
{
    emulate_barrier(0, blockDim.x * blockDim.y * blockDim.z);
}
inline void __threadfence()
{
}
inline void __syncwarp()
{
    emulate_collective(32, nullptr, [](void *const *, unsigned) {});
}

// Index of the thread in its block; of its fiber in the cluster; rank of the block in the cluster.
unsigned emulate_thread();
unsigned emulate_fiber();
unsigned emulate_rank();

// Dynamic shared memory of a block of the cluster; barrier of all threads of the cluster; a note
// that something moved, for instructions that wait by polling.
// A block whose threads have all ended is refused.
uint8_t *emulate_shared_of(unsigned rank);
void emulate_cluster_barrier();
void emulate_progress();

// 0..n-1, by SQ_SEED; action() at some later moment, in any order among others, at the latest when
// nothing else moves; counts what the block must not leave unfinished; one line and the end.
unsigned emulate_draw(unsigned n);
void emulate_later(std::function<void()> action);
void emulate_in_flight(int change);
[[noreturn]] void emulate_die(const char *why);

// ---- warp intrinsics --------------------------------------------------------------------------

template <class T> struct EmulateShuffle {
    T value;
    unsigned from;
    T result;
};
template <class T> inline T emulate_shuffle(T value, unsigned from)
{
    EmulateShuffle<T> s{value, from & 31u, value};
    emulate_collective(32, &s, [](void *const *args, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
            auto *mine = static_cast<EmulateShuffle<T> *>(args[i]);
            mine->result = static_cast<EmulateShuffle<T> *>(args[mine->from])->value;
        }
    });
    return s.result;
}
template <class T> inline T __shfl_sync(unsigned, T value, unsigned from)
{
    return emulate_shuffle(value, from);
}
template <class T> inline T __shfl_xor_sync(unsigned, T value, unsigned lanes)
{
    return emulate_shuffle(value, (emulate_thread() & 31u) ^ lanes);
}
inline unsigned __ballot_sync(unsigned, bool predicate)
{
    EmulateShuffle<unsigned> s{predicate, 0, 0};
    emulate_collective(32, &s, [](void *const *args, unsigned n) {
        unsigned all = 0;
        for (unsigned i = 0; i < n; i++)
            all |= static_cast<EmulateShuffle<unsigned> *>(args[i])->value << i;
        for (unsigned i = 0; i < n; i++)
            static_cast<EmulateShuffle<unsigned> *>(args[i])->result = all;
    });
    return s.result;
}
inline int __reduce_add_sync(unsigned, int value)
{
    EmulateShuffle<int> s{value, 0, 0};
    emulate_collective(32, &s, [](void *const *args, unsigned n) {
        int sum = 0;
        for (unsigned i = 0; i < n; i++)
            sum += static_cast<EmulateShuffle<int> *>(args[i])->value;
        for (unsigned i = 0; i < n; i++)
            static_cast<EmulateShuffle<int> *>(args[i])->result = sum;
    });
    return s.result;
}

// ---- arithmetic intrinsics --------------------------------------------------------------------

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++)
        c += static_cast<int8_t>(static_cast<uint32_t>(a) >> (8 * i)) *
             static_cast<int8_t>(static_cast<uint32_t>(b) >> (8 * i));
    return c;
}
inline float __fmul_rn(float a, float b)
{
    return a * b;
}
inline float __fadd_rn(float a, float b)
{
    return a + b;
}
inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
inline uint32_t __float_as_uint(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
inline float __uint_as_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
template <class T> inline T __ldg(const T *p)
{
    return *p;
}
// One block at a time and no preemption: plain operations are atomic.
inline unsigned atomicAdd(unsigned *p, unsigned v)
{
    const unsigned old = *p;
    *p += v;
    return old;
}
inline unsigned atomicMax(unsigned *p, unsigned v)
{
    const unsigned old = *p;
    *p = v > old ? v : old;
    return old;
}

inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
    const unsigned long long old = *p;
    *p += v;
    return old;
}
inline double atomicAdd(double *p, double v)
{
    const double old = *p;
    *p += v;
    return old;
}
inline unsigned long long atomicMax(unsigned long long *p, unsigned long long v)
{
    const unsigned long long old = *p;
    *p = v > old ? v : old;
    return old;
}
inline long long __double_as_longlong(double x)
{
    long long u;
    memcpy(&u, &x, sizeof u);
    return u;
}
inline double __longlong_as_double(long long u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// ---- the runtime, as far as launchers use it ----------------------------------------------------

using cudaError_t = int;
using cudaStream_t = void *;
enum { cudaSuccess = 0, cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
inline const char *cudaGetErrorString(cudaError_t)
{
    return "emulated";
}
inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void *, int, int)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
template <class T> cudaError_t cudaMalloc(T **p, size_t nbytes)
{
    *p = static_cast<T *>(aligned_alloc(1024, (nbytes + 1023) / 1024 * 1024));
    return *p ? cudaSuccess : 2;
}
inline cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}
template <class T> cudaError_t cudaMallocAsync(T **p, size_t nbytes, cudaStream_t)
{
    return cudaMalloc(p, nbytes);
}
inline cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
    return cudaFree(p);
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t nbytes, int)
{
    memcpy(to, from, nbytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, int, cudaStream_t)
{
    return cudaMemcpy(to, from, nbytes, 0);
}
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                size_t nbytes, size_t rows, int)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(static_cast<char *>(to) + i * to_pitch,
               static_cast<const char *>(from) + i * from_pitch, nbytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemset(void *to, int value, size_t nbytes)
{
    memset(to, value, nbytes);
    return cudaSuccess;
}
// One device, as far as the measuring program asks.
struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount, l2CacheSize;
    size_t totalGlobalMem;
};
inline cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    *p = {"emulator", 9, 0, 2, 1 << 20, 1u << 30};
    return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = nullptr;
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *free_nbytes, size_t *total)
{
    *free_nbytes = *total = 1u << 30;
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t)
{
    return cudaMemset(to, value, nbytes);
}
