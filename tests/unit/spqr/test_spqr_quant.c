// SPDX-License-Identifier: Apache-2.0
// The encoder of SpQR (SPEC H.5). Judges: the identity J.3 in plain loops, exact without outliers
// and within binary16 with them; a scan for weights that no code could reach; the same error with
// the outliers added, put in place, and stored as the published kernel has them. Sampled: layers
// whose N and K are off every tile, with outlier channels and dead ones.
#include <math.h>
#include <omp.h>

#include "models/number/sq_half.h"
#include "models/spqr/sq_spqr_errors.h"
#include "models/spqr/sq_spqr_quant.h"
#include "tests/unit/fixture.h"

enum { N = 43, K = 150, TOKENS = 400 };

struct layer {
    float *x, *w;
    struct sq_calibration calibration;
};

static struct layer layer_new(uint64_t seed)
{
    struct sq_rng r = {seed};
    struct layer l = {.x = fixture_exact(TOKENS * K * sizeof(float)),
                      .w = fixture_exact(N * K * sizeof(float))};
    for (size_t t = 0; t < TOKENS; t++) {
        const double common = fixture_gauss(&r);
        for (size_t i = 0; i < K; i++)
            l.x[t * K + i] = (float)((fixture_gauss(&r) + 0.5 * common) * (i % 37 == 5 ? 20 : 1));
        l.x[t * K + 7] = l.x[t * K + 90] = 0; // dead
    }
    for (size_t i = 0; i < N * K; i++)
        l.w[i] = (float)(0.02 * fixture_gauss(&r) / (0.1 + sq_rng_unit(&r)));
    assert_ok(sq_calibration_init(&l.calibration, K, true, NULL));
    assert_ok(sq_calibration_add(&l.calibration, l.x, TOKENS, NULL));
    return l;
}

static void layer_free(struct layer *l)
{
    sq_calibration_free(&l->calibration);
}

static struct sq_spqr encode(const struct layer *l, double relative, bool is_absolute, double *sum)
{
    const struct sq_spqr_options o = {SQ_SPQR_PERCDAMP, relative, is_absolute};
    struct sq_error err = {.text = ""};
    struct sq_spqr m;
    CHECK_EQ(sq_spqr_encode(&m, l->w, N, K, &l->calibration, &o, sum, &err), SQ_OK, "%s\n",
             err.text);
    return m;
}

// tr(D H D^T), D = W - W^, of the damped Hessian or of the plain one (SPEC J.3).
static double trace_error(const struct layer *l, const struct sq_spqr *m, bool is_replace,
                          double percdamp)
{
    float *plane = fixture_exact(16 * sq_spqr_n_words(N, K) * sizeof *plane), row[K];
    double *h = fixture_exact(K * K * sizeof *h), d[K], mean = 0, sum = 0;
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++) {
            h[i * K + j] = 0;
            for (size_t t = 0; t < TOKENS; t++)
                h[i * K + j] += 2.0 / TOKENS * (double)l->x[t * K + i] * (double)l->x[t * K + j];
        }
    for (size_t i = 0; i < K; i++) {
        if (h[i * K + i] == 0)
            h[i * K + i] = 1;
        mean += h[i * K + i] / K;
    }
    sq_spqr_decode_dense(m, plane);
    for (size_t n = 0; n < N; n++) {
        sq_spqr_decode_row(m, plane, n, is_replace, row);
        for (size_t i = 0; i < K; i++) {
            const bool is_dead = i == 7 || i == 90;
            d[i] = (is_dead ? 0 : (double)l->w[n * K + i]) - (double)row[i];
        }
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++)
                sum += d[i] * (h[i * K + j] + (i == j ? percdamp * mean : 0)) * d[j];
    }
    return sum;
}

SQ_TEST(identity_of_errors)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct layer l = layer_new(fixture_seed() + seed);
        double sum, with;
        struct sq_spqr m = encode(&l, INFINITY, false, &sum);
        const double want = trace_error(&l, &m, false, SQ_SPQR_PERCDAMP);
        assert_int_equal(m.outliers.nnz, 0);
        if (!(fabs(sum - want) <= 1e-9 * want))
            fail_msg("sum e^2 = %.17g, tr(D H D') = %.17g", sum, want);
        sq_spqr_free(&m);
        m = encode(&l, SQ_SPQR_RELATIVE, false, &with);
        assert_true(m.outliers.nnz > 0 && m.outliers.nnz < N * K / 10);
        const double got = trace_error(&l, &m, false, SQ_SPQR_PERCDAMP);
        if (!(fabs(with - got) <= 1e-3 * got))
            fail_msg("sum e^2 = %.17g, tr(D H D') = %.17g", with, got);
        if (!(got < want))
            fail_msg("outliers: error %g, without %g", got, want);
        sq_spqr_free(&m);
        layer_free(&l);
    }
}

// Adding S = fp16(w - D) is as good as the intended replacement, and better than adding fp16(w).
SQ_TEST(adding_is_as_good_as_replacing)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct layer l = layer_new(fixture_seed() + seed);
        struct sq_spqr relative = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
        struct sq_spqr absolute = encode(&l, SQ_SPQR_RELATIVE, true, NULL);
        assert_memory_equal(relative.dense, absolute.dense,
                            sq_spqr_n_words(N, K) * sizeof *relative.dense);
        const double add = sqrt(trace_error(&l, &relative, false, 0));
        const double replace = sqrt(trace_error(&l, &absolute, true, 0));
        const double published = sqrt(trace_error(&l, &absolute, false, 0));
        print_message("# error added %.6g, replaced %.6g, absolute added %.6g\n", add, replace,
                      published);
        assert_true(add <= replace * (1 + 1e-4));
        assert_true(add < published);
        sq_spqr_free(&relative), sq_spqr_free(&absolute);
        layer_free(&l);
    }
}

// At an outlier the dense code is that of 0, and the two forms differ by its value.
SQ_TEST(codes_under_outliers)
{
    struct layer l = layer_new(fixture_seed());
    struct sq_spqr relative = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
    struct sq_spqr absolute = encode(&l, SQ_SPQR_RELATIVE, true, NULL);
    const struct sq_spqr_csr *a = &relative.outliers, *b = &absolute.outliers;
    assert_int_equal(a->nnz, b->nnz);
    for (size_t row = 0; row < N; row++)
        for (size_t e = a->row_offsets[row]; e < a->row_offsets[row + 1]; e++) {
            const size_t j = a->col_val[e] & 0xffff;
            struct sq_spqr_tile t;
            float s, z;
            assert_ok(sq_spqr_unpack(relative.dense + (row / 16 * 10 + j / 16) * 16, &t, NULL));
            sq_spqr_row(&t, (unsigned)(row % 16), &s, &z);
            const double code = fmin(fmax(rint((double)z), 0), 7);
            CHECK_EQ(t.code[row % 16][j % 16], code, "row %zu column %zu\n", row, j);
            const float dense = sq_spqr_value(s, z, t.code[row % 16][j % 16]);
            const float add = sq_half_to_float((uint16_t)(a->col_val[e] >> 16));
            const float alone = sq_half_to_float((uint16_t)(b->col_val[e] >> 16));
            CHECK_EQ(b->col_val[e] & 0xffff, j, "row %zu\n", row);
            assert_true(fabsf(dense + add - alone) <= 0x1p-11f * (fabsf(add) + fabsf(alone)));
        }
    sq_spqr_free(&relative), sq_spqr_free(&absolute);
    layer_free(&l);
}

SQ_TEST(order_and_outliers)
{
    struct layer l = layer_new(fixture_seed());
    struct sq_spqr m = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
    const double *xtx = l.calibration.xtx;
    for (size_t j = 1; j < K; j++) {
        const size_t a = m.in_perm[j - 1], b = m.in_perm[j];
        assert_true(xtx[a * K + a] > xtx[b * K + b] || (xtx[a * K + a] == xtx[b * K + b] && a < b));
    }
    assert_int_equal(m.in_perm[K - 2], 7);
    assert_int_equal(m.in_perm[K - 1], 90);
    // A weight that would stretch the codes of its group is an outlier.
    l.w[5 * K + 20] = 2;
    struct sq_spqr far = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
    bool is_found = false;
    for (size_t e = far.outliers.row_offsets[5]; e < far.outliers.row_offsets[6]; e++)
        is_found |= far.in_perm[far.outliers.col_val[e] & 0xffff] == 20 &&
                    fabsf(sq_half_to_float((uint16_t)(far.outliers.col_val[e] >> 16))) > 1;
    assert_true(is_found);
    for (size_t row = N; row < 48; row++) // padded rows: codes 0
        for (size_t j = 0; j < 10; j++)
            assert_true((m.dense[(row / 16 * 10 + j) * 16 + row % 16] & ((1ull << 54) - 1)) == 0);
    sq_spqr_free(&m), sq_spqr_free(&far);
    layer_free(&l);
}

SQ_TEST(thread_count_changes_nothing)
{
    struct layer l = layer_new(fixture_seed());
    omp_set_num_threads(1);
    struct sq_spqr a = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
    omp_set_num_threads(3);
    struct sq_spqr b = encode(&l, SQ_SPQR_RELATIVE, false, NULL);
    omp_set_num_threads(omp_get_num_procs());
    assert_memory_equal(a.dense, b.dense, sq_spqr_n_words(N, K) * sizeof *a.dense);
    assert_int_equal(a.outliers.nnz, b.outliers.nnz);
    assert_memory_equal(a.outliers.col_val, b.outliers.col_val,
                        a.outliers.nnz * sizeof *a.outliers.col_val);
    sq_spqr_free(&a), sq_spqr_free(&b);
    layer_free(&l);
}

// All zero, constant, almost constant, one row: legal, and as close as 3 bits of scale allow.
SQ_TEST(degenerate_weights)
{
    struct layer l = layer_new(fixture_seed());
    for (unsigned kind = 0; kind < 4; kind++) {
        for (size_t i = 0; i < N * K; i++)
            l.w[i] = kind == 0     ? 0
                     : kind == 1   ? .75f
                     : kind == 2   ? 1 + 1e-6f * (float)(i % 5)
                     : (i / K) % 3 ? 0
                                   : -.25f;
        struct sq_spqr m = encode(&l, INFINITY, false, NULL);
        float *plane = fixture_exact(16 * sq_spqr_n_words(N, K) * sizeof *plane), row[K];
        sq_spqr_decode_dense(&m, plane);
        for (size_t n = 0; n < N; n++) {
            sq_spqr_decode_row(&m, plane, n, false, row);
            for (size_t j = 0; j < K; j++)
                if (j != 7 && j != 90)
                    assert_true(fabsf(row[j] - l.w[n * K + j]) <= (kind ? .15f : 0));
        }
        sq_spqr_free(&m);
    }
    const struct sq_spqr_options o = {SQ_SPQR_PERCDAMP, SQ_SPQR_RELATIVE, false};
    struct sq_spqr m;
    assert_ok(sq_spqr_encode(&m, l.w, 1, K, &l.calibration, &o, NULL, NULL));
    sq_spqr_free(&m);
    layer_free(&l);
}

SQ_TEST(refusals)
{
    struct layer l = layer_new(fixture_seed());
    struct sq_spqr_options o = {SQ_SPQR_PERCDAMP, 0, false};
    struct sq_error err;
    struct sq_spqr m;
    assert_int_equal(sq_spqr_encode(&m, l.w, N, K, &l.calibration, &o, NULL, &err), SQ_ERR_RANGE);
    assert_string_equal(err.text, "outliers = 0, need a threshold above 0");
    o.relative = SQ_SPQR_RELATIVE;
    assert_int_equal(sq_spqr_encode(&m, l.w, N, K - 1, &l.calibration, &o, NULL, &err),
                     SQ_ERR_SHAPE);
    l.w[K + 3] = 1e9f;
    assert_int_equal(sq_spqr_encode(&m, l.w, N, K, &l.calibration, &o, NULL, &err),
                     SQ_ERR_OVERFLOW);
    l.w[K + 3] = NAN;
    assert_int_equal(sq_spqr_encode(&m, l.w, N, K, &l.calibration, &o, NULL, &err),
                     SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "w[1][3] = nan, need a finite number");
    assert_null(m.dense);
    layer_free(&l);
}

// sum ((w^ - w) / u)^2 of values under their own quantizer, value by value (SPEC H.5).
static double slow_error(const double *v, const double *u, size_t n)
{
    double min = INFINITY, max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        min = fmin(min, v[i]);
        max = fmax(max, v[i]);
    }
    if (max - min <= fmax(fabs(min), fabs(max)) / 1024) {
        min = fmin(min, 0);
        max = fmax(max, 0);
    }
    const double s = (max - min) / 7, z = s > 0 ? -min / s : 0;
    for (size_t i = 0; s > 0 && i < n; i++) {
        const double code = fmin(fmax(rint(v[i] / s + z), 0), 7),
                     e = (s * (code - z) - v[i]) / u[i];
        sum += e * e;
    }
    return sum;
}

// All of a group and each one left out, of groups of every length, some values alike or 0: the bits
// of plain loops.
SQ_TEST(errors_of_groups)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned round = 0; round < 4000; round++) {
        double v[16], u[16], rest_v[16], rest_u[16], error[SQ_SPQR_ERRORS];
        const size_t n = 1 + round % 16;
        for (size_t i = 0; i < n; i++) {
            v[i] = round % 7 == 0 ? (double)sq_rng_below(&r, 2) : fixture_gauss(&r);
            v[i] *= round % 11 == 0 ? 1e-3 : 1;
            v[i] += round % 13 == 0 ? 9 : 0;
            u[i] = 0.1 + sq_rng_unit(&r);
        }
        sq_spqr_errors(v, u, n, error);
        double want = slow_error(v, u, n);
        assert_memory_equal(&error[SQ_SPQR_ALL], &want, sizeof want);
        for (size_t i = 0; n > 1 && i < n; i++) {
            size_t rest = 0;
            for (size_t j = 0; j < n; j++)
                if (j != i) {
                    rest_v[rest] = v[j];
                    rest_u[rest++] = u[j];
                }
            want = slow_error(rest_v, rest_u, rest);
            CHECK_EQ(memcmp(&error[i], &want, sizeof want), 0, "round %u: %zu of %zu\n", round, i,
                     n);
        }
    }
}
