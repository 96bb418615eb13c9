// SPDX-License-Identifier: Apache-2.0
// Sums of a tensor core (sq_sum, SPEC Q.11).
//
// Worked sums, then random rows at every width, many steps, both kinds of exponents and places of c. The judge works on
// integers: all products are multiples of 2^-20, a place is cut off by a division, and nothing of binary64 is in it. Sums
// that GPUs made are in tests/docs/sums.t.
#include <math.h>

#include "models/number/sq_fp.h"
#include "models/scaled/sq_bs_accumulate.h"
#include "models/scaled/sq_scaled.h"
#include "sim/format/sq_sum_device.h"
#include "tests/unit/fixture.h"

__extension__ typedef __int128 wide;

enum { UNIT = 20, K_MAX = 600 };

static unsigned length_of(wide v)
{
    unsigned n = 0;
    for (v = v < 0 ? -v : v; v > 0; v /= 2)
        n++;
    return n;
}

// v / 2^shift * 2^shift, towards zero; shift may be negative.
static wide cut_at(wide v, int shift)
{
    const wide step = shift > 0 ? (wide)1 << shift : 1;
    return v / step * step;
}

// To `kept` fraction bits, toward zero or to nearest even.
static wide round_at(wide v, unsigned kept, bool is_nearest)
{
    const int shift = (int)length_of(v) - 1 - (int)kept;
    const wide down = cut_at(v, shift), step = shift > 0 ? (wide)1 << shift : 1;
    const wide rest = v < 0 ? down - v : v - down, away = v < 0 ? down - step : down + step;
    const bool is_up = 2 * rest > step || (2 * rest == step && (down / step) % 2 != 0);
    return shift > 0 && is_nearest && is_up ? away : down;
}

// Exponents: of the products' values, or e[] of their factors.
static wide slow(const struct sq_sum_rule *r, const double *w, const double *x, const int16_t *e,
                 size_t k, wide c)
{
    wide sum = r->c == SQ_SUM_C_NONE ? 0 : c;
    for (size_t first = 0; first < k; first += r->step) {
        const size_t end = first + r->step < k ? first + r->step : k;
        wide term[K_MAX + 1], next = 0;
        int most = 0; // exponent of the last place that a term could have, in units
        for (size_t i = first; i <= end; i++) {
            term[i - first] = i < end                  ? (wide)(w[i] * x[i] * 0x1p20)
                              : r->c == SQ_SUM_C_AFTER ? 0
                                                       : sum;
            const int n =
                i < end && !r->by_value ? 2 * e[i] + UNIT + 1 : (int)length_of(term[i - first]);
            most = term[i - first] && n > most ? n : most;
        }
        for (size_t i = first; i <= end; i++)
            next +=
                r->aligned ? cut_at(term[i - first], most - 1 - (int)r->aligned) : term[i - first];
        next = round_at(next, r->kept, r->is_nearest);
        sum = r->c == SQ_SUM_C_AFTER ? round_at(next + sum, 23, true) : next;
    }
    return sum;
}

static double sum_of(unsigned aligned, unsigned step, const double *w, const double *x, size_t k)
{
    const struct sq_sum_rule r = {.step = step,
                                  .groups = 1,
                                  .aligned = aligned,
                                  .by_value = true,
                                  .emin = SQ_SUM_EMIN_MIN,
                                  .kept = aligned};
    return sq_sum(&r, w, NULL, x, NULL, k, 0, NULL, NULL);
}

SQ_TEST(worked)
{
    double w[32], x[32];
    for (unsigned i = 0; i < 32; i++) {
        w[i] = i ? 1 : 16384;
        x[i] = 1;
    }
    // One product of 2^14 and 31 of 1: with 13 bits all of these are below the last place, 2.
    assert_true(sum_of(13, 32, w, x, 32) == 16384);
    assert_true(sum_of(14, 32, w, x, 32) == 16415);
    // Steps of 16: the second has no large product, but the sum so far is one.
    assert_true(sum_of(13, 16, w, x, 32) == 16384);
    w[0] = -16385; // cut off towards zero
    assert_true(sum_of(13, 32, w, x, 32) == -16384);
    w[0] = 0;
    assert_true(sum_of(13, 32, w, x, 32) == 31);
    assert_true(sum_of(13, 32, w, x, 1) == 0);
}

// Factors are odd numbers of at most 4 bits times a power of two, in a step of exponents as a small float has them.
SQ_TEST(random_rows)
{
    static const unsigned aligned[] = {7, 13, 14, 22, 23, 25, 30, 52, SQ_SUM_EXACT};
    struct sq_rng rng = {11};
    for (unsigned round = 0; round < 400; round++) {
        double w[K_MAX], x[K_MAX];
        int16_t e[K_MAX], ew[K_MAX], ex[K_MAX];
        const size_t k = 1 + sq_rng_below(&rng, K_MAX);
        for (size_t i = 0; i < k; i++) { // products are multiples of 2^-20
            e[i] = (int16_t)((int)sq_rng_below(&rng, 14) - 6);
            w[i] = ldexp((double)sq_rng_below(&rng, 31) - 15, e[i] - 4);
            x[i] = ldexp((double)sq_rng_below(&rng, 31) - 15, e[i] - 4);
            ew[i] = w[i] == 0 ? SQ_SUM_ZERO : e[i];
            ex[i] = x[i] == 0 ? SQ_SUM_ZERO : e[i];
        }
        for (unsigned f = 0; f < sizeof aligned / sizeof *aligned; f++) {
            struct sq_sum_rule r = {.step = 1 + sq_rng_below(&rng, SQ_SUM_STEP_MAX),
                                    .groups = 1,
                                    .aligned = aligned[f],
                                    .by_value = aligned[f] == 52 || sq_rng_below(&rng, 2),
                                    .emin = SQ_SUM_EMIN_MIN,
                                    .is_nearest = sq_rng_below(&rng, 2),
                                    .c = (enum sq_sum_c)sq_rng_below(&rng, 3)};
            const double c = ldexp((double)sq_rng_below(&rng, 1 << 24) - (1 << 23), -20);
            if (r.aligned == 52 && r.c == SQ_SUM_C_AFTER)
                r.c = SQ_SUM_C_AMONG;
            r.kept = r.aligned == 52 ? 52 : r.aligned && r.aligned < 23 ? r.aligned : 23;
            const double got = sq_sum(&r, w, ew, x, ex, k, c, NULL, NULL);
            assert_true((wide)(got * 0x1p20) == slow(&r, w, x, e, k, (wide)(c * 0x1p20)));
        }
    }
}

// Even and odd products are aligned apart: a large even one takes nothing from the odd ones before the two sums meet.
SQ_TEST(groups)
{
    const double w[4] = {16384, 1, 0, 1.5}, x[4] = {1, 1, 1, 1};
    struct sq_sum_rule r = {.step = 4,
                            .groups = 2,
                            .aligned = 13,
                            .by_value = true,
                            .emin = SQ_SUM_EMIN_MIN,
                            .kept = 13};
    assert_true(sq_sum(&r, w, NULL, x, NULL, 4, 0, NULL, NULL) == 16386);
    r.groups = 1; // 1 and 1.5 are cut off, one by one
    assert_true(sq_sum(&r, w, NULL, x, NULL, 4, 0, NULL, NULL) == 16384);
}

// Infinities, NaN, results beyond binary32, emin, and the last step.
SQ_TEST(edges)
{
    const double big[2] = {0x1p127, 0x1p127}, one[2] = {1, 1},
                 none[2] = {(double)INFINITY, -(double)INFINITY};
    struct sq_sum_rule r = {.step = 1,
                            .groups = 1,
                            .aligned = 24,
                            .by_value = true,
                            .emin = SQ_SUM_EMIN_MIN,
                            .kept = 23};
    assert_true(isinf(sq_sum(&r, big, NULL, one, NULL, 2, 0, NULL, NULL)));
    assert_true(isnan(sq_sum(&r, none, NULL, one, NULL, 2, 0, NULL, NULL)));
    assert_true(sq_sum(&r, none + 1, NULL, one, NULL, 1, 5, NULL, NULL) == -(double)INFINITY);
    const double small[2] = {0x1.8p-130, 0x1p-140};
    r.step = 2;
    assert_true(sq_sum(&r, small, NULL, one, NULL, 2, 0, NULL, NULL) == 0x1.804p-130);
    r.emin = -120; // the last place is 2^-144
    assert_true(sq_sum(&r, small, NULL, one, NULL, 1, 0, NULL, NULL) == 0x1.8p-130);
    r.emin = -110;
    assert_true(sq_sum(&r, small, NULL, one, NULL, 2, 0, NULL, NULL) == 0x1.8p-130);
    const double fine[2] = {1, 0x1p-20};
    r = (struct sq_sum_rule){.step = 1,
                             .groups = 1,
                             .aligned = 24,
                             .by_value = true,
                             .emin = SQ_SUM_EMIN_MIN,
                             .kept = 23,
                             .last = 10};
    assert_true(sq_sum(&r, fine, NULL, one, NULL, 2, 0, NULL, NULL) == 1);
    r.last = 0;
    assert_true(sq_sum(&r, fine, NULL, one, NULL, 2, 0, NULL, NULL) == 1 + 0x1p-20);
    struct sq_error err;
    r.aligned = 49;
    r.by_value = false;
    assert_int_equal(sq_sum_check(&r, &err), SQ_ERR_ARG);
    assert_string_equal(err.text, "aligned = 49, need exact, or 7..48");
}

// Elements times scales, of NVFP4 and of MXFP8.
SQ_TEST(loads)
{
    static const struct sq_bs_format format[] = {
        {.kind = SQ_BS_NV, .element = SQ_ELEMENT_E2M1, .block = 16},
        {.kind = SQ_BS_MX, .element = SQ_ELEMENT_E4M3, .block = 32}};
    for (unsigned f = 0; f < 2; f++) {
        uint8_t code[64], scale[4] = {0x38, 0x41, 0x01, 0x7e};
        float one = 1, *no_global = &one;
        double v[64];
        int16_t e[64];
        for (unsigned i = 0; i < 64; i++)
            code[i] = (uint8_t)(i % (f ? 0x7f : 16));
        const struct sq_bs c = {.f = format[f],
                                .n = 1,
                                .k = 64,
                                .k_orig = 64,
                                .code = code,
                                .scale = {scale},
                                .global = {no_global}};
        sq_bs_accumulate_load(&c, 0, v, e);
        for (unsigned i = 0; i < 64; i++) {
            const double s =
                (double)(f ? sq_e8m0_decode(scale[i / 32]) : sq_e4m3_decode(scale[i / 16]));
            const double element = (double)sq_element_decode(format[f].element, code[i]);
            const int emin = f ? -6 : 0,
                      at = element == 0 ? 0 : ilogb(element); // subnormals have the least
            assert_true(v[i] == element * s);
            assert_int_equal(e[i], element == 0 ? SQ_SUM_ZERO : (at < emin ? emin : at) + ilogb(s));
        }
    }
}

// `eval --sum aligned` and a PE with aligned sums of 13 bits have one rule.
SQ_TEST(aligned_is_the_rule_of_the_pe)
{
    struct sq_sum_device d;
    assert_ok(sq_sum_device_named("aligned", &d, NULL));
    const struct sq_sum_rule pe = sq_scaled_rule(SQ_SCALED_ALIGNED, 13, 32);
    for (unsigned i = 0; i < 2; i++) {
        const struct sq_sum_rule *const r = sq_sum_device_rule(&d, i ? "e4m3" : "e2m1");
        assert_true(r && sq_sum_rule_equal(r, &pe));
    }
}

static void ignore(void *context, const struct sq_sum_trace *step)
{
    (void)context, (void)step;
}

// Steps of 16 or 32 that nobody traces are added up side by side: every device, type and length gives the traced sum,
// also of subnormal, infinite and NaN operands, and scales that are no powers of two.
SQ_TEST(steps_side_by_side)
{
    static const char *const device[] = {"v100", "a100", "ada", "h100", "b200", "aligned"};
    struct sq_rng rng = {7};
    for (unsigned round = 0; round < 60000; round++) {
        const struct sq_sum_type *const t = &sq_sum_types[sq_rng_below(&rng, 5)];
        struct sq_sum_device d;
        assert_ok(sq_sum_device_named(device[round % 6], &d, NULL));
        const struct sq_sum_rule *const r = sq_sum_device_rule(&d, t->name);
        double w[96], x[96];
        int16_t ew[96], ex[96];
        const size_t n =
            sq_rng_below(&rng, 4) ? 16 + 16 * sq_rng_below(&rng, 6) : 1 + sq_rng_below(&rng, 96);
        // Bits of a code that are equal in a row keep its exponents together, and NaN rare.
        const uint32_t same = sq_rng_below(&rng, 3) ? 3u << (t->code_bits - 3) : 0;
        const double scale = 1 + 0.125 * sq_rng_below(&rng, 8);
        for (size_t i = 0; r && i < n; i++) {
            const uint32_t code =
                (uint32_t)sq_rng_next(&rng) & ~(UINT32_C(1) << (t->code_bits - 2)) & ~same;
            w[i] = scale * sq_sum_decode(t, code, &ew[i]);
            x[i] = sq_sum_decode(t, (uint32_t)sq_rng_next(&rng) & ~same, &ex[i]);
        }
        if (!r)
            continue;
        const double c =
            ldexp(sq_rng_below(&rng, 1 << 24) - 0x1p23, (int)sq_rng_below(&rng, 60) - 50);
        const double got = sq_sum(r, w, ew, x, ex, n, c, NULL, NULL);
        const double want = sq_sum(r, w, ew, x, ex, n, c, ignore, NULL);
        assert_true((isnan(got) && isnan(want)) || memcmp(&got, &want, sizeof got) == 0);
    }
}

// A chain in binary32 is not traced step by step: small and large exponents, zeros of both signs, and sums that are
// subnormal, infinite or NaN are those of the traced one.
SQ_TEST(chains_in_binary32)
{
    struct sq_sum_device d;
    assert_ok(sq_sum_device_named("binary32", &d, NULL));
    struct sq_rng rng = {5};
    for (unsigned round = 0; round < 20000; round++) {
        double w[8], x[8];
        const int low = (int)sq_rng_below(&rng, 260) - 160, fine = (int)sq_rng_below(&rng, 26);
        for (size_t i = 0; i < 8; i++) {
            const int e = low + (int)sq_rng_below(&rng, 30);
            w[i] = ldexp((double)sq_rng_below(&rng, 31) - 15, (int)sq_rng_below(&rng, 60) - 30);
            x[i] = ldexp((double)sq_rng_below(&rng, 1u << fine) - (1 << fine) / 2, e);
        }
        const size_t n = 1 + sq_rng_below(&rng, 8);
        const double c = sq_rng_below(&rng, 2) ? -0.0 : ldexp(-3, low);
        const double got = sq_sum(&d.sum[0].rule, w, NULL, x, NULL, n, c, NULL, NULL);
        const double want = sq_sum(&d.sum[0].rule, w, NULL, x, NULL, n, c, ignore, NULL);
        assert_true((isnan(got) && isnan(want)) || memcmp(&got, &want, sizeof got) == 0);
    }
}
