// SPDX-License-Identifier: Apache-2.0
// gpu/array/sq_gemm_wgmma.cu in the emulator: copies, swizzle, ring of stages, clusters of two blocks,
// descriptors, both data types, epilogue.
//
// Operands are small integers and powers of two, so that every sum is exact in FP32 and every
// result exact in BF16 or rounded once: the comparison is bit for bit. Directed: only low, only
// high, both; K that fills no step, and more steps than the ring has stages; M below and over the
// 256 rows of a cluster, odd; N that ends inside a tile; fewer and more tiles than clusters (the
// persistent loop), so every barrier goes round several times. Rounding of real data is checked on
// the GPU (gpu/README.md, "Tolerances").
#include "tests/gpu/gpu_fixture.h"

#include "gpu/sq_kernels.cuh"
#include "gpu/sq_quant.cuh"

namespace
{

struct Operand {
    std::vector<int> value; // [rows][k]
    int k;
};

Operand random_operand(struct sq_rng *r, int rows, int k)
{
    Operand o = {{}, k};
    for (int i = 0; i < rows * k; i++)
        o.value.push_back(static_cast<int>(sq_rng_below(r, 7)) - 3);
    return o;
}

int dot(const Operand &x, const Operand &w, int row, int col)
{
    int sum = 0;
    for (int i = 0; i < x.k; i++)
        sum += x.value[static_cast<size_t>(row * x.k + i)] *
               w.value[static_cast<size_t>(col * x.k + i)];
    return sum;
}

void run_case(int m, int n, int k_lo, int k_hi, int n_sms)
{
    struct sq_rng r = {fixture_seed() + static_cast<uint64_t>(m * 7 + n)};
    const Operand x_lo = random_operand(&r, m, k_lo), w_lo = random_operand(&r, n, k_lo);
    const Operand x_hi = random_operand(&r, m, k_hi), w_hi = random_operand(&r, n, k_hi);
    const auto to_e4m3 = [](const Operand &o, Buffer<uint8_t> *out) {
        for (size_t i = 0; i < o.value.size(); i++)
            (*out)[i] = sq_to_e4m3(static_cast<float>(o.value[i]));
    };
    const auto to_bf16 = [](const Operand &o, Buffer<uint16_t> *out) {
        for (size_t i = 0; i < o.value.size(); i++)
            (*out)[i] = sq_to_bf16(static_cast<float>(o.value[i]));
    };
    Buffer<uint8_t> a_lo(x_lo.value.size()), b_lo(w_lo.value.size());
    Buffer<uint16_t> a_hi(x_hi.value.size()), b_hi(w_hi.value.size());
    to_e4m3(x_lo, &a_lo);
    to_e4m3(w_lo, &b_lo);
    to_bf16(x_hi, &a_hi);
    to_bf16(w_hi, &b_hi);
    std::vector<float> s_x, s_w;
    for (int i = 0; i < m; i++)
        s_x.push_back(ldexpf(1, static_cast<int>(sq_rng_below(&r, 9)) - 4));
    for (int i = 0; i < n; i++)
        s_w.push_back(ldexpf(1, static_cast<int>(sq_rng_below(&r, 9)) - 4));
    Buffer<uint16_t> y(static_cast<size_t>(m * n));
    const SqGemmPair g = {m,    n,    a_lo.data,  b_lo.data,  a_hi.data, b_hi.data,
                          k_lo, k_hi, s_x.data(), s_w.data(), y.data};
    CHECK_OK(sq_gemm_pair(&g, n_sms, nullptr, err));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const int sum = dot(x_lo, w_lo, i, j) + dot(x_hi, w_hi, i, j);
            const float want =
                static_cast<float>(sum) * s_x[static_cast<size_t>(i)] * s_w[static_cast<size_t>(j)];
            CHECK_EQ(y[static_cast<size_t>(i * n + j)], sq_to_bf16(want),
                     "%dx%d k %d+%d, token %d channel %d: ", m, n, k_lo, k_hi, i, j);
        }
}

SQ_TEST(parts)
{
    run_case(1, 8, 128, 64, 2);
    run_case(130, 264, 0, 72, 2);
    run_case(63, 256, 144, 0, 2);
}

SQ_TEST(many_stages)
{
    run_case(257, 272, 912, 456, 2); // 8 + 8 steps, 4 tiles on one cluster
    run_case(65, 1032, 272, 200, 4); // 5 tiles on two clusters
}

SQ_TEST(refusals)
{
    SqGemmPair g = {};
    g.m = 1;
    g.n = 12;
    g.k_lo = 16;
    assert_int_equal(sq_gemm_pair(&g, 2, nullptr, nullptr), SQ_ERR_SHAPE);
    g.n = 8;
    g.k_lo = 0;
    assert_int_equal(sq_gemm_pair(&g, 2, nullptr, nullptr), SQ_ERR_SHAPE);
    g.k_lo = 24;
    assert_int_equal(sq_gemm_pair(&g, 2, nullptr, nullptr), SQ_ERR_SHAPE);
}

} // namespace
