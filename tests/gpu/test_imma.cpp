// SPDX-License-Identifier: Apache-2.0
// gpu/array/sq_gemm_imma.cu, the kernel text itself, in the emulator: every kind against plain loops over
// the codes (integers exact) and against sq_gemm_codes (Y bit for bit).
//
// State space: codes x shapes x kinds. Exhausted: kinds. Directed: M of 1, odd, one over a tile; N
// below, at and over a tile; K of one block, of a tail that fills no step, of several rounds of the
// ring; parts of unequal length. Sampled: codes, the most negative ones included, which the golden
// quantizer never makes; scales.
#include "tests/gpu/integer_fixture.h"

#include "gpu/sq_kernels.cuh"

namespace
{

struct Shape {
    int m, n, k_lo, k_hi;
};

bool has_low(SqImma kind)
{
    return kind >= SQ_IMMA_W4A4_UNPACK;
}
bool has_high(SqImma kind)
{
    return kind < SQ_IMMA_W4A4_UNPACK || kind >= SQ_IMMA_SQ_A_UNPACK;
}

// What SPEC B.5 and B.4 say, one rounding an operation.
float want_y(SqImma kind, int64_t lo, int64_t hi, float s_lo, float s_hi, float s_w)
{
    if (has_low(kind) && has_high(kind)) {
        const float a = static_cast<float>(lo) * s_lo, b = static_cast<float>(hi) * s_hi;
        return 0.0f + (a + b) * s_w;
    }
    const float p = static_cast<float>(has_low(kind) ? lo : hi) * s_w;
    return (0.0f + p) * (has_low(kind) ? s_lo : s_hi) + 0.0f;
}

void run_case(SqImma kind, Shape s)
{
    struct sq_rng r = {fixture_seed() * 1000003 + static_cast<uint64_t>(s.m * 31 + s.n)};
    const int w_bits = kind == SQ_IMMA_W8A8 ? 8 : 4;
    const size_t m = static_cast<size_t>(s.m), n = static_cast<size_t>(s.n);
    const Part lo = random_part(&r, s.m, s.n, s.k_lo, 4, 4);
    const Part hi = random_part(&r, s.m, s.n, s.k_hi, 8, w_bits);
    Buffer<uint8_t> x_lo(lo.x.size() / 2), w_lo(lo.w.size() / 2), x_hi(hi.x.size()),
        w_hi(w_bits == 8 ? hi.w.size() : hi.w.size() / 2);
    pack_natural(lo.x, &x_lo);
    pack_natural(lo.w, &w_lo);
    pack_bytes(hi.x, &x_hi);
    if (w_bits == 8)
        pack_bytes(hi.w, &w_hi);
    else
        pack_halves(hi.w, &w_hi);
    const std::vector<float> s_lo = random_scales(&r, s.m), s_hi = random_scales(&r, s.m),
                             s_w = random_scales(&r, s.n);
    Buffer<float> y(m * n);
    Buffer<int32_t> p_lo(m * n), p_hi(m * n);
    const SqGemmImma g = {s.m,
                          s.n,
                          {x_lo.data, w_lo.data, s.k_lo},
                          {x_hi.data, w_hi.data, s.k_hi},
                          s_lo.data(),
                          s_hi.data(),
                          s_w.data(),
                          y.data,
                          p_lo.data,
                          p_hi.data};
    CHECK_OK(sq_gemm_imma(kind, &g, nullptr, err));
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
            const size_t at = static_cast<size_t>(i) * n + static_cast<size_t>(j);
            const int64_t a = dot(lo, i, j), b = dot(hi, i, j);
            if (has_low(kind))
                CHECK_EQ(p_lo[at], a, "kind %d, %dx%d, token %d channel %d: ", kind, s.m, s.n, i,
                         j);
            if (has_high(kind))
                CHECK_EQ(p_hi[at], b, "kind %d, %dx%d, token %d channel %d: ", kind, s.m, s.n, i,
                         j);
            const float want = want_y(kind, a, b, s_lo[static_cast<size_t>(i)],
                                      s_hi[static_cast<size_t>(i)], s_w[static_cast<size_t>(j)]);
            CHECK_EQ(float_bits(y[at]), float_bits(want), "kind %d, token %d channel %d: ", kind, i,
                     j);
        }
}

SQ_TEST(every_kind_and_shape)
{
    const Shape shapes[] = {{1, 2, 32, 32},     {17, 130, 96, 32},   {129, 128, 160, 64},
                            {3, 34, 1056, 544}, {130, 258, 352, 96}, {64, 126, 32, 704}};
    for (const Shape &s : shapes)
        for (int kind = 0; kind < SQ_IMMA_COUNT; kind++)
            run_case(static_cast<SqImma>(kind), s);
}

// The whole way of static activation SQ: golden encoder, golden product; the same codes reordered
// as SPEC B.5 says and multiplied by the kernel.
SQ_TEST(static_activations_against_golden)
{
    const size_t m = 5, n = 6, k = 256;
    const unsigned bank = 32, high = 8;
    struct sq_rng r = {fixture_seed()};
    std::vector<float> x(m * k), w(n * k), score(2 * k), s_w(n), s_lo(m), s_hi(m);
    std::vector<uint8_t> mask(k), is_high(m * k);
    std::vector<int16_t> x_code(m * k), w_code(n * k);
    for (float &v : x)
        v = random_value(&r);
    for (float &v : w)
        v = random_value(&r);
    for (size_t i = 0; i < k; i++)
        mask[i] = (i * 5 + 3) % bank < high; // 8 of each 32: 5 is odd
    struct sq_codes xc = {
        {SQ_GRID_OWN, 8, 4}, m,           k,          k, k, bank, high, x_code.data(),
        is_high.data(),      s_lo.data(), s_hi.data()};
    std::vector<float> unused(n);
    struct sq_codes wc = {
        {SQ_GRID_DENSE, 0, 4}, n, k, k, k, 0, 0, w_code.data(), nullptr, s_w.data(), unused.data()};
    assert_int_equal(
        sq_codes_encode_act(&xc, x.data(), SQ_SELECT_STATIC, mask.data(), score.data(), nullptr),
        SQ_OK);
    assert_int_equal(sq_codes_encode_rtn(&wc, w.data(), nullptr), SQ_OK);
    std::vector<float> y(m * n);
    std::vector<int32_t> p_lo(m * n), p_hi(m * n);
    struct sq_gemm_codes golden = {};
    golden.x = &xc;
    golden.w = &wc;
    golden.y = y.data();
    golden.p_lo = p_lo.data();
    golden.p_hi = p_hi.data();
    assert_int_equal(sq_gemm_codes_check(&golden, nullptr), SQ_OK);
    Buffer<uint8_t> scratch(sq_gemm_codes_scratch(&golden));
    sq_gemm_codes(&golden, 0, m, scratch.data);

    Part lo, hi;
    for (size_t i = 0; i < k; i++)
        (mask[i] ? hi : lo).k++;
    for (size_t row = 0; row < m; row++)
        for (size_t i = 0; i < k; i++)
            (mask[i] ? hi : lo).x.push_back(x_code[row * k + i]);
    for (size_t row = 0; row < n; row++)
        for (size_t i = 0; i < k; i++)
            (mask[i] ? hi : lo).w.push_back(w_code[row * k + i]);
    Buffer<uint8_t> x_lo(lo.x.size() / 2), w_lo(lo.w.size() / 2), x_hi(hi.x.size()),
        w_hi(hi.w.size() / 2);
    pack_natural(lo.x, &x_lo);
    pack_natural(lo.w, &w_lo);
    pack_bytes(hi.x, &x_hi);
    pack_halves(hi.w, &w_hi);
    Buffer<float> got(m * n);
    Buffer<int32_t> got_lo(m * n), got_hi(m * n);
    const SqGemmImma g = {static_cast<int>(m),
                          static_cast<int>(n),
                          {x_lo.data, w_lo.data, lo.k},
                          {x_hi.data, w_hi.data, hi.k},
                          s_lo.data(),
                          s_hi.data(),
                          s_w.data(),
                          got.data,
                          got_lo.data,
                          got_hi.data};
    CHECK_OK(sq_gemm_imma(SQ_IMMA_SQ_A_UNPACK, &g, nullptr, err));
    for (size_t i = 0; i < m * n; i++) {
        CHECK_EQ(got_lo[i], p_lo[i], "output %zu: ", i);
        CHECK_EQ(got_hi[i], p_hi[i], "output %zu: ", i);
        CHECK_EQ(float_bits(got[i]), float_bits(y[i]), "output %zu: ", i);
    }
}

SQ_TEST(refusals)
{
    SqGemmImma g = {};
    struct sq_error err = {};
    g.m = 1;
    g.n = 3;
    assert_int_equal(sq_gemm_imma(SQ_IMMA_W8A8, &g, nullptr, &err), SQ_ERR_SHAPE);
    g.n = 2;
    g.high.k = 48;
    assert_int_equal(sq_gemm_imma(SQ_IMMA_W8A8, &g, nullptr, &err), SQ_ERR_SHAPE);
    g.high.k = 131072;
    assert_int_equal(sq_gemm_imma(SQ_IMMA_W8A8, &g, nullptr, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_gemm_imma(SQ_IMMA_COUNT, &g, nullptr, &err), SQ_ERR_ARG);
    assert_string_equal(sq_int4_mode(SQ_IMMA_SQ_A_PTX_S4, 8), "native");
    assert_string_equal(sq_int4_mode(SQ_IMMA_SQ_A_PTX_S4, 9), "ptx_s4_emulated");
    assert_string_equal(sq_int4_mode(SQ_IMMA_SQ_A_UNPACK, 8), "emulated_unpack");
}

} // namespace
