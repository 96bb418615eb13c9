// SPDX-License-Identifier: Apache-2.0
// The decode kernels (gpu/sq_gemv_*.cu) in the emulator, and the references that judge them on a
// GPU (gpu/sq_gemv_reference.cu), on the operands of gemv_fixture.h; two runs in every bit. Formats
// with a golden model are compared with that as well: SpQR as published in every bit, SpQt within
// binary32 rounding. GQSA is in test_gemv_gqsa.cpp.
//
// Sampled: codes, patterns. Directed: token counts 1..8, tails in N and K, no active column, one,
// all; CSR and PTCSR.
#include "tests/gpu/gemv_fixture.h"

extern "C" {
#include "models/spqr/sq_spqr.h"
#include "models/spqr/sq_spqr_dec.h"
#include "models/spqt/sq_spqt.h"
}

namespace
{

// ---- dense baselines ----------------------------------------------------------------------------

void run_w4(const Case &c, bool is_unit)
{
    struct sq_rng r = {fixture_seed() * 7919 + c.m * 31 + c.n * 7 + c.k + is_unit};
    const size_t groups = c.k / 128;
    Buffer<uint8_t> pairs(c.n * c.k / 2), halves(c.n * c.k / 2);
    Buffer<uint16_t> s(c.n * groups), x16(c.m * c.k), w16(c.n * c.k);
    Buffer<int8_t> x8(c.m * c.k);
    std::vector<float> s_x(c.m), dense(c.n * c.k);
    std::vector<int> code(c.n * c.k), x(c.m * c.k);
    for (int &q : code)
        q = random_code(&r, 4);
    for (size_t i = 0; i < s.size; i++)
        s[i] = random_half(&r, is_unit);
    for (float &v : s_x)
        v = is_unit ? 1.0f : static_cast<float>(sq_rng_unit(&r)) + 0.1f;
    random_x(&r, is_unit, x16.data, x16.size);
    random_x(&r, is_unit, x8.data, x8.size);
    pack_halves(code, &halves);
    memset(pairs.data, 0, pairs.size);
    for (size_t i = 0; i < code.size(); i++) {
        const size_t nibble = i / 8 * 8 + static_cast<size_t>(sq_pairs_position(i % 8));
        pairs[nibble / 2] |= static_cast<uint8_t>((code[i] + 8) << (4 * (nibble % 2)));
        w16[i] = sq_f32_to_f16(is_unit ? static_cast<float>(code[i]) : 0.02f * random_value(&r));
    }
    Buffer<float> y((c.m + kGuardTokens) * c.n), again((c.m + kGuardTokens) * c.n);
    const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), k = static_cast<int>(c.k);
    const auto judge_all = [&](SqUnpack kind, const void *w, bool is_s8, double tolerance,
                               const char *name) {
        check_guard(c, y, name);
        CHECK_OK(sq_unpack_dense(kind, n, k, w, s.data, dense.data(), nullptr, err));
        judge(c, dense.data(), is_s8 ? SQ_INPUT_S8 : SQ_INPUT_F16,
              is_s8 ? static_cast<const void *>(x8.data) : x16.data, is_s8 ? s_x.data() : nullptr,
              0, y.data, is_unit, tolerance, name);
        if (!is_unit)
            return;
        for (size_t i = 0; i < x.size(); i++)
            x[i] = is_s8 ? x8[i] : static_cast<int>(sq_half_to_float(x16[i]));
        check_exact(c, code, x, y.data, name);
    };
    const SqGemvF16 f16 = {m, n, k, w16.data, x16.data, y.data};
    CHECK_OK(sq_gemv_f16(&f16, nullptr, err));
    judge_all(SQ_UNPACK_F16, w16.data, false, 1e-6, "f16");
    const SqGemvW4A16 a16 = {m, n, k, pairs.data, s.data, x16.data, y.data};
    CHECK_OK(sq_gemv_w4a16(&a16, nullptr, err));
    judge_all(SQ_UNPACK_PAIRS, pairs.data, false, 5e-3, "w4a16");
    SqGemvW4A8 a8 = {m, n, k, halves.data, s.data, x8.data, s_x.data(), y.data};
    CHECK_OK(sq_gemv_w4a8(&a8, nullptr, err));
    judge_all(SQ_UNPACK_HALVES, halves.data, true, 1e-6, "w4a8");
    a8.y = again.data;
    CHECK_OK(sq_gemv_w4a8(&a8, nullptr, err));
    assert_memory_equal(y.data, again.data, 4 * y.size);
}

SQ_TEST(dense_baselines)
{
    for (const bool is_unit : {true, false}) {
        for (size_t m = 1; m <= 8; m++)
            run_w4({m, 5, 256}, is_unit);
        run_w4({1, 11, 4224}, is_unit); // one round of 4096 columns and a tail
        run_w4({3, 4, 128}, is_unit);
    }
}

// ---- SpQt ---------------------------------------------------------------------------------------

void run_spqt(size_t n, size_t k, int n_splits, float threshold, bool is_unit)
{
    struct sq_rng r = {fixture_seed() * 17 + n + k + static_cast<uint64_t>(n_splits)};
    const Case c = {1, n, k};
    const int rows = static_cast<int>(n), columns = static_cast<int>(k);
    Buffer<uint8_t> blocks(n / 256 * k * SQ_Q4K_NBYTES);
    Buffer<uint16_t> x(k);
    std::vector<float> dense(n * k), xf(k), plane(n * k), golden(n);
    random_x(&r, is_unit, x.data, k);
    for (size_t i = 0; i < k; i++)
        xf[i] = sq_half_to_float(x[i]);
    if (is_unit) {
        CHECK_OK(sq_random_words(SQ_RANDOM_BITS, reinterpret_cast<uint32_t *>(blocks.data),
                                 blocks.size / 4, fixture_seed(), nullptr, err));
        const uint16_t ones[2] = {0x3c00, 0x3c00};
        for (size_t i = 0; i < blocks.size; i += SQ_Q4K_NBYTES)
            memcpy(&blocks[i], ones, sizeof ones);
    } else {
        std::vector<float> w(n * k);
        unsigned refused = 0;
        for (float &v : w)
            v = 0.02f * random_value(&r);
        const SqEncodeQ4k e = {rows, columns, w.data(), blocks.data, &refused};
        CHECK_OK(sq_encode_q4k(&e, nullptr, err));
        assert_int_equal(refused, 0);
    }
    Buffer<float> y(n), again(n), part(n * static_cast<size_t>(n_splits));
    std::vector<unsigned> arrived(n / 256);
    uint32_t n_active = 0;
    std::vector<uint32_t> index(k);
    SqGemvSpqt g = {rows,      columns,        n_splits, threshold, blocks.data, x.data,
                    part.data, arrived.data(), y.data,   &n_active, index.data()};
    CHECK_OK(sq_gemv_spqt(&g, nullptr, err));
    for (unsigned a : arrived)
        assert_int_equal(a, 0);
    CHECK_OK(sq_unpack_q4k(rows, columns, blocks.data, dense.data(), nullptr, err));
    judge(c, dense.data(), SQ_INPUT_F16, x.data, nullptr, threshold, y.data, is_unit, 1e-5, "spqt");
    g.y = again.data;
    CHECK_OK(sq_gemv_spqt(&g, nullptr, err));
    assert_memory_equal(y.data, again.data, 4 * n);

    const struct sq_spqt m = {n, k, blocks.data};
    std::vector<uint32_t> idx;
    for (size_t i = 0; i < k; i++)
        if (fabsf(xf[i]) >= threshold)
            idx.push_back(static_cast<uint32_t>(i));
    CHECK_EQ(n_active, idx.size(), "%zux%zu: ", n, k);
    for (size_t i = 0; i < idx.size(); i++)
        CHECK_EQ(index[i], idx[i], "%zux%zu active column %zu: ", n, k, i);
    idx.push_back(0); // data() of an empty list
    sq_spqt_decode(&m, plane.data());
    sq_spqt_gemv(&m, plane.data(), xf.data(), idx.data(), idx.size() - 1,
                 8u * static_cast<unsigned>(n_splits), SQ_SPQT_BALANCED, golden.data());
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        const double want = static_cast<double>(golden[i]);
        error += (static_cast<double>(y[i]) - want) * (static_cast<double>(y[i]) - want);
        norm += want * want;
    }
    assert_true(is_unit ? error == 0 : error <= 1e-10 * norm);
}

SQ_TEST(spqt)
{
    for (const bool is_unit : {true, false})
        for (const float threshold : {0.0f, 0.4f, 6.5f, 1e9f}) {
            run_spqt(256, 504, 1, threshold, is_unit);
            run_spqt(512, 1032, 3, threshold, is_unit);
        }
    run_spqt(256, 8, 1, 0, true);
    run_spqt(256, 2056, 2, 0.3f, false);
}

// ---- SpQR ---------------------------------------------------------------------------------------

struct Spqr {
    std::vector<uint64_t> words;
    std::vector<uint32_t> offsets{0}, outliers;
};

Spqr make_spqr(struct sq_rng *r, size_t n, size_t k, bool is_unit)
{
    Spqr s;
    for (size_t tile = 0; tile < n / 16 * (k / 16); tile++) {
        struct sq_spqr_tile t = {};
        uint64_t word[16];
        const uint16_t unit[4] = {0x3c00, 0x3c00, 0, 0}; // s = a, z = c
        for (int q = 0; q < 4; q++) {
            const uint16_t base[4] = {0x1800, 0x3400, 0xbc00, 0xc000};
            t.second[q] =
                is_unit ? unit[q] : static_cast<uint16_t>(base[q] | sq_rng_below(r, 1024));
        }
        for (int row = 0; row < 16; row++) {
            t.scale[row] = static_cast<uint8_t>(sq_rng_below(r, 8));
            t.zero[row] = static_cast<uint8_t>(sq_rng_below(r, 8));
            for (int j = 0; j < 16; j++)
                t.code[row][j] = static_cast<uint8_t>(sq_rng_below(r, 8));
        }
        sq_spqr_pack(&t, word);
        s.words.insert(s.words.end(), word, word + 16);
    }
    for (size_t row = 0; row < n; row++) {
        const uint32_t gap = row % 16 == 5 ? 6 : row % 3 == 0 ? 5000 : 60;
        for (uint32_t column = sq_rng_below(r, gap); column < k;
             column += 1 + sq_rng_below(r, gap)) {
            const float v = is_unit ? static_cast<float>(1 + sq_rng_below(r, 7)) : random_value(r);
            const uint32_t half = sq_f32_to_f16(v);
            if (half & 0x7fff)
                s.outliers.push_back(half << 16 | column);
        }
        s.offsets.push_back(static_cast<uint32_t>(s.outliers.size()));
    }
    return s;
}

void run_spqr(size_t n, size_t k, bool is_unit)
{
    struct sq_rng r = {fixture_seed() * 19 + n * 3 + k + is_unit};
    const Case c = {1, n, k};
    Spqr s = make_spqr(&r, n, k, is_unit);
    Buffer<uint64_t> words(s.words.size());
    Buffer<uint4> chunks(s.words.size() / 2);
    Buffer<uint16_t> x(k);
    Buffer<float> y(n), again(n);
    std::vector<float> dense(n * k), plane(n * k), xf(k), loaded(k), golden(n);
    memcpy(words.data, s.words.data(), 8 * s.words.size());
    random_x(&r, is_unit, x.data, k);
    for (size_t i = 0; i < k; i++)
        xf[i] = sq_half_to_float(x[i]);
    struct sq_spqr m = {};
    m.n = n;
    m.k = k;
    m.dense = s.words.data();
    m.outliers = {n, s.outliers.size(), s.offsets.data(), s.outliers.data()};
    std::vector<uint32_t> blocks(n / 16 + 1), padded(sq_spqr_ptcsr_words(&m.outliers) + 1);
    struct sq_spqr_ptcsr ptcsr = {};
    ptcsr.offsets = blocks.data();
    ptcsr.word = padded.data();
    CHECK_OK(sq_spqr_to_ptcsr(&m.outliers, &ptcsr, err));
    sq_spqr_decode_dense(&m, plane.data());
    CHECK_OK(sq_spqr_load(&m, xf.data(), loaded.data(), err));
    CHECK_OK(sq_spqr_gemv(&m, nullptr, plane.data(), loaded.data(), golden.data(), err));

    const SqSpqrRepack repack = {static_cast<int>(n), static_cast<int>(k), words.data, chunks.data};
    CHECK_OK(sq_spqr_repack_words(&repack, nullptr, err));
    for (const bool is_ptcsr : {false, true}) {
        const SqGemvSpqr g = {static_cast<int>(n),
                              static_cast<int>(k),
                              words.data,
                              is_ptcsr,
                              is_ptcsr ? blocks.data() : s.offsets.data(),
                              is_ptcsr ? padded.data() : s.outliers.data(),
                              x.data,
                              y.data};
        CHECK_OK(sq_gemv_spqr(&g, nullptr, err));
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(sq_f32_to_f16(y[i]), sq_f32_to_f16(golden[i]), "%zux%zu %s row %zu: ", n, k,
                     is_ptcsr ? "ptcsr" : "csr", i);
        CHECK_OK(sq_unpack_spqr(&g, dense.data(), nullptr, err));
        judge(c, dense.data(), SQ_INPUT_F16, x.data, nullptr, 0, y.data, is_unit, 1e-6, "spqr");
        SqGemvSpqr repacked = g;
        repacked.words = chunks.data;
        repacked.y = again.data;
        CHECK_OK(sq_gemv_spqr_repacked(&repacked, nullptr, err));
        judge(c, dense.data(), SQ_INPUT_F16, x.data, nullptr, 0, again.data, is_unit, 5e-3,
              "spqr repacked");
    }
}

SQ_TEST(spqr)
{
    for (const bool is_unit : {true, false}) {
        run_spqr(16, 256, is_unit);
        run_spqr(32, 1280, is_unit); // more quads than workers, and not a multiple
    }
}

// Repacked alone: K of one quad, which the published kernel does not take.
SQ_TEST(spqr_narrow)
{
    struct sq_rng r = {fixture_seed()};
    const Case c = {1, 16, 64};
    Spqr s = make_spqr(&r, 16, 64, true);
    Buffer<uint4> chunks(s.words.size() / 2);
    Buffer<uint16_t> x(64);
    Buffer<float> y(16);
    std::vector<float> dense(16 * 64);
    random_x(&r, true, x.data, 64);
    const SqSpqrRepack repack = {16, 64, s.words.data(), chunks.data};
    CHECK_OK(sq_spqr_repack_words(&repack, nullptr, err));
    SqGemvSpqr g = {16,     64,    s.words.data(), false, s.offsets.data(), s.outliers.data(),
                    x.data, y.data};
    CHECK_OK(sq_unpack_spqr(&g, dense.data(), nullptr, err));
    g.words = chunks.data;
    CHECK_OK(sq_gemv_spqr_repacked(&g, nullptr, err));
    judge(c, dense.data(), SQ_INPUT_F16, x.data, nullptr, 0, y.data, true, 0, "spqr repacked");
}

// ---- refusals -----------------------------------------------------------------------------------

SQ_TEST(refusals)
{
    const SqGemvW4A16 tokens = {9, 4, 128, nullptr, nullptr, nullptr, nullptr};
    assert_int_equal(sq_gemv_w4a16(&tokens, nullptr, nullptr), SQ_ERR_SHAPE);
    const SqGemvW4A8 columns = {1, 4, 96, nullptr, nullptr, nullptr, nullptr, nullptr};
    assert_int_equal(sq_gemv_w4a8(&columns, nullptr, nullptr), SQ_ERR_SHAPE);
    const SqGemvF16 f16 = {1, 4, 12, nullptr, nullptr, nullptr};
    assert_int_equal(sq_gemv_f16(&f16, nullptr, nullptr), SQ_ERR_SHAPE);
    SqGemvGqsa g = {};
    g.m = 4;
    g.n = 1;
    g.k = 28672;
    g.n_workers = 1;
    assert_int_equal(sq_gemv_gqsa(&g, nullptr, nullptr), SQ_ERR_SHAPE); // activations do not fit
    g.m = 1;
    g.k = 24;
    assert_int_equal(sq_gemv_gqsa(&g, nullptr, nullptr), SQ_ERR_SHAPE);
    SqGemvSpqt t = {};
    t.n = 128;
    t.k = 8;
    t.n_splits = 1;
    assert_int_equal(sq_gemv_spqt(&t, nullptr, nullptr), SQ_ERR_SHAPE);
    t.n = 256;
    t.n_splits = 2; // no room for the parts
    assert_int_equal(sq_gemv_spqt(&t, nullptr, nullptr), SQ_ERR_SHAPE);
    SqGemvSpqr s = {};
    s.n = 16;
    s.k = 64;
    assert_int_equal(sq_gemv_spqr(&s, nullptr, nullptr), SQ_ERR_SHAPE);
    s.k = 48;
    assert_int_equal(sq_gemv_spqr_repacked(&s, nullptr, nullptr), SQ_ERR_SHAPE);
}

} // namespace
