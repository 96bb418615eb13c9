// SPDX-License-Identifier: Apache-2.0
// Codes of one part of an integer product and its sums by plain loops, for the tests of the kernels
// by mma.sync and by wgmma.
#pragma once

#include "tests/gpu/gpu_fixture.h"

struct Part {
    int k = 0;
    std::vector<int> x, w;
};

inline Part random_part(struct sq_rng *r, int m, int n, int k, int x_bits, int w_bits)
{
    Part p;
    p.k = k;
    for (int i = 0; i < m * k; i++)
        p.x.push_back(random_code(r, x_bits));
    for (int i = 0; i < n * k; i++)
        p.w.push_back(random_code(r, w_bits));
    return p;
}

inline int64_t dot(const Part &p, int row, int col)
{
    int64_t sum = 0;
    for (int i = 0; i < p.k; i++)
        sum += p.x[static_cast<size_t>(row * p.k + i)] * p.w[static_cast<size_t>(col * p.k + i)];
    return sum;
}

inline std::vector<float> random_scales(struct sq_rng *r, int n)
{
    std::vector<float> s;
    for (int i = 0; i < n; i++)
        s.push_back(static_cast<float>(sq_rng_unit(r) + 0.01) * 0.01f);
    return s;
}
