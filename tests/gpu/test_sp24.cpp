// SPDX-License-Identifier: Apache-2.0
// gpu/sp24/sq_gemm_sp24.cu in the emulator, and the 2:4 functions of gpu/sq_maps.cuh.
//
// Exhausted: all 3^4 patterns of {0, 5, -128} in a group through compression (E.2: 6 legal nibbles,
// canonical where fewer than two are non-zero, refusal of three and four); all 4^4 groups of
// magnitudes 0..3 through pruning. Directed: V6; shapes of one tile, of tails in M, N and K, of
// several rounds. Sampled: codes. The product is compared with plain loops over the dense codes.
#include "tests/gpu/gpu_fixture.h"

extern "C" {
#include "models/array/sq_meta24.h"
}

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"

namespace
{

// SPEC E.2 as its table: position bitmap of the kept pair -> nibble.
uint32_t nibble_of_bitmap(unsigned bitmap)
{
    switch (bitmap) {
    case 0x3:
        return 0x4;
    case 0x5:
        return 0x8;
    case 0x9:
        return 0xc;
    case 0x6:
        return 0x9;
    case 0xa:
        return 0xd;
    case 0xc:
        return 0xe;
    default:
        return 0;
    }
}

// The canonical kept pair of SPEC E.2 for the positions of the non-zeros; 0: refused.
unsigned canonical_bitmap(unsigned used)
{
    const int count = __builtin_popcount(used);
    if (count == 2)
        return used;
    if (count == 1)
        return used == 1 ? 0x3 : (used | 1);
    return count == 0 ? 0x3 : 0;
}

SQ_TEST(every_group_compresses)
{
    const int value[3] = {0, 5, -128};
    for (int pattern = 0; pattern < 81; pattern++) {
        int code[4], rest = pattern;
        unsigned used = 0;
        uint32_t word = 0;
        for (int i = 0; i < 4; i++, rest /= 3) {
            code[i] = value[rest % 3];
            used |= static_cast<unsigned>(code[i] != 0) << i;
            word |= static_cast<uint32_t>(code[i] & 255) << (8 * i);
        }
        const unsigned kept = canonical_bitmap(used);
        uint32_t values = 0, nibble = 0;
        CHECK_EQ(sq_meta24_compress(word, &values, &nibble), kept != 0, "pattern %d: ", pattern);
        if (kept == 0)
            continue;
        CHECK_EQ(nibble, nibble_of_bitmap(kept), "pattern %d: ", pattern);
        const int i0 = __builtin_ctz(kept), i1 = 31 - __builtin_clz(kept);
        CHECK_EQ(values & 255, code[i0] & 255, "pattern %d: ", pattern);
        CHECK_EQ(values >> 8, code[i1] & 255, "pattern %d: ", pattern);
    }
}

// Prune by repeated search of the smallest magnitude, the lowest index first.
SQ_TEST(every_group_prunes)
{
    for (int pattern = 0; pattern < 256; pattern++) {
        uint32_t word = 0;
        int magnitude[4];
        for (int i = 0; i < 4; i++) {
            magnitude[i] = pattern >> (2 * i) & 3;
            const int code = i % 2 ? -magnitude[i] : magnitude[i];
            word |= static_cast<uint32_t>(code & 255) << (8 * i);
        }
        uint32_t want = word;
        bool is_pruned[4] = {false, false, false, false};
        for (int round = 0; round < 2; round++) {
            int smallest = -1;
            for (int i = 0; i < 4; i++)
                if (!is_pruned[i] && (smallest < 0 || magnitude[i] < magnitude[smallest]))
                    smallest = i;
            is_pruned[smallest] = true;
            want &= ~(255u << (8 * smallest));
        }
        CHECK_EQ(sq_prune24(word), want, "pattern %d: ", pattern);
    }
}

SQ_TEST(metadata_lanes)
{
    int seen[16][4] = {{0}};
    for (int lane = 0; lane < 32; lane++) {
        const SqCell at = sq_meta24_lane(lane);
        seen[at.row][at.byte]++;
        seen[at.row][at.byte + 1]++;
        for (int half = 0; half < 2; half++)
            CHECK_EQ(sq_meta24_lane_of(at.row, at.byte + half), lane, "lane %d: ", lane);
        // SPEC E.4, letter by letter
        const int q = lane >> 2;
        CHECK_EQ(at.row, q + 8 * (lane & 1), "lane %d: ", lane);
        CHECK_EQ(at.byte, 2 * ((lane >> 1) & 1), "lane %d: ", lane);
    }
    for (int row = 0; row < 16; row++)
        for (int word = 0; word < 4; word++)
            CHECK_EQ(seen[row][word], 1, "row %d word %d: ", row, word);
}

struct Sparse {
    Sparse(int n, int k)
        : values(static_cast<size_t>(n * k / 2)), meta(static_cast<size_t>(n * k / 32)),
          rows(static_cast<size_t>(n * k / 16))
    {
    }
    Buffer<uint8_t> values;
    Buffer<uint32_t> meta;
    Buffer<uint16_t> rows;
    unsigned refused = 0;
};

void compress(Sparse *s, const Buffer<int8_t> &w, int n, int k, bool prune)
{
    const SqCompress24 c = {
        n, k, w.data, prune, s->values.data, s->meta.data, s->rows.data, &s->refused};
    CHECK_OK(sq_compress24(&c, nullptr, err));
}

// Row by row against the golden encoder: values, and metadata in row order and in lane order.
void check_operand(const Sparse &s, const Buffer<int8_t> &w, int n, int k)
{
    const size_t kk = static_cast<size_t>(k);
    std::vector<int8_t> row(kk), value(kk / 2);
    std::vector<uint8_t> nibble(kk / 4);
    std::vector<uint16_t> word(kk / 16);
    for (size_t r = 0; r < static_cast<size_t>(n); r++) {
        for (size_t i = 0; i < kk; i += 4) {
            uint32_t four;
            memcpy(&four, &w[r * kk + i], 4);
            four = sq_prune24(four);
            memcpy(&row[i], &four, 4);
        }
        assert_int_equal(sq_meta24_encode(row.data(), kk, value.data(), nibble.data(), nullptr),
                         SQ_OK);
        sq_meta24_words(nibble.data(), kk, word.data());
        for (size_t i = 0; i < kk / 2; i++)
            CHECK_EQ(static_cast<int8_t>(s.values[r * kk / 2 + i]), value[i], "row %zu: ", r);
        for (size_t i = 0; i < kk / 16; i++) {
            CHECK_EQ(s.rows[r * kk / 16 + i], word[i], "row %zu word %zu: ", r, i);
            const int lane = sq_meta24_lane_of(static_cast<int>(r % 16), static_cast<int>(i % 4));
            const uint32_t e = s.meta[sq_meta24_index(r / 16, i / 4, kk / 64, lane)];
            CHECK_EQ(e >> (16 * (i % 2)) & 0xffff, word[i], "lane %d, row %zu: ", lane, r);
        }
    }
}

SQ_TEST(vector_v6)
{
    const int8_t row[16] = {0, 5, 0, -3, 7, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 0};
    const int8_t want[8] = {5, -3, 7, 9, 0, 4, 0, 0};
    Buffer<int8_t> w(16 * 64);
    memset(w.data, 0, w.size);
    memcpy(&w[3 * 64 + 32], row, 16); // row 3, third word
    Sparse s(16, 64);
    compress(&s, w, 16, 64, false);
    assert_int_equal(s.refused, 0);
    assert_memory_equal(&s.values[3 * 32 + 16], want, 8);
    assert_int_equal(s.rows[3 * 4 + 2], 0x4ccd);
    assert_int_equal(s.meta[static_cast<size_t>(sq_meta24_lane_of(3, 2))] & 0xffff, 0x4ccd);
    w[3 * 64 + 32] = 1; // a third non-zero
    s.refused = 0;
    compress(&s, w, 16, 64, false);
    assert_int_equal(s.refused, 1);
}

void run_case(int m, int n, int k)
{
    struct sq_rng r = {fixture_seed() * 77 + static_cast<uint64_t>(m * n + k)};
    Buffer<int8_t> w(static_cast<size_t>(n * k));
    Buffer<uint8_t> x(static_cast<size_t>(m * k));
    for (size_t i = 0; i < w.size; i++)
        w[i] = static_cast<int8_t>(random_code(&r, 8));
    for (size_t i = 0; i < x.size; i++)
        x[i] = static_cast<uint8_t>(random_code(&r, 8));
    Sparse s(n, k);
    compress(&s, w, n, k, true);
    assert_int_equal(s.refused, 0);
    check_operand(s, w, n, k);
    std::vector<float> s_x(static_cast<size_t>(m)), s_w(static_cast<size_t>(n));
    for (float &v : s_x)
        v = static_cast<float>(sq_rng_unit(&r)) + 0.1f;
    for (float &v : s_w)
        v = static_cast<float>(sq_rng_unit(&r)) + 0.1f;
    Buffer<float> y(static_cast<size_t>(m * n));
    Buffer<int32_t> p(static_cast<size_t>(m * n));
    const SqGemmSp24 g = {m,           n,          k,          x.data, s.values.data,
                          s.meta.data, s_x.data(), s_w.data(), y.data, p.data};
    CHECK_OK(sq_gemm_sp24(&g, nullptr, err));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int64_t want = 0;
            for (int c = 0; c < k; c += 4) {
                uint32_t four;
                memcpy(&four, &w[static_cast<size_t>(j * k + c)], 4);
                four = sq_prune24(four);
                for (int e = 0; e < 4; e++)
                    want += static_cast<int8_t>(four >> (8 * e) & 255u) *
                            static_cast<int8_t>(x[static_cast<size_t>(i * k + c + e)]);
            }
            const size_t at = static_cast<size_t>(i * n + j);
            CHECK_EQ(p[at], want, "%dx%dx%d token %d channel %d: ", m, n, k, i, j);
            const float scaled = 0.0f + static_cast<float>(want) * s_w[static_cast<size_t>(j)];
            CHECK_EQ(float_bits(y[at]), float_bits(scaled * s_x[static_cast<size_t>(i)] + 0.0f),
                     "%dx%dx%d token %d channel %d: ", m, n, k, i, j);
        }
}

SQ_TEST(products)
{
    run_case(1, 16, 64);
    run_case(17, 144, 192);
    run_case(130, 128, 640);
    run_case(3, 272, 1088);
}

SQ_TEST(refusals)
{
    SqGemmSp24 g = {};
    g.m = 1;
    g.n = 24;
    g.k = 64;
    assert_int_equal(sq_gemm_sp24(&g, nullptr, nullptr), SQ_ERR_SHAPE);
    g.n = 16;
    g.k = 96;
    assert_int_equal(sq_gemm_sp24(&g, nullptr, nullptr), SQ_ERR_SHAPE);
}

} // namespace
