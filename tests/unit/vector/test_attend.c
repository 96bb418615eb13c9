// SPDX-License-Identifier: Apache-2.0
// The attention unit (SPEC R.5) beside a second account of its arithmetic: written from SPEC in binary64, which is exact
// up to the one rounding of each operation, a head as a recursion, each key with both exponentials. Sampled: blocks of
// 1 to 8 queries that share a cache, heads of 1 to 256, windows, 1 to 300 keys. Judged again by long double.
#include <math.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"
#include "models/vector/sq_attend.h"
#include "models/vector/sq_vector.h"
#include "tests/test.h"
#include "tests/unit/fixture.h"

static double rounded(double x)
{
    return (float)x;
}

// The sum of n products from `first` on, n a power of two; those behind the head are 0.
static double tree(const float *q, const float *key, size_t first, size_t n, size_t size)
{
    if (first >= size)
        return 0;
    if (n == 1)
        return rounded((double)q[first] * key[first]);
    return rounded(tree(q, key, first, n / 2, size) + tree(q, key, first + n / 2, n / 2, size));
}

static double quadratic(const struct sq_vector_segment *s, double u, double exponent)
{
    const double slope = s->c1 + floor(s->c2 * floor(u / 256) / 16384);
    return rounded(ldexp(s->c0 + floor(slope * u / 4194304), (int)exponent - 28));
}

static double exponential(double x)
{
    if (fabs(x) >= 128)
        return x < 0 ? 0 : INFINITY;
    const double steps = (double)floorl(fabsl(x) * 0xb8aa3b29L / 8), z = x < 0 ? -steps : steps;
    const double exponent = floor(z / 0x1p28), rest = z - exponent * 0x1p28;
    return quadratic(&sq_vector_exp_table[(int)(rest / 0x1p22)], fmod(rest, 0x1p22), exponent);
}

static double reciprocal(double x)
{
    int e;
    const double fraction = (frexp(x, &e) * 2 - 1) * 128, segment = floor(fraction);
    return quadratic(&sq_vector_reciprocal_table[(int)segment], (fraction - segment) * 0x1p22,
                     1 - e);
}

static double inverse_root(double x)
{
    int e;
    const double fraction = (frexp(x, &e) * 2 - 1) * 64, segment = floor(fraction);
    const int is_odd = e % 2 == 0; // of x = m 2^(e - 1), m in 1..2
    return quadratic(&sq_vector_rsqrt_table[64 * is_odd + (int)segment],
                     (fraction - segment) * 0x1p22, (is_odd + 1 - e) / 2);
}

enum { BLOCKS = 200, KEYS = 300, GROUP = 8 };

struct cache {
    float key[KEYS][SQ_ATTEND_HEAD_MAX], value[KEYS][SQ_ATTEND_HEAD_MAX];
};

static void restated(const float *q, const struct cache *c, size_t first, size_t n, size_t size,
                     double *out)
{
    double m = 0, sum = 0;
    for (size_t k = first; k < first + n; k++) {
        const double s = tree(q, c->key[k], 0, SQ_ATTEND_HEAD_MAX, size);
        const double more = k == first || s > m ? s : m;
        const double f = k == first ? 0 : exponential(rounded(m - more)),
                     p = exponential(rounded(s - more));
        sum = rounded(rounded(sum * f) + p);
        for (size_t i = 0; i < size; i++)
            out[i] = rounded(rounded(k == first ? 0 : out[i] * f) + rounded(p * c->value[k][i]));
        m = more;
    }
    for (size_t i = 0; i < size; i++)
        out[i] = rounded(out[i] * reciprocal(sum));
}

// How far the result is from softmax, in parts of the largest value.
static double error_of(const float *q, const struct cache *c, size_t first, size_t n, size_t size,
                       const float *out)
{
    long double weight[KEYS], most = -INFINITY, sum = 0;
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        weight[k] = 0;
        for (size_t i = 0; i < size; i++)
            weight[k] += (long double)q[i] * c->key[first + k][i];
        most = fmaxl(most, weight[k]);
    }
    for (size_t k = 0; k < n; k++)
        sum += weight[k] = expl(weight[k] - most);
    for (size_t i = 0; i < size; i++) {
        long double y = 0;
        for (size_t k = 0; k < n; k++) {
            y += weight[k] / sum * c->value[first + k][i];
            largest = fmax(largest, fabs(c->value[first + k][i]));
        }
        worst = fmax(worst, fabs((double)(out[i] - y)));
    }
    return worst / largest;
}

static float half(struct sq_rng *rng, double range)
{
    return sq_half_round((float)(range * (2 * sq_rng_unit(rng) - 1)));
}

SQ_TEST(blocks_are_those_of_a_second_account)
{
    struct sq_rng rng = {.state = fixture_seed()};
    struct cache *const c = fixture_exact(sizeof *c);
    assert_non_null(c);
    double worst = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        const size_t size = 1 + sq_rng_below(&rng, b % 2 ? SQ_ATTEND_HEAD_MAX : 40);
        const size_t keys = b < 4 ? 1 + b : 1 + 2 * sq_rng_below(&rng, KEYS / 2); // odd ones mostly
        const size_t window = sq_rng_below(&rng, 2) ? keys : 1 + sq_rng_below(&rng, (uint32_t)keys);
        const size_t first = keys - window;
        for (size_t k = 0; k < keys; k++)
            for (size_t i = 0; i < size; i++) {
                c->key[k][i] = half(&rng, b % 3 ? 2 : 16);
                c->value[k][i] = half(&rng, 4);
            }
        for (unsigned h = 0; h < 1 + b % GROUP; h++) {
            float q[SQ_ATTEND_HEAD_MAX], out[SQ_ATTEND_HEAD_MAX];
            double again[SQ_ATTEND_HEAD_MAX];
            for (size_t i = 0; i < size; i++)
                q[i] = (float)(sq_rng_unit(&rng) * 2 - 1);
            sq_attend(q, c->key[first], c->value[first], SQ_ATTEND_HEAD_MAX, window, size, out);
            restated(q, c, first, window, size, again);
            for (size_t i = 0; i < size; i++)
                CHECK_EQ(sq_bits_of(out[i]), sq_bits_of((float)again[i]),
                         "block %u, query %u, element %zu of %zu, %zu keys\n", b, h, i, size,
                         window);
            worst = fmax(worst, error_of(q, c, first, window, size, out));
        }
    }
    printf("# largest error %.2g of the largest value\n", worst);
    assert_true(worst < 3e-5);
}

// Rows of an INT8 cache whose magnitudes are 2^-60 to 2^60, and rows of zeros.
SQ_TEST(rows_of_int8_are_those_of_a_second_account)
{
    struct sq_rng rng = {.state = fixture_seed()};
    for (unsigned b = 0; b < 20 * BLOCKS; b++) {
        const int magnitude = (int)between(&rng, 0, 120) - 60;
        const size_t size = between(&rng, 1, 40);
        float row[40];
        double x[40], most = 0;
        for (size_t i = 0; i < size; i++) {
            row[i] = b % 16 ? (float)ldexp(2 * sq_rng_unit(&rng) - 1, magnitude) : 0;
            x[i] = row[i];
            most = fmax(most, rounded(x[i] * x[i]));
        }
        const double inverse = inverse_root(rounded(rounded(most * rounded(1. / 16129)) + 0x1p-48));
        const double scale = sq_half_round((float)reciprocal(inverse));
        sq_attend_round_int8(row, size);
        for (size_t i = 0; i < size; i++)
            CHECK_EQ(sq_combine_bits(row[i]),
                     sq_combine_bits((float)((rint(rounded(x[i] * inverse)) + 0.) * scale)),
                     "row %u of magnitude 2^%d, element %zu\n", b, magnitude, i);
    }
}

SQ_TEST(vector_of_the_spec)
{
    const float q[3] = {1, -2, 0.5f}, key[3][3] = {{1, 0, 2}, {0, -1, 1}, {3, 1, -4}},
                value[3][3] = {{1, 2, -1}, {0.5f, 0, 4}, {-8, 1, 0.25f}};
    const uint32_t expected[3] = {0x3f074968, 0x3f427526, 0x4004fced};
    float out[3];
    sq_attend(q, key[0], value[0], 3, 3, 3, out);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(sq_bits_of(out[i]), expected[i], "element %zu\n", i);
}

// What is not finite spreads: one infinite score is a softmax of one key; a NaN is all.
SQ_TEST(infinite_scores)
{
    const float q[1] = {1}, value[3] = {1, 2, 3};
    float out[1];
    sq_attend(q, (float[3]){0, HUGE_VALF, 5}, value, 1, 3, 1, out);
    assert_true(out[0] == 2);
    sq_attend(q, (float[3]){0, HUGE_VALF, HUGE_VALF}, value, 1, 3, 1, out);
    assert_int_equal(sq_combine_bits(out[0]), 0x7fc00000);
}
