// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the decode kernels.
//
// Two kinds of operands. Scales of one and small integers: every sum is an integer below 2^24, so
// whatever the order of additions the result is exact and compared in every bit with plain 64-bit
// loops. Real scales: compared in binary64 within the tolerances of gpu/README.md.
#pragma once

#include <cmath>

#include "tests/gpu/gpu_fixture.h"

extern "C" {
#include "models/number/sq_half.h"
}

#include "gpu/sq_gemv_maps.cuh"
#include "gpu/sq_gemv_reference.cuh"

struct Case {
    size_t m, n, k;
};

inline uint16_t random_half(struct sq_rng *r, bool is_unit)
{
    return is_unit ? 0x3c00 : static_cast<uint16_t>(0x1800 | sq_rng_below(r, 1024));
}

// Activations that are small integers, or roughly normal with outliers.
template <class T> void random_x(struct sq_rng *r, bool is_unit, T *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int q = static_cast<int>(sq_rng_below(r, 15)) - 7;
        if (sizeof(T) == 1)
            x[i] = static_cast<T>(is_unit ? q : random_code(r, 8));
        else
            x[i] = static_cast<T>(sq_f32_to_f16(is_unit ? static_cast<float>(q) : random_value(r)));
    }
}

// y of a kernel against the product of unpacked weights: every bit where is_unit, else relative.
inline void judge(const Case &c, const float *w, SqInput type, const void *x, const float *s_x,
                  float threshold, const float *y, bool is_unit, double tolerance, const char *name)
{
    std::vector<double> want(c.m * c.n);
    const SqRefGemv ref = {static_cast<int>(c.m),
                           static_cast<int>(c.n),
                           static_cast<int>(c.k),
                           w,
                           type,
                           x,
                           s_x,
                           threshold,
                           want.data()};
    CHECK_OK(sq_ref_gemv(&ref, nullptr, err));
    SqDifference d;
    CHECK_OK(sq_compare_f32(y, want.data(), want.size(), &d, nullptr, err));
    CHECK_EQ(d.n_wrong, 0, "%s %zux%zux%zu: ", name, c.m, c.n, c.k);
    const double rel = sqrt(d.sum_error / (d.sum_ref + 1e-300));
    if (!(rel <= (is_unit ? 0 : tolerance)))
        fail_msg("seed %" PRIu64 ": %s %zux%zux%zu: relative error %g", fixture_seed(), name, c.m,
                 c.n, c.k, rel);
}

// Room behind the m tokens of y, and that nobody wrote there.
constexpr size_t kGuardTokens = 8;
inline void check_guard(const Case &c, const Buffer<float> &y, const char *name)
{
    for (size_t i = c.m * c.n; i < y.size; i++)
        CHECK_EQ(float_bits(y[i]), 0xa5a5a5a5u, "%s %zux%zux%zu behind y: ", name, c.m, c.n, c.k);
}

// Plain loops, independent of the references above.
inline void check_exact(const Case &c, const std::vector<int> &w, const std::vector<int> &x,
                        const float *y, const char *name)
{
    for (size_t t = 0; t < c.m; t++)
        for (size_t row = 0; row < c.n; row++) {
            long long want = 0;
            for (size_t i = 0; i < c.k; i++)
                want += static_cast<long long>(w[row * c.k + i]) * x[t * c.k + i];
            assert_true(llabs(want) < 1 << 24);
            CHECK_EQ(y[t * c.n + row], want, "%s %zux%zux%zu token %zu row %zu: ", name, c.m, c.n,
                     c.k, t, row);
        }
}
