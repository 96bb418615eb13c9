// SPDX-License-Identifier: Apache-2.0
// Every PTX instruction the kernels use, each as one wrapper named after it, with the fragment
// layout in one sentence. Layouts: PTX ISA, "Matrix fragments for mma.m16n8k32" and its neighbours;
// lane T = 0..31, q = T / 4, t = T % 4 throughout. Under SQ_EMULATE the same names have the meaning
// of tests/gpu/emulate_ptx.h and emulate_wgmma.h.
#pragma once

#include "gpu/sq_cuda.cuh"

#ifdef SQ_EMULATE
#include "tests/gpu/emulate_wgmma.h"
#else

#include <cuda.h>
#define SQ_PTX __device__ __forceinline__

SQ_PTX uint32_t ptx_shared_address(const void *p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// ---- copies, sm_80 and newer ------------------------------------------------------------------

// 16 bytes global -> shared, the first `nbytes` of them read (0 or 16), the rest zeros.
SQ_PTX void cp_async_16(void *shared, const void *global, uint32_t nbytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(ptx_shared_address(shared)),
                 "l"(global), "r"(nbytes)
                 : "memory");
}
SQ_PTX void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending> SQ_PTX void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices of 16-bit cells: lane T gives the address of row T % 8 of matrix T / 8 (16
// bytes) and receives, of each, bytes 4t..4t+3 of row q.
SQ_PTX void ldmatrix_x4(uint32_t (&r)[4], const void *shared_row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(ptx_shared_address(shared_row)));
}

// ---- warp matrix products, sm_80 and newer ------------------------------------------------------

// D[16][8] += A[16][32] B[32][8]. a[i]: row q + 8(i&1), columns 16(i>>1) + 4t..4t+3; b[i]: column
// q, rows 16i + 4t..4t+3; d[i]: row q + 8(i>>1), column 2t + (i&1).
SQ_PTX void mma_s8_m16n8k32(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same with 4-bit codes, K = 64: every register holds 8 codes where s8 holds 4. One instruction
// on compute capability 8.x; a subroutine of INT8 products elsewhere (never call that native).
SQ_PTX void mma_s4_m16n8k64(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// D[16][8] += A[16][64] B[64][8], A in 2:4: a[i] holds the 4 kept bytes of row q + 8(i&1), columns
// 32(i>>1) + 8t..8t+7; b[i]: column q, rows 16i + 4t..4t+3; e: sq_meta24_lane (SPEC E.4).
SQ_PTX void mma_sp_s8_m16n8k64(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[4],
                               uint32_t e)
{
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, "
                 "0x0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
                   "r"(b[3]), "r"(e));
}

// ---- binary16 pairs, sm_80 and newer -----------------------------------------------------------
// Both halves of a word at once, each operation rounded once to nearest even; never contracted.

SQ_PTX uint32_t f16x2_fma(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
SQ_PTX uint32_t f16x2_add(uint32_t a, uint32_t b)
{
    uint32_t d;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
SQ_PTX uint32_t f16x2_sub(uint32_t a, uint32_t b)
{
    uint32_t d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
SQ_PTX uint32_t f16x2_mul(uint32_t a, uint32_t b)
{
    uint32_t d;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
// The lower 16 bits as binary16, exact.
SQ_PTX float f16_to_f32(uint32_t h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<uint16_t>(h)));
    return x;
}

// ---- streams and hand-over ---------------------------------------------------------------------

// Data that is read once: around L1, so that the activations stay there.
SQ_PTX uint4 ld_stream_16(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}
SQ_PTX uint2 ld_stream_8(const void *p)
{
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p));
    return v;
}
SQ_PTX uint32_t ld_stream_4(const void *p)
{
    uint32_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
// A slot hands one 32-bit value from one thread to one other: value and a full mark in one 64-bit
// store, which needs no fence. slot_take waits, and leaves the slot empty (0) for the next launch.
SQ_PTX void slot_put(uint64_t *slot, uint32_t value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(UINT64_C(1) << 32 | value)
                 : "memory");
}
SQ_PTX uint32_t slot_take(uint64_t *slot)
{
    uint64_t v;
    do
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(slot) : "memory");
    while (v == 0);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(UINT64_C(0)) : "memory");
    return static_cast<uint32_t>(v);
}

// ---- bulk copies and barriers, sm_90 -----------------------------------------------------------

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
SQ_PTX void mbarrier_init(uint64_t *bar, uint32_t n_arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ptx_shared_address(bar)),
                 "r"(n_arrivals));
}
// Makes initialised barriers visible to the copy engine.
SQ_PTX void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
SQ_PTX void mbarrier_arrive(uint64_t *bar)
{
    asm volatile(
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(ptx_shared_address(bar))
        : "memory");
}
// Arrives, and lets the phase wait for `nbytes` that the copy engine is to deliver.
SQ_PTX void mbarrier_arrive_expect_tx(uint64_t *bar, uint32_t nbytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                     ptx_shared_address(bar)),
                 "r"(nbytes)
                 : "memory");
}
// Returns when the phase of parity `parity` has completed.
SQ_PTX void mbarrier_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(ptx_shared_address(bar)),
                 "r"(parity)
                 : "memory");
}
// An arrival at the barrier of block `rank` of the cluster: it says that the stage was read, and
// orders nothing that this thread has written. (`.release.cluster` costs a MEMBAR.ALL.GPU.)
SQ_PTX void mbarrier_arrive_cluster(uint64_t *bar, uint32_t rank)
{
    asm volatile("{\n.reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [peer];\n}" ::"r"(ptx_shared_address(bar)),
                 "r"(rank)
                 : "memory");
}
SQ_PTX uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
SQ_PTX void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}
// One box of a 2D tensor, inner coordinate (elements) and row, outside of the tensor zeros.
SQ_PTX void tma_load_2d(void *shared, const CUtensorMap *map, uint64_t *bar, int32_t inner,
                        int32_t row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(ptx_shared_address(shared)),
                 "l"(map), "r"(ptx_shared_address(bar)), "r"(inner), "r"(row)
                 : "memory");
}
// The same into the blocks of bit set `ranks`, at the same shared address, each with its own
// barrier.
SQ_PTX void tma_load_2d_multicast(void *shared, const CUtensorMap *map, uint64_t *bar,
                                  int32_t inner, int32_t row, uint16_t ranks)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(ptx_shared_address(shared)),
        "l"(map), "r"(ptx_shared_address(bar)), "r"(inner), "r"(row), "h"(ranks)
        : "memory");
}
#endif

// ---- warpgroup matrix products, sm_90a ---------------------------------------------------------

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <int kRegisters> SQ_PTX void setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters> SQ_PTX void setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
SQ_PTX void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
SQ_PTX void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending> SQ_PTX void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the instructions that make an input register of a product before the fence; with one of
// them after it the compiler lets no two products overlap (C7513).
SQ_PTX void wgmma_input(uint32_t &reg)
{
    asm volatile("" : "+r"(reg)::"memory");
}

// D[64][256] (+)= A[64][K] B[256][K]^T, both K-major in shared memory (sq_wgmma_descriptor), FP32
// or INT32 accumulators: d[i] of thread T of the warpgroup, warp w = T / 32: row 16w + q +
// 8((i>>1)&1), column 8(i>>2) + 2t + (i&1). is_sum = 0 overwrites D.
#define SQ_WGMMA_D                                                                                 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, "                                                            \
    "%8, %9, %10, %11, %12, %13, %14, %15, "                                                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, "                                                     \
    "%24, %25, %26, %27, %28, %29, %30, %31, "                                                     \
    "%32, %33, %34, %35, %36, %37, %38, %39, "                                                     \
    "%40, %41, %42, %43, %44, %45, %46, %47, "                                                     \
    "%48, %49, %50, %51, %52, %53, %54, %55, "                                                     \
    "%56, %57, %58, %59, %60, %61, %62, %63, "                                                     \
    "%64, %65, %66, %67, %68, %69, %70, %71, "                                                     \
    "%72, %73, %74, %75, %76, %77, %78, %79, "                                                     \
    "%80, %81, %82, %83, %84, %85, %86, %87, "                                                     \
    "%88, %89, %90, %91, %92, %93, %94, %95, "                                                     \
    "%96, %97, %98, %99, %100, %101, %102, %103, "                                                 \
    "%104, %105, %106, %107, %108, %109, %110, %111, "                                             \
    "%112, %113, %114, %115, %116, %117, %118, %119, "                                             \
    "%120, %121, %122, %123, %124, %125, %126, %127}"
#define SQ_D8(c, i)                                                                                \
    c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]),         \
        c(d[i + 7])
#define SQ_D32(c, i) SQ_D8(c, i), SQ_D8(c, i + 8), SQ_D8(c, i + 16), SQ_D8(c, i + 24)
#define SQ_WGMMA_SUMS(c) SQ_D32(c, 0), SQ_D32(c, 32), SQ_D32(c, 64), SQ_D32(c, 96)
SQ_PTX void wgmma_m64n256k16_bf16(float (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " SQ_WGMMA_D
                 ", %128, %129, p, 1, 1, 0, 0;\n}"
                 : SQ_WGMMA_SUMS("+f")
                 : "l"(a), "l"(b), "r"(is_sum));
}
SQ_PTX void wgmma_m64n256k32_e4m3(float (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 " SQ_WGMMA_D
                 ", %128, %129, p, 1, 1;\n}"
                 : SQ_WGMMA_SUMS("+f")
                 : "l"(a), "l"(b), "r"(is_sum));
}
SQ_PTX void wgmma_m64n256k32_s8(int32_t (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 " SQ_WGMMA_D
                 ", %128, %129, p;\n}"
                 : SQ_WGMMA_SUMS("+r")
                 : "l"(a), "l"(b), "r"(is_sum));
}
// A in registers: a[i] of thread T: row 16w + q + 8(i&1), columns 16(i>>1) + 4t..4t+3. They are the
// product's until the wait for it.
SQ_PTX void wgmma_m64n256k32_s8_regs(int32_t (&d)[128], const uint32_t (&a)[4], uint64_t b,
                                     int is_sum)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 " SQ_WGMMA_D
                 ", {%128, %129, %130, %131}, %132, p;\n}"
                 : SQ_WGMMA_SUMS("+r")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(is_sum));
}
// A[64][64] in 2:4, 32 kept bytes a row in shared memory. Metadata e of thread T: as
// mma_sp_s8_m16n8k64 of its warp's 16 rows (SPEC E.4); the product's until the wait for it.
SQ_PTX void wgmma_sp_m64n256k64_s8(int32_t (&d)[128], uint64_t a, uint64_t b, const uint32_t &e,
                                   int is_sum)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %131, 0;\n"
                 "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8 " SQ_WGMMA_D
                 ", %128, %129, %130, 0, p;\n}"
                 : SQ_WGMMA_SUMS("+r")
                 : "l"(a), "l"(b), "r"(e), "r"(is_sum));
}
#undef SQ_D8
#undef SQ_D32
#undef SQ_WGMMA_SUMS
#undef SQ_WGMMA_D
#endif

#endif // SQ_EMULATE

// ---- integer sums ------------------------------------------------------------------------------

// ((float)P * s_w) * s_x, each operation rounded once; -0 becomes 0, as where sums are added up.
SQ_DEVICE float sq_scaled_sum(int32_t p, float s_w, float s_x)
{
    const float y = __fadd_rn(0.0f, __fmul_rn(static_cast<float>(p), s_w));
    return __fadd_rn(__fmul_rn(y, s_x), 0.0f);
}
