// SPDX-License-Identifier: Apache-2.0
// Block-scaled formats (sq_bs, sq_bs_pack): SPEC Q.2 to Q.5, Q.7, vectors V16 to V21.
//
// Parameter space: every kind, element, rule, bank, high scale, step (tests/unit/scaled/bs_fixture.h).
// Sampled per format: rows of normal deviates with outliers, zeros, whole blocks of zeros and
// magnitudes from 2^-126 to 2^100, K with and without padding. The judge of blocks is a second
// encoder (nearest of all values by search, powers of two by counting); that of products sums in
// 128-bit integers, pair by pair.
#include <math.h>

#include "models/number/sq_gemm_values.h"
#include "tests/unit/scaled/bs_fixture.h"

__extension__ typedef __int128 int128;

// Values as an LLM's activations have them; `wild`: exponents far apart, blocks of zeros, small
// ones.
static void fill(struct sq_rng *r, float *x, size_t n, bool is_wild)
{
    const float size = is_wild ? ldexpf(1, (int)sq_rng_below(r, 200) - 110) : 1;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)fixture_gauss(r) * size;
        if (sq_rng_below(r, 40) == 0)
            x[i] *= 30;
        if (sq_rng_below(r, 10) == 0)
            x[i] = sq_rng_below(r, 2) ? 0.0f : -0.0f;
        if (is_wild && sq_rng_below(r, 3) == 0)
            x[i] = ldexpf(x[i], -(int)sq_rng_below(r, 40));
    }
    if (is_wild && n >= 128) {
        memset(x + 32, 0, 32 * sizeof *x);
        for (size_t i = 96; i < 128; i++) // scales that are subnormal E4M3
            x[i] = ldexpf(x[i], -10 - (int)sq_rng_below(r, 2));
    }
}

// ---- a second encoder -----------------------------------------------------------------------

// Nearest of the values min..max of e, ties to the even code; the value.
static double nearest(enum sq_element e, double x)
{
    double best = 0, least = INFINITY;
    unsigned best_code = 0;
    for (unsigned code = 0; code < 256; code++) {
        if (!sq_element_is_number(e, (uint8_t)code))
            continue;
        const double v = (double)sq_element_decode(e, (uint8_t)code), d = fabs(v - x);
        if (d < least || (d == least && code % 2 == 0 && best_code % 2 == 1)) {
            least = d;
            best = v;
            best_code = code;
        }
    }
    return best;
}

static float e4m3_of(float x)
{
    return (float)nearest(SQ_ELEMENT_E4M3, (double)x);
}

// The smallest exponent with top * 2^e >= amax, or floor(log2 amax) - emax; in -127..127.
static int exponent_of(const struct sq_bs_format *f, double amax)
{
    int e = -127;
    const double top = (double)sq_element_max(f->element);
    if (f->rule == SQ_BS_CEIL)
        while (e < 127 && ldexp(top, e) < amax)
            e++;
    else
        while (e < 127 && ldexp(1, e + 1 + sq_element_emax(f->element)) <= amax)
            e++;
    return e;
}

// Values of a block of a format with one part and no choice between scales.
static void slow_block(const struct sq_bs_format *f, const float *x, size_t n, float global,
                       float *out)
{
    float amax = 0, step;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    if (f->kind == SQ_BS_MX)
        step = amax > 0 ? ldexpf(1, exponent_of(f, (double)amax)) : 0;
    else
        step = e4m3_of(amax / sq_element_max(f->element) / global) * global;
    for (size_t i = 0; i < n; i++)
        out[i] = step > 0 ? (float)nearest(f->element, (double)(x[i] / step)) * step : 0;
}

SQ_TEST(blocks_as_the_slow_encoder)
{
    struct sq_rng r = {fixture_seed()};
    enum { N = 6, K = 150 };
    float x[N * K], got[192], want[SQ_BS_BLOCK_MAX];
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        if ((f->kind != SQ_BS_MX && f->kind != SQ_BS_NV) || f->is_searched)
            continue;
        for (unsigned round = 0; round < 40; round++) {
            struct sq_bs c = bs_alloc(f, N, K);
            fill(&r, x, N * K, round % 2);
            bs_encode(&c, x, round % 4 < 2);
            for (size_t row = 0; row < N; row++) {
                sq_bs_decode_row(&c, row, got);
                for (size_t j = 0; j < K; j += f->block) {
                    const size_t n = K - j < f->block ? K - j : f->block;
                    slow_block(f, x + row * K + j, n, c.global[0][row], want);
                    for (size_t e = 0; e < n; e++)
                        if (got[j + e] != want[e])
                            fail_msg("seed %llu, format %zu: %a became %a, want %a",
                                     (unsigned long long)fixture_seed(), i,
                                     (double)x[row * K + j + e], (double)got[j + e],
                                     (double)want[e]);
                }
            }
        }
    }
}

// Squared error of a block at a step, by the values of e.
static double slow_error(enum sq_element e, const float *x, size_t n, float step, float *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = step > 0 ? (float)nearest(e, (double)(x[i] / step)) * step : 0;
        sum += ((double)x[i] - (double)out[i]) * ((double)x[i] - (double)out[i]);
    }
    return sum;
}

// The scale that the search of Q.5c finds: the code by the largest, else a better one of -6..+4 codes
// beside it, the lower of two that are equally good.
static void slow_search(const struct sq_bs_format *f, const float *x, size_t n, float global,
                        float *out)
{
    float amax = 0, v[SQ_BS_BLOCK_MAX];
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    int code = 0;
    const float scale = e4m3_of(amax / sq_element_max(f->element) / global);
    while (sq_e4m3_decode((uint8_t)code) != scale)
        code++;
    double least = slow_error(f->element, x, n, scale * global, out);
    for (int c = code - 6; c <= code + 4; c++) {
        if (c < 0 || c > 126)
            continue;
        const double e = slow_error(f->element, x, n, sq_e4m3_decode((uint8_t)c) * global, v);
        if (e < least) {
            least = e;
            memcpy(out, v, n * sizeof *out);
        }
    }
}

// E2M1 with its largest at 6, or INT4 at 7.
static void slow_if4(const float *x, size_t n, float global, float *out)
{
    float amax = 0, v[SQ_BS_BLOCK_MAX];
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    const double e2m1 = slow_error(SQ_ELEMENT_E2M1, x, n, e4m3_of(amax / 6 / global) * global, out);
    const double int4 = slow_error(SQ_ELEMENT_INT4, x, n, e4m3_of(amax / 7 / global) * global, v);
    if (int4 < e2m1)
        memcpy(out, v, n * sizeof *out);
}

// ---- errors in integers (Q.5d) ----------------------------------------------------------------

struct slow_candidate {
    enum sq_element element;
    int scale;   // code without sign
    float fifth; // RAZER: 5 or -5, else 0
};

// The value of a candidate nearest to q, in steps.
static double slow_value(const struct slow_candidate *c, double q)
{
    const double v = nearest(c->element, q);
    return c->fifth != 0 && fabs(q - (double)c->fifth) < fabs(q - v) ? (double)c->fifth : v;
}

// In units of 2^(e - 7), e the exponent of the largest magnitude: magnitudes cut off, the step held to
// 0..10 places above its significand, errors in halves held to 127.
static double slow_integer_error(const struct slow_candidate *c, const float *x, size_t n,
                                 float global)
{
    float amax = 0;
    double sum = 0, sig = c->scale % 8, up;
    int e, one;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    (void)frexpf(fmaxf(amax, 0x1p-126f), &e); // e - 1 is the exponent
    (void)frexpf(global, &one);
    if (c->scale >= 8)
        sig += 8;
    up = (c->scale >= 8 ? c->scale / 8 : 1) - 10 + (one - 1) - (e - 1 - 7);
    const double step = sig * pow(2, fmin(10, fmax(0, up)));
    for (size_t i = 0; i < n; i++) {
        const double q = floor(ldexp(fabs((double)x[i]), 7 - (e - 1)));
        const double sign = x[i] < 0 || (x[i] == 0 && signbit(x[i])) ? -1 : 1;
        double d = 2 * q;
        if (step > 0)
            d = fabs(2 * q - 2 * fabs(slow_value(c, sign * q / step)) * step);
        d = fmin(d, 127);
        sum += d * d;
    }
    return sum;
}

static void slow_integer(const struct sq_bs_format *f, const float *x, size_t n, float global,
                         float *out)
{
    float amax = 0;
    for (size_t i = 0; i < n; i++)
        amax = fmaxf(amax, fabsf(x[i]));
    const int six = sq_e4m3_encode(amax / 6 / global), seven = sq_e4m3_encode(amax / 7 / global),
              four = sq_e4m3_encode(amax / 4 / global);
    const int by_largest = f->element == SQ_ELEMENT_INT4 ? seven : six;
    const struct slow_candidate searched[] = {{f->element, by_largest, 0},
                                              {f->element, (int)fmax(0, by_largest - 2), 0},
                                              {f->element, (int)fmax(0, by_largest - 1), 0}};
    const struct slow_candidate four_six[] = {{f->element, six, 0}, {f->element, four, 0}};
    const struct slow_candidate if4[] = {{f->element, six, 0}, {SQ_ELEMENT_INT4, seven, 0}};
    const struct slow_candidate razer[] = {{f->element, six, 5}, {f->element, six, -5}};
    const struct slow_candidate *c = f->kind == SQ_BS_NV         ? searched
                                     : f->kind == SQ_BS_FOUR_SIX ? four_six
                                     : f->kind == SQ_BS_IF4      ? if4
                                                                 : razer;
    const struct slow_candidate *best = c;
    for (size_t i = 1; i < (f->kind == SQ_BS_NV ? 3 : 2); i++)
        if (slow_integer_error(&c[i], x, n, global) < slow_integer_error(best, x, n, global))
            best = &c[i];
    const float step = sq_e4m3_decode((uint8_t)best->scale) * global;
    for (size_t i = 0; i < n; i++)
        out[i] = step > 0 ? (float)slow_value(best, (double)(x[i] / step)) * step : 0;
}

SQ_TEST(searches_as_the_slow_encoder)
{
    struct sq_rng r = {fixture_seed() + 9};
    enum { N = 4, K = 150 };
    float x[N * K], got[192], want[SQ_BS_BLOCK_MAX];
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        const bool is_if4 = f->kind == SQ_BS_IF4;
        for (unsigned round = 0; (is_if4 || f->is_searched || f->is_error_integer) && round < 20;
             round++) {
            struct sq_bs c = bs_alloc(f, N, K);
            fill(&r, x, N * K, round % 2);
            bs_encode(&c, x, round % 4 < 2);
            for (size_t at = 0; at < N * K; at++) {
                const size_t row = at / K, j = at % K, n = K - j < f->block ? K - j : f->block;
                if (j == 0)
                    sq_bs_decode_row(&c, row, got);
                if (j % f->block != 0)
                    continue;
                if (f->is_error_integer)
                    slow_integer(f, x + at, n, c.global[0][row], want);
                else if (is_if4)
                    slow_if4(x + at, n, c.global[0][row], want);
                else
                    slow_search(f, x + at, n, c.global[0][row], want);
                for (size_t e = 0; e < n; e++)
                    if (got[j + e] != want[e])
                        fail_msg("seed %llu, format %zu: %a became %a, want %a",
                                 (unsigned long long)fixture_seed(), i, (double)x[at + e],
                                 (double)got[j + e], (double)want[e]);
            }
        }
    }
}

// Q.5b: the smallest power of two at which nothing is out of reach, and of SQ with a high scale of
// the row a sixteenth of that for the low part.
SQ_TEST(globals_that_are_powers_of_two)
{
    static const struct {
        struct sq_bs_format f;
        double limit[2]; // of 448 and the largest element; 0: none
        bool is_sixteenth, is_one;
    } c[] = {
        {{.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16}, {448 * 6, 0}, false, true},
        {{.kind = SQ_BS_NV, .element = SQ_ELEMENT_INT4, .block = 16}, {448 * 7, 0}, false, true},
        {{.kind = SQ_BS_SQ, .element = SQ_ELEMENT_INT4, .block = 32, .high_per_block = 1},
         {0, 127},
         true,
         false},
        {{.kind = SQ_BS_SQ, .element = SQ_ELEMENT_E2M1, .block = 32, .high_per_block = 1},
         {0, 448},
         true,
         false},
        {{.kind = SQ_BS_SQ,
          .element = SQ_ELEMENT_INT4,
          .block = 32,
          .high_per_block = 1,
          .is_high_block = true},
         {448 * 7, 448 * 127},
         false,
         false},
        {{.kind = SQ_BS_SPLIT, .element = SQ_ELEMENT_INT4, .block = 16, .high_per_block = 1},
         {448 * 7, 448 * 119},
         false,
         true},
    };
    struct sq_rng r = {fixture_seed() + 10};
    for (size_t i = 0; i < LEN(c); i++)
        for (unsigned round = 0; round < 3000; round++) {
            struct sq_bs_format f = c[i].f;
            f.is_global_power_of_two = true;
            const int e = (int)sq_rng_below(&r, 230) - 150; // subnormal numbers, too
            float amax[2], global[2];
            double want[2] = {0};
            amax[1] = ldexpf(1 + (float)sq_rng_unit(&r), e);
            amax[0] = amax[1] * (float)sq_rng_unit(&r);
            for (unsigned p = 0; p < 2 && round % 3 == 0; p++) // on the limit, and beside it
                if (c[i].limit[p] > 0)
                    amax[p] = nextafterf(ldexpf((float)c[i].limit[p], e),
                                         round % 2   ? INFINITY
                                         : round % 5 ? 0
                                                     : (float)c[i].limit[p]);
            for (unsigned p = 0; p < 2; p++)
                if (c[i].limit[p] > 0 && amax[p] >= 0x1p-126f) {
                    int power = -200;
                    while (ldexp(c[i].limit[p], power) < (double)amax[p])
                        power++;
                    want[p] = ldexp(1, power);
                }
            if (c[i].is_one)
                want[0] = fmax(want[0], want[1]);
            if (c[i].is_sixteenth)
                want[0] = want[1] / 16;
            sq_bs_globals_of(&f, amax, global);
            for (unsigned p = 0; p < sq_bs_n_parts(&f); p++)
                if ((double)global[p] != (want[p] > 0 ? want[p] : 1))
                    fail_msg("case %zu: amax %a, %a: global[%u] = %a, want %a", i, (double)amax[0],
                             (double)amax[1], p, (double)global[p], want[p]);
        }
}

// Whole rows at once, as one block after the other by the rules of single blocks.
SQ_TEST(rows_as_their_blocks)
{
    struct sq_rng r = {fixture_seed() + 6};
    enum { N = 2, K = 1100 };
    static float x[N * K];
    for (size_t i = 0; i < LEN(bs_formats); i++)
        for (unsigned round = 0; round < 12; round++) {
            const struct sq_bs_format *f = &bs_formats[i];
            const size_t k = round < 3 ? K : 1 + sq_rng_below(&r, K);
            struct sq_bs c = bs_alloc(f, N, k);
            fill(&r, x, N * k, round % 2);
            for (size_t e = 0; round == 5 && e < N * k; e++)
                x[e] = ldexpf(x[e], sq_rng_below(&r, 2) ? -140 : 0);
            bs_encode(&c, x, round % 4 < 2);
            for (size_t at = 0; at < N * c.k / f->block; at++) {
                const size_t row = at / (c.k / f->block), j = at % (c.k / f->block);
                const size_t first = j * f->block;
                const size_t n = k - first < f->block ? k - first : f->block;
                const float global[2] = {c.global[0][row], c.global[1] ? c.global[1][row] : 1};
                struct sq_bs_block got, want;
                sq_bs_get_block(&c, row, j, &got);
                sq_bs_steps(f, global, &got);
                sq_bs_choose(f, x + row * k + first, n, global, &want);
                CHECK_EQ(got.scale[0], want.scale[0], "format %zu, round %u\n", i, round);
                CHECK_EQ(got.scale[1], want.scale[1], "format %zu, round %u\n", i, round);
                assert_memory_equal(got.is_high, want.is_high, sizeof want.is_high);
                for (size_t e = 0; e < f->block; e++) {
                    const struct sq_bs_code zero = {0, 0}, g = sq_bs_get(&c, row, first + e);
                    const struct sq_bs_code w =
                        e < n ? sq_bs_encode(f, &want, e, x[row * k + first + e]) : zero;
                    CHECK_EQ(g.code, w.code, "format %zu, %a\n", i, (double)x[row * k + first + e]);
                    CHECK_EQ(g.high, w.high, "format %zu, %a\n", i, (double)x[row * k + first + e]);
                }
            }
        }
}

// Rows of powers of two beside their blocks: a largest element of every exponent of binary32, its
// fraction on both sides of that of the largest number of the format.
SQ_TEST(powers_of_two_of_any_size)
{
    enum { BLOCK = 32, FIRST = -149, N = 128 - FIRST };
    static float x[N * BLOCK];
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        const float one[2] = {1, 1};
        int exponent;
        if (f->kind != SQ_BS_MX && f->kind != SQ_BS_PLUS)
            continue;
        const float top = 2 * frexpf(sq_element_max(f->element), &exponent);
        const float fraction[] = {1, nextafterf(top, 0), top, nextafterf(top, 2), nextafterf(2, 0)};
        for (size_t m = 0; m < LEN(fraction); m++) {
            struct sq_bs c = bs_alloc(f, 1, N * BLOCK);
            for (int e = FIRST; e < 128; e++)
                x[(e - FIRST) * BLOCK + 3] = -ldexpf(fraction[m], e);
            bs_encode(&c, x, false);
            for (size_t j = 0; j < N; j++) {
                struct sq_bs_block want;
                sq_bs_choose(f, x + j * BLOCK, BLOCK, one, &want);
                CHECK_EQ(c.scale[0][j], want.scale[0], "format %zu, %a\n", i,
                         (double)x[j * BLOCK + 3]);
                CHECK_EQ(c.code[j * BLOCK + 3], sq_bs_encode(f, &want, 3, x[j * BLOCK + 3]).code,
                         "format %zu, %a\n", i, (double)x[j * BLOCK + 3]);
            }
        }
    }
}

// Which divisions, in which order: at ties of E4M3 another order rounds to another scale.
SQ_TEST(divisions)
{
    struct sq_rng r = {fixture_seed() + 4};
    const struct sq_bs_format f = {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16};
    unsigned differs = 0, unlike = 0;
    for (unsigned i = 0; i < 4000; i++) {
        const float g = (float)sq_rng_unit(&r) + 0.5f, any[2] = {(float)sq_rng_unit(&r) + 1, 0};
        float global[2] = {g, 1}, x = 9.5f * 6 * g; // between 9 and 10
        struct sq_bs_block b;
        x = nextafterf(x, i % 2 ? 0 : INFINITY);
        sq_bs_choose(&f, &x, 1, global, &b);
        CHECK_EQ(b.scale[0], sq_e4m3_encode(x / 6 / g), "%a by %a\n", (double)x, (double)g);
        differs += b.scale[0] != sq_e4m3_encode(x / (6 * g));
        sq_bs_globals_of(&f, any, global);
        assert_true(global[0] == any[0] / (448.0f * 6));
        unlike += global[0] != any[0] / 448 / 6;
    }
    assert_true(differs > 10 && unlike > 10);
}

// Weights: one scale above all blocks, but of high elements without one of their bank one a row.
SQ_TEST(globals)
{
    struct sq_rng r = {fixture_seed() + 5};
    enum { N = 3, K = 64 };
    float x[N * K];
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        struct sq_bs c = bs_alloc(f, N, K);
        fill(&r, x, N * K, false);
        for (unsigned is_tensor = 0; is_tensor < 2; is_tensor++) {
            bs_encode(&c, x, is_tensor);
            for (unsigned p = 0; p < sq_bs_n_parts(f); p++) {
                const float *g = c.global[p];
                const bool is_one = g[0] == g[1] && g[1] == g[2];
                const bool want = !sq_bs_has_global(f, p) || (is_tensor && sq_bs_has_scale(f, p));
                if (want || !f->is_global_power_of_two) // rows alike have the same power of two
                    assert_int_equal(is_one, want);
            }
        }
    }
}

// The ceil rule clips nothing; ocp clips only what it must: less than one binade.
SQ_TEST(rules)
{
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        if (f->kind != SQ_BS_MX)
            continue;
        const float top = sq_element_max(f->element);
        for (int e = -100; e < 100; e++)
            for (unsigned near = 0; near < 5; near++) {
                float x = ldexpf(top, e), one = 1;
                x = near == 0   ? x
                    : near == 1 ? nextafterf(x, INFINITY)
                    : near == 2 ? nextafterf(x, 0)
                    : near == 3 ? ldexpf(1, e)
                                : nextafterf(ldexpf(1, e), 0);
                struct sq_bs_block b;
                sq_bs_choose(f, &x, 1, (float[]){one, one}, &b);
                const float q = x / b.step[0];
                assert_true(f->rule == SQ_BS_CEIL
                                ? q <= top && q > top / 2
                                : q < ldexpf(2, sq_element_emax(f->element)) &&
                                      q >= ldexpf(1, sq_element_emax(f->element)));
            }
    }
}

// 4/6 is never worse than both; split by error never worse than by maximum, which clips nothing.
static double error_of(const struct sq_bs *c, const float *x, size_t row)
{
    float v[192];
    double sum = 0;
    sq_bs_decode_row(c, row, v);
    for (size_t i = 0; i < c->k_orig; i++)
        sum += pow((double)x[row * c->k_orig + i] - (double)v[i], 2);
    return sum;
}

SQ_TEST(choices)
{
    struct sq_rng r = {fixture_seed() + 1};
    enum { N = 4, K = 160 };
    float x[N * K];
    for (size_t i = 0; i < LEN(bs_formats); i++) {
        const struct sq_bs_format *f = &bs_formats[i];
        if (f->is_error_integer) // not quite the least in binary64
            continue;
        const bool is_four_six = f->kind == SQ_BS_FOUR_SIX || f->kind == SQ_BS_RAZER ||
                                 f->kind == SQ_BS_IF4 || f->is_searched;
        const bool is_chosen = is_four_six || (f->kind == SQ_BS_SPLIT && !f->is_by_maximum);
        unsigned better = 0;
        for (unsigned round = 0; is_chosen && round < 20; round++) {
            struct sq_bs_format plain = *f;
            plain.kind = is_four_six ? SQ_BS_NV : SQ_BS_SPLIT;
            plain.is_by_maximum = !is_four_six;
            plain.is_searched = false;
            struct sq_bs a = bs_alloc(f, N, K), b = bs_alloc(&plain, N, K);
            fill(&r, x, N * K, false);
            bs_encode(&a, x, true);
            bs_encode(&b, x, true);
            for (size_t row = 0; row < N; row++) {
                assert_true(error_of(&a, x, row) <= error_of(&b, x, row) * (1 + 1e-12));
                better += error_of(&a, x, row) < error_of(&b, x, row);
            }
        }
        assert_true(!is_chosen || better > 40);
    }
}

// ---- products -------------------------------------------------------------------------------

// Exact sum of a block of element products in units of 2^-32, to the nearest binary32.
static float exact_sum(const struct sq_bs *w, size_t c, const struct sq_bs *x, size_t t, size_t j,
                       unsigned p, unsigned q)
{
    const unsigned n_parts = sq_bs_n_parts(&w->f);
    int128 sum = 0;
    float of_w[SQ_BS_BLOCK_MAX], of_x[SQ_BS_BLOCK_MAX];
    sq_bs_elements(w, c, j, of_w);
    sq_bs_elements(x, t, j, of_x);
    for (size_t i = j * w->f.block; i < (j + 1) * w->f.block; i++) {
        const bool hw = w->is_high && w->is_high[c * w->k + i];
        const bool hx = x->is_high && x->is_high[t * x->k + i];
        if (n_parts == 2 && (hw != p || hx != q))
            continue;
        const float a = of_w[i % w->f.block], b = of_x[i % w->f.block];
        sum += (int128)(int64_t)ldexpf(a, 16) * (int64_t)ldexpf(b, 16);
    }
    return ldexpf((float)sum, -32);
}

static float scale_of(const struct sq_bs *c, size_t row, size_t j, unsigned p)
{
    if (!sq_bs_has_scale(&c->f, p))
        return 1;
    const uint8_t code = c->scale[p][row * (c->k / c->f.block) + j];
    return sq_bs_is_e8m0(&c->f) ? sq_e8m0_decode(code) : fabsf(sq_e4m3_decode(code));
}

static float slow_product(const struct sq_bs *w, size_t c, const struct sq_bs *x, size_t t)
{
    const unsigned n_parts = sq_bs_n_parts(&w->f);
    float y = 0;
    for (unsigned q = 0; q < n_parts; q++)
        for (unsigned p = 0; p < n_parts; p++) {
            float a = 0;
            for (size_t j = 0; j < w->k / w->f.block; j++) {
                const float sum = exact_sum(w, c, x, t, j, p, q);
                const float sw = scale_of(w, c, j, p), sx = scale_of(x, t, j, q);
                a += sq_bs_is_e8m0(&w->f)
                         ? (float)ldexp((double)sum, sq_floor_log2(sw) + sq_floor_log2(sx))
                         : sum * (sw * sx);
            }
            int e_w, e_x; // a product of significands, rounded; exponents are added
            const float g = frexpf(w->global[p][c], &e_w) * frexpf(x->global[q][t], &e_x);
            y += (float)ldexp((double)a * (double)g, e_w + e_x);
        }
    return y;
}

SQ_TEST(products)
{
    struct sq_rng r = {fixture_seed() + 2};
    enum { N = 11, M = 5, K = 140 };
    static float xw[N * K], xa[M * K];
    float y[M * N];
    for (size_t i = 0; i < LEN(bs_formats); i++)
        for (unsigned round = 0; round < 6; round++) {
            struct sq_bs w = bs_alloc(&bs_formats[i], N, K), x = bs_alloc(&bs_formats[i], M, K);
            fill(&r, xw, N * K, round % 2);
            fill(&r, xa, M * K, false);
            bs_encode(&w, xw, true);
            bs_encode(&x, xa, false);
            const struct sq_bs_product g = {.w = &w, .x = &x, .y = y};
            void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
            sq_bs_gemm(&g, scratch);
            for (size_t t = 0; t < M; t++)
                for (size_t c = 0; c < N; c++) {
                    const float want = slow_product(&w, c, &x, t), got = y[t * N + c];
                    if (sq_bits_of(got) != sq_bits_of(want))
                        fail_msg("seed %llu, format %zu, round %u, y[%zu][%zu] = %a, want %a",
                                 (unsigned long long)fixture_seed(), i, round, t, c, (double)got,
                                 (double)want);
                }
        }
}

// What no order of roundings but the stated one gives: 2^24 + 1 + 1 by blocks is 2^24.
SQ_TEST(order)
{
    const struct sq_bs_format f = {.kind = SQ_BS_MX, .element = SQ_ELEMENT_E2M1, .block = 32};
    float xw[96] = {0}, xa[96] = {0}, y;
    xw[0] = 4096, xa[0] = 4096;
    xw[32] = 1, xa[32] = 1;
    xw[64] = 1, xa[64] = 1;
    struct sq_bs w = bs_alloc(&f, 1, 96), x = bs_alloc(&f, 1, 96);
    const struct sq_bs_product g = {.w = &w, .x = &x, .y = &y};
    void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
    bs_encode(&w, xw, true);
    bs_encode(&x, xa, false);
    sq_bs_gemm(&g, scratch);
    assert_true(y == 0x1p24f);
    // Scales beyond binary32 together, but not with the sum: 2^-100 * 2^-100 * 2^120 * 2^120.
    xw[0] = 0x1p120f, xa[0] = 0x1p-110f, xw[32] = 0x1p-120f, xa[32] = 0x1p119f;
    bs_encode(&w, xw, true);
    bs_encode(&x, xa, false);
    sq_bs_gemm(&g, scratch);
    assert_true(y == 0x1p10f + 0.5f + 1);
}

// 2^24 + 1 + 2^-32 in one block of E5M2: binary64 rounds it to a tie of binary32, and that down.
SQ_TEST(once_rounded)
{
    const struct sq_bs_format f = {.kind = SQ_BS_MX, .element = SQ_ELEMENT_E5M2, .block = 32};
    const float xw[32] = {0x1p12f, 1, 0x1p-16f, 0x1p15f},
                xa[32] = {0x1p12f, 1, 0x1p-16f, 0, 0x1p15f};
    float y;
    struct sq_bs w = bs_alloc(&f, 1, 32), x = bs_alloc(&f, 1, 32);
    const struct sq_bs_product g = {.w = &w, .x = &x, .y = &y};
    void *scratch = fixture_alloc(sq_bs_gemm_scratch(&g));
    bs_encode(&w, xw, true);
    bs_encode(&x, xa, false);
    sq_bs_gemm(&g, scratch);
    assert_true(y == 0x1p24f + 2);
}

SQ_TEST(values)
{
    struct sq_rng r = {fixture_seed() + 3};
    enum { N = 19, M = 6, K = 70 };
    float w[N * K], x[M * K], y[M * N];
    fill(&r, w, N * K, false);
    fill(&r, x, M * K, false);
    void *scratch = fixture_alloc(sq_gemm_values_scratch(M, K));
    sq_gemm_values(w, N, x, M, K, y, scratch);
    for (size_t t = 0; t < M; t++)
        for (size_t c = 0; c < N; c++) {
            double sum = 0;
            for (size_t i = 0; i < K; i++)
                sum += (double)x[t * K + i] * (double)w[c * K + i];
            assert_true(y[t * N + c] == (float)sum);
        }
}
