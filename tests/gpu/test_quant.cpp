// SPDX-License-Identifier: Apache-2.0
// gpu/sq_quant.cuh and gpu/sq_select.cuh against the golden model.
//
// Selection: every power-of-two (bank, k), random keys and keys with many ties and padding, against
// sq_topk. Integer quantizer: for random scales over the whole exponent range, every half-way point
// of every code and its two neighbours, where a quotient that is off by one bit shows. E4M3: all
// 256 codes, all ties between neighbours and their neighbours; random floats of every exponent.
// BF16 and power-of-two scales: directed and random.
#include "tests/gpu/gpu_fixture.h"

#include "gpu/sq_quant.cuh"
#include "gpu/sq_select.cuh"

extern "C" {
#include "models/number/sq_fp.h"
}

namespace
{

template <int kBank, int kHigh> void check_bank(struct sq_rng *r)
{
    for (int round = 0; round < 400; round++) {
        int32_t key[kBank];
        float score[kBank];
        const uint32_t span = round % 4 == 0 ? 2 : round % 4 == 1 ? 5 : 1u << 20;
        const int n_padding = round % 8 == 7 ? static_cast<int>(sq_rng_below(r, kBank)) : 0;
        for (int i = 0; i < kBank; i++) {
            score[i] = static_cast<float>(sq_rng_below(r, span));
            key[i] = sq_magnitude_key(i % 3 ? score[i] : -score[i]);
            if (i >= kBank - n_padding) {
                score[i] = -1; // below every real score
                key[i] = kSqPaddingKey;
            }
        }
        uint8_t want[kBank];
        uint32_t mask[(kBank + 31) / 32];
        sq_topk(score, kBank, kHigh, want);
        sq_select_bank<kBank, kHigh>(key, mask);
        for (int i = 0; i < kBank; i++)
            CHECK_EQ(mask[i / 32] >> (i % 32) & 1, want[i],
                     "bank %d/%d round %d element %d: ", kBank, kHigh, round, i);
    }
}

SQ_TEST(selection)
{
    struct sq_rng r = {fixture_seed()};
    check_bank<4, 2>(&r);
    check_bank<4, 1>(&r);
    check_bank<8, 4>(&r);
    check_bank<8, 1>(&r);
    check_bank<16, 8>(&r);
    check_bank<16, 4>(&r);
    check_bank<16, 2>(&r);
    check_bank<16, 1>(&r);
    check_bank<32, 16>(&r);
    check_bank<32, 8>(&r);
    check_bank<32, 4>(&r);
    check_bank<32, 2>(&r);
    check_bank<64, 32>(&r);
    check_bank<64, 16>(&r);
    check_bank<64, 4>(&r);
    check_bank<128, 64>(&r);
    check_bank<128, 8>(&r);
}

void check_code(float x, const SqScale &s, unsigned bits)
{
    const int want = sq_quantize(x, s.s, bits);
    CHECK_EQ(sq_code(x, s, sq_qmax(bits)), want, "%u bits, x = %a, s = %a: ", bits,
             static_cast<double>(x), static_cast<double>(s.s));
}

SQ_TEST(integer_codes)
{
    struct sq_rng r = {fixture_seed()};
    for (int round = 0; round < 3000; round++) {
        const int exponent = static_cast<int>(sq_rng_below(&r, 250)) - 125;
        const float amax = ldexpf(1 + static_cast<float>(sq_rng_unit(&r)), exponent);
        for (unsigned bits = 4; bits <= 8; bits += 4) {
            const SqScale s = sq_scale(amax, sq_qmax(bits));
            CHECK_EQ(float_bits(s.s), float_bits(sq_scale_from_amax(amax, bits)),
                     "amax %a: ", static_cast<double>(amax));
            for (int code = 0; code < sq_qmax(bits); code++) {
                const float half = (static_cast<float>(code) + 0.5f) * s.s;
                check_code(half, s, bits);
                check_code(-nextafterf(half, INFINITY), s, bits);
                check_code(nextafterf(half, 0), s, bits);
            }
            for (int i = 0; i < 20; i++)
                check_code(amax * static_cast<float>(2 * sq_rng_unit(&r) - 1), s, bits);
            check_code(amax, s, bits);
        }
    }
    const SqScale zero = sq_scale(0, 7);
    CHECK_EQ(zero.s == 1.0f && sq_code(0, zero, 7) == 0, 1, "zero: ");
}

SQ_TEST(small_floats)
{
    for (int code = 0; code < 256; code++) {
        if ((code & 0x7f) == 0x7f)
            continue; // NaN
        const float value = sq_e4m3_decode(static_cast<uint8_t>(code));
        CHECK_EQ(sq_from_e4m3(static_cast<uint8_t>(code)) == value, 1, "code %d: ", code);
        if ((code & 0x7f) == 0x7e)
            continue;
        const float tie = (value + sq_e4m3_decode(static_cast<uint8_t>(code + 1))) / 2;
        for (float x : {value, tie, nextafterf(tie, 1000), nextafterf(tie, -1000)})
            CHECK_EQ(sq_to_e4m3(x), sq_e4m3_encode(x), "x = %a: ", static_cast<double>(x));
    }
    struct sq_rng r = {fixture_seed()};
    for (int i = 0; i < 200000; i++) {
        const int exponent = static_cast<int>(sq_rng_below(&r, 30)) - 18;
        const float x = ldexpf(static_cast<float>(2 * sq_rng_unit(&r) - 1), exponent);
        CHECK_EQ(sq_to_e4m3(x), sq_e4m3_encode(x), "x = %a: ", static_cast<double>(x));
        const float back = sq_from_bf16(sq_to_bf16(x));
        const float up = sq_from_bf16(static_cast<uint16_t>((float_bits(x) >> 16) + 1));
        const float down = sq_from_bf16(static_cast<uint16_t>(float_bits(x) >> 16));
        const float error = fabsf(back - x);
        CHECK_EQ(error <= fabsf(up - x) && error <= fabsf(down - x), 1,
                 "x = %a: ", static_cast<double>(x));
    }
    CHECK_EQ(sq_to_bf16(1.00390625f), 0x3f80, "tie to even: "); // 1 + 2^-8
    CHECK_EQ(sq_to_bf16(1.01171875f), 0x3f82, "tie to even: "); // 1 + 3 * 2^-8
}

SQ_TEST(power_of_two_scales)
{
    struct sq_rng r = {fixture_seed()};
    CHECK_EQ(sq_pow2_scale(0) == 1.0f, 1, "zero: ");
    CHECK_EQ(sq_pow2_scale(448) == 1.0f, 1, "448: ");
    CHECK_EQ(sq_pow2_scale(nextafterf(448, 1000)) == 2.0f, 1, "above 448: ");
    CHECK_EQ(sq_pow2_scale(224) == 0.5f, 1, "224: ");
    CHECK_EQ(sq_pow2_scale(1e-38f) == ldexpf(1, -100), 1, "tiny: ");
    for (int i = 0; i < 100000; i++) {
        const float amax = ldexpf(1 + static_cast<float>(sq_rng_unit(&r)),
                                  static_cast<int>(sq_rng_below(&r, 180)) - 90);
        const float s = sq_pow2_scale(amax);
        CHECK_EQ(amax <= 448 * s && amax > 224 * s, 1, "amax = %a: ", static_cast<double>(amax));
    }
}

} // namespace
