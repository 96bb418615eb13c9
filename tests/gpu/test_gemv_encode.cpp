// SPDX-License-Identifier: Apache-2.0
// gpu/spqt/sq_encode_q4k.cu and gpu/gqsa/sq_encode_gqsa.cu in the emulator against sq_q4k_encode and
// sq_gqsa_quantize_group: superblocks of 144 bytes and groups of 16 codes, every bit.
//
// Directed: columns of zeros, of one value, of one sign, with one large element, tiny and huge
// ones, a superblock beyond binary16; tails in rows and columns. Sampled: values.
#include "tests/gpu/gpu_fixture.h"

extern "C" {
#include "models/gqsa/sq_gqsa.h"
#include "models/number/sq_half.h"
#include "models/number/sq_q4k.h"
}

#include "gpu/sq_gemv.cuh"
#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

float value_of(struct sq_rng *r, size_t row, size_t column)
{
    const float v = random_value(r);
    switch (column % 12) {
    case 1:
        return 0;
    case 2:
        return 0.75f;
    case 3:
        return -0.75f;
    case 4:
        return fabsf(v);
    case 5:
        return -fabsf(v);
    case 6:
        return row % 256 == 100 ? 40.0f : v * 0.001f;
    case 7:
        return v * 1e-30f;
    case 8:
        return v * 1e4f;
    case 9:
        return row / 32 % 2 ? 0 : v;
    case 10: // halves: ties in every rounding
        return static_cast<float>(static_cast<int>(sq_rng_below(r, 31)) - 15) * 0.5f;
    default:
        return v * 0.02f;
    }
}

void run_case(size_t n, size_t k)
{
    struct sq_rng r = {fixture_seed() * 31 + n + k};
    const size_t n_blocks = (n + 255) / 256;
    std::vector<float> w(n * k);
    Buffer<uint8_t> out(n_blocks * k * SQ_Q4K_NBYTES);
    unsigned refused = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            w[i * k + j] = value_of(&r, i, j);
    const SqEncodeQ4k e = {static_cast<int>(n), static_cast<int>(k), w.data(), out.data, &refused};
    CHECK_OK(sq_encode_q4k(&e, nullptr, err));
    assert_int_equal(refused, 0);
    for (size_t block = 0; block < n_blocks; block++)
        for (size_t j = 0; j < k; j++) {
            float v[256] = {};
            struct sq_q4k want;
            uint8_t bytes[SQ_Q4K_NBYTES];
            for (size_t i = 0; i < 256 && 256 * block + i < n; i++)
                v[i] = w[(256 * block + i) * k + j];
            assert_int_equal(sq_q4k_encode(v, &want, nullptr), SQ_OK);
            sq_q4k_pack(&want, bytes);
            for (size_t i = 0; i < sizeof bytes; i++)
                CHECK_EQ(out[(block * k + j) * SQ_Q4K_NBYTES + i], bytes[i],
                         "%zux%zu superblock %zu column %zu byte %zu: ", n, k, block, j, i);
        }
}

SQ_TEST(columns)
{
    run_case(256, 32);
    run_case(512, 77);
    run_case(300, 45);
    run_case(1, 12);
}

SQ_TEST(beyond_binary16)
{
    std::vector<float> w(256 * 2, 1.0f);
    for (size_t i = 0; i < 256; i++)
        w[2 * i] = i % 2 ? 3e9f : 0.0f;
    Buffer<uint8_t> out(2 * SQ_Q4K_NBYTES);
    unsigned refused = 5;
    const SqEncodeQ4k e = {256, 2, w.data(), out.data, &refused};
    CHECK_OK(sq_encode_q4k(&e, nullptr, err));
    assert_int_equal(refused, 6);
}

// Groups of every kind of value_of, four of five kept.
SQ_TEST(gqsa_groups)
{
    struct sq_rng r = {fixture_seed()};
    const size_t n = 41, k = 208;
    Buffer<float> w(n * k);
    std::vector<uint32_t> kept;
    for (size_t i = 0; i < n * k; i++)
        w[i] = value_of(&r, i, i / 16);
    for (uint32_t g = 0; g < n * k / 16; g++)
        if (g % 5 != 0)
            kept.push_back(g);
    Buffer<uint32_t> meta(kept.size());
    Buffer<uint8_t> codes(8 * kept.size());
    unsigned refused = 0;
    const int ki = static_cast<int>(k);
    const uint32_t n_kept = static_cast<uint32_t>(kept.size());
    SqEncodeGqsa e = {ki, n_kept, w.data, kept.data(), meta.data, codes.data, &refused};
    CHECK_OK(sq_encode_gqsa(&e, nullptr, err));
    assert_int_equal(refused, 0);
    for (size_t i = 0; i < kept.size(); i++) {
        uint8_t want[16], zero;
        uint16_t scale;
        assert_int_equal(sq_gqsa_quantize_group(&w[kept[i] * 16], 16, want, &scale, &zero, nullptr),
                         SQ_OK);
        const SqGqsaMeta m = sq_gqsa_meta_of(meta[i]);
        CHECK_EQ(m.column, kept[i] % (k / 16), "group %zu: ", i);
        CHECK_EQ(m.scale, scale, "group %zu: ", i);
        CHECK_EQ(m.zero, zero, "group %zu: ", i);
        for (int j = 0; j < 16; j++) {
            const int nibble = sq_gqsa_position(j);
            CHECK_EQ(codes[8 * i + static_cast<size_t>(nibble) / 2] >> (4 * (nibble % 2)) & 15,
                     want[j], "group %zu code %d: ", i, j);
        }
    }
    w[16] = 3e6f; // group 1
    CHECK_OK(sq_encode_gqsa(&e, nullptr, err));
    assert_int_equal(refused, 1);
}

// binary16 both ways: every pattern and its neighbourhood of ties.
SQ_TEST(binary16)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const uint16_t bits = static_cast<uint16_t>(h);
        const float x = sq_half_to_float(bits);
        CHECK_EQ(float_bits(sq_from_f16(bits)), float_bits(x), "pattern %x: ", h);
        const float next = h + 1 < 0x7c00 ? sq_half_to_float(static_cast<uint16_t>(h + 1)) : 65536;
        const float middle = x + (next - x) / 2;
        for (float v : {x, middle, nextafterf(middle, 0), nextafterf(middle, 1e9f), -middle})
            CHECK_EQ(sq_to_f16(v), sq_f32_to_f16(v), "%a: ", static_cast<double>(v));
    }
    for (float v : {65519.0f, 65520.0f, 1e30f, -1e30f, 1e-30f, 2.98e-8f, 2.99e-8f})
        CHECK_EQ(sq_to_f16(v), sq_f32_to_f16(v), "%a: ", static_cast<double>(v));
}

} // namespace
