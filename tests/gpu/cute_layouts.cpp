// SPDX-License-Identifier: Apache-2.0
// gpu/sq_maps.cuh against the layouts of CuTe (CUTLASS), which were written and run by others:
// every thread and value of the fragments, every byte of the 128-byte swizzle, every field of the
// wgmma descriptor. Built and run by cute.t where the headers are.
#include <cstdio>

#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/tensor.hpp>

#include "gpu/sq_maps.cuh"

using namespace cute;

static int n_tests = 0, n_failed = 0;

static void report(const char *name, int n_different, int n)
{
    printf("%s %d - %s: %d of %d differ\n", n_different ? "not ok" : "ok", ++n_tests, name,
           n_different, n);
    n_failed += n_different != 0;
}

// A CuTe layout gives, for (thread, value), the element's index in column-major order.
template <class Layout, class Map>
static void fragments(const char *name, Layout layout, int n_rows, int n_threads, int n_values,
                      Map map)
{
    int n_different = 0;
    for (int t = 0; t < n_threads; t++)
        for (int v = 0; v < n_values; v++) {
            const int i = layout(t, v);
            const SqCell cell = map(t, v);
            n_different += cell.row != i % n_rows || cell.byte != i / n_rows;
        }
    report(name, n_different, n_threads * n_values);
}

#define MAP(function) [](int t, int v) { return function(t, v); }

// The 4-bit products use the byte maps with two codes a byte.
static SqCell codes_a(int lane, int i)
{
    const SqCell at = sq_fragment_a(lane, i / 2);
    return {at.row, 2 * at.byte + i % 2};
}
static SqCell codes_b(int lane, int i)
{
    const SqCell at = sq_fragment_b(lane, i / 2);
    return {at.row, 2 * at.byte + i % 2};
}

static void swizzle()
{
    const auto tile = tile_to_shape(SM90::GMMA::Layout_K_SW128_Atom<uint8_t>{},
                                    make_shape(Int<256>{}, Int<128>{}));
    int n_different = 0;
    for (int row = 0; row < 256; row++)
        for (int byte = 0; byte < 128; byte++)
            n_different += static_cast<int>(tile(row, byte)) != sq_swizzle128(row, byte);
    report("128-byte swizzle of 256 rows", n_different, 256 * 128);
}

static void descriptor()
{
    int n_different = 0, n = 0;
    for (uint32_t at = 0; at < 0x38000; at += 1024, n++) {
        SM90::GMMA::LayoutType const type = SM90::GMMA::LayoutType::B128;
        cute::GmmaDescriptor d;
        d.desc_ = sq_wgmma_descriptor<128>(at);
        n_different += d.bitfield.start_address_ != at >> 4 ||
                       d.bitfield.stride_byte_offset_ != 64 || d.bitfield.base_offset_ != 0 ||
                       d.bitfield.layout_type_ != static_cast<unsigned>(type);
    }
    report("fields of the wgmma descriptor", n_different, n);
}

int main()
{
    using S8 = MMA_Traits<SM80_16x8x32_S32S8S8S32_TN>;
    using S4 = MMA_Traits<SM80_16x8x64_S32S4S4S32_TN>;
    fragments("s8 m16n8k32 A", S8::ALayout{}, 16, 32, 16, MAP(sq_fragment_a));
    fragments("s8 m16n8k32 B", S8::BLayout{}, 8, 32, 8, MAP(sq_fragment_b));
    fragments("s8 m16n8k32 D", S8::CLayout{}, 16, 32, 4, MAP(sq_fragment_d));
    fragments("s4 m16n8k64 A", S4::ALayout{}, 16, 32, 32, codes_a);
    fragments("s4 m16n8k64 B", S4::BLayout{}, 8, 32, 16, codes_b);
    fragments("wgmma m64n256 D", SM90::GMMA::CLayout_64x256{}, 64, 128, 128,
              MAP(sq_fragment_wgmma_d));
    swizzle();
    descriptor();
    printf("1..%d\n", n_tests);
    return n_failed != 0;
}
