// SPDX-License-Identifier: Apache-2.0
// gpu/sq_gemv_maps.cuh: orders of codes are bijective, packed words lose nothing, binary16
// constants are what their names say, Q4_K and SpQR bits are those of the golden model.
//
// Exhausted: code orders, rows of a Q4_K word, nibble and 3-bit unpacking at every position.
// Sampled: SpQR words, Q4_K scale bytes, Stream-K ranges. Directed: V9, V11.
#include "tests/gpu/gpu_fixture.h"

extern "C" {
#include "models/number/sq_half.h"
#include "models/number/sq_q4k.h"
#include "models/spqr/sq_spqr.h"
}

#include "gpu/sq_gemv_maps.cuh"

namespace
{

float half_of(uint32_t pair)
{
    assert_int_equal(pair >> 16, pair & 0xffff);
    return sq_half_to_float(static_cast<uint16_t>(pair));
}

SQ_TEST(constants)
{
    assert_true(half_of(kF16x2Minus1032) == -1032.0f);
    assert_true(half_of(kF16x2Sixteenth) == 0.0625f);
    assert_true(half_of(kF16x2Minus72) == -72.0f);
    assert_true(half_of(kF16x2Minus1024) == -1024.0f);
    assert_true(half_of(kF16x2Eighth) == 0.125f);
    assert_true(half_of(kF16x2Minus128) == -128.0f);
    assert_true(half_of(kF16x2SixtyFourth) == 0.015625f);
    assert_true(half_of(kF16x2Minus16) == -16.0f);
}

SQ_TEST(code_orders)
{
    bool pairs[32] = {}, gqsa[16] = {};
    for (int i = 0; i < 32; i++)
        pairs[sq_pairs_position(i)] = true;
    for (int i = 0; i < 16; i++)
        gqsa[sq_gqsa_position(i)] = true;
    for (bool b : pairs)
        assert_true(b);
    for (bool b : gqsa)
        assert_true(b);
    for (uint32_t q = 0; q < 16; q++) // a code at each place of a word
        for (int code = 0; code < 8; code++) {
            const uint32_t word = q << (4 * sq_pairs_position(code));
            const uint32_t moved = code / 2 < 2 ? word : word >> 8;
            const bool is_upper = code / 2 % 2;
            const uint32_t pair = is_upper ? sq_f16x2_nibbles1(moved) : sq_f16x2_nibbles0(moved);
            const uint16_t half = static_cast<uint16_t>(pair >> (16 * (code % 2)));
            const float want = 1024.0f + static_cast<float>(q) * (is_upper ? 16.0f : 1.0f);
            assert_true(sq_half_to_float(half) == want);
        }
}

SQ_TEST(gqsa_words)
{
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 1000; i++) {
        const SqGqsaMeta m = {sq_rng_below(&r, 4096), sq_rng_below(&r, 16),
                              sq_rng_below(&r, 0x7c00)};
        const SqGqsaMeta back = sq_gqsa_meta_of(sq_gqsa_meta(m));
        CHECK_EQ(back.column, m.column, "case %d: ", i);
        CHECK_EQ(back.zero, m.zero, "case %d: ", i);
        CHECK_EQ(back.scale, m.scale, "case %d: ", i);
    }
}

// Ranges follow each other, differ by at most one group, and cover the list: SPEC F.8.
SQ_TEST(stream_ranges)
{
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 200; i++) {
        const uint32_t groups = i == 0 ? 0xfffffff0u : sq_rng_below(&r, 100000);
        const uint32_t workers = 1 + sq_rng_below(&r, 5000);
        assert_int_equal(sq_stream_begin(0, workers, groups), 0);
        assert_int_equal(sq_stream_begin(workers, workers, groups), groups);
        for (uint32_t p = 0; p < workers; p++) {
            const uint32_t n =
                sq_stream_begin(p + 1, workers, groups) - sq_stream_begin(p, workers, groups);
            CHECK_EQ(n == groups / workers || n == groups / workers + 1, 1, "worker %u of %u: ", p,
                     workers);
        }
    }
}

SQ_TEST(q4k_bits)
{
    const uint8_t v9[12] = {0x41, 0x82, 0xc3, 0xc4, 0x8a, 0x4b, 0x0c, 0xcd, 0xa5, 0xb6, 0xc7, 0xdf};
    const uint8_t scale[8] = {1, 2, 3, 4, 0x15, 0x26, 0x37, 0x3f};
    const uint8_t min[8] = {10, 11, 12, 13, 0x2a, 0x1b, 0x0c, 0x3d};
    uint32_t w[3];
    memcpy(w, v9, sizeof w);
    for (int j = 0; j < 8; j++) {
        const SqQ4kScale s = sq_q4k_scale(w[0], w[1], w[2], j);
        CHECK_EQ(s.scale, scale[j], "block %d: ", j);
        CHECK_EQ(s.min, min[j], "block %d: ", j);
    }
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 200; i++) {
        struct sq_q4k block = {};
        uint8_t bytes[SQ_Q4K_NBYTES];
        for (int j = 0; j < SQ_Q4K_BLOCKS; j++) {
            block.scale[j] = static_cast<uint8_t>(sq_rng_below(&r, 64));
            block.min[j] = static_cast<uint8_t>(sq_rng_below(&r, 64));
        }
        for (uint8_t &c : block.code)
            c = static_cast<uint8_t>(sq_rng_below(&r, 16));
        sq_q4k_pack(&block, bytes);
        memcpy(w, bytes + 4, sizeof w);
        for (int j = 0; j < 8; j++) {
            const SqQ4kScale s = sq_q4k_scale(w[0], w[1], w[2], j);
            CHECK_EQ(s.scale, block.scale[j], "block %d: ", j);
            CHECK_EQ(s.min, block.min[j], "block %d: ", j);
        }
        bool seen[256] = {};
        for (int lane = 0; lane < 32; lane++)
            for (int e = 0; e < 8; e++) {
                uint32_t word;
                memcpy(&word, bytes + 16 + 4 * lane, 4);
                const int row = sq_q4k_row(lane, e);
                const float f = __uint_as_float(sq_q4k_fraction(word, e));
                seen[row] = true;
                assert_true(f == 1.0f + static_cast<float>(block.code[row]) / 16.0f);
            }
        for (bool b : seen)
            assert_true(b);
    }
}

SQ_TEST(spqr_words)
{
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 500; i++) {
        struct sq_spqr_tile t;
        uint64_t word[16];
        for (int q = 0; q < 4; q++)
            t.second[q] = static_cast<uint16_t>(sq_rng_below(&r, 0x7c00));
        for (int row = 0; row < 16; row++) {
            t.scale[row] = static_cast<uint8_t>(i ? sq_rng_below(&r, 8) : row % 8);
            t.zero[row] = static_cast<uint8_t>(i ? sq_rng_below(&r, 8) : (23 - row) % 8);
            for (int j = 0; j < 16; j++)
                t.code[row][j] = static_cast<uint8_t>(i ? sq_rng_below(&r, 8) : (row + j) % 8);
        }
        if (i == 0) { // V11
            const uint16_t v11[4] = {0x3800, 0x3400, 0xbc00, 0xc000};
            memcpy(t.second, v11, sizeof v11);
        }
        sq_spqr_pack(&t, word);
        if (i == 0) {
            assert_true(word[0] == UINT64_C(0x003EB1A23EB1A238));
            assert_true(word[15] == UINT64_C(0x30358D11F58D11C7));
        }
        uint64_t second = 0;
        for (int row = 0; row < 16; row++) {
            const SqSpqrRow s = sq_spqr_row_of(word[row]);
            assert_true(sq_spqr_word(s) == word[row]);
            CHECK_EQ(s.scale, t.scale[row], "row %d: ", row);
            CHECK_EQ(s.zero, t.zero[row], "row %d: ", row);
            second |= static_cast<uint64_t>(s.second_order) << (8 * sq_spqr_byte(row));
            const uint32_t nibbles = sq_rng_below(&r, 256);
            const SqSpqrRow back =
                sq_spqr_unpack(sq_spqr_repack(s.codes, s.scale, s.zero, nibbles));
            assert_true(back.codes == s.codes);
            CHECK_EQ(back.scale, s.scale, "row %d: ", row);
            CHECK_EQ(back.zero, s.zero, "row %d: ", row);
            CHECK_EQ(back.second_order, nibbles, "row %d: ", row);
        }
        for (int q = 0; q < 4; q++)
            CHECK_EQ(second >> (16 * q) & 0xffff, t.second[q], "number %d: ", q);
    }
}

// 32 bits spread over four tiles come back; all chunks of a small matrix are used once.
SQ_TEST(spqr_quads)
{
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 1000; i++) {
        const uint32_t carried = static_cast<uint32_t>(sq_rng_next(&r));
        uint32_t hi[4];
        for (int t = 0; t < 4; t++)
            hi[t] = sq_spqr_repack(sq_rng_next(&r), 7, 7, sq_spqr_nibbles(carried, t)).hi;
        CHECK_EQ(sq_spqr_carried(hi), carried, "case %d: ", i);
    }
    bool rows[16] = {}, chunk[3 * 5 * 2 * 16] = {};
    for (int t = 0; t < 4; t++)
        for (int half = 0; half < 2; half++)
            rows[sq_spqr_carrier(t, half)] = true;
    for (int row = 0; row < 16; row++)
        assert_int_equal(rows[row], row % 2 == 0);
    for (size_t tile_row = 0; tile_row < 3; tile_row++)
        for (size_t quad = 0; quad < 5; quad++)
            for (int h = 0; h < 2; h++)
                for (int row = 0; row < 16; row++)
                    chunk[sq_spqr_chunk(tile_row, quad, 5, h, row)] = true;
    for (bool b : chunk)
        assert_true(b);
}

} // namespace
