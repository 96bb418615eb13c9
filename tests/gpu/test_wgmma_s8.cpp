// SPDX-License-Identifier: Apache-2.0
// gpu/array/sq_gemm_wgmma_s8.cu in the emulator: W8A8, W4A8 and 2:4 INT8 against plain loops over the
// codes, the dense ones against the golden model as well: sums and Y bit for bit.
//
// State space: codes x shapes x kernels. Exhausted: kernels. Directed: tokens and channels of one,
// odd numbers, below, at and over the 256 of a cluster; K of one block of 32 or 64, ends at every
// quarter of a step, more steps than the ring has stages, odd and even numbers of them; more tiles
// than clusters, so that barriers go round several times; no sums wanted. Sampled: codes, the most
// negative ones included; scales.
#include "tests/gpu/integer_fixture.h"

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_maps.cuh"

namespace
{

float scaled(int64_t p, float s_w, float s_x)
{
    return (0.0f + static_cast<float>(p) * s_w) * s_x + 0.0f;
}

// ---- W8A8, W4A8 --------------------------------------------------------------------------------

struct Operands {
    Operands(SqImma kind, const Part &p) : x(p.x.size()), w(p.w.size())
    {
        pack_bytes(p.x, &x);
        if (kind == SQ_IMMA_W8A8)
            pack_bytes(p.w, &w);
        else
            pack_halves(p.w, &w);
    }
    Buffer<uint8_t> x, w;
};

void run_case(SqImma kind, int m, int n, int k, int n_sms)
{
    struct sq_rng r = {fixture_seed() * 1000003 + static_cast<uint64_t>(m * 31 + n)};
    const Part part = random_part(&r, m, n, k, 8, kind == SQ_IMMA_W8A8 ? 8 : 4);
    const Operands o(kind, part);
    const std::vector<float> s_x = random_scales(&r, m), s_w = random_scales(&r, n);
    const size_t size = static_cast<size_t>(m) * static_cast<size_t>(n);
    Buffer<float> y(size), y_alone(size);
    Buffer<int32_t> p(size);
    SqGemmImma g = {m,       n,          {},         {o.x.data, o.w.data, k},
                    nullptr, s_x.data(), s_w.data(), y.data,
                    nullptr, p.data};
    CHECK_OK(sq_gemm_wgmma_s8(kind, &g, n_sms, nullptr, err));
    g.p_hi = nullptr;
    g.y = y_alone.data;
    CHECK_OK(sq_gemm_wgmma_s8(kind, &g, n_sms, nullptr, err));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const size_t at =
                static_cast<size_t>(i) * static_cast<size_t>(n) + static_cast<size_t>(j);
            const int64_t want = dot(part, i, j);
            const float want_y =
                scaled(want, s_w[static_cast<size_t>(j)], s_x[static_cast<size_t>(i)]);
            CHECK_EQ(p[at], want, "kind %d, %dx%dx%d, token %d channel %d: ", kind, m, n, k, i, j);
            CHECK_EQ(float_bits(y[at]), float_bits(want_y),
                     "kind %d, %dx%dx%d, token %d channel %d: ", kind, m, n, k, i, j);
            CHECK_EQ(float_bits(y_alone[at]), float_bits(want_y), "without sums, token %d: ", i);
        }
}

SQ_TEST(dense_and_packed)
{
    for (SqImma kind : {SQ_IMMA_W8A8, SQ_IMMA_W4A8}) {
        run_case(kind, 1, 2, 32, 2);
        run_case(kind, 130, 264, 192, 2);
        run_case(kind, 63, 30, 736, 2);   // six steps
        run_case(kind, 259, 258, 800, 2); // seven steps, 4 tiles on one cluster
        run_case(kind, 70, 1026, 352, 4); // 5 tiles on two clusters
        run_case(kind, 1030, 6, 128, 4);
    }
}

// Golden quantizers and golden product; the same codes multiplied by the kernel.
SQ_TEST(against_golden)
{
    for (SqImma kind : {SQ_IMMA_W8A8, SQ_IMMA_W4A8}) {
        const size_t m = 5, n = 6, k = 256;
        const unsigned w_bits = kind == SQ_IMMA_W8A8 ? 8 : 4;
        struct sq_rng r = {fixture_seed()};
        std::vector<float> x(m * k), w(n * k), s_w(n), s_x(m), unused(m > n ? m : n);
        std::vector<int16_t> x_code(m * k), w_code(n * k);
        for (float &v : x)
            v = random_value(&r);
        for (float &v : w)
            v = random_value(&r);
        struct sq_codes xc = {
            {SQ_GRID_DENSE, 0, 8}, m, k, k, k, 0, 0, x_code.data(), nullptr, s_x.data(),
            unused.data()};
        struct sq_codes wc = {{SQ_GRID_DENSE, 0, w_bits},
                              n,
                              k,
                              k,
                              k,
                              0,
                              0,
                              w_code.data(),
                              nullptr,
                              s_w.data(),
                              unused.data()};
        assert_int_equal(sq_codes_encode_rtn(&xc, x.data(), nullptr), SQ_OK);
        assert_int_equal(sq_codes_encode_rtn(&wc, w.data(), nullptr), SQ_OK);
        std::vector<float> y(m * n);
        std::vector<int32_t> p(m * n), none(m * n);
        struct sq_gemm_codes golden = {};
        golden.x = &xc;
        golden.w = &wc;
        golden.y = y.data();
        golden.p_lo = p.data();
        golden.p_hi = none.data();
        assert_int_equal(sq_gemm_codes_check(&golden, nullptr), SQ_OK);
        Buffer<uint8_t> scratch(sq_gemm_codes_scratch(&golden));
        sq_gemm_codes(&golden, 0, m, scratch.data);
        const Part part = {
            static_cast<int>(k), {x_code.begin(), x_code.end()}, {w_code.begin(), w_code.end()}};
        const Operands o(kind, part);
        Buffer<float> got(m * n);
        Buffer<int32_t> got_p(m * n);
        const SqGemmImma g = {static_cast<int>(m),
                              static_cast<int>(n),
                              {},
                              {o.x.data, o.w.data, part.k},
                              nullptr,
                              s_x.data(),
                              s_w.data(),
                              got.data,
                              nullptr,
                              got_p.data};
        CHECK_OK(sq_gemm_wgmma_s8(kind, &g, 2, nullptr, err));
        for (size_t i = 0; i < m * n; i++) {
            CHECK_EQ(got_p[i], p[i], "kind %d output %zu: ", kind, i);
            CHECK_EQ(float_bits(got[i]), float_bits(y[i]), "kind %d output %zu: ", kind, i);
        }
    }
}

// ---- 2:4 ---------------------------------------------------------------------------------------

void run_sparse(int m, int n, int k, int n_sms)
{
    struct sq_rng r = {fixture_seed() * 77 + static_cast<uint64_t>(m * n + k)};
    const size_t nn = static_cast<size_t>(n), kk = static_cast<size_t>(k);
    Part part = random_part(&r, m, n, k, 8, 8);
    Buffer<int8_t> w(nn * kk);
    for (size_t i = 0; i < w.size; i += 4) { // pruned, so that plain loops see what is kept
        uint32_t four = 0;
        for (size_t e = 0; e < 4; e++)
            four |= static_cast<uint32_t>(part.w[i + e] & 255) << (8 * e);
        four = sq_prune24(four);
        memcpy(&w[i], &four, 4);
        for (size_t e = 0; e < 4; e++)
            part.w[i + e] = w[i + e];
    }
    Buffer<uint8_t> x(part.x.size()), values(nn * kk / 2);
    Buffer<uint32_t> meta(nn * kk / 32);
    unsigned refused = 0;
    pack_bytes(part.x, &x);
    const SqCompress24 c = {n, k, w.data, false, values.data, meta.data, nullptr, &refused};
    CHECK_OK(sq_compress24(&c, nullptr, err));
    assert_int_equal(refused, 0);
    const std::vector<float> s_x = random_scales(&r, m), s_w = random_scales(&r, n);
    const size_t size = static_cast<size_t>(m) * nn;
    Buffer<float> y(size), y_alone(size);
    Buffer<int32_t> p(size);
    SqGemmSp24 g = {m,         n,          k,          x.data, values.data,
                    meta.data, s_x.data(), s_w.data(), y.data, p.data};
    CHECK_OK(sq_gemm_wgmma_sp24(&g, n_sms, nullptr, err));
    g.p = nullptr;
    g.y = y_alone.data;
    CHECK_OK(sq_gemm_wgmma_sp24(&g, n_sms, nullptr, err));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const size_t at = static_cast<size_t>(i) * nn + static_cast<size_t>(j);
            const int64_t want = dot(part, i, j);
            const float want_y =
                scaled(want, s_w[static_cast<size_t>(j)], s_x[static_cast<size_t>(i)]);
            CHECK_EQ(p[at], want, "%dx%dx%d token %d channel %d: ", m, n, k, i, j);
            CHECK_EQ(float_bits(y[at]), float_bits(want_y), "%dx%dx%d token %d channel %d: ", m, n,
                     k, i, j);
            CHECK_EQ(float_bits(y_alone[at]), float_bits(want_y), "without sums, token %d: ", i);
        }
}

SQ_TEST(sparse)
{
    run_sparse(1, 16, 64, 2);
    run_sparse(17, 144, 192, 2);
    run_sparse(131, 128, 704, 2); // six steps
    run_sparse(257, 272, 832, 2); // seven steps, 4 tiles on one cluster
    run_sparse(1030, 48, 128, 4); // 5 tiles on two clusters
}

SQ_TEST(refusals)
{
    struct sq_error err = {};
    SqGemmImma g = {};
    g.m = 1;
    g.n = 3;
    g.high.k = 32;
    assert_int_equal(sq_gemm_wgmma_s8(SQ_IMMA_W8A8, &g, 2, nullptr, &err), SQ_ERR_SHAPE);
    g.n = 2;
    g.high.k = 48;
    assert_int_equal(sq_gemm_wgmma_s8(SQ_IMMA_W4A8, &g, 2, nullptr, &err), SQ_ERR_SHAPE);
    g.high.k = 131072;
    assert_int_equal(sq_gemm_wgmma_s8(SQ_IMMA_W8A8, &g, 2, nullptr, &err), SQ_ERR_SHAPE);
    assert_int_equal(sq_gemm_wgmma_s8(SQ_IMMA_W4A4_UNPACK, &g, 2, nullptr, &err),
                     SQ_ERR_UNSUPPORTED);
    SqGemmSp24 s = {};
    s.m = 1;
    s.n = 24;
    s.k = 64;
    assert_int_equal(sq_gemm_wgmma_sp24(&s, 2, nullptr, &err), SQ_ERR_SHAPE);
}

} // namespace
