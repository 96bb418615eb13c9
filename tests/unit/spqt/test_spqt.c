// SPDX-License-Identifier: Apache-2.0
// SpQt (SPEC G.2-G.7). Exhausted: shares of 0..70 columns among 1..70 workers, prefix sums of every
// power of two. Directed: V10, the shares of G.7, the refusals. Sampled: shapes with padded rows,
// thresholds from none to all skipped, against a product written down from the bytes once more.
#include <math.h>

#include "models/number/sq_lanes.h"
#include "models/quant/sq_threshold.h"
#include "models/spqt/sq_spqt.h"
#include "tests/unit/fixture.h"

// ---- indices --------------------------------------------------------------------------------

SQ_TEST(vector_v10)
{
    const float x[8] = {.1f, -.9f, 0, .5f, -.5f, .02f, 1.2f, -.3f};
    uint32_t scan[8] = {0, 1, 0, 1, 1, 0, 1, 1}, idx[8];
    sq_spqt_scan(scan, 8);
    assert_memory_equal(scan, ((uint32_t[]){0, 0, 1, 1, 2, 3, 3, 4}), sizeof scan);
    for (unsigned segment = 1; segment <= 1024; segment *= 2) {
        assert_int_equal(sq_spqt_active(x, 8, .3f, segment, idx), 5);
        assert_memory_equal(idx, ((uint32_t[]){1, 3, 4, 6, 7}), 20);
    }
}

SQ_TEST(scans_and_segments)
{
    enum { K = 2500 };
    struct sq_rng r = {fixture_seed()};
    static float x[K];
    static uint32_t a[1024], idx[K];
    for (size_t n = 1; n <= 1024; n *= 2) {
        uint32_t want[1024], sum = 0;
        for (size_t i = 0; i < n; i++) {
            a[i] = sq_rng_below(&r, 7);
            want[i] = sum;
            sum += a[i];
        }
        sq_spqt_scan(a, n);
        assert_memory_equal(a, want, n * sizeof *a);
    }
    for (size_t i = 0; i < K; i++)
        x[i] = (float)((int)sq_rng_below(&r, 9) - 4); // many at the threshold
    for (float theta = 0; theta <= 5; theta++)
        for (unsigned segment = 64; segment <= 1024; segment *= 4) {
            size_t n = 0;
            const size_t got = sq_spqt_active(x, K, theta, segment, idx);
            for (size_t i = 0; i < K; i++)
                if (x[i] >= theta || x[i] <= -theta)
                    CHECK_EQ(idx[n++], i, "theta %g\n", (double)theta);
            CHECK_EQ(got, n, "theta %g\n", (double)theta);
        }
}

SQ_TEST(shares)
{
    static const unsigned want[2][4] = {{3, 3, 3}, {2, 3, 2, 3}}; // SPEC G.7: 9 over 3, 10 over 4
    size_t begin, end;
    for (unsigned v = 0; v < 2; v++)
        for (unsigned p = 0; p < 3 + v; p++) {
            sq_spqt_share(9 + v, 3 + v, p, &begin, &end);
            CHECK_EQ(end - begin, want[v][p], "share %u\n", p);
        }
    for (size_t n = 0; n <= 70; n++)
        for (unsigned workers = 1; workers <= 70; workers++) {
            size_t last = 0;
            for (unsigned p = 0; p < workers; p++) {
                sq_spqt_share(n, workers, p, &begin, &end);
                CHECK_EQ(begin, last, "%zu over %u\n", n, workers);
                assert_true(end - begin >= n / workers && end - begin <= n / workers + 1);
                last = end;
            }
            CHECK_EQ(last, n, "over %u\n", workers);
        }
    sq_spqt_share(4000000000u, 65536, 65535, &begin, &end);
    assert_int_equal(end, 4000000000u);
}

// ---- products -------------------------------------------------------------------------------

struct layer {
    struct sq_spqt m;
    size_t nbytes;
    float *w, *x, *plane;
};

static struct layer layer_new(struct sq_rng *r, size_t n, size_t k)
{
    struct layer l = {.m = {.n = n, .k = k}, .nbytes = 144 * sq_spqt_n_blocks(n, k)};
    struct sq_error err = {.text = ""};
    l.w = fixture_exact(n * k * sizeof *l.w);
    l.x = fixture_exact(k * sizeof *l.x);
    l.m.block = fixture_exact(l.nbytes);
    l.plane = fixture_exact(256 * sq_spqt_n_blocks(n, k) * sizeof *l.plane);
    for (size_t i = 0; i < n * k; i++)
        l.w[i] = (float)(sq_rng_unit(r) - 0.5);
    for (size_t i = 0; i < k; i++)
        l.x[i] = (float)(sq_rng_unit(r) * 2 - 1);
    CHECK_EQ(sq_spqt_encode(l.w, &l.m, &err), SQ_OK, "%s\n", err.text);
    assert_ok(sq_spqt_validate(&l.m, l.nbytes, &err));
    sq_spqt_decode(&l.m, l.plane);
    return l;
}

// Weight (n, c) from the bytes of its superblock, as G.3 and G.4 write them.
static float slow_weight(const struct layer *l, size_t n, size_t c)
{
    const uint8_t *b = l->m.block + 144 * (n / 256 * l->m.k + c), *scales = b + 4, *qs = b + 16;
    const size_t i = n % 256, j = i / 32, u = i / 64;
    __extension__ _Float16 d, dmin;
    memcpy(&d, b, 2);
    memcpy(&dmin, b + 2, 2);
    const int sc = j < 4 ? scales[j] & 63 : (scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4;
    const int m = j < 4 ? scales[j + 4] & 63 : scales[j + 4] >> 4 | (scales[j] >> 6) << 4;
    const int q = j % 2 ? qs[32 * u + i % 32] >> 4 : qs[32 * u + i % 32] & 15;
    const float step = (float)d * (float)sc, min = (float)dmin * (float)m,
                product = step * (float)q;
    return product - min;
}

static float slow_output(const struct layer *l, size_t n, float theta, unsigned workers,
                         bool is_static)
{
    size_t active[4096], n_active = 0;
    float y = 0;
    for (size_t c = 0; c < l->m.k; c++)
        if (fabsf(l->x[c]) >= theta)
            active[n_active++] = c;
    const size_t total = is_static ? l->m.k : n_active;
    for (size_t p = 0; p < workers; p++) {
        const size_t begin = p * total / workers, end = (p + 1) * total / workers;
        float acc = 0;
        for (size_t e = 0; e < n_active; e++) {
            const size_t place = is_static ? active[e] : e;
            if (place < begin || place >= end)
                continue;
            const float product = l->x[active[e]] * slow_weight(l, n, active[e]);
            acc += product;
        }
        y += acc;
    }
    return y;
}

SQ_TEST(products)
{
    static const size_t shape[][2] = {{64, 64}, {172, 64}, {256, 300}, {300, 172}, {1, 1}};
    static const float theta[] = {0, .1f, .5f, .95f, 2};
    static const unsigned workers[] = {1, 3, 64, 400};
    struct sq_rng r = {fixture_seed()};
    for (size_t s = 0; s < LEN(shape); s++) {
        const size_t n = shape[s][0], k = shape[s][1];
        struct layer l = layer_new(&r, n, k);
        uint32_t *idx = fixture_exact(k * sizeof *idx);
        float *y = fixture_exact(n * sizeof *y), *dense = fixture_exact(n * sizeof *y);
        for (size_t t = 0; t < LEN(theta); t++)
            for (size_t p = 0; p < LEN(workers); p++)
                for (unsigned is_static = 0; is_static < 2; is_static++) {
                    const size_t n_idx = sq_spqt_active(l.x, k, theta[t], 1024, idx);
                    sq_spqt_gemv(&l.m, l.plane, l.x, idx, n_idx, workers[p],
                                 is_static ? SQ_SPQT_STATIC : SQ_SPQT_BALANCED, y);
                    for (size_t i = 0; i < n; i++)
                        CHECK_EQ(sq_bits_of(y[i]),
                                 sq_bits_of(slow_output(&l, i, theta[t], workers[p], is_static)),
                                 "%zu x %zu theta %g workers %u row %zu\n", n, k, (double)theta[t],
                                 workers[p], i);
                    if (theta[t] > 0)
                        continue;
                    sq_spqt_gemm_dense(&l.m, l.plane, l.x, 1, workers[p], dense);
                    assert_memory_equal(dense, y, n * sizeof *y);
                }
    }
}

// Many tokens at once, at every level of the processor: the bits of sq_spqt_gemv and of
// sq_spqt_gemm_dense; tokens around a tile of 4 and a piece of 64, rows around a slice, a token
// without active columns.
SQ_TEST(many_tokens)
{
    static const size_t shape[][3] = {{300, 97, 7}, {64, 64, 4}, {129, 5, 67}, {513, 172, 3}};
    static const unsigned workers[] = {1, 3, 64, 400};
    struct sq_rng r = {fixture_seed()};
    for (size_t s = 0; s < LEN(shape); s++) {
        const size_t n = shape[s][0], k = shape[s][1], m = shape[s][2];
        struct layer l = layer_new(&r, n, k);
        float *x = fixture_exact(m * k * sizeof *x), *y = fixture_exact(m * n * sizeof *y);
        float *want = fixture_exact(m * n * sizeof *y), *dense = fixture_exact(m * n * sizeof *y);
        uint32_t *idx = fixture_exact(m * k * sizeof *idx), *one = fixture_exact(k * sizeof *one);
        size_t *n_idx = fixture_exact(m * sizeof *n_idx);
        for (size_t i = 0; i < m * k; i++)
            x[i] = i / k == 1 ? 0 : (float)(sq_rng_unit(&r) * 2 - 1);
        for (size_t t = 0; t < m; t++) {
            n_idx[t] = sq_spqt_active(x + t * k, k, .4f, 1024, one);
            CHECK_EQ(sq_spqt_select(x + t * k, k, .4f, idx + t * k), n_idx[t], "token %zu\n", t);
            assert_memory_equal(idx + t * k, one, n_idx[t] * sizeof *idx);
        }
        for (size_t p = 0; p < LEN(workers); p++) {
            for (size_t t = 0; t < m; t++)
                sq_spqt_gemv(&l.m, l.plane, x + t * k, idx + t * k, n_idx[t], workers[p],
                             SQ_SPQT_BALANCED, want + t * n);
            sq_spqt_gemm_dense(&l.m, l.plane, x, m, workers[p], dense);
            for (unsigned level = 0; level < SQ_LANES_LEVELS; level++)
                for (unsigned is_dense = 0; is_dense < 2; is_dense++) {
                    const struct sq_spqt_gemm g = {&l.m,  l.plane,    x, is_dense ? NULL : idx,
                                                   n_idx, workers[p], y, level};
                    if (!sq_lanes_has((enum sq_lanes_level)level))
                        continue;
                    memset(y, 0xa5, m * n * sizeof *y);
                    sq_spqt_gemm(&g, m);
                    CHECK_EQ(memcmp(y, is_dense ? dense : want, m * n * sizeof *y), 0,
                             "%zu x %zu x %zu workers %u level %u dense %u\n", m, n, k, workers[p],
                             level, is_dense);
                }
        }
    }
}

// ---- storage --------------------------------------------------------------------------------

SQ_TEST(storage)
{
    assert_int_equal(sq_spqt_address(4096, 0, 5), 720);
    assert_int_equal(sq_spqt_address(4096, 3, 5), 144 * (3 * 4096 + 5));
    struct sq_rng r = {fixture_seed()};
    struct layer l = layer_new(&r, 172, 64);
    struct sq_error err;
    for (size_t row = 172; row < 256; row++) // padding decodes to nothing but noise around zero
        assert_true(fabsf(l.plane[256 * 3 + row]) < .05f);
    assert_int_equal(sq_spqt_validate(&l.m, l.nbytes - 144, &err), SQ_ERR_STREAM_LEN);
    assert_int_equal(sq_spqt_validate(&l.m, l.nbytes - 1, &err), SQ_ERR_STREAM_LEN);
    l.m.block[144 * 7 + 3] = 0x7c;
    check_refused(sq_spqt_validate(&l.m, l.nbytes, &err), SQ_ERR_SCALE, &err,
                  "superblock row 0 column 7: dmin = ");
    l.w[64 * 5 + 9] = INFINITY;
    assert_int_equal(sq_spqt_encode(l.w, &l.m, &err), SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "rows from 0, column 9: value 5 = inf, need a finite number");
    l.m.n = 0;
    assert_int_equal(sq_spqt_validate(&l.m, l.nbytes, &err), SQ_ERR_SHAPE);
    l.x[3] = NAN;
    assert_int_equal(sq_spqt_check(l.x, 64, 1, &err), SQ_ERR_NON_FINITE);
    assert_int_equal(sq_spqt_check(l.x, 3, -1, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_spqt_check(l.x, 3, NAN, &err), SQ_ERR_RANGE);
    assert_ok(sq_spqt_check(l.x, 3, 0, &err));
}

// ---- calibration ----------------------------------------------------------------------------

SQ_TEST(thresholds)
{
    enum { N = 20000 };
    struct sq_rng r = {fixture_seed()};
    struct sq_histogram h;
    struct sq_error err;
    static float x[N];
    float theta;
    assert_ok(sq_histogram_init(&h, &err));
    assert_int_equal(sq_threshold(&h, .5, &theta, &err), SQ_ERR_RANGE);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)((sq_rng_unit(&r) - .5) * exp(6 * sq_rng_unit(&r)));
    assert_ok(sq_histogram_add(&h, x, N / 3, &err));
    assert_ok(sq_histogram_add(&h, x + N / 3, N - N / 3, &err));
    for (double p = 0; p < 1; p += .05) {
        size_t below = 0;
        assert_ok(sq_threshold(&h, p, &theta, &err));
        for (size_t i = 0; i < N; i++)
            below += fabsf(x[i]) < theta;
        if (fabs((double)below / N - p) > 1e-3)
            fail_msg("p = %g: theta = %g leaves %zu of %d below", p, (double)theta, below, N);
    }
    struct sq_histogram one; // all in one bin: interpolated
    assert_ok(sq_histogram_init(&one, &err));
    for (unsigned i = 0; i < 1000; i++) {
        const float value = (i % 2 ? 1 : -1) * (1 + 0x1p-10f * (float)i / 1000);
        assert_ok(sq_histogram_add(&one, &value, 1, &err));
    }
    assert_ok(sq_threshold(&one, .25, &theta, &err));
    assert_true(fabsf(theta - (1 + 0x1p-12f)) < 0x1p-18f);
    sq_histogram_free(&one);
    assert_ok(sq_threshold(&h, 0, &theta, &err));
    assert_true(theta == 0);
    assert_int_equal(sq_threshold(&h, 1, &theta, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_threshold(&h, -.1, &theta, &err), SQ_ERR_RANGE);
    x[5] = INFINITY;
    assert_int_equal(sq_histogram_add(&h, x, 6, &err), SQ_ERR_NON_FINITE);
    CHECK_EQ(h.n, N, "refused values do not count\n");
    sq_histogram_free(&h);
}

struct cost {
    double slope[3];
    unsigned n_calls;
};

// Quadratic, so that the best allocation is known: slope_i * sparsity_i equal for all.
static enum sq_status quadratic(void *context, const double *sparsity, double *error,
                                struct sq_error *err)
{
    struct cost *c = context;
    (void)err;
    *error = 0;
    c->n_calls++;
    for (unsigned i = 0; i < 3; i++)
        *error += c->slope[i] * sparsity[i] * sparsity[i] / 2;
    return SQ_OK;
}

SQ_TEST(greedy)
{
    struct cost c = {{1, 2, 4}, 0};
    const double count[3] = {100, 100, 100}, other[3] = {100, 300, 200};
    double s[3];
    struct sq_error err;
    assert_ok(sq_sparsity_scan(count, 3, .35, .005, .9, quadratic, &c, s, &err));
    assert_true(fabs(s[0] - .6) < .02 && fabs(s[1] - .3) < .02 && fabs(s[2] - .15) < .02);
    assert_true(fabs((s[0] + s[1] + s[2]) / 3 - .35) < 1e-9);
    assert_ok(sq_sparsity_scan(other, 3, .5, .05, .6, quadratic, &c, s, &err));
    assert_true(fabs((s[0] + 3 * s[1] + 2 * s[2]) / 6 - .5) < 1e-9);
    for (unsigned i = 0; i < 3; i++)
        assert_true(s[i] >= 0 && s[i] <= .6);
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < 200; i++) { // targets that the step does not divide
        const double drawn[3] = {between(&r, 1, 9), between(&r, 1, 999), between(&r, 1, 99)};
        const double target = .6 * sq_rng_unit(&r), step = .002 + .2 * sq_rng_unit(&r);
        assert_ok(sq_sparsity_scan(drawn, 3, target, step, .6, quadratic, &c, s, &err));
        const double missing = target - (s[0] * drawn[0] + s[1] * drawn[1] + s[2] * drawn[2]) /
                                            (drawn[0] + drawn[1] + drawn[2]);
        assert_true(missing > -1e-12 && missing <= 1.1e-9);
    }
    c.n_calls = 0;
    assert_ok(sq_sparsity_scan(count, 3, 0, .05, .6, quadratic, &c, s, &err));
    CHECK_EQ(c.n_calls, 0, "nothing to do\n");
    assert_true(s[0] == 0 && s[1] == 0 && s[2] == 0);
    assert_int_equal(sq_sparsity_scan(count, 3, .7, .05, .6, quadratic, &c, s, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_sparsity_scan(count, 3, .5, 0, .6, quadratic, &c, s, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_sparsity_scan(count, 3, .5, .1, 1, quadratic, &c, s, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_sparsity_scan(count, 0, .5, .1, .9, quadratic, &c, s, &err), SQ_ERR_RANGE);
}
