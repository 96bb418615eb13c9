// SPDX-License-Identifier: Apache-2.0
// sq_gemm_sq_w against sq_slow, integers and bits of Y, with every kernel the processor has.
//
// Exhausted: all 360 legal formats x kernels, each with a K below the bank and one over two padding
// units; every number of tokens 1..37 and channels 1..19 of one format, which covers all block
// tails. Sampled: weights, activations over all 256 values, one long group in many chunks.
#include "models/core/sq_slow.h"
#include "models/number/sq_gemm_kernels.h"
#include "models/quant/sq_codes_alloc.h"
#include "tests/unit/fixture.h"

// A product and what sq_slow says of it.
struct problem {
    struct sq_matrix w;
    size_t m, n_groups;
    int8_t *act;
    float *s_a, *want_y;
    int32_t *want_lo, *want_hi; // [m][n][n_groups]
};

static void judge(struct problem *p)
{
    int64_t *lo = fixture_alloc(2 * p->n_groups * sizeof *lo), *hi = lo + p->n_groups;
    for (size_t t = 0; t < p->m; t++)
        for (size_t n = 0; n < p->w.n; n++) {
            const size_t at = t * p->w.n + n;
            sq_slow_dot(&p->w, n, p->act + t * p->w.k, lo, hi);
            p->want_y[at] = sq_slow_y(&p->w, n, lo, hi, p->s_a[t]);
            for (size_t g = 0; g < p->n_groups; g++) {
                p->want_lo[at * p->n_groups + g] = (int32_t)lo[g];
                p->want_hi[at * p->n_groups + g] = (int32_t)hi[g];
            }
        }
}

static struct problem problem_new(struct sq_rng *r, struct sq_format f, size_t m, size_t n,
                                  size_t k)
{
    struct problem p = {.w = matrix_new(f, n, k), .m = m};
    float *w = fixture_exact(n * k * sizeof *w);
    p.n_groups = sq_n_groups(&f, p.w.k);
    p.act = fixture_exact(m * p.w.k);
    p.s_a = fixture_exact(m * sizeof *p.s_a);
    p.want_y = fixture_exact(m * n * sizeof *p.want_y);
    p.want_lo = fixture_exact(m * n * p.n_groups * sizeof *p.want_lo);
    p.want_hi = fixture_exact(m * n * p.n_groups * sizeof *p.want_hi);
    random_weights(r, w, n * k);
    assert_ok(sq_encode_rtn(w, &p.w, NULL));
    for (size_t i = 0; i < m * p.w.k; i++)
        p.act[i] = (int8_t)sq_rng_next(r); // -128 too, and activations in the padding
    for (size_t t = 0; t < m; t++)
        p.s_a[t] = (float)sq_rng_unit(r) + 0x1p-10f;
    judge(&p);
    return p;
}

// Channels n0..n1-1 by one kernel: right there, untouched (0xa5) elsewhere.
static void kernel_equals_slow(const struct problem *p, enum sq_gemm_kernel kernel, size_t n0,
                               size_t n1, bool with_integers)
{
    const size_t n = p->w.n, n_y = p->m * n, n_p = n_y * p->n_groups;
    float *y = fixture_exact(n_y * sizeof *y);
    int32_t *lo = fixture_exact(n_p * sizeof *lo), *hi = fixture_exact(n_p * sizeof *hi);
    void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&p->w));
    const uint32_t untouched = 0xa5a5a5a5;
    sq_gemm_sq_w_with(kernel, &p->w, p->act, p->s_a, p->m, n0, n1, y, with_integers ? lo : NULL,
                      with_integers ? hi : NULL, scratch);
    for (size_t i = 0; i < n_p; i++) {
        const size_t c = i / p->n_groups % n;
        const bool mine = with_integers && c >= n0 && c < n1;
        CHECK_EQ((uint32_t)lo[i], mine ? (uint32_t)p->want_lo[i] : untouched, "%s p_lo %zu\n",
                 sq_gemm_kernel_name(kernel), i);
        CHECK_EQ((uint32_t)hi[i], mine ? (uint32_t)p->want_hi[i] : untouched, "%s p_hi %zu\n",
                 sq_gemm_kernel_name(kernel), i);
    }
    for (size_t i = 0; i < n_y; i++) {
        const bool mine = i % n >= n0 && i % n < n1;
        CHECK_EQ(sq_bits_of(y[i]), mine ? sq_bits_of(p->want_y[i]) : untouched, "%s y %zu\n",
                 sq_gemm_kernel_name(kernel), i);
    }
}

static void all_kernels_equal_slow(const struct problem *p, size_t n0, size_t n1,
                                   bool with_integers)
{
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++)
        if (sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            kernel_equals_slow(p, (enum sq_gemm_kernel)kernel, n0, n1, with_integers);
}

static void one_format(struct sq_format f, void *context)
{
    struct sq_rng *rng = context;
    const size_t unit = sq_k_padded(&f, 1), shape[] = {f.bank - 1, unit + 1};
    for (size_t s = 0; s < LEN(shape); s++) {
        struct problem p = problem_new(rng, f, 1 + 2 * s, 1 + 2 * s, shape[s]);
        all_kernels_equal_slow(&p, 0, p.w.n, true);
    }
}

SQ_TEST(every_format)
{
    struct sq_rng rng = {fixture_seed()};
    assert_int_equal(for_each_format(one_format, &rng), N_FORMATS);
}

SQ_TEST(every_block_tail)
{
    struct sq_rng rng = {fixture_seed()};
    const struct sq_format f = {8, 4, 4, 1, 32};
    for (size_t m = 1; m <= 37; m++) {
        struct problem p = problem_new(&rng, f, m, 1 + m % 19, 33);
        all_kernels_equal_slow(&p, 0, p.w.n, m % 2);
    }
}

// Any split of the channels gives the whole product's bits: the tile order does not matter.
SQ_TEST(every_split_of_the_channels)
{
    struct sq_rng rng = {fixture_seed()};
    struct problem p = problem_new(&rng, (struct sq_format){8, 3, 16, 4, 64}, 5, 11, 100);
    for (size_t n0 = 0; n0 <= 11; n0++)
        for (size_t n1 = n0; n1 <= 11; n1++)
            all_kernels_equal_slow(&p, n0, n1, true);
}

// One group over the whole row: 1028 = 2 chunks of 512 and 4 codes.
SQ_TEST(a_group_longer_than_a_chunk)
{
    struct sq_rng rng = {fixture_seed()};
    for (size_t k = 508; k <= 1028; k += 4) {
        struct problem p =
            problem_new(&rng, (struct sq_format){8, 4, 4, 2, 0}, k == 1028 ? 17 : 2, 2, k);
        all_kernels_equal_slow(&p, 0, 2, true);
    }
}

// The largest sums there are: all codes and activations at their ends, K = SQ_GROUP_LEN_MAX.
SQ_TEST(extreme_sums_do_not_overflow)
{
    const size_t k = SQ_GROUP_LEN_MAX;
    struct sq_matrix w = matrix_new((struct sq_format){8, 4, 4, 2, 0}, 1, k);
    float *ones = fixture_exact(k * sizeof *ones), s_a = 1, y;
    int8_t *act = fixture_exact(k);
    void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&w));
    for (size_t i = 0; i < k; i++)
        ones[i] = -1;
    memset(act, 0x80, k);
    assert_ok(sq_encode_rtn(ones, &w, NULL));
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++) {
        int32_t p_lo = 0, p_hi = 0;
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            continue;
        sq_gemm_sq_w_with((enum sq_gemm_kernel)kernel, &w, act, &s_a, 1, 0, 1, &y, &p_lo, &p_hi,
                          scratch);
        assert_int_equal(p_lo, 7 * 128 * (int)(k / 2));
        assert_int_equal(p_hi, 127 * 128 * (int)(k / 2));
    }
}

// All 65536 pairs of a weight and an activation, through every kernel: one weight a channel (hi of
// the masked place), one activation a token.
SQ_TEST(every_int8_pair)
{
    struct sq_rng rng = {fixture_seed()};
    struct problem p = problem_new(&rng, (struct sq_format){8, 4, 4, 1, 0}, 256, 255, 4);
    for (size_t n = 0; n < 255; n++) { // lo: MC at place n % 4, low codes elsewhere; hi: n - 127
        const int low = (int)(n % 15) - 7;
        int8_t lo[4] = {(int8_t)low, (int8_t)low, (int8_t)low, (int8_t)low};
        const int8_t hi = (int8_t)((int)n - 127);
        lo[n % 4] = -8;
        sq_pack(lo, 4, 4, p.w.lo + 2 * n);
        sq_pack(&hi, 1, 8, p.w.hi + n);
    }
    for (size_t t = 0; t < 256; t++)
        memset(p.act + 4 * t, (int)t, 4);
    assert_ok(matrix_validate(&p.w, NULL));
    judge(&p);
    for (size_t i = 0; i < 256 * 255; i++)
        assert_int_equal(p.want_hi[i], ((int)(i % 255) - 127) * (int8_t)(i / 255));
    all_kernels_equal_slow(&p, 0, 255, true);
}

// A negative Y that underflows is +0, not -0 (SPEC 0.2).
SQ_TEST(negative_underflow_is_plus_zero)
{
    struct sq_matrix w = matrix_new((struct sq_format){8, 4, 4, 1, 0}, 1, 4);
    const float one[4] = {1, 1, 1, 1}, tiny = 0x1p-149f;
    const int8_t act[4] = {-1};
    void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&w));
    float y;
    assert_ok(sq_encode_rtn(one, &w, NULL));
    w.s_lo[0] = w.s_hi[0] = 0x1p-20f;
    sq_gemm_sq_w(&w, act, &tiny, 1, 0, 1, &y, NULL, NULL, scratch);
    assert_int_equal(sq_bits_of(y), 0);
}

// V1 and V2 (SPEC A.10) as products.
SQ_TEST(v1_and_v2_as_products)
{
    const float w[2][8] = {{0.5f, -3.5f, 0.25f, 1.75f, -31.75f, 0, -1, 15.875f},
                           {1, -2, .25f, 7, -3.5f, .5f, -1, 0}};
    const struct sq_format f[2] = {{8, 4, 8, 2, 0}, {4, 2, 8, 4, 0}};
    const int32_t want_lo[2] = {16, -5}, want_hi[2] = {-319, 29};
    const float want_y[2] = {-71.75f, 24.0f}, one = 1.0f;
    const int8_t act[8] = {3, -1, 2, 4, 1, -2, 5, -3};
    for (unsigned v = 0; v < 2; v++) {
        struct sq_matrix m = matrix_new(f[v], 1, 8);
        void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&m));
        int32_t p_lo, p_hi;
        float y;
        assert_ok(sq_encode_rtn(w[v], &m, NULL));
        sq_gemm_sq_w(&m, act, &one, 1, 0, 1, &y, &p_lo, &p_hi, scratch);
        assert_int_equal(p_lo, want_lo[v]);
        assert_int_equal(p_hi, want_hi[v]);
        assert_true(y == want_y[v]);
    }
}

static int name_missing_kernels(void **state)
{
    (void)state;
    for (unsigned kernel = 0; kernel < SQ_GEMM_N_KERNELS; kernel++)
        if (!sq_gemm_kernel_is_supported((enum sq_gemm_kernel)kernel))
            printf("# kernel %s skipped: not on this processor\n",
                   sq_gemm_kernel_name((enum sq_gemm_kernel)kernel));
    return 0;
}

SQ_BEFORE_ALL(name_missing_kernels)
