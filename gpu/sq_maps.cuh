// SPDX-License-Identifier: Apache-2.0
// Index maps and bit layouts of the kernels, host and device: where a chunk lies in shared memory,
// which operand element a lane holds, how 4-bit codes become bytes, how 2:4 metadata are spread
// over lanes. tests/gpu/test_maps.cpp proves them bijective and equal to the SPEC.
#pragma once

#include "gpu/sq_cuda.cuh"

// ---- shared memory ------------------------------------------------------------------------------

constexpr int kChunkNbytes = 16; // one cp.async, one row of an ldmatrix 8x8 matrix

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile of kChunks (2, 4 or 8) chunks a row.
// Any 8 consecutive rows, at one chunk, touch all 32 banks once: ldmatrix has no conflicts.
template <int kChunks> SQ_HD int sq_tile_offset(int row, int chunk)
{
    static_assert(kChunks == 2 || kChunks == 4 || kChunks == 8, "rows of 32, 64 or 128 bytes");
    const int rows_per_line = 8 / kChunks; // rows that share the 128 bytes of all banks
    return (row * kChunks + (chunk ^ (row / rows_per_line % kChunks))) * kChunkNbytes;
}

// The 128-byte swizzle of the copy engine and of wgmma: sq_tile_offset<8>, tile 1024-aligned.
SQ_HD int sq_swizzle128(int row, int byte)
{
    return sq_tile_offset<8>(row, byte / kChunkNbytes) + byte % kChunkNbytes;
}

// Shared-memory matrix descriptor of wgmma for a K-major tile in rows of 128 or 64 bytes with the
// swizzle of as many: address / 16 in bits 0..13, leading offset (unused, 1) in 16..29, stride
// between groups of 8 rows in 32..45, swizzle mode (1: 128 bytes, 2: 64) in 62..63. A step of 32
// bytes along K adds 2.
template <int kRow> SQ_HD uint64_t sq_wgmma_descriptor(uint32_t shared_address)
{
    static_assert(kRow == 128 || kRow == 64, "rows of 64 or 128 bytes");
    constexpr uint64_t kStride = 8 * kRow / 16, kMode = kRow == 128 ? 1 : 2;
    return (static_cast<uint64_t>(shared_address & 0x3ffffu) >> 4) | (UINT64_C(1) << 16) |
           (kStride << 32) | (kMode << 62);
}

// ---- fragments of mma.m16n8k32 s8 (and, by bytes, of m16n8k64 s4) -------------------------------

// Byte `byte` of the 16 bytes a lane holds of A[16][32 bytes]; of the 8 bytes of B[8][32 bytes].
struct SqCell {
    int row, byte;
};
SQ_HD SqCell sq_fragment_a(int lane, int byte)
{
    const int reg = byte / 4;
    return {lane / 4 + 8 * (reg & 1), 16 * (reg >> 1) + 4 * (lane % 4) + byte % 4};
}
SQ_HD SqCell sq_fragment_b(int lane, int byte)
{
    return {lane / 4, 16 * (byte / 4) + 4 * (lane % 4) + byte % 4};
}
// Accumulator register reg (0..3): row and column of D[16][8].
SQ_HD SqCell sq_fragment_d(int lane, int reg)
{
    return {lane / 4 + 8 * (reg >> 1), 2 * (lane % 4) + (reg & 1)};
}
// Accumulator register reg (0..127) of thread `thread` (0..127): row and column of D[64][256].
SQ_HD SqCell sq_fragment_wgmma_d(int thread, int reg)
{
    const int lane = thread % 32;
    return {16 * (thread / 32) + lane / 4 + 8 * ((reg >> 1) & 1),
            8 * (reg >> 2) + 2 * (lane % 4) + (reg & 1)};
}

// Row and chunk whose address lane `lane` gives to ldmatrix.x4 so that register i becomes a[i] of
// rows row0.. and bytes 32*step..: matrices (rows 0-7, 8-15) x (bytes 0-15, 16-31).
SQ_HD SqCell sq_ldmatrix_a(int lane)
{
    return {lane % 16, lane / 16};
}
// Row whose address lane `lane` gives so that register j becomes the words of columns 8j..8j+7 of
// B, all at one chunk.
SQ_HD int sq_ldmatrix_b(int lane)
{
    return lane;
}

// ---- tiles of the output -----------------------------------------------------------------------

// Output tile of a block: stripes of up to kStripe row tiles, walked column by column, so that
// blocks that run together share operands in L2.
struct SqTile {
    int row, col;
};
SQ_HD SqTile sq_tile_of(int block, int n_rows, int n_cols)
{
    const int kStripe = 8;
    const int stripe = block / (kStripe * n_cols), first = stripe * kStripe;
    const int height = n_rows - first < kStripe ? n_rows - first : kStripe;
    const int at = block - stripe * kStripe * n_cols;
    return {first + at % height, at / height};
}

// ---- 4-bit codes -------------------------------------------------------------------------------

// Eight codes of one word as two words of bytes, each byte 16 times its code (SPEC-exact: a sum of
// products is divided by 16 per unpacked operand afterwards). Sign extension costs nothing: the
// nibble is the upper one of the byte.
SQ_HD void sq_unpack_nibbles(uint32_t word, uint32_t *low, uint32_t *high)
{
    *low = (word << 4) & 0xf0f0f0f0u;
    *high = word & 0xf0f0f0f0u;
}

constexpr int kHalvesLen = 32; // codes per block of the "halves" order

// Two orders of packed codes. Natural (SPEC 0.5): byte i holds codes 2i (low nibble) and 2i+1.
// Halves: in blocks of 32 codes, byte i (0..15) holds codes i (low) and i + 16, so that
// sq_unpack_nibbles of an ldmatrix word gives b0 and b1 in the order of INT8 activations.
SQ_HD int sq_halves_position(int code) // nibble index in the stream; code counts from a block start
{
    const int block = code / kHalvesLen, at = code % kHalvesLen;
    return block * kHalvesLen + 2 * (at % 16) + at / 16;
}

// ---- 2:4 ---------------------------------------------------------------------------------------

// Nibble i0 | i1 << 2 of a kept pair i0 < i1 (SPEC E.2).
SQ_HD uint32_t sq_meta24_nibble(int i0, int i1)
{
    return static_cast<uint32_t>(i0 | (i1 << 2));
}

// One aligned group of four codes with at most two non-zeros, as byte i of `codes`: the two stored
// values and the nibble, canonical where fewer than two are non-zero (SPEC E.2). False where more
// than two are.
SQ_HD bool sq_meta24_compress(uint32_t codes, uint32_t *values, uint32_t *nibble)
{
    uint32_t used = 0;
    for (int i = 0; i < 4; i++)
        used |= static_cast<uint32_t>((codes >> (8 * i) & 255u) != 0) << i;
    if ((used & (used - 1) & ((used & (used - 1)) - 1)) != 0)
        return false; // a third bit is left when the lowest two are cleared
    int i0 = 0, i1 = 1;
    if (used == 0 || used == 1) {
        // nothing, or only element 0: (0,1)
    } else if ((used & (used - 1)) == 0) { // one, not element 0
        i1 = used == 2 ? 1 : used == 4 ? 2 : 3;
    } else {
        i0 = used & 1 ? 0 : used & 2 ? 1 : 2;
        i1 = used & 8 ? 3 : used & 4 ? 2 : 1;
    }
    *values = (codes >> (8 * i0) & 255u) | (codes >> (8 * i1) & 255u) << 8;
    *nibble = sq_meta24_nibble(i0, i1);
    return true;
}

// Keeps the two largest magnitudes of four codes, ties: the lower index goes first (SPEC E.6).
SQ_HD uint32_t sq_prune24(uint32_t codes)
{
    int magnitude[4];
    for (int i = 0; i < 4; i++) {
        const int v = static_cast<int8_t>(codes >> (8 * i) & 255u);
        magnitude[i] = v < 0 ? -v : v;
    }
    uint32_t kept = codes;
    for (int i = 0; i < 4; i++) {
        int rank = 0; // how many are pruned before this one
        for (int j = 0; j < 4; j++)
            rank += magnitude[j] < magnitude[i] || (magnitude[j] == magnitude[i] && j < i);
        if (rank < 2)
            kept &= ~(255u << (8 * i));
    }
    return kept;
}

// The metadata operand of mma.sp.m16n8k64 s8 in lane T: bits 15:0 = meta[row][word], bits 31:16 =
// meta[row][word + 1], of the 16 x 4 words (16 dense columns each) of a 16 x 64 tile (SPEC E.4).
SQ_HD SqCell sq_meta24_lane(int lane)
{
    return {lane / 4 + 8 * (lane & 1), 2 * (lane / 2 & 1)};
}

// The lane that holds meta[row][word], word even in bits 15:0, odd in 31:16: the inverse.
SQ_HD int sq_meta24_lane_of(int row, int word)
{
    return 4 * (row % 8) + 2 * (word / 2) + row / 8;
}

// Metadata in device order: word of lane T of tile (row / 16, column / 64). `col64` counts tiles.
SQ_HD size_t sq_meta24_index(size_t row16, size_t col64, size_t n_col64, int lane)
{
    return (row16 * n_col64 + col64) * 32 + static_cast<size_t>(lane);
}
