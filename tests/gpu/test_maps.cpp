// SPDX-License-Identifier: Apache-2.0
// gpu/sq_maps.cuh: every index map exhausted. Fragment maps are bijections and equal the sentences
// of the PTX ISA as tests/gpu/emulate_ptx.h has them; shared-memory tiles are permutations without
// bank conflicts; tile orders visit every tile once; 4-bit unpacking is exact for all 2^16 pairs of
// bytes.
#include "tests/gpu/gpu_fixture.h"

#include "gpu/sq_maps.cuh"

namespace
{

SQ_TEST(fragments_are_bijections)
{
    int a[16][32] = {{0}}, b[8][32] = {{0}}, d[16][8] = {{0}};
    static int big[64][256];
    for (int lane = 0; lane < 32; lane++) {
        for (int byte = 0; byte < 16; byte++) {
            const SqCell at = sq_fragment_a(lane, byte);
            a[at.row][at.byte]++;
            // PTX: row = q for registers 0 and 2; column = 4t + (i & 3), + 16 from register 2 on
            CHECK_EQ(at.row, lane / 4 + (byte / 4 % 2 ? 8 : 0), "lane %d byte %d: ", lane, byte);
            CHECK_EQ(at.byte, 4 * (lane % 4) + byte % 4 + (byte >= 8 ? 16 : 0), "lane %d: ", lane);
        }
        for (int byte = 0; byte < 8; byte++)
            b[sq_fragment_b(lane, byte).row][sq_fragment_b(lane, byte).byte]++;
        for (int reg = 0; reg < 4; reg++)
            d[sq_fragment_d(lane, reg).row][sq_fragment_d(lane, reg).byte]++;
    }
    for (int thread = 0; thread < 128; thread++)
        for (int reg = 0; reg < 128; reg++)
            big[sq_fragment_wgmma_d(thread, reg).row][sq_fragment_wgmma_d(thread, reg).byte]++;
    for (int row = 0; row < 64; row++)
        for (int col = 0; col < 256; col++) {
            CHECK_EQ(big[row][col], 1, "wgmma D %d %d: ", row, col);
            if (row < 16 && col < 32)
                CHECK_EQ(a[row][col], 1, "A %d %d: ", row, col);
            if (row < 8 && col < 32)
                CHECK_EQ(b[row][col], 1, "B %d %d: ", row, col);
            if (row < 16 && col < 8)
                CHECK_EQ(d[row][col], 1, "D %d %d: ", row, col);
        }
}

// What ldmatrix delivers for the addresses of sq_ldmatrix_a is the A fragment, register by
// register.
SQ_TEST(ldmatrix_gives_the_fragment)
{
    for (int lane = 0; lane < 32; lane++)
        for (int reg = 0; reg < 4; reg++)
            for (int byte = 0; byte < 4; byte++) {
                const SqCell source = sq_ldmatrix_a(8 * reg + lane / 4); // whose row the lane gets
                const SqCell want = sq_fragment_a(lane, 4 * reg + byte);
                CHECK_EQ(source.row, want.row, "lane %d register %d: ", lane, reg);
                CHECK_EQ(16 * source.byte + 4 * (lane % 4) + byte, want.byte, "lane %d: ", lane);
            }
    for (int lane = 0; lane < 32; lane++) // one k-half of B for four blocks of 8 columns
        for (int block = 0; block < 4; block++) {
            const int row = sq_ldmatrix_b(8 * block + lane / 4);
            CHECK_EQ(row, 8 * block + sq_fragment_b(lane, 0).row, "lane %d block %d: ", lane,
                     block);
        }
}

template <int kChunks> void check_tile()
{
    std::vector<int> seen(128 * kChunks);
    for (int row = 0; row < 128; row++)
        for (int chunk = 0; chunk < kChunks; chunk++)
            seen[static_cast<size_t>(sq_tile_offset<kChunks>(row, chunk) / 16)]++;
    for (size_t i = 0; i < seen.size(); i++)
        CHECK_EQ(seen[i], 1, "%d chunks, place %zu: ", kChunks, i);
    for (int row = 0; row + 8 <= 128; row += 8) // the rows of one 8x8 matrix
        for (int chunk = 0; chunk < kChunks; chunk++) {
            unsigned lines = 0;
            for (int i = 0; i < 8; i++)
                lines |= 1u << (sq_tile_offset<kChunks>(row + i, chunk) / 16 % 8);
            CHECK_EQ(lines, 0xff, "%d chunks, rows %d.., chunk %d: banks ", kChunks, row, chunk);
        }
}

SQ_TEST(tiles_have_no_bank_conflicts)
{
    check_tile<2>();
    check_tile<4>();
    check_tile<8>();
    for (int row = 0; row < 256; row++) // hardware: address bits 4..6 XOR bits 7..9
        for (int byte = 0; byte < 128; byte++) {
            const int at = row * 128 + byte;
            CHECK_EQ(sq_swizzle128(row, byte), at ^ ((at >> 7 & 7) << 4), "row %d: ", row);
        }
}

SQ_TEST(descriptor_fields)
{
    const uint64_t d = sq_wgmma_descriptor<128>(0x2d400);
    CHECK_EQ(d & 0x3fff, 0x2d400 >> 4, "address: ");
    CHECK_EQ(d >> 16 & 0x3fff, 1, "leading: ");
    CHECK_EQ(d >> 32 & 0x3fff, 64, "stride: ");
    CHECK_EQ(d >> 46 & 0x3fff, 0, "base offset and reserved: ");
    CHECK_EQ(d >> 62, 1, "swizzle mode: ");
    const uint64_t half = sq_wgmma_descriptor<64>(0x2d400);
    CHECK_EQ(half & 0x3fffffff, d & 0x3fffffff, "rows of 64 bytes, address and leading: ");
    CHECK_EQ(half >> 32, 32 | UINT64_C(2) << 30, "rows of 64 bytes, stride and mode: ");
}

SQ_TEST(every_tile_once)
{
    for (int rows = 1; rows <= 20; rows++)
        for (int cols = 1; cols <= 9; cols++) {
            std::vector<int> seen(static_cast<size_t>(rows * cols));
            for (int block = 0; block < rows * cols; block++) {
                const SqTile t = sq_tile_of(block, rows, cols);
                CHECK_EQ(t.row >= 0 && t.row < rows && t.col >= 0 && t.col < cols, 1,
                         "block %d of %d x %d: ", block, rows, cols);
                seen[static_cast<size_t>(t.row * cols + t.col)]++;
            }
            for (int at : seen)
                CHECK_EQ(at, 1, "%d x %d: ", rows, cols);
        }
}

SQ_TEST(nibbles_unpack_exactly)
{
    for (uint32_t pair = 0; pair < 65536; pair++) {
        const uint32_t word = pair | pair << 16;
        uint32_t low, high;
        sq_unpack_nibbles(word, &low, &high);
        int8_t code[8]; // natural order: even codes in low nibbles
        uint8_t bytes[4];
        memcpy(bytes, &word, 4);
        sq_unpack(bytes, 8, 4, code);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(static_cast<int8_t>(low >> (8 * i)), 16 * code[2 * i], "word %x: ", word);
            CHECK_EQ(static_cast<int8_t>(high >> (8 * i)), 16 * code[2 * i + 1], "word %x: ", word);
        }
    }
    std::vector<int> code(96);
    for (size_t i = 0; i < code.size(); i++)
        code[i] = static_cast<int>(i * 7 % 16);
    Buffer<uint8_t> packed(48);
    pack_halves(code, &packed);
    for (int i = 0; i < 96; i++) {
        const int at = sq_halves_position(i);
        CHECK_EQ(packed[static_cast<size_t>(at / 2)] >> (4 * (at % 2)) & 15,
                 code[static_cast<size_t>(i)], "code %d: ", i);
    }
}

} // namespace
