// SPDX-License-Identifier: Apache-2.0
// gpu/core/sq_encode.cu and gpu/core/sq_gemm_sqw.cu in the emulator against the golden model: every stream,
// mask and scale byte for byte.
//
// Exhausted: the compiled (bank, k). Directed: rows of many equal magnitudes (ties), an all-zero
// group and token, a group without low or without high magnitude, subnormal inputs (scales outside
// the quick quantizer's range), more banks than a block has threads. Sampled: values with outliers.
#include "tests/gpu/gpu_fixture.h"

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

struct Format {
    unsigned bank, high;
};
const Format formats[] = {{16, 8}, {16, 4}, {16, 2}, {32, 16}, {32, 8}, {32, 4}, {64, 16}};

// Values that make trouble, a different kind per row.
float value_of(struct sq_rng *r, size_t row, size_t i)
{
    switch (row % 5) {
    case 0:
        return random_value(r);
    case 1:
        return static_cast<float>(static_cast<int>(sq_rng_below(r, 5)) - 2); // ties
    case 2:
        return i % 256 < 128 ? 0.0f : random_value(r); // a group of zeros
    case 3:
        return ldexpf(random_value(r), -128 - static_cast<int>(sq_rng_below(r, 18))); // subnormal
    default:
        return sq_rng_below(r, 20) == 0 ? random_value(r) : 0.0f; // all lows zero
    }
}

struct Matrix { // golden and device buffers of one operand
    Matrix(const Format &f, size_t n, size_t k, size_t group)
        : lo(n * k / 2), hi(n * k / f.bank * f.high), s_lo(n * k / group), s_hi(n * k / group)
    {
    }
    Buffer<uint8_t> lo, hi;
    Buffer<float> s_lo, s_hi;
};

void check_same(const Matrix &got, const Matrix &want, const Format &f)
{
    for (size_t i = 0; i < want.lo.size; i++)
        CHECK_EQ(got.lo[i], want.lo[i], "bank %u/%u low byte %zu: ", f.bank, f.high, i);
    for (size_t i = 0; i < want.hi.size; i++)
        CHECK_EQ(got.hi[i], want.hi[i], "bank %u/%u high byte %zu: ", f.bank, f.high, i);
    for (size_t i = 0; i < want.s_lo.size; i++) {
        CHECK_EQ(float_bits(got.s_lo[i]), float_bits(want.s_lo[i]), "s_lo %zu: ", i);
        CHECK_EQ(float_bits(got.s_hi[i]), float_bits(want.s_hi[i]), "s_hi %zu: ", i);
    }
}

struct sq_matrix golden_matrix(const Format &f, size_t n, size_t k, unsigned group, Matrix *m)
{
    return {
        {8, 4, f.bank, f.high, group}, n, k, k, m->lo.data, m->hi.data, m->s_lo.data, m->s_hi.data};
}

SQ_TEST(weights)
{
    struct sq_rng r = {fixture_seed()};
    for (const Format &f : formats) {
        const size_t n = 15, k = 384;
        Buffer<float> w(n * k);
        for (size_t i = 0; i < n * k; i++)
            w[i] = value_of(&r, i / k, i % k);
        Matrix want(f, n, k, 128), got(f, n, k, 128);
        struct sq_matrix m = golden_matrix(f, n, k, 128, &want);
        assert_int_equal(sq_encode_rtn(w.data, &m, nullptr), SQ_OK);
        const int ni = static_cast<int>(n), ki = static_cast<int>(k);
        const int bank = static_cast<int>(f.bank), high = static_cast<int>(f.high);
        const SqEncodeW e = {ni,     ki,          bank,        high,          128,
                             w.data, got.lo.data, got.hi.data, got.s_lo.data, got.s_hi.data};
        CHECK_OK(sq_encode_w(&e, nullptr, err));
        check_same(got, want, f);
    }
}

// x as BF16 bits and as the floats they are.
void random_tokens(struct sq_rng *r, size_t m, size_t k, Buffer<uint16_t> *x, std::vector<float> *v)
{
    for (size_t i = 0; i < m * k; i++) {
        (*x)[i] = sq_to_bf16(value_of(r, i / k, i % k));
        v->push_back(sq_from_bf16((*x)[i]));
    }
}

struct GoldenTokens {
    GoldenTokens(size_t m, size_t k) : code(m * k), is_high(m * k), s_lo(m), s_hi(m), score(2 * k)
    {
    }
    std::vector<int16_t> code;
    std::vector<uint8_t> is_high;
    std::vector<float> s_lo, s_hi, score;
};

SQ_TEST(dynamic_mask)
{
    struct sq_rng r = {fixture_seed()};
    for (const Format &f : formats) {
        const size_t m = 5, k = f.bank == 16 ? 4224 : 320; // more than 256 banks of 16
        Buffer<uint16_t> x(m * k);
        std::vector<float> v;
        random_tokens(&r, m, k, &x, &v);
        GoldenTokens want(m, k);
        struct sq_codes c = {{SQ_GRID_OWN, 8, 4},
                             m,
                             k,
                             k,
                             k,
                             f.bank,
                             f.high,
                             want.code.data(),
                             want.is_high.data(),
                             want.s_lo.data(),
                             want.s_hi.data()};
        assert_int_equal(sq_codes_encode_act(&c, v.data(), SQ_SELECT_DYNAMIC_FP, nullptr,
                                             want.score.data(), nullptr),
                         SQ_OK);
        const size_t k_hi = k / f.bank * f.high, k_lo = k - k_hi;
        Buffer<uint8_t> lo_plane(m * k / 2), hi_plane(m * k), lo(m * k_lo / 2), hi(m * k_hi),
            mask(m * k / 8);
        Buffer<float> s_lo(m), s_hi(m);
        const int mi = static_cast<int>(m), ki = static_cast<int>(k);
        const int bank = static_cast<int>(f.bank), high = static_cast<int>(f.high);
        const SqEncodeDynamic e = {
            mi,      ki,      bank,      high,      x.data,   lo_plane.data, hi_plane.data,
            lo.data, hi.data, mask.data, s_lo.data, s_hi.data};
        CHECK_OK(sq_encode_dynamic(&e, nullptr, err));
        for (size_t row = 0; row < m; row++) {
            CHECK_EQ(float_bits(s_lo[row]), float_bits(want.s_lo[row]), "token %zu s_lo: ", row);
            CHECK_EQ(float_bits(s_hi[row]), float_bits(want.s_hi[row]), "token %zu s_hi: ", row);
            size_t n_lo = 0, n_hi = 0;
            for (size_t i = 0; i < k; i++) {
                const size_t at = row * k + i;
                const int code = want.code[at];
                const bool high = want.is_high[at] != 0;
                CHECK_EQ(mask[at / 8] >> (at % 8) & 1, high,
                         "bank %u/%u token %zu channel %zu: ", f.bank, f.high, row, i);
                CHECK_EQ(lo_plane[at / 2] >> (4 * (at % 2)) & 15, high ? 0 : code & 15,
                         "low plane, bank %u/%u token %zu channel %zu: ", f.bank, f.high, row, i);
                CHECK_EQ(hi_plane[at], high ? code & 255 : 0,
                         "high plane, bank %u/%u token %zu channel %zu: ", f.bank, f.high, row, i);
                if (high) {
                    CHECK_EQ(hi[row * k_hi + n_hi], code & 255, "compact, channel %zu: ", i);
                    n_hi++;
                } else {
                    const size_t nibble = row * k_lo + n_lo++;
                    CHECK_EQ(lo[nibble / 2] >> (4 * (nibble % 2)) & 15, code & 15,
                             "compact, token %zu channel %zu: ", row, i);
                }
            }
        }
    }
}

struct Lists {
    Lists(size_t k, size_t bank, size_t high) : mask(k), hi(k / bank * high), lo(k - hi.size)
    {
        size_t n_hi = 0, n_lo = 0;
        for (size_t i = 0; i < k; i++) {
            mask[i] = (i * 5 + 1) % bank < high;
            if (mask[i])
                hi[n_hi++] = static_cast<uint16_t>(i);
            else
                lo[n_lo++] = static_cast<uint16_t>(i);
        }
    }
    std::vector<uint8_t> mask;
    Buffer<uint16_t> hi, lo;
};

SQ_TEST(static_mask)
{
    struct sq_rng r = {fixture_seed()};
    const size_t m = 5, k = 512;
    const Lists lists(k, 32, 8);
    const size_t k_hi = lists.hi.size, k_lo = k - k_hi;
    Buffer<uint16_t> x(m * k);
    std::vector<float> v;
    random_tokens(&r, m, k, &x, &v);
    GoldenTokens want(m, k);
    struct sq_codes c = {{SQ_GRID_OWN, 8, 4},
                         m,
                         k,
                         k,
                         k,
                         32,
                         8,
                         want.code.data(),
                         want.is_high.data(),
                         want.s_lo.data(),
                         want.s_hi.data()};
    assert_int_equal(sq_codes_encode_act(&c, v.data(), SQ_SELECT_STATIC, lists.mask.data(),
                                         want.score.data(), nullptr),
                     SQ_OK);
    Buffer<uint8_t> lo(m * k_lo / 2), hi(m * k_hi);
    Buffer<float> s_lo(m), s_hi(m);
    const int mi = static_cast<int>(m), ki = static_cast<int>(k), n_hi = static_cast<int>(k_hi);
    const SqEncodeStatic e = {mi,      ki,      n_hi,      x.data,   lists.hi.data, lists.lo.data,
                              lo.data, hi.data, s_lo.data, s_hi.data};
    CHECK_OK(sq_encode_static(&e, nullptr, err));
    for (size_t row = 0; row < m; row++) {
        CHECK_EQ(float_bits(s_lo[row]), float_bits(want.s_lo[row]), "token %zu s_lo: ", row);
        CHECK_EQ(float_bits(s_hi[row]), float_bits(want.s_hi[row]), "token %zu s_hi: ", row);
        for (size_t i = 0; i < k_hi; i++)
            CHECK_EQ(hi[row * k_hi + i], want.code[row * k + lists.hi[i]] & 255, "high %zu: ", i);
        for (size_t i = 0; i < k_lo; i++)
            CHECK_EQ(lo[(row * k_lo + i) / 2] >> (4 * (i % 2)) & 15,
                     want.code[row * k + lists.lo[i]] & 15, "low %zu: ", i);
    }
}

SQ_TEST(plain_tokens)
{
    struct sq_rng r = {fixture_seed()};
    const size_t m = 5, k = 288;
    Buffer<uint16_t> x(m * k);
    std::vector<float> v;
    random_tokens(&r, m, k, &x, &v);
    for (int bits = 4; bits <= 8; bits += 4) {
        std::vector<int8_t> want(m * k);
        std::vector<float> want_s(m);
        assert_int_equal(sq_act_quantize(v.data(), m, k, k, static_cast<unsigned>(bits),
                                         want.data(), want_s.data(), nullptr),
                         SQ_OK);
        Buffer<uint8_t> codes(m * k * static_cast<size_t>(bits) / 8);
        Buffer<float> s(m);
        const SqEncodeToken e = {
            static_cast<int>(m), static_cast<int>(k), bits, x.data, codes.data, s.data};
        CHECK_OK(sq_encode_token(&e, nullptr, err));
        for (size_t i = 0; i < m * k; i++) {
            const int got = bits == 8 ? codes[i] : codes[i / 2] >> (4 * (i % 2)) & 15;
            CHECK_EQ(got, want[i] & ((1 << bits) - 1), "%d bits, element %zu: ", bits, i);
        }
        for (size_t i = 0; i < m; i++)
            CHECK_EQ(float_bits(s[i]), float_bits(want_s[i]), "token %zu: ", i);
    }
}

// High part: exactly x / s. Low part: E4M3 of x / s, none saturated.
SQ_TEST(pair_tokens)
{
    struct sq_rng r = {fixture_seed()};
    const size_t m = 3, k = 256; // the rows without subnormals
    const Lists lists(k, 32, 8);
    const size_t k_hi = lists.hi.size, k_lo = k - k_hi;
    Buffer<uint16_t> x(m * k);
    std::vector<float> v;
    random_tokens(&r, m, k, &x, &v);
    Buffer<uint8_t> lo(m * k_lo);
    Buffer<uint16_t> hi(m * k_hi);
    Buffer<float> s(m);
    const int mi = static_cast<int>(m), ki = static_cast<int>(k), n_hi = static_cast<int>(k_hi);
    const SqEncodePair e = {mi,      ki,      n_hi,  x.data, lists.hi.data, lists.lo.data,
                            lo.data, hi.data, s.data};
    CHECK_OK(sq_encode_pair(&e, nullptr, err));
    for (size_t row = 0; row < m; row++) {
        int exponent;
        CHECK_EQ(frexpf(s[row], &exponent) == 0.5f, 1, "token %zu, s = %g: ", row, (double)s[row]);
        float most = 0;
        for (size_t i = 0; i < k_lo; i++)
            most = fmaxf(most, fabsf(v[row * k + lists.lo[i]]));
        CHECK_EQ(most <= 448 * s[row] && (most == 0 || most > 224 * s[row]), 1, "token %zu: ", row);
        for (size_t i = 0; i < k_hi; i++)
            CHECK_EQ(float_bits(sq_from_bf16(hi[row * k_hi + i]) * s[row]),
                     float_bits(v[row * k + lists.hi[i]]), "token %zu high %zu: ", row, i);
        for (size_t i = 0; i < k_lo; i++) {
            const float scaled = v[row * k + lists.lo[i]] / s[row];
            struct sq_grid grid = {SQ_GRID_FP8, 0, 8};
            CHECK_EQ(lo[row * k_lo + i], sq_grid_code(&grid, scaled, false, 1, 1) & 255,
                     "token %zu low %zu: ", row, i);
        }
    }
}

SQ_TEST(weight_product)
{
    struct sq_rng r = {fixture_seed()};
    const struct {
        unsigned bank, high, group;
    } cases[] = {{32, 8, 128}, {4, 2, 128}, {128, 8, 0}, {64, 16, 0}, {8, 1, 128}};
    for (const auto &c : cases) {
        const size_t n = 11, k = 512, m = 9, groups = c.group ? k / c.group : 1;
        const Format f = {c.bank, c.high};
        Matrix w(f, n, k, k / groups);
        std::vector<float> values(n * k), x(m * k), s_a(m), want(m * n);
        for (size_t i = 0; i < n * k; i++)
            values[i] = value_of(&r, i / k, i % k);
        for (float &v : x)
            v = random_value(&r);
        struct sq_matrix g = golden_matrix(f, n, k, c.group, &w);
        assert_int_equal(sq_encode_rtn(values.data(), &g, nullptr), SQ_OK);
        Buffer<int8_t> act(m * k);
        assert_int_equal(sq_act_quantize(x.data(), m, k, k, 8, act.data, s_a.data(), nullptr),
                         SQ_OK);
        Buffer<uint8_t> scratch(sq_gemm_scratch_nbytes(&g));
        sq_gemm_sq_w(&g, act.data, s_a.data(), m, 0, n, want.data(), nullptr, nullptr,
                     scratch.data);
        Buffer<float> y(m * n);
        const int mi = static_cast<int>(m), ni = static_cast<int>(n), ki = static_cast<int>(k);
        const int bank = static_cast<int>(c.bank), high = static_cast<int>(c.high);
        const int group = static_cast<int>(k / groups);
        const SqGemmSqW d = {mi,       ni,         ki,        bank,        high,
                             group,    w.lo.data,  w.hi.data, w.s_lo.data, w.s_hi.data,
                             act.data, s_a.data(), y.data};
        CHECK_OK(sq_gemm_sqw(&d, nullptr, err));
        for (size_t i = 0; i < m * n; i++)
            CHECK_EQ(float_bits(y[i]), float_bits(want[i]), "bank %u/%u output %zu: ", c.bank,
                     c.high, i);
    }
}

SQ_TEST(refusals)
{
    SqEncodeW w = {};
    w.n = 1;
    w.k = 128;
    w.group = 128;
    w.bank = 32;
    w.high_per_bank = 2;
    assert_int_equal(sq_encode_w(&w, nullptr, nullptr), SQ_ERR_UNSUPPORTED);
    w.k = 96;
    assert_int_equal(sq_encode_w(&w, nullptr, nullptr), SQ_ERR_SHAPE);
    SqEncodeToken t = {};
    t.bits = 5;
    assert_int_equal(sq_encode_token(&t, nullptr, nullptr), SQ_ERR_UNSUPPORTED);
}

} // namespace
