// SPDX-License-Identifier: Apache-2.0
// Offline algorithms (models/quant): SPEC B.1-B.5, J.3, N.3, N.4.
//
// Judges: a textbook inverse and Cholesky in plain loops; the identity J.3; GPTQ one column at a
// time over the whole row (unblocked); the micro-vector of B.4 and V14 by hand. Sampled: random
// layers with outlier channels, K off every block size; every grid, score and lazy option.
#include <math.h>
#include <omp.h>

#include "models/quant/sq_algorithm2.h"
#include "models/quant/sq_calibration.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/quant/sq_gptq.h"
#include "models/quant/sq_smooth.h"
#include "tests/unit/fixture.h"

enum { N = 19, K = 150, T = 400, PADDED = 256 };

// ---- a random layer -------------------------------------------------------------------------

struct layer {
    float *x, *w;
    struct sq_calibration calibration;
    struct sq_factor factor;
};

static struct layer layer_new(void)
{
    struct sq_rng r = {fixture_seed()};
    struct layer l = {.x = fixture_exact(T * K * sizeof(float)),
                      .w = fixture_exact(N * K * sizeof(float))};
    for (size_t t = 0; t < T; t++) {
        const double common = fixture_gauss(&r);
        for (size_t i = 0; i < K; i++)
            l.x[t * K + i] = (float)((fixture_gauss(&r) + 0.5 * common) *
                                     (i % 37 == 5 ? 20 : 1 + 0.01 * (double)i));
    }
    for (size_t i = 0; i < N * K; i++)
        l.w[i] = (float)(0.02 * fixture_gauss(&r) / (0.3 + sq_rng_unit(&r)));
    assert_ok(sq_calibration_init(&l.calibration, K, true, NULL));
    assert_ok(sq_calibration_add(&l.calibration, l.x, 100, NULL));
    assert_ok(sq_calibration_add(&l.calibration, l.x + 100 * K, T - 100, NULL));
    assert_ok(sq_factor_init(&l.factor, &l.calibration, NULL, 0.01, NULL));
    return l;
}

static void layer_free(struct layer *l)
{
    sq_calibration_free(&l->calibration);
    sq_factor_free(&l->factor);
}

static struct sq_codes codes_new(struct sq_grid grid, size_t group)
{
    struct sq_codes c = {.grid = grid,
                         .n = N,
                         .k = PADDED,
                         .k_orig = K,
                         .group = group,
                         .bank = 32,
                         .high_per_bank = 8};
    assert_ok(sq_codes_alloc(&c, NULL));
    return c;
}

static double max_abs(const double *a, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(a[i]));
    return m;
}

// ---- Hessian and factor ---------------------------------------------------------------------

// H = (2/T) sum x x^T + lambda I in plain loops.
static double *slow_hessian(const struct layer *l, double lambda)
{
    double *h = fixture_exact(K * K * sizeof *h);
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++) {
            double sum = 0;
            for (size_t t = 0; t < T; t++)
                sum += (double)l->x[t * K + i] * (double)l->x[t * K + j];
            h[i * K + j] = 2.0 / T * sum + (i == j ? lambda : 0);
        }
    return h;
}

SQ_TEST(factor_is_of_the_inverse)
{
    struct layer l = layer_new();
    const struct sq_factor *f = &l.factor;
    double *h = slow_hessian(&l, f->lambda), trace = 0;
    for (size_t i = 0; i < K; i++)
        trace += h[i * K + i] - f->lambda;
    assert_true(fabs(f->lambda - 0.01 * trace / K) < 1e-12 * f->lambda);
    // H U^T U = I, U upper triangular with a positive diagonal: only the Cholesky factor does that.
    double *hu = fixture_exact(K * K * sizeof *hu), *d = fixture_exact(K * K * sizeof *d);
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++) {
            hu[i * K + j] = 0;
            for (size_t t = 0; t < K; t++)
                hu[i * K + j] += h[i * K + t] * f->u[j * K + t];
            if (j < i)
                assert_true(f->u[i * K + j] == 0);
        }
    for (size_t i = 0; i < K; i++) {
        assert_true(f->u[i * K + i] > 0);
        double diagonal = 0;
        for (size_t j = 0; j < K; j++) {
            d[i * K + j] = i == j ? -1 : 0;
            for (size_t t = 0; t < K; t++)
                d[i * K + j] += hu[i * K + t] * f->u[t * K + j];
            diagonal += f->u[j * K + i] * f->u[j * K + i];
        }
        assert_true(fabs(f->inv_diag[i] - diagonal) < 1e-12 * diagonal);
    }
    assert_true(max_abs(d, K * K) < 1e-10);
    layer_free(&l);
}

SQ_TEST(singular_and_empty)
{
    struct sq_calibration c;
    struct sq_factor f;
    struct sq_error err;
    assert_ok(sq_calibration_init(&c, 2, true, NULL));
    assert_int_equal(sq_factor_init(&f, &c, NULL, 0.01, &err), SQ_ERR_RANGE);
    assert_string_equal(err.text, "0 calibration tokens, need at least 1");
    float x[2] = {1, NAN};
    assert_int_equal(sq_calibration_add(&c, x, 1, &err), SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "x[0][1] = nan, need a finite number");
    assert_int_equal(c.n_tokens, 0);
    const float twins[4] = {2, 2}; // H = [[4,4],[4,4]], whose Cholesky factor is exact
    assert_ok(sq_calibration_add(&c, twins, 2, NULL));
    check_refused(sq_factor_init(&f, &c, NULL, 0, &err), SQ_ERR_SINGULAR, &err,
                  "2 channels over 2 tokens is singular");
    assert_ok(sq_factor_init(&f, &c, NULL, 1e-17, NULL)); // retries until it works
    assert_true(f.percdamp > 0.9e-16 && f.percdamp < 2e-12);
    sq_factor_free(&f);
    assert_int_equal(sq_factor_init(&f, &c, NULL, 2, &err), SQ_ERR_RANGE);
    sq_calibration_free(&c);
    assert_ok(sq_calibration_init(&c, 2, false, NULL));
    assert_ok(sq_calibration_add(&c, twins, 2, NULL));
    assert_int_equal(sq_factor_init(&f, &c, NULL, 0.01, &err), SQ_ERR_ARG);
    sq_calibration_free(&c);
}

// A channel that is 0 in every token costs nothing: its weights become 0.
SQ_TEST(dead_channels)
{
    struct sq_calibration c;
    struct sq_factor f;
    const float x[2][3] = {{1, 0, 2}, {2, 0, -1}}, w[3] = {1, 9, 2};
    assert_ok(sq_calibration_init(&c, 3, true, NULL));
    assert_ok(sq_calibration_add(&c, &x[0][0], 2, NULL));
    assert_ok(sq_factor_init(&f, &c, NULL, 0.01, NULL));
    assert_memory_equal(f.is_dead, ((uint8_t[]){0, 1, 0}), 3);
    struct sq_codes q = {.grid = {SQ_GRID_DENSE, 0, 4}, .n = 1, .k = 3, .k_orig = 3, .group = 3};
    assert_ok(sq_codes_alloc(&q, NULL));
    const struct sq_gptq o = {0};
    assert_ok(sq_gptq_encode(&q, w, &f, &o, NULL, NULL));
    assert_true(q.code[1] == 0 && q.s_lo[0] == 2.0f / 7);
    sq_codes_free(&q);
    sq_factor_free(&f);
    sq_calibration_free(&c);
}

// ---- GPTQ and Algorithm 1 -------------------------------------------------------------------

// H = [[4,2],[2,3]], grid step 1, w = (0.6, 0.9): both codes 1. A third weight of 7 in a channel of
// its own sets the step.
SQ_TEST(micro_vector)
{
    struct sq_calibration c;
    struct sq_factor f;
    // (2/T) X^T X with T = 2: X^T X = H
    const float x[2][3] = {{2, 1, 0}, {0, 1.41421356f, 0}};
    assert_ok(sq_calibration_init(&c, 3, true, NULL));
    assert_ok(sq_calibration_add(&c, &x[0][0], 2, NULL));
    c.xtx[8] = 1; // the third channel, uncorrelated
    assert_ok(sq_factor_init(&f, &c, NULL, 0, NULL));
    assert_true(fabs(f.u[1] / f.u[0] + 2.0 / 3) < 1e-7);
    assert_true(fabs(f.inv_diag[0] - 0.375) < 1e-7 && fabs(f.inv_diag[1] - 0.5) < 1e-7);
    const float w[3] = {0.6f, 0.9f, 7};
    struct sq_codes q = {.grid = {SQ_GRID_DENSE, 0, 4}, .n = 1, .k = 3, .k_orig = 3, .group = 3};
    assert_ok(sq_codes_alloc(&q, NULL));
    const struct sq_gptq o = {0};
    double sum;
    assert_ok(sq_gptq_encode(&q, w, &f, &o, &sum, NULL));
    assert_memory_equal(q.code, ((int16_t[]){1, 1, 7}), 6);
    // e0 = -0.4 / U00, e1 = (0.6333 - 1) / U11
    const double e0 = (0.6f - 1.0) / f.u[0], w1 = 0.9f - e0 * f.u[1], e1 = (w1 - 1) / f.u[4];
    assert_true(fabs(w1 - 0.6333333) < 1e-6 && fabs(sum - (e0 * e0 + e1 * e1)) < 1e-12);
    sq_codes_free(&q);
    sq_factor_free(&f);
    sq_calibration_free(&c);
}

struct variant {
    struct sq_grid grid;
    size_t group;
    struct sq_gptq options;
};

static const struct variant variants[] = {
    {{SQ_GRID_DENSE, 0, 4}, 128, {0}},
    {{SQ_GRID_DENSE, 0, 6}, PADDED, {0}},
    {{SQ_GRID_OWN, 8, 4}, 128, {.score = SQ_SCORE_C0}},
    {{SQ_GRID_OWN, 8, 4}, 64, {.score = SQ_SCORE_C1}},
    {{SQ_GRID_OWN, 8, 3}, PADDED, {.score = SQ_SCORE_C2}},
    {{SQ_GRID_OWN, 4, 2}, 32, {.score = SQ_SCORE_C3}},
    {{SQ_GRID_OWN, 8, 4}, 128, {.score = SQ_SCORE_C0, .is_lazy = true}},
    {{SQ_GRID_TIED, 8, 4}, 128, {0}},
    {{SQ_GRID_SPLIT, 8, 4}, 128, {0}},
    {{SQ_GRID_FP, 8, 4}, 64, {0}},
};

// tr(D H D^T), D = W - W^, of the damped Hessian.
static double trace_error(const struct layer *l, const struct sq_codes *c)
{
    double *h = slow_hessian(l, l->factor.lambda), sum = 0, d[K];
    float row[K];
    for (size_t n = 0; n < N; n++) {
        sq_codes_decode_row(c, n, row);
        for (size_t i = 0; i < K; i++)
            d[i] = (double)l->w[n * K + i] - (double)row[i];
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++)
                sum += d[i] * h[i * K + j] * d[j];
    }
    return sum;
}

// SPEC J.3, for every grid, score and option; and GPTQ must beat rounding to nearest on it (with
// codes of 2 bits it need not: -1, 0, 1 leave nothing to choose).
SQ_TEST(identity_of_errors)
{
    struct layer l = layer_new();
    for (size_t v = 0; v < LEN(variants); v++) {
        struct sq_codes c = codes_new(variants[v].grid, variants[v].group);
        struct sq_codes rtn = codes_new(variants[v].grid, variants[v].group);
        double sum;
        struct sq_error err = {.text = ""};
        CHECK_EQ(sq_gptq_encode(&c, l.w, &l.factor, &variants[v].options, &sum, &err), SQ_OK,
                 "%s\n", err.text);
        assert_ok(sq_codes_encode_rtn(&rtn, l.w, NULL));
        const double want = trace_error(&l, &c), nearest = trace_error(&l, &rtn);
        if (!(fabs(sum - want) <= 1e-9 * want))
            fail_msg("variant %zu: sum e^2 = %.17g, tr(D H D') = %.17g", v, sum, want);
        if (c.grid.low_bits > 2 && !(want < nearest))
            fail_msg("variant %zu: GPTQ %g is no better than RTN %g", v, want, nearest);
        sq_codes_free(&c), sq_codes_free(&rtn);
    }
    layer_free(&l);
}

// Same masks, scales within rounding, same codes.
static void check_same(const struct sq_codes *a, const struct sq_codes *b, size_t v, bool is_exact)
{
    for (size_t i = 0; i < N * PADDED; i++)
        CHECK_EQ(a->code[i], b->code[i], "variant %zu row %zu column %zu\n", v, i / PADDED,
                 i % PADDED);
    if (a->is_high)
        assert_memory_equal(a->is_high, b->is_high, N * PADDED);
    for (size_t i = 0; i < N * (PADDED / a->group); i++)
        assert_true(is_exact ? a->s_lo[i] == b->s_lo[i] && a->s_hi[i] == b->s_hi[i]
                             : fabsf(a->s_lo[i] - b->s_lo[i]) <= 1e-6f * a->s_lo[i]);
}

SQ_TEST(blocked_equals_unblocked)
{
    struct layer l = layer_new();
    for (size_t v = 0; v < LEN(variants); v++) {
        struct sq_codes one = codes_new(variants[v].grid, variants[v].group);
        struct sq_codes many = codes_new(variants[v].grid, variants[v].group);
        struct sq_gptq o = variants[v].options;
        o.block = PADDED; // one block: every update reaches the whole row at once
        assert_ok(sq_gptq_encode(&one, l.w, &l.factor, &o, NULL, NULL));
        for (o.block = 32; o.block <= 128; o.block *= 2) {
            assert_ok(sq_gptq_encode(&many, l.w, &l.factor, &o, NULL, NULL));
            check_same(&one, &many, v, false);
        }
        sq_codes_free(&one), sq_codes_free(&many);
    }
    layer_free(&l);
}

SQ_TEST(thread_count_changes_no_code)
{
    for (size_t v = 0; v < LEN(variants); v += 3) {
        struct sq_codes one = codes_new(variants[v].grid, variants[v].group);
        struct sq_codes many = codes_new(variants[v].grid, variants[v].group);
        omp_set_num_threads(1);
        struct layer a = layer_new();
        assert_ok(sq_gptq_encode(&one, a.w, &a.factor, &variants[v].options, NULL, NULL));
        omp_set_num_threads(3);
        struct layer b = layer_new();
        assert_ok(sq_gptq_encode(&many, b.w, &b.factor, &variants[v].options, NULL, NULL));
        assert_memory_equal(a.factor.u, b.factor.u, K * K * sizeof(double));
        check_same(&one, &many, v, true);
        layer_free(&a), layer_free(&b);
        sq_codes_free(&one), sq_codes_free(&many);
    }
    omp_set_num_threads(omp_get_num_procs());
}

// The masks are the k largest of the stated importance in every bank.
SQ_TEST(scores_choose_the_mask)
{
    struct layer l = layer_new();
    for (unsigned s = 0; s < SQ_SCORES; s++) {
        struct sq_codes c = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, 128);
        const struct sq_gptq o = {.score = s};
        assert_ok(sq_gptq_encode(&c, l.w, &l.factor, &o, NULL, NULL));
        for (size_t n = 0; n < N; n++)
            for (size_t bank = 0; bank + 32 <= K; bank += 32) {
                double low = 0, high = INFINITY;
                unsigned count = 0;
                for (size_t i = bank; i < bank + 32; i++) {
                    const double w = (double)l.w[n * K + i], u = l.factor.u[i * K + i];
                    const double d = l.factor.inv_diag[i];
                    const double divisor[SQ_SCORES] = {u * u, d * d, d, 1};
                    const double score = w * w / divisor[s];
                    if (c.is_high[n * PADDED + i])
                        high = fmin(high, score), count++;
                    else
                        low = fmax(low, score);
                }
                CHECK_EQ(count, 8, "score %u row %zu bank %zu\n", s, n, bank);
                assert_true(low <= high * (1 + 1e-6));
            }
        sq_codes_free(&c);
    }
    layer_free(&l);
}

SQ_TEST(gptq_refusals)
{
    struct layer l = layer_new();
    struct sq_codes c = codes_new((struct sq_grid){SQ_GRID_OWN, 8, 4}, 64);
    struct sq_error err;
    struct sq_gptq o = {.block = 48};
    assert_int_equal(sq_gptq_encode(&c, l.w, &l.factor, &o, NULL, &err), SQ_ERR_ARG);
    assert_string_equal(err.text, "block = 48, need a multiple or a divisor of the group 64");
    o.block = 0;
    l.w[K + 7] = INFINITY;
    assert_int_equal(sq_gptq_encode(&c, l.w, &l.factor, &o, NULL, &err), SQ_ERR_NON_FINITE);
    assert_string_equal(err.text, "w[1][7] = inf, need a finite number");
    l.factor.k--;
    assert_int_equal(sq_gptq_encode(&c, l.w, &l.factor, &o, NULL, &err), SQ_ERR_SHAPE);
    l.factor.k++;
    sq_codes_free(&c);
    layer_free(&l);
}

// ---- SmoothQuant ----------------------------------------------------------------------------

// X W^T stays; the factor for sigma is the factor of the smoothed inputs.
SQ_TEST(smoothing_invariance)
{
    struct layer l = layer_new();
    float wx[K] = {0}, sigma[K];
    float *x = fixture_exact(T * K * sizeof *x), *w = fixture_exact(N * K * sizeof *w);
    sq_smooth_weights(l.w, N, K, wx);
    sq_smooth_sigma(l.calibration.abs_max, wx, K, 0.5, sigma);
    memcpy(w, l.w, N * K * sizeof *w);
    sq_smooth_apply_weights(w, N, K, sigma);
    sq_smooth_apply_act(l.x, T, K, sigma, x);
    for (size_t t = 0; t < T; t++)
        for (size_t n = 0; n < N; n++) {
            double a = 0, b = 0, size = 0;
            for (size_t i = 0; i < K; i++) {
                a += (double)l.x[t * K + i] * (double)l.w[n * K + i];
                b += (double)x[t * K + i] * (double)w[n * K + i];
                size += fabs((double)l.x[t * K + i] * (double)l.w[n * K + i]);
            }
            assert_true(fabs(a - b) <= 2e-7 * size);
        }
    for (size_t i = 0; i < K; i++) // alpha = 1/2 balances the two maxima
        assert_true(fabsf(l.calibration.abs_max[i] / sigma[i] - wx[i] * sigma[i]) <
                    1e-5f * wx[i] * sigma[i]);
    struct sq_calibration c;
    struct sq_factor direct, scaled;
    assert_ok(sq_calibration_init(&c, K, true, NULL));
    assert_ok(sq_calibration_add(&c, x, T, NULL));
    assert_ok(sq_factor_init(&direct, &c, NULL, 0.01, NULL));
    assert_ok(sq_factor_init(&scaled, &l.calibration, sigma, 0.01, NULL));
    const double largest = max_abs(direct.u, K * K);
    for (size_t i = 0; i < K * K; i++)
        assert_true(fabs(direct.u[i] - scaled.u[i]) < 1e-4 * largest);
    sq_smooth_sigma(l.calibration.abs_max, wx, K, 0.25, sigma);
    for (size_t i = 0; i < K; i++) // to the fourth power
        assert_true(fabs(pow(sigma[i], 4) * pow(wx[i], 3) / l.calibration.abs_max[i] - 1) < 1e-5);
    sq_factor_free(&direct), sq_factor_free(&scaled);
    sq_calibration_free(&c);
    layer_free(&l);
}

// ---- Algorithm 2 ----------------------------------------------------------------------------

SQ_TEST(algorithm2_vector_v14)
{
    const float abar[8] = {1, 4, 2, 1, 3, 3, 1, 2};
    float wbar[8] = {1, .5f, 1.5f, 1, 1, 1, 4, 1};
    uint8_t mask[8];
    uint32_t hi[8], lo[8];
    assert_ok(sq_static_mask(abar, wbar, 8, 8, 4, 1, mask, NULL));
    assert_int_equal(sq_static_order(mask, 8, hi, lo), 2);
    assert_memory_equal(hi, ((uint32_t[]){2, 6}), 8);
    assert_memory_equal(lo, ((uint32_t[]){0, 1, 3, 4, 5, 7}), 24);
    wbar[6] = 3;
    assert_ok(sq_static_mask(abar, wbar, 8, 8, 4, 1, mask, NULL));
    sq_static_order(mask, 8, hi, lo);
    assert_memory_equal(hi, ((uint32_t[]){2, 4}), 8);
    assert_ok(sq_static_mask(abar, NULL, 8, 8, 4, 1, mask, NULL)); // |x| alone
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 0, 0, 1, 0, 0, 0}), 8);
    assert_ok(sq_static_mask(abar, wbar, 5, 8, 4, 2, mask, NULL)); // padding last
    assert_memory_equal(mask, ((uint8_t[]){0, 1, 1, 0, 1, 1, 0, 0}), 8);
    const uint8_t dynamic[16] = {0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1};
    assert_true(sq_mask_recall(mask, dynamic, 2, 8) == 5.0 / 8);
    const double sum[2] = {6, 3};
    const float sigma[2] = {2, 1}, w[4] = {1, -2, -3, 4};
    sq_mean_act(sum, 3, NULL, 2, wbar);
    assert_true(wbar[0] == 2 && wbar[1] == 1);
    sq_mean_act(sum, 3, sigma, 2, wbar);
    assert_true(wbar[0] == 1 && wbar[1] == 1);
    sq_mean_weight(w, 2, 2, wbar);
    assert_true(wbar[0] == 2 && wbar[1] == 3);
}
