// SPDX-License-Identifier: Apache-2.0
// Warpgroup products of gpu/sq_ptx.cuh for the emulator, from the PTX ISA: "Register fragments for
// wgmma.mma_async.m64nNk16" and "... m64nNk32", "Shared memory matrix layout", "Matrix descriptor
// format", "Sparse wgmma.mma_async.m64nNk64 metadata layout". When they are done: emulate_async.h.
#pragma once

#include "tests/gpu/emulate_ptx.h"

template <int kRegisters> inline void setmaxnreg_inc()
{
}
template <int kRegisters> inline void setmaxnreg_dec()
{
}
inline void wgmma_input(uint32_t &)
{
}

// Byte (row, byte) of the operand a descriptor names: groups of 8 rows lie `stride` apart, rows of
// a group as many bytes as the swizzle (mode 1: 128, mode 2: 64) spans; the pattern starts at an
// address that is a multiple of 8 rows.
inline uint8_t emulate_operand(uint64_t descriptor, int row, int byte)
{
    const uint32_t start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
    const uint32_t stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
    const unsigned mode = static_cast<unsigned>(descriptor >> 62);
    if ((mode != 1 && mode != 2) || (descriptor >> 49 & 7) != 0)
        emulate_die("a descriptor with another swizzle or a base offset");
    const int span = mode == 1 ? 128 : 64;
    const uint32_t first = start % (8 * static_cast<uint32_t>(span)); // along K, in the first row
    if (stride % (8 * static_cast<uint32_t>(span)) != 0 ||
        first + static_cast<uint32_t>(byte) >= static_cast<uint32_t>(span))
        emulate_die("an operand of a product is not where its swizzle is");
    const uint32_t at = start + static_cast<uint32_t>(row / 8) * stride +
                        static_cast<uint32_t>(row % 8 * span + byte);
    return emulate_dynamic_shared()[emulate_swizzle(at, span)];
}
inline double emulate_bf16(uint64_t descriptor, int row, int k)
{
    const uint32_t low = emulate_operand(descriptor, row, 2 * k);
    const uint32_t high = emulate_operand(descriptor, row, 2 * k + 1);
    return __uint_as_float(low << 16 | high << 24);
}
inline double emulate_e4m3(uint64_t descriptor, int row, int k)
{
    const int code = emulate_operand(descriptor, row, k);
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double m = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return code & 0x80 ? -m : m;
}

inline int emulate_s8(uint64_t descriptor, int row, int k)
{
    return static_cast<int8_t>(emulate_operand(descriptor, row, k));
}

// d (+)= A B^T in the accumulators of all threads. Sums are Wide while they are added: binary64, or
// 32 bits that wrap.
template <class T, class Wide, int kLen>
inline void emulate_add_product(const EmulateProduct &p, const Wide (*x)[kLen],
                                const Wide (*y)[kLen])
{
    for (int thread = 0; thread < 128; thread++)
        for (int i = 0; i < 128; i++) {
            const int row = thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2 ? 8 : 0);
            const int col = i / 4 * 8 + thread % 4 * 2 + i % 2;
            uint32_t *const word = &(*p.sum[thread])[static_cast<size_t>(i)];
            T d;
            memcpy(&d, word, sizeof d);
            Wide s = p.part[thread].is_sum ? static_cast<Wide>(d) : 0;
            for (int k = 0; k < kLen; k++)
                s += x[row][k] * y[col][k];
            d = static_cast<T>(s);
            memcpy(word, &d, sizeof d);
        }
}
template <class Wide, int kLen, class Operand>
inline void emulate_read_rows(Wide (*rows)[kLen], int n_rows, uint64_t descriptor, Operand operand)
{
    for (int row = 0; row < n_rows; row++)
        for (int k = 0; k < kLen; k++)
            rows[row][k] = static_cast<Wide>(operand(descriptor, row, k));
}

// Both operands as they are in shared memory at this moment.
template <class T, class Wide, int kLen, class Element, Element (*kOperand)(uint64_t, int, int)>
inline void emulate_wgmma_now(const EmulateProduct &p)
{
    static Wide x[64][kLen], y[256][kLen];
    emulate_read_rows(x, 64, p.part[0].a, kOperand);
    emulate_read_rows(y, 256, p.part[0].b, kOperand);
    emulate_add_product<T, Wide, kLen>(p, x, y);
}
// A in registers: 8-bit code c of thread T, warp w: row 16w + T%32/4, + 8 in registers 1 and 3;
// column 4 (T%4) + c%4, + 16 in registers 2 and 3.
inline void emulate_wgmma_regs_now(const EmulateProduct &p)
{
    static uint32_t x[64][32], y[256][32];
    for (int thread = 0; thread < 128; thread++)
        for (int c = 0; c < 16; c++) {
            const int row = thread / 32 * 16 + thread % 32 / 4 + (c / 4 % 2 ? 8 : 0);
            const int col = thread % 4 * 4 + c % 4 + (c / 4 >= 2 ? 16 : 0);
            x[row][col] = static_cast<uint32_t>(emulate_code(p.part[thread].a_regs, c, 8));
        }
    emulate_read_rows(y, 256, p.part[0].b, emulate_s8);
    emulate_add_product<int32_t, uint32_t, 32>(p, x, y);
}
// 2:4: the 32 kept bytes of a row are the first and second of 16 aligned groups of four columns.
// The word of thread T, warp w, is of row 16w + T%32/4, + 8 where T is odd, and of columns 0..31,
// or 32..63 where T%4 >= 2: a nibble for each four of them, from bit 0 on.
inline void emulate_wgmma_sp_now(const EmulateProduct &p)
{
    static uint32_t x[64][64], y[256][64];
    memset(x, 0, sizeof x);
    for (int thread = 0; thread < 128; thread++) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + (thread % 2 ? 8 : 0);
        const int first = thread % 4 >= 2 ? 32 : 0;
        for (int four = 0; four < 8; four++) {
            const unsigned nibble = *p.part[thread].e >> (4 * four) & 15u;
            const int i0 = nibble & 3u, i1 = nibble >> 2;
            if (i0 >= i1)
                emulate_die("a nibble of 2:4 metadata is not ascending");
            const int col = first + 4 * four, kept = col / 2;
            x[row][col + i0] = static_cast<uint32_t>(emulate_s8(p.part[0].a, row, kept));
            x[row][col + i1] = static_cast<uint32_t>(emulate_s8(p.part[0].a, row, kept + 1));
        }
    }
    emulate_read_rows(y, 256, p.part[0].b, emulate_s8);
    emulate_add_product<int32_t, uint32_t, 64>(p, x, y);
}

template <int kLen, emulate_product kProduct> inline void emulate_wgmma(EmulateWgmma w)
{
    emulate_collective(
        128, &w, [](void *const *args, unsigned) { emulate_issue_wgmma(args, kLen, kProduct); });
}
inline void wgmma_m64n256k16_bf16(float (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    emulate_wgmma<16, emulate_wgmma_now<float, double, 16, double, emulate_bf16>>(
        {d, a, b, nullptr, nullptr, is_sum});
}
inline void wgmma_m64n256k32_e4m3(float (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    emulate_wgmma<32, emulate_wgmma_now<float, double, 32, double, emulate_e4m3>>(
        {d, a, b, nullptr, nullptr, is_sum});
}
inline void wgmma_m64n256k32_s8(int32_t (&d)[128], uint64_t a, uint64_t b, int is_sum)
{
    emulate_wgmma<32, emulate_wgmma_now<int32_t, uint32_t, 32, int, emulate_s8>>(
        {d, a, b, nullptr, nullptr, is_sum});
}
inline void wgmma_m64n256k32_s8_regs(int32_t (&d)[128], const uint32_t (&a)[4], uint64_t b,
                                     int is_sum)
{
    emulate_wgmma<32, emulate_wgmma_regs_now>({d, 0, b, a, nullptr, is_sum});
}
inline void wgmma_sp_m64n256k64_s8(int32_t (&d)[128], uint64_t a, uint64_t b, const uint32_t &e,
                                   int is_sum)
{
    emulate_wgmma<64, emulate_wgmma_sp_now>({d, a, b, nullptr, &e, is_sum});
}
