// SPDX-License-Identifier: Apache-2.0
// The PTX instructions of gpu/sq_ptx.cuh for the emulator, one matrix element at a time, straight
// from the fragment tables of the PTX ISA (sections "Matrix fragments for mma.m16n8k32", "...
// sparse mma.m16n8k64"; those of a warpgroup are in emulate_wgmma.h). The 2:4 metadata lanes are
// SPEC E.4. Nothing here calls gpu/sq_maps.cuh.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "tests/gpu/emulate_async.h"

// ---- copies -------------------------------------------------------------------------------------

inline void cp_async_16(void *shared, const void *global, uint32_t nbytes)
{
    if (reinterpret_cast<uintptr_t>(shared) % 16 != 0 ||
        (nbytes != 0 && reinterpret_cast<uintptr_t>(global) % 16 != 0) ||
        (nbytes != 0 && nbytes != 16)) {
        fprintf(stderr, "emulate: cp.async of %u bytes to %p from %p\n", nbytes, shared, global);
        abort();
    }
    emulate_copy_later({shared, global, nbytes});
}

struct EmulateLdmatrix {
    uint32_t *r;
    const uint8_t *row;
};
inline void ldmatrix_x4(uint32_t (&r)[4], const void *shared_row)
{
    EmulateLdmatrix m{r, static_cast<const uint8_t *>(shared_row)};
    emulate_collective(32, &m, [](void *const *args, unsigned) {
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned i = 0; i < 4; i++) {
                const auto *source = static_cast<EmulateLdmatrix *>(args[8 * i + lane / 4]);
                memcpy(&static_cast<EmulateLdmatrix *>(args[lane])->r[i],
                       source->row + 4 * (lane % 4), 4);
            }
        emulate_warpgroup().is_fenced = false; // for products that take A from registers
    });
}

// ---- binary16 pairs -----------------------------------------------------------------------------
// Every binary16 is an integer of units of 2^-24, so a sum of products is one of 2^-48 in 128 bits:
// exact, then rounded once.

inline __int128 emulate_f16_units(uint32_t h)
{
    const int exponent = h >> 10 & 31;
    const __int128 m = static_cast<__int128>(exponent ? (h & 1023) | 1024 : h & 1023)
                       << (exponent ? exponent - 1 : 0);
    if (exponent == 31) {
        fprintf(stderr, "emulate: binary16 infinity or NaN\n");
        abort();
    }
    return h & 0x8000 ? -m : m;
}
// units of 2^-48 -> binary16, nearest even.
inline uint32_t emulate_f16_round(__int128 v)
{
    const uint32_t sign = v < 0 ? 0x8000 : 0;
    unsigned __int128 m = static_cast<unsigned __int128>(v < 0 ? -v : v);
    int shift = 24; // to units of the smallest subnormal
    while ((m >> shift) >= 2048)
        shift++;
    const unsigned __int128 rest = m & ((static_cast<unsigned __int128>(1) << shift) - 1);
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (shift - 1);
    uint32_t q = static_cast<uint32_t>(m >> shift);
    q += rest > half || (rest == half && (q & 1));
    // a carry into the next exponent is the right pattern
    const uint32_t bits = shift == 24 ? q : q + (static_cast<uint32_t>(shift - 24) << 10);
    return sign | (bits >= 0x7c00 ? 0x7c00 : bits);
}
inline uint32_t emulate_f16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return emulate_f16_round(emulate_f16_units(a & 0xffff) * emulate_f16_units(b & 0xffff) +
                             (emulate_f16_units(c & 0xffff) << 24));
}
inline uint32_t f16x2_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return emulate_f16_fma(a, b, c) | emulate_f16_fma(a >> 16, b >> 16, c >> 16) << 16;
}
inline uint32_t f16x2_add(uint32_t a, uint32_t b)
{
    return f16x2_fma(a, 0x3c003c00u, b);
}
inline uint32_t f16x2_sub(uint32_t a, uint32_t b)
{
    return f16x2_fma(b, 0xbc00bc00u, a);
}
inline uint32_t f16x2_mul(uint32_t a, uint32_t b)
{
    return f16x2_fma(a, b, 0);
}
inline float f16_to_f32(uint32_t h)
{
    return static_cast<float>(ldexp(static_cast<double>(emulate_f16_units(h & 0xffff)), -24));
}

// ---- streams and hand-over ----------------------------------------------------------------------

template <class T> inline T emulate_load(const void *p)
{
    T v;
    if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0) {
        fprintf(stderr, "emulate: load of %zu bytes from %p\n", sizeof(T), p);
        abort();
    }
    memcpy(&v, p, sizeof v);
    return v;
}
inline uint4 ld_stream_16(const void *p)
{
    return emulate_load<uint4>(p);
}
inline uint2 ld_stream_8(const void *p)
{
    return emulate_load<uint2>(p);
}
inline uint32_t ld_stream_4(const void *p)
{
    return emulate_load<uint32_t>(p);
}
inline void slot_put(uint64_t *slot, uint32_t value)
{
    if (*slot != 0) {
        fprintf(stderr, "emulate: a slot is filled twice\n");
        abort();
    }
    *slot = UINT64_C(1) << 32 | value;
}
inline uint32_t slot_take(uint64_t *slot)
{
    while (*slot == 0)
        emulate_yield();
    const uint32_t value = static_cast<uint32_t>(*slot);
    *slot = 0;
    return value;
}

// ---- warp matrix products -----------------------------------------------------------------------

struct EmulateMma {
    int32_t *d;
    const uint32_t *a, *b;
    uint32_t e;
};
inline int emulate_code(const uint32_t *regs, int index, int bits)
{
    const int per_reg = 32 / bits;
    const uint32_t field = regs[index / per_reg] >> (bits * (index % per_reg));
    return bits == 8 ? static_cast<int8_t>(field)
                     : static_cast<int8_t>(static_cast<uint8_t>(field << 4)) >> 4;
}

// A[16][K] and B[K][8] from the registers of 32 lanes. Registers hold r = 32/bits codes: a_i (i-th
// code of the lane): row q for registers 0 and 2, q + 8 for 1 and 3; column r*t + i%r, + 4r for
// registers 2 and 3.  b_i: row r*t + i%r + 4r*(register), column q.
inline void emulate_mma_warp(void *const *args, int bits)
{
    const int r = 32 / bits, k = 8 * r;
    static int a[16][64], b[64][8];
    for (int lane = 0; lane < 32; lane++) {
        const auto *m = static_cast<EmulateMma *>(args[lane]);
        const int q = lane >> 2, t = lane & 3;
        for (int i = 0; i < 4 * r; i++) {
            const int row = (i / r) % 2 == 0 ? q : q + 8;
            a[row][r * t + i % r + (i / r >= 2 ? 4 * r : 0)] = emulate_code(m->a, i, bits);
        }
        for (int i = 0; i < 2 * r; i++)
            b[r * t + i % r + 4 * r * (i / r)][q] = emulate_code(m->b, i, bits);
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            const int row = (lane >> 2) + (i < 2 ? 0 : 8), col = 2 * (lane & 3) + (i & 1);
            int32_t sum = 0;
            for (int j = 0; j < k; j++)
                sum += a[row][j] * b[j][col];
            static_cast<EmulateMma *>(args[lane])->d[i] += sum;
        }
}
inline void mma_s8_m16n8k32(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const uint32_t b[2] = {b0, b1};
    EmulateMma m{d, a, b, 0};
    emulate_collective(32, &m, [](void *const *args, unsigned) { emulate_mma_warp(args, 8); });
}
inline void mma_s4_m16n8k64(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const uint32_t b[2] = {b0, b1};
    EmulateMma m{d, a, b, 0};
    emulate_collective(32, &m, [](void *const *args, unsigned) { emulate_mma_warp(args, 4); });
}

// Sparse A: kept code c (0..3) of register i covers dense columns 8t + 32(i>>1) .. +7, two kept in
// each aligned four of them, at the indices of the metadata nibble of (row, four).
inline void emulate_mma_sp_warp(void *const *args)
{
    static int a[16][64], b[64][8];
    static uint32_t meta[16][4]; // 16-bit words, 16 dense columns each
    memset(a, 0, sizeof a);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t e = static_cast<EmulateMma *>(args[lane])->e;
        const int row = (lane >> 2) + 8 * (lane & 1), word = 2 * ((lane >> 1) & 1);
        meta[row][word] = e & 0xffffu;
        meta[row][word + 1] = e >> 16;
    }
    for (int lane = 0; lane < 32; lane++) {
        const auto *m = static_cast<EmulateMma *>(args[lane]);
        const int q = lane >> 2, t = lane & 3;
        for (int i = 0; i < 16; i++) {
            const int reg = i / 4, row = q + 8 * (reg & 1);
            const int four = 2 * t + 8 * (reg >> 1) + i % 4 / 2; // aligned group of 4 in the row
            const uint32_t nibble = meta[row][four / 4] >> (4 * (four % 4)) & 15u;
            const int i0 = nibble & 3u, i1 = nibble >> 2;
            if (i0 >= i1) {
                fprintf(stderr, "emulate: 2:4 metadata nibble 0x%x is not ascending\n", nibble);
                abort();
            }
            a[row][4 * four + (i % 2 ? i1 : i0)] = emulate_code(m->a, i, 8);
        }
        for (int i = 0; i < 16; i++)
            b[4 * t + i % 4 + 16 * (i / 4)][q] = emulate_code(m->b, i, 8);
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            const int row = (lane >> 2) + (i < 2 ? 0 : 8), col = 2 * (lane & 3) + (i & 1);
            int32_t sum = 0;
            for (int j = 0; j < 64; j++)
                sum += a[row][j] * b[j][col];
            static_cast<EmulateMma *>(args[lane])->d[i] += sum;
        }
}
inline void mma_sp_s8_m16n8k64(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[4],
                               uint32_t e)
{
    EmulateMma m{d, a, b, e};
    emulate_collective(32, &m, [](void *const *args, unsigned) { emulate_mma_sp_warp(args); });
}

// ---- bulk copies and barriers -------------------------------------------------------------------
// An mbarrier word: expected arrivals in bits 0..15, pending arrivals 16..31, phase 32, pending
// bytes 33.. (signed).

struct EmulateBarrier {
    static constexpr uint64_t kCount = 0xffff;
    static uint64_t make(uint64_t n, uint64_t pending, uint64_t phase, uint64_t tx)
    {
        return n | pending << 16 | phase << 32 | tx << 33;
    }
    static void update(uint64_t *bar, int arrivals, int64_t tx)
    {
        const uint64_t n = *bar & kCount, pending = (*bar >> 16 & kCount) - arrivals;
        const uint64_t phase = *bar >> 32 & 1, bytes = (*bar >> 33) + static_cast<uint64_t>(tx);
        const bool is_complete = pending == 0 && (bytes & 0x7fffffffu) == 0;
        emulate_progress();
        *bar =
            is_complete ? make(n, n, phase ^ 1, 0) : make(n, pending, phase, bytes & 0x7fffffffu);
    }
};
inline void mbarrier_init(uint64_t *bar, uint32_t n_arrivals)
{
    *bar = EmulateBarrier::make(n_arrivals, n_arrivals, 0, 0);
}
inline void mbarrier_init_fence()
{
}
inline void mbarrier_arrive(uint64_t *bar)
{
    EmulateBarrier::update(bar, 1, 0);
}
inline void mbarrier_arrive_expect_tx(uint64_t *bar, uint32_t nbytes)
{
    EmulateBarrier::update(bar, 1, nbytes);
}
inline void mbarrier_wait(uint64_t *bar, uint32_t parity)
{
    while ((*bar >> 32 & 1) == parity)
        emulate_yield();
}

// The same barrier in block `rank` of the cluster.
inline uint64_t *emulate_peer(uint64_t *bar, unsigned rank)
{
    return reinterpret_cast<uint64_t *>(emulate_shared_of(rank) + ptx_shared_address(bar));
}
inline void mbarrier_arrive_cluster(uint64_t *bar, uint32_t rank)
{
    EmulateBarrier::update(emulate_peer(bar, rank), 1, 0);
}
inline uint32_t cluster_rank()
{
    return emulate_rank();
}
inline void cluster_sync()
{
    emulate_cluster_barrier();
}

struct CUtensorMap {
    const uint8_t *base;
    int64_t rows, row_nbytes, box_rows, box_nbytes; // of a row of the box
    int element_nbytes, swizzle;                    // over 128 or 64 bytes; 0: none
};
// Swizzles by address: of 128 bytes bits 4..6 XOR bits 7..9, of 64 bytes bits 4..5 XOR bits 7..8.
inline uint32_t emulate_swizzle(uint32_t at, int span)
{
    return at ^ ((at >> 7 & (span == 128 ? 7u : span == 64 ? 3u : 0u)) << 4);
}
// A box of box_rows rows x box_nbytes bytes, outside of the matrix zeros.
inline void emulate_box(uint8_t *shared, uint32_t start, const CUtensorMap &map, int32_t inner,
                        int32_t row)
{
    for (int64_t r = 0; r < map.box_rows; r++)
        for (int64_t byte = 0; byte < map.box_nbytes; byte++) {
            const int64_t from = static_cast<int64_t>(inner) * map.element_nbytes + byte;
            const bool is_inside = row + r < map.rows && from < map.row_nbytes;
            const uint32_t at = start + static_cast<uint32_t>(r * map.box_nbytes + byte);
            shared[emulate_swizzle(at, map.swizzle)] =
                is_inside ? map.base[(row + r) * map.row_nbytes + from] : 0;
        }
}
// Copies that the encoder of tensor maps or the copy engine refuses: rows of the matrix, its start
// and the place in shared memory are aligned, a box has at most 256 elements a side and no row
// longer than the swizzle.
inline void emulate_check_box(uint32_t start, const CUtensorMap &map)
{
    const uint32_t align = map.swizzle ? 8u * static_cast<uint32_t>(map.swizzle) : 128u;
    if (start % align != 0 || map.row_nbytes % 16 != 0 ||
        reinterpret_cast<uintptr_t>(map.base) % 16 != 0)
        emulate_die("a copied box is not aligned");
    if (map.box_rows > 256 || map.box_nbytes / map.element_nbytes > 256 ||
        map.box_nbytes % 16 != 0 || (map.swizzle && map.box_nbytes > map.swizzle))
        emulate_die("a copied box is too large");
}
// To the same place, and counted at the same barrier, in every block of `ranks`: sooner or later,
// of several boxes in any order.
inline void tma_load_2d_multicast(void *shared, const CUtensorMap *map, uint64_t *bar,
                                  int32_t inner, int32_t row, uint16_t ranks)
{
    const uint32_t start = ptx_shared_address(shared), at = ptx_shared_address(bar);
    const CUtensorMap m = *map;
    emulate_check_box(start, m);
    for (unsigned rank = 0; rank < 2; rank++) {
        if ((ranks >> rank & 1) == 0)
            continue;
        const auto deliver = [=] {
            uint8_t *const to = emulate_shared_of(rank);
            emulate_box(to, start, m, inner, row);
            EmulateBarrier::update(reinterpret_cast<uint64_t *>(to + at), 0,
                                   -(m.box_rows * m.box_nbytes));
        };
        if (emulate_draw(4) == 0)
            deliver();
        else
            emulate_later(deliver);
    }
}
inline void tma_load_2d(void *shared, const CUtensorMap *map, uint64_t *bar, int32_t inner,
                        int32_t row)
{
    tma_load_2d_multicast(shared, map, bar, inner, row,
                          static_cast<uint16_t>(1u << emulate_rank()));
}
