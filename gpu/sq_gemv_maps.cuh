// SPDX-License-Identifier: Apache-2.0
// Bit layouts and index maps of the decode kernels (sq_gemv.cuh), host and device. Where the order
// on the device differs from the stored one (SPEC F.4, H.3), the change moves bits and loses none:
// the inverse is here as well. tests/gpu/test_gemv_maps.cpp proves them bijective.
#pragma once

#include "gpu/sq_maps.cuh"

// ---- 4-bit codes beside binary16 activations ---------------------------------------------------

constexpr int kSqGemvGroup = 128; // weights per scale of the W4 baselines

// Pairs order: of 8 consecutive codes in a word, nibble i (i < 4) is code 2i and nibble i + 4 is
// code 2i + 1, so that one mask puts two neighbours into the two halves of a word.
SQ_HD int sq_pairs_position(int code) // nibble index in the stream
{
    return code / 8 * 8 + code % 8 / 2 + 4 * (code % 2);
}

// 0x6400 is 1024 in binary16, whose last ten bits count units: or-ing a field into them gives 1024
// plus the field. Field at bits 0..3 or 4..7 of each half.
SQ_HD uint32_t sq_f16x2_nibbles0(uint32_t word)
{
    return (word & 0x000f000fu) | 0x64006400u; // 1024 + q
}
SQ_HD uint32_t sq_f16x2_nibbles1(uint32_t word)
{
    return (word & 0x00f000f0u) | 0x64006400u; // 1024 + 16 q
}
constexpr uint32_t kF16x2Minus1032 = 0xe408e408u; // q = x - 1032 + 8: codes stored as q + 8
constexpr uint32_t kF16x2Sixteenth = 0x2c002c00u; // 1/16
constexpr uint32_t kF16x2Minus72 = 0xd480d480u;   // (1024 + 16 (q + 8)) / 16 - 72 = q
constexpr uint32_t kF16x2Minus1024 = 0xe400e400u;
constexpr uint32_t kF16x2Eighth = 0x30003000u;      // 1/8
constexpr uint32_t kF16x2Minus128 = 0xd800d800u;    // 1024 / 8
constexpr uint32_t kF16x2SixtyFourth = 0x24002400u; // 1/64
constexpr uint32_t kF16x2Minus16 = 0xcc00cc00u;     // 1024 / 64

// ---- GQSA --------------------------------------------------------------------------------------

constexpr int kSqGqsaGroup = 16;

// What a kept group carries beside its codes, in one word: bits 0..11 group column, 12..15 zero
// point, 16..31 scale (binary16). K / 16 <= 4096.
struct SqGqsaMeta {
    uint32_t column, zero, scale;
};
SQ_HD uint32_t sq_gqsa_meta(SqGqsaMeta m)
{
    return m.column | m.zero << 12 | m.scale << 16;
}
SQ_HD SqGqsaMeta sq_gqsa_meta_of(uint32_t word)
{
    return {word & 0xfffu, word >> 12 & 15u, word >> 16};
}
// Codes of a group, 8 bytes: byte i holds code i (low) and code i + 8 (high).
SQ_HD int sq_gqsa_position(int code) // nibble index
{
    return 2 * (code % 8) + code / 8;
}
// Stream-K: worker p of P takes groups [p T / P, (p + 1) T / P) (SPEC F.8).
SQ_HD uint32_t sq_stream_begin(uint32_t p, uint32_t n_workers, uint32_t n_groups)
{
    return static_cast<uint32_t>(static_cast<uint64_t>(p) * n_groups / n_workers);
}

// ---- Q4_K superblocks (SPEC G.3) ---------------------------------------------------------------

constexpr int kSqQ4kNbytes = 144, kSqQ4kRows = 256;

// 6-bit scale and minimum of block j from the three words after d and dmin.
struct SqQ4kScale {
    uint32_t scale, min;
};
SQ_HD SqQ4kScale sq_q4k_scale(uint32_t w0, uint32_t w1, uint32_t w2, int j)
{
    const int shift = 8 * (j & 3);
    const uint32_t a = w0 >> shift, b = w1 >> shift, c = w2 >> shift;
    return j < 4 ? SqQ4kScale{a & 63u, b & 63u}
                 : SqQ4kScale{(c & 15u) | (a >> 2 & 0x30u), (c >> 4 & 15u) | (b >> 2 & 0x30u)};
}
// Row (0..255) of code e (0..7) of the word that lane `lane` loads: e < 4 are low nibbles of bytes
// e, the others high nibbles of bytes e - 4. Lanes 8u..8u+7 hold blocks 2u and 2u + 1.
SQ_HD int sq_q4k_row(int lane, int e)
{
    return 64 * (lane / 8) + 32 * (e / 4) + 4 * (lane % 8) + e % 4;
}
// Code e of the word as binary32 1 + q / 16: the code in the four highest bits of the fraction.
SQ_HD uint32_t sq_q4k_fraction(uint32_t word, int e)
{
    const int bit = 8 * (e % 4) + 4 * (e / 4); // where the code is; it goes to bits 19..22
    const uint32_t moved = bit < 19 ? word << (19 - bit) : word >> (bit - 19);
    return (moved & 0x00780000u) | 0x3f800000u;
}

// ---- SpQR --------------------------------------------------------------------------------------
//
// Published (SPEC H.3): one 64-bit word per row of a 16 x 16 tile: bits 0..2 scale code, 3..5 zero
// code, 6 + 3j code of column j, 54..61 a byte of the second order.
//
// Repacked: two 32-bit words a tile row, each five pairs of 3-bit fields at bits 3i and 16 + 3i,
// and nibbles at bits 12..15 and 28..31 of the second word:
//   word 0: pair i = codes 2i, 2i + 1, i = 0..4 (columns 0..9)
//   word 1: pair i = codes 10 + 2i, 11 + 2i, i = 0..2; pair 3 = (scale code, zero code)
//           bits 12..15, 28..31: of the 32 bits that this row carries for four neighbouring tiles
// Four tiles (64 columns) form a quad: row r of its tile t carries 8 bits in each of four words,
// together one half of one tile's second order: tile r / 4, low half where r % 4 < 2, twice.
//
// Order: quad q of tile row I, row r: 16-byte chunks ((I K/64 + q) 2 + h) 16 + r, h = t / 2.

struct SqSpqrRow {
    uint32_t scale, zero;  // 3 bits
    uint64_t codes;        // 48 bits
    uint32_t second_order; // 8 bits
};
SQ_HD SqSpqrRow sq_spqr_row_of(uint64_t word)
{
    return {static_cast<uint32_t>(word & 7u), static_cast<uint32_t>(word >> 3 & 7u),
            word >> 6 & UINT64_C(0xffffffffffff), static_cast<uint32_t>(word >> 54 & 255u)};
}
SQ_HD uint64_t sq_spqr_word(SqSpqrRow r)
{
    return r.scale | r.zero << 3 | r.codes << 6 | static_cast<uint64_t>(r.second_order) << 54;
}
// Bits of the second-order value that row r of a tile carries (each twice): byte r / 2.
SQ_HD int sq_spqr_byte(int row)
{
    return row / 2;
}

struct SqSpqrPair {
    uint32_t lo, hi; // word 0 and word 1
};
// `nibbles`: 8 bits of the quad's second order.
SQ_HD SqSpqrPair sq_spqr_repack(uint64_t codes, uint32_t scale, uint32_t zero, uint32_t nibbles)
{
    uint32_t field[20];
    for (int j = 0; j < 16; j++)
        field[j] = static_cast<uint32_t>(codes >> (3 * j)) & 7u;
    field[16] = scale;
    field[17] = zero;
    SqSpqrPair w = {0, 0};
    for (int i = 0; i < 5; i++)
        w.lo |= (field[2 * i] | field[2 * i + 1] << 16) << (3 * i);
    for (int i = 0; i < 4; i++)
        w.hi |= (field[10 + 2 * i] | field[11 + 2 * i] << 16) << (3 * i);
    w.hi |= (nibbles & 15u) << 12 | (nibbles >> 4 & 15u) << 28;
    return w;
}
SQ_HD SqSpqrRow sq_spqr_unpack(SqSpqrPair w) // second_order: the nibbles
{
    SqSpqrRow r = {w.hi >> 9 & 7u, w.hi >> 25 & 7u, 0, (w.hi >> 12 & 15u) | (w.hi >> 28) << 4};
    for (int j = 0; j < 16; j++) {
        const uint32_t word = j < 10 ? w.lo : w.hi;
        const int i = (j < 10 ? j : j - 10) / 2;
        r.codes |= static_cast<uint64_t>(word >> (3 * i + 16 * (j % 2)) & 7u) << (3 * j);
    }
    return r;
}
// The 32 bits that one row carries for its quad: tile t gives the nibbles at 4t and 16 + 4t.
SQ_HD uint32_t sq_spqr_carried(const uint32_t (&hi)[4])
{
    return (hi[0] >> 12 & 0x000f000fu) | (hi[1] >> 8 & 0x00f000f0u) | (hi[2] >> 4 & 0x0f000f00u) |
           (hi[3] & 0xf000f000u);
}
SQ_HD uint32_t sq_spqr_nibbles(uint32_t carried, int tile) // the inverse: 8 bits for tile t
{
    return (carried >> (4 * tile) & 15u) | (carried >> (16 + 4 * tile) & 15u) << 4;
}
// The row of a quad that carries the low (0) or high (1) half of tile t's second order (and the row
// after it does again).
SQ_HD int sq_spqr_carrier(int tile, int half)
{
    return 4 * tile + 2 * half;
}
// Index of the 16-byte chunk with the words of tiles 2h and 2h + 1 of a quad.
SQ_HD size_t sq_spqr_chunk(size_t tile_row, size_t quad, size_t n_quads, int h, int row)
{
    return ((tile_row * n_quads + quad) * 2 + static_cast<size_t>(h)) * 16 +
           static_cast<size_t>(row);
}
