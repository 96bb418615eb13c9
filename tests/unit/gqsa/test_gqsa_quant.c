// SPDX-License-Identifier: Apache-2.0
// GQSA (SPEC F): saliency, pruning, the closed forms of F.7, schedules of a real pattern.
//
// Directed: ties, refusals. Sampled: random layers with correlated inputs, where the closed forms
// are judged by their normal equations and by what they must not do: raise the error.
#include <math.h>

#include "models/gqsa/sq_gqsa_quant.h"
#include "models/number/sq_half.h"
#include "models/quant/sq_gptq.h"
#include "models/quant/sq_sensitivity.h"
#include "sim/format/sq_work_split.h"
#include "tests/unit/gqsa/gqsa_fixture.h"

enum { N = 23, K = 150, T = 600 }; // K off every group but 2

// ---- pruning --------------------------------------------------------------------------------

SQ_TEST(pruning)
{
    const float w[12] = {1, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 5};
    const float one[6] = {1, 1, 1, 1, 1, 1}, other[6] = {2, 1, 1, 1, 1, 1};
    double score[4];
    uint8_t kept[12];
    struct sq_error err;
    sq_gqsa_saliency(w, 2, 6, 4, one, score); // the second group has two columns of padding
    assert_true(score[0] == 1.25 && score[1] == 2.25 && score[2] == 0 && score[3] == 6.25);
    sq_gqsa_saliency(w, 2, 6, 4, other, score);
    assert_true(score[0] == 2);
    const double tied[12] = {3, 1, 1, 2, 9, 9, 9, 9, 1, 1, 1, 1};
    assert_ok(sq_gqsa_prune(tied, 3, 4, 0.25, false, kept, NULL));
    assert_memory_equal(kept, ((uint8_t[]){1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1}), 12);
    assert_ok(sq_gqsa_prune(tied, 3, 4, 0.5, true, kept, NULL));
    assert_memory_equal(kept, ((uint8_t[]){1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1}), 12);
    assert_ok(sq_gqsa_prune(tied, 3, 4, 0, false, kept, NULL));
    assert_int_equal(sq_gqsa_count(kept, 3, 4), 12);
    assert_ok(sq_gqsa_prune(tied, 3, 4, 1, false, kept, NULL));
    assert_int_equal(sq_gqsa_count(kept, 3, 4), 0);
    assert_int_equal(sq_gqsa_prune(tied, 3, 4, 1.01, false, kept, &err), SQ_ERR_RANGE);
    assert_int_equal(sq_gqsa_prune((double[]){1, NAN}, 1, 2, .5, false, kept, &err),
                     SQ_ERR_NON_FINITE);
}

// ---- methods --------------------------------------------------------------------------------

struct layer {
    float *x, *w;
    struct sq_calibration calibration;
    struct sq_factor factor;
    double *h;
    uint8_t *kept;
    size_t columns;
};

static struct layer layer_new(unsigned group, double sparsity, bool is_row_balanced)
{
    struct sq_rng r = {fixture_seed()};
    struct layer l = {.columns = sq_gqsa_padded(K, group) / group};
    float weight_of[K];
    l.x = fixture_exact(T * K * sizeof(float));
    l.w = fixture_exact(N * K * sizeof(float));
    l.h = fixture_exact(K * K * sizeof(double));
    l.kept = fixture_exact(N * l.columns);
    double *score = fixture_exact(N * l.columns * sizeof *score);
    for (size_t t = 0; t < T; t++) {
        double common[10];
        for (size_t i = 0; i < 10; i++)
            common[i] = fixture_gauss(&r);
        for (size_t i = 0; i < K; i++)
            l.x[t * K + i] =
                i == 11 ? 0 : (float)(fixture_gauss(&r) + common[i % 10] + common[i * 7 % 10]);
    }
    for (size_t i = 0; i < N * K; i++) // rows of unlike size: unlike numbers of groups
        l.w[i] = (float)(0.02 * fixture_gauss(&r) * (1 + (double)(i / K % 5)));
    assert_ok(sq_calibration_init(&l.calibration, K, true, NULL));
    assert_ok(sq_calibration_add(&l.calibration, l.x, T, NULL));
    assert_ok(sq_factor_init(&l.factor, &l.calibration, NULL, 0.01, NULL));
    sq_gqsa_hessian(&l.calibration, &l.factor, l.h);
    sq_score_weights(&l.factor, SQ_SCORE_C0, weight_of);
    sq_gqsa_saliency(l.w, N, K, group, weight_of, score);
    assert_ok(sq_gqsa_prune(score, N, l.columns, sparsity, is_row_balanced, l.kept, NULL));
    return l;
}

static void layer_free(struct layer *l)
{
    sq_calibration_free(&l->calibration);
    sq_factor_free(&l->factor);
}

static struct sq_gqsa encode(const struct layer *l, unsigned group, enum sq_gqsa_method method)
{
    struct sq_gqsa m = gqsa_new(N, K, group, sq_gqsa_count(l->kept, N, l->columns));
    sq_gqsa_set_groups(&m, l->kept);
    assert_ok(sq_gqsa_encode(&m, l->w, method, &l->calibration, &l->factor, NULL));
    assert_ok(sq_gqsa_validate(&m, NULL));
    return m;
}

static double relative_error(const struct layer *l, const struct sq_gqsa *m)
{
    float *d = fixture_exact(N * K * sizeof *d);
    double noise, signal;
    for (size_t n = 0; n < N; n++) {
        sq_gqsa_decode_row(m, n, d + n * K);
        for (size_t i = 0; i < K; i++)
            d[n * K + i] = l->w[n * K + i] - d[n * K + i];
    }
    assert_ok(sq_output_energy(&l->calibration, d, N, &noise, NULL));
    assert_ok(sq_output_energy(&l->calibration, l->w, N, &signal, NULL));
    return sqrt(noise / signal);
}

// F.7: compensation beats none, by any method, scope and G.
SQ_TEST(compensation_beats_none)
{
    for (unsigned group = 4; group <= 32; group *= 2)
        for (unsigned is_balanced = 0; is_balanced < 2; is_balanced++) {
            struct layer l = layer_new(group, 0.4, is_balanced);
            double error[3];
            for (unsigned method = 0; method < 3; method++) {
                struct sq_gqsa m = encode(&l, group, (enum sq_gqsa_method)method);
                error[method] = relative_error(&l, &m);
                for (size_t n = 0; is_balanced && n < N; n++)
                    CHECK_EQ(m.row_index[n + 1] - m.row_index[n],
                             l.columns - (size_t)round(0.4 * (double)l.columns), "row %zu\n", n);
            }
            print_message("# G %u %s: relative output error %.4f, sequential %.4f, lite %.4f\n",
                          group, is_balanced ? "row" : "matrix", error[SQ_GQSA_RTN],
                          error[SQ_GQSA_SEQUENTIAL], error[SQ_GQSA_LITE]);
            assert_true(error[SQ_GQSA_SEQUENTIAL] < 0.8 * error[SQ_GQSA_RTN]);
            assert_true(error[SQ_GQSA_LITE] < 0.8 * error[SQ_GQSA_RTN]);
            layer_free(&l);
        }
}

// (b): the gradient at the survivors is zero, everything else is zero.
SQ_TEST(survivors_are_optimal)
{
    struct layer l = layer_new(8, 0.5, false);
    double w[K], *scratch = fixture_exact((K * K + 2 * K) * sizeof *scratch);
    uint8_t keep[K];
    for (size_t n = 0; n < N; n++) {
        double largest = 0;
        for (size_t i = 0; i < K; i++) {
            w[i] = i == 11 ? 0 : (double)l.w[n * K + i];
            keep[i] = l.kept[n * l.columns + i / 8];
        }
        assert_true(sq_gqsa_survivors(l.h, K, keep, w, scratch));
        for (size_t i = 0; i < K; i++) {
            double gradient = 0;
            if (!keep[i])
                assert_true(w[i] == 0);
            for (size_t j = 0; j < K; j++) {
                const double original = j == 11 ? 0 : (double)l.w[n * K + j];
                gradient += l.h[i * K + j] * (w[j] - original);
            }
            largest = keep[i] ? fmax(largest, fabs(gradient)) : largest;
        }
        assert_true(largest < 1e-10);
    }
    memset(keep, 0, sizeof keep); // a row without groups
    assert_true(sq_gqsa_survivors(l.h, K, keep, w, scratch));
    for (size_t i = 0; i < K; i++)
        assert_true(w[i] == 0);
    layer_free(&l);
}

static double row_error(const struct layer *l, const struct sq_gqsa *m, size_t n)
{
    float row[K];
    double d[K], sum = 0;
    sq_gqsa_decode_row(m, n, row);
    for (size_t i = 0; i < K; i++)
        d[i] = (i == 11 ? 0 : (double)l->w[n * K + i]) - (double)row[i];
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            sum += d[i] * l->h[i * K + j] * d[j];
    return sum;
}

// (c): the error of a row never rises and is the one that is reported; it falls in every row,
// unless scales are so small that binary16 has few of them.
SQ_TEST(refit_never_harms)
{
    for (unsigned group = 4; group <= 128; group *= 2)
        for (unsigned is_tiny = 0; is_tiny < 2; is_tiny++) {
            struct layer l = layer_new(group, 0.3, false);
            for (size_t i = 0; i < N * K; i++)
                l.w[i] *= is_tiny ? 5e-5f : 1;
            struct sq_gqsa m = encode(&l, group, SQ_GQSA_RTN);
            unsigned n_better = 0, n_rows = 0;
            for (size_t n = 0; n < N; n++) {
                double w[K], error;
                for (size_t i = 0; i < K; i++)
                    w[i] = i == 11 ? 0 : (double)l.w[n * K + i];
                const double before = row_error(&l, &m, n);
                assert_ok(sq_gqsa_refit_row(&m, n, l.h, w, &error, NULL));
                const double after = row_error(&l, &m, n);
                assert_true(after <= before * (1 + 1e-12));
                assert_true(fabs(after - error) <= 1e-9 * before);
                n_rows += m.row_index[n + 1] > m.row_index[n];
                n_better += after < before;
            }
            if (!is_tiny)
                CHECK_EQ(n_better, n_rows, "G %u: rows with groups that improve\n", group);
            assert_ok(sq_gqsa_validate(&m, NULL));
            layer_free(&l);
        }
}

// Weights of a dead channel change neither codes nor scales of a method that looks at inputs.
SQ_TEST(dead_channels_do_not_matter)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned group = 4; group <= 32; group *= 2)
        for (unsigned method = SQ_GQSA_SEQUENTIAL; method <= SQ_GQSA_LITE; method++) {
            struct layer l = layer_new(group, 0.3, false);
            const struct sq_gqsa before = encode(&l, group, (enum sq_gqsa_method)method);
            for (size_t n = 0; n < N; n++)
                l.w[n * K + 11] += (float)fixture_gauss(&r);
            const struct sq_gqsa after = encode(&l, group, (enum sq_gqsa_method)method);
            assert_memory_equal(before.codes, after.codes, after.nnz * group / 2);
            assert_memory_equal(before.scale, after.scale, after.nnz * sizeof *after.scale);
            assert_memory_equal(before.zero, after.zero, after.nnz);
            layer_free(&l);
        }
}

// Real pruning patterns: Stream-K is within one group of ideal, whole-matrix slices are not.
SQ_TEST(schedules_of_a_pattern)
{
    struct layer l = layer_new(4, 0.5, false);
    struct sq_gqsa m = encode(&l, 4, SQ_GQSA_RTN);
    uint32_t nnz[N];
    struct sq_work_split stream, slice;
    for (size_t n = 0; n < N; n++)
        nnz[n] = m.row_index[n + 1] - m.row_index[n];
    assert_ok(sq_work_split(SQ_STREAM_K, nnz, N, 8, 1, &stream, NULL, NULL));
    assert_ok(sq_work_split(SQ_SLICE_K, nnz, N, 8, 1, &slice, NULL, NULL));
    assert_int_equal(stream.total, m.nnz);
    assert_true(stream.makespan <= stream.ideal + 1);
    assert_true(slice.makespan > stream.makespan);
    layer_free(&l);
}

SQ_TEST(encoder_refusals)
{
    struct layer l = layer_new(8, 0.5, false);
    struct sq_gqsa m = encode(&l, 8, SQ_GQSA_RTN);
    struct sq_error err;
    assert_int_equal(sq_gqsa_encode(&m, l.w, SQ_GQSA_SEQUENTIAL, NULL, NULL, &err), SQ_ERR_ARG);
    assert_int_equal(sq_gqsa_encode(&m, l.w, SQ_GQSA_LITE, NULL, &l.factor, &err), SQ_ERR_ARG);
    for (unsigned method = 0; method < 3; method++) {
        for (size_t i = 0; i < N * K; i++)
            l.w[i] *= 1e9f;
        CHECK_EQ(
            sq_gqsa_encode(&m, l.w, (enum sq_gqsa_method)method, &l.calibration, &l.factor, &err),
            SQ_ERR_OVERFLOW, "method %u\n", method);
        for (size_t i = 0; i < N * K; i++)
            l.w[i] *= 1e-9f;
        l.w[2 * K + 3] = INFINITY;
        assert_int_equal(
            sq_gqsa_encode(&m, l.w, (enum sq_gqsa_method)method, &l.calibration, &l.factor, &err),
            SQ_ERR_NON_FINITE);
        assert_string_equal(err.text, "w[2][3] = inf, need a finite number");
        l.w[2 * K + 3] = 0;
    }
    l.factor.k--;
    assert_int_equal(sq_gqsa_encode(&m, l.w, SQ_GQSA_SEQUENTIAL, NULL, &l.factor, &err),
                     SQ_ERR_SHAPE);
    l.factor.k++;
    layer_free(&l);
}
