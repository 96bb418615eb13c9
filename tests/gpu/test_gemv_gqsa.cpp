// SPDX-License-Identifier: Apache-2.0
// The GQSA decode kernel in the emulator, on the operands of gemv_fixture.h: against the references
// that judge it on a GPU, against the golden model within binary32 rounding, two runs in every bit.
//
// Sampled: codes, kept groups. Directed: token counts 1..4, empty rows, a row longer than a
// worker's share, more workers than groups, no group at all.
#include "tests/gpu/gemv_fixture.h"

extern "C" {
#include "models/gqsa/sq_gqsa.h"
}

namespace
{

struct Gqsa {
    std::vector<uint32_t> row_index{0}, meta;
    std::vector<uint8_t> codes, natural, zeros; // natural: SPEC F.4
    std::vector<uint16_t> groups, scales;
    std::vector<int> dense; // q - z
};

// Row `row` keeps about density(row) of its groups.
template <class Density>
Gqsa make_gqsa(struct sq_rng *r, const Case &c, bool is_unit, Density density)
{
    Gqsa g;
    g.dense.resize(c.n * c.k);
    for (size_t row = 0; row < c.n; row++) {
        for (size_t column = 0; column < c.k / 16; column++) {
            if (sq_rng_unit(r) >= density(row))
                continue;
            const uint32_t zero = sq_rng_below(r, 16);
            const uint16_t scale = random_half(r, is_unit);
            uint8_t bytes[8] = {}, natural[8] = {};
            for (size_t i = 0; i < 16; i++) {
                const uint32_t q = sq_rng_below(r, 16);
                const int nibble = sq_gqsa_position(static_cast<int>(i));
                bytes[nibble / 2] |= static_cast<uint8_t>(q << (4 * (nibble % 2)));
                natural[i / 2] |= static_cast<uint8_t>(q << (4 * (i % 2)));
                g.dense[row * c.k + column * 16 + i] = static_cast<int>(q) - static_cast<int>(zero);
            }
            g.meta.push_back(sq_gqsa_meta({static_cast<uint32_t>(column), zero, scale}));
            g.groups.push_back(static_cast<uint16_t>(column));
            g.scales.push_back(scale);
            g.zeros.push_back(static_cast<uint8_t>(zero));
            g.natural.insert(g.natural.end(), natural, natural + 8);
            g.codes.insert(g.codes.end(), bytes, bytes + 8);
        }
        g.row_index.push_back(static_cast<uint32_t>(g.meta.size()));
    }
    return g;
}

// The golden product in the stored order; within binary32 rounding, or in every bit.
void check_golden(const Case &c, Gqsa *g, const int8_t *x, const float *s_x, const float *y,
                  bool is_unit)
{
    struct sq_gqsa m = {};
    m.n = c.n;
    m.k = m.k_orig = c.k;
    m.nnz = g->groups.size();
    m.group = 16;
    m.row_index = g->row_index.data();
    m.groups = g->groups.data();
    m.codes = g->natural.data();
    m.scale = g->scales.data();
    m.zero = g->zeros.data();
    CHECK_OK(sq_gqsa_validate(&m, err));
    std::vector<float> want(c.n);
    std::vector<int32_t> sums(c.k / 16);
    for (size_t t = 0; t < c.m; t++) {
        sq_gqsa_gemv_int8(&m, x + t * c.k, s_x[t], sums.data(), want.data(), nullptr);
        double error = 0, norm = 0;
        for (size_t i = 0; i < c.n; i++) {
            const double w = static_cast<double>(want[i]);
            const double difference = static_cast<double>(y[t * c.n + i]) - w;
            error += difference * difference;
            norm += w * w;
        }
        if (!(is_unit ? error == 0 : error <= 1e-10 * norm)) // 1e-5, terms cancel
            fail_msg("seed %" PRIu64 ": %zux%zux%zu token %zu: relative error %g", fixture_seed(),
                     c.m, c.n, c.k, t, sqrt(error / norm));
    }
}

template <class Density>
void run_gqsa(const Case &c, bool is_unit, uint32_t n_workers, Density density)
{
    struct sq_rng r = {fixture_seed() * 131 + c.n * 7 + c.k + n_workers + is_unit};
    Gqsa g = make_gqsa(&r, c, is_unit, density);
    Buffer<int8_t> x(c.m * c.k);
    Buffer<uint8_t> codes(g.codes.size() + 8);
    memcpy(codes.data, g.codes.data(), g.codes.size());
    std::vector<float> s_x(c.m), dense(c.n * c.k);
    std::vector<uint32_t> first_row(n_workers);
    std::vector<uint64_t> slot(n_workers * c.m);
    random_x(&r, is_unit, x.data, x.size);
    for (float &v : s_x)
        v = is_unit ? 1.0f : static_cast<float>(sq_rng_unit(&r)) + 0.1f;
    sq_gqsa_first_rows(g.row_index.data(), static_cast<int>(c.n), n_workers, first_row.data());
    g.meta.push_back(0); // data() of an empty list
    Buffer<float> y((c.m + kGuardTokens) * c.n), again((c.m + kGuardTokens) * c.n);
    SqGemvGqsa d = {static_cast<int>(c.m),
                    static_cast<int>(c.n),
                    static_cast<int>(c.k),
                    n_workers,
                    g.row_index.back(),
                    g.row_index.data(),
                    g.meta.data(),
                    codes.data,
                    first_row.data(),
                    slot.data(),
                    x.data,
                    s_x.data(),
                    y.data};
    CHECK_OK(sq_gemv_gqsa(&d, nullptr, err));
    for (uint64_t v : slot)
        assert_true(v == 0);
    CHECK_OK(sq_unpack_gqsa(&d, dense.data(), nullptr, err));
    judge(c, dense.data(), SQ_INPUT_S8, x.data, s_x.data(), 0, y.data, is_unit, 1e-6, "gqsa");
    check_guard(c, y, "gqsa");
    check_golden(c, &g, x.data, s_x.data(), y.data, is_unit);
    if (is_unit) {
        std::vector<int> xs(x.data, x.data + x.size);
        check_exact(c, g.dense, xs, y.data, "gqsa");
    }
    d.y = again.data;
    CHECK_OK(sq_gemv_gqsa(&d, nullptr, err));
    assert_memory_equal(y.data, again.data, 4 * y.size);
}

SQ_TEST(gqsa)
{
    const auto half = [](size_t) { return 0.5; };
    const auto skewed = [](size_t row) { return row % 4 == 0 ? 0.0 : row % 4 == 1 ? 0.95 : 0.2; };
    const auto one_row = [](size_t row) { return row == 3 ? 1.0 : 0.0; };
    const auto none = [](size_t) { return 0.0; };
    for (const bool is_unit : {true, false}) {
        for (uint32_t workers : {1u, 3u, 8u, 21u}) {
            run_gqsa({1, 37, 256}, is_unit, workers, half);
            run_gqsa({3, 24, 512}, is_unit, workers, skewed);
            run_gqsa({1, 7, 2048}, is_unit, workers, one_row); // 128 groups of one row for all
        }
        run_gqsa({1, 5, 64}, is_unit, 50, half); // more workers than groups
        run_gqsa({4, 2, 4096}, is_unit, 2, half);
        run_gqsa({1, 200, 64}, is_unit, 4, skewed); // more than 32 rows a worker
    }
    run_gqsa({1, 4, 64}, true, 3, none);
}

} // namespace
