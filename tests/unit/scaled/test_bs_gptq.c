// SPDX-License-Identifier: Apache-2.0
// GPTQ on block-scaled formats (sq_bs_gptq): SPEC B.4, Q.6.
//
// Every format of bs_fixture.h, K with and without padding. With inputs that do not correlate GPTQ
// is round to nearest, code by code; with correlated ones it beats it by the error that it
// minimises. The calibration of rotated inputs is the rotated calibration.
#include <math.h>

#include "models/scaled/sq_bs_gptq.h"
#include "tests/unit/scaled/bs_fixture.h"

enum { M = 512, N = 12, K = 90, PADDED = 96 };

static void inputs(struct sq_rng *r, float *x, bool is_correlated)
{
    for (size_t t = 0; t < M; t++) {
        const float common = is_correlated ? (float)fixture_gauss(r) : 0;
        for (size_t i = 0; i < K; i++)
            x[t * K + i] = (float)fixture_gauss(r) + common * (float)(1 + i % 3);
    }
}

static double output_error(const struct sq_bs *c, const float *w, const float *x)
{
    float row[PADDED];
    double sum = 0;
    for (size_t n = 0; n < N; n++) {
        sq_bs_decode_row(c, n, row);
        for (size_t t = 0; t < M; t++) {
            double d = 0;
            for (size_t i = 0; i < K; i++)
                d += ((double)w[n * K + i] - (double)row[i]) * (double)x[t * K + i];
            sum += d * d;
        }
    }
    return sum;
}

static void weights(struct sq_rng *r, float *w)
{
    for (size_t i = 0; i < N * K; i++)
        w[i] = (float)fixture_gauss(r) * (i % 29 ? 1 : 6);
}

// H = 1: errors have nowhere to go.
SQ_TEST(without_correlation)
{
    struct sq_rng r = {fixture_seed()};
    static float w[N * K], eye[K * K];
    struct sq_calibration c;
    struct sq_factor f;
    for (size_t i = 0; i < K; i++)
        eye[i * K + i] = 1;
    assert_ok(sq_calibration_init(&c, K, true, NULL));
    assert_ok(sq_calibration_add(&c, eye, K, NULL));
    assert_ok(sq_factor_init(&f, &c, NULL, 0.01, NULL));
    weights(&r, w);
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        struct sq_bs a = bs_alloc(&bs_formats[i], N, K), b = bs_alloc(&bs_formats[i], N, K);
        bs_encode(&a, w, true);
        assert_ok(sq_bs_globals(&b, w, true, NULL));
        assert_ok(sq_bs_gptq_encode(&b, w, &f, NULL));
        assert_memory_equal(a.code, b.code, N * a.k);
        assert_memory_equal(a.scale[0], b.scale[0], N * (a.k / a.f.block));
        if (a.high)
            assert_memory_equal(a.high, b.high, N * a.k);
        if (a.is_high)
            assert_memory_equal(a.is_high, b.is_high, N * a.k);
    }
    sq_factor_free(&f);
    sq_calibration_free(&c);
}

SQ_TEST(with_correlation)
{
    struct sq_rng r = {fixture_seed() + 1};
    static float w[N * K], x[M * K];
    struct sq_calibration c;
    struct sq_factor f;
    inputs(&r, x, true);
    weights(&r, w);
    assert_ok(sq_calibration_init(&c, K, true, NULL));
    assert_ok(sq_calibration_add(&c, x, M, NULL));
    assert_ok(sq_factor_init(&f, &c, NULL, 0.01, NULL));
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        struct sq_bs a = bs_alloc(&bs_formats[i], N, K);
        bs_encode(&a, w, true);
        const double rtn = output_error(&a, w, x);
        memset(a.code, 0, N * a.k);
        if (a.high)
            memset(a.high, 0, N * a.k);
        assert_ok(sq_bs_gptq_encode(&a, w, &f, NULL));
        const double gptq = output_error(&a, w, x);
        if (!(gptq < rtn * 0.9))
            fail_msg("seed %llu, format %zu: error %g, by round to nearest %g",
                     (unsigned long long)fixture_seed(), i, gptq, rtn);
    }
    f.k = K - 1;
    struct sq_bs a = bs_alloc(&bs_formats[0], N, K);
    assert_int_equal(sq_bs_gptq_encode(&a, w, &f, NULL), SQ_ERR_SHAPE);
    f.k = K;
    w[5] = NAN;
    assert_int_equal(sq_bs_gptq_encode(&a, w, &f, NULL), SQ_ERR_NON_FINITE);
    sq_factor_free(&f);
    sq_calibration_free(&c);
}

SQ_TEST(rotated_inputs)
{
    struct sq_rng r = {fixture_seed() + 2};
    static float x[M * K], turned[M * PADDED];
    struct sq_calibration c, want, got;
    inputs(&r, x, true);
    for (unsigned n = 16; n <= 32; n *= 2) {
        memset(turned, 0, sizeof turned);
        for (size_t t = 0; t < M; t++) {
            memcpy(turned + t * PADDED, x + t * K, K * sizeof *x);
            sq_bs_rotate(turned + t * PADDED, PADDED, n);
        }
        assert_ok(sq_calibration_init(&c, K, true, NULL));
        assert_ok(sq_calibration_add(&c, x, M, NULL));
        assert_ok(sq_calibration_init(&want, PADDED, true, NULL));
        assert_ok(sq_calibration_add(&want, turned, M, NULL));
        assert_ok(sq_bs_rotate_calibration(&c, PADDED, n, &got, NULL));
        assert_int_equal(got.n_tokens, M);
        for (size_t i = 0; i < PADDED; i++)
            for (size_t j = 0; j <= i; j++) // the lower triangle
                assert_true(fabs(got.xtx[i * PADDED + j] - want.xtx[i * PADDED + j]) < 1e-2);
        sq_calibration_free(&c);
        sq_calibration_free(&want);
        sq_calibration_free(&got);
    }
    assert_ok(sq_calibration_init(&c, K, false, NULL));
    assert_int_equal(sq_bs_rotate_calibration(&c, PADDED, 16, &got, NULL), SQ_ERR_ARG);
    sq_calibration_free(&c);
}
