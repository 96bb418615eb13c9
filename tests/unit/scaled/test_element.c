// SPDX-License-Identifier: Apache-2.0
// Elements and block scales of the block-scaled formats (sq_element, sq_fp): SPEC Q.1.
//
// Exhausted: every code of every element and of E8M0; every tie between neighbours, the numbers
// next to it, both signs; every byte as a code that may or may not be one. Sampled: 10^7 binary32
// patterns against the nearest of all values, searched. Committed vectors: SPEC Q.1, Q.8. The
// oracle by other people, ml_dtypes, is in tests/cli/elements.t. Tables (Q.9) as hardware knows them: built-in elements,
// which have to be found again, and each of their codes changed.
#include <math.h>

#include "models/scaled/sq_scaled.h"
#include "sim/block/scaled/sq_scaled_codes.h"
#include "tests/unit/fixture.h"

// The values of magnitude codes 0, 1, ..: ascending, all of one sign.
struct values {
    float v[256];
    unsigned n;
};

static struct values values_of(enum sq_element e)
{
    struct values t = {.n = 0};
    const unsigned half = 1u << (sq_element_bits(e) - 1);
    for (unsigned code = 0; code < half && sq_element_is_number(e, (uint8_t)code); code++)
        t.v[t.n++] = sq_element_decode(e, (uint8_t)code);
    return t;
}

// The code of the value with magnitude code `m` and this sign.
static uint8_t code_of(enum sq_element e, unsigned m, bool is_negative)
{
    const unsigned bits = sq_element_bits(e);
    if (!is_negative)
        return (uint8_t)m;
    return (uint8_t)(sq_element_is_int(e) ? (0u - m) & ((1u << bits) - 1) : m | 1u << (bits - 1));
}

SQ_TEST(codes_and_ties)
{
    for (enum sq_element e = 0; e < SQ_ELEMENTS; e++) {
        const struct values t = values_of(e);
        for (unsigned sign = 0; sign < 2; sign++)
            for (unsigned m = 0; m < t.n; m++) {
                const float s = sign ? -1 : 1, v = t.v[m];
                const char *name = sq_element_name(e);
                CHECK_EQ(sq_element_encode(e, s * v), code_of(e, m, sign), "%s %g\n", name,
                         (double)(s * v));
                assert_true(sq_element_decode(e, code_of(e, m, sign)) == s * v);
                if (m + 1 == t.n)
                    break;
                const float tie = (v + t.v[m + 1]) / 2;
                assert_true(v < tie && tie < t.v[m + 1]);
                CHECK_EQ(sq_element_encode(e, s * tie), code_of(e, m + m % 2, sign), "%s %g\n",
                         name, (double)(s * tie));
                CHECK_EQ(sq_element_encode(e, s * nextafterf(tie, 0)), code_of(e, m, sign),
                         "%s below %g\n", name, (double)(s * tie));
                CHECK_EQ(sq_element_encode(e, s * nextafterf(tie, 1e9f)), code_of(e, m + 1, sign),
                         "%s above %g\n", name, (double)(s * tie));
            }
        assert_true(t.v[t.n - 1] == sq_element_max(e));
        assert_true(ldexpf(1, sq_element_emax(e)) <= sq_element_max(e) &&
                    ldexpf(2, sq_element_emax(e)) > sq_element_max(e));
        CHECK_EQ(sq_element_encode(e, 3e38f), code_of(e, t.n - 1, false), "saturation\n");
        CHECK_EQ(sq_element_encode(e, -3e38f), code_of(e, t.n - 1, true), "saturation\n");
        CHECK_EQ(sq_element_encode(e, -0x1p-149f), code_of(e, 0, true), "the sign of zero\n");
        assert_false(signbit(sq_element_decode(e, code_of(e, 0, true))));
    }
}

// A byte is a number, or no number of this element.
SQ_TEST(bytes)
{
    // Two signs of every magnitude but the integers' zero; NaN, infinities and bits above excluded.
    static const unsigned n_numbers[SQ_ELEMENTS] = {16, 64, 64, 254, 248, 15, 31, 255, 255};
    for (enum sq_element e = 0; e < SQ_ELEMENTS; e++) {
        unsigned n = 0;
        for (unsigned code = 0; code < 256; code++) {
            const bool is_number = sq_element_is_number(e, (uint8_t)code);
            n += is_number;
            if (is_number)
                assert_true(fabsf(sq_element_decode(e, (uint8_t)code)) <= sq_element_max(e));
        }
        CHECK_EQ(n, n_numbers[e], "%s\n", sq_element_name(e));
    }
    assert_true(isnan(sq_fp_decode(SQ_FP_E5M2, 0x7d)) && isinf(sq_fp_decode(SQ_FP_E5M2, 0xfc)));
}

SQ_TEST(figures)
{
    static const float most[SQ_ELEMENTS] = {6, 7.5f, 28, 448, 57344, 7, 15, 127, 1.984375f};
    static const int emax[SQ_ELEMENTS] = {2, 2, 4, 8, 15, 2, 3, 6, 0};
    for (enum sq_element e = 0; e < SQ_ELEMENTS; e++) {
        assert_true(sq_element_max(e) == most[e]);
        CHECK_EQ(sq_element_emax(e), emax[e], "%s\n", sq_element_name(e));
    }
    assert_true(sq_element_decode(SQ_ELEMENT_E2M3, 1) == .125f);
    assert_true(sq_element_decode(SQ_ELEMENT_E3M2, 1) == .0625f);
    assert_true(sq_element_decode(SQ_ELEMENT_E5M2, 1) == 0x1p-16f);
}

SQ_TEST(block_scales)
{
    for (int c = 0; c < 255; c++) {
        assert_true((double)sq_e8m0_decode((uint8_t)c) == ldexp(1, c - 127));
        CHECK_EQ(sq_e8m0_encode(c - 127), c, "2^%d\n", c - 127);
    }
    assert_true(isnan(sq_e8m0_decode(255)));
    CHECK_EQ(sq_e8m0_encode(-200), 0, "clamped\n");
    CHECK_EQ(sq_e8m0_encode(200), 254, "clamped\n");
    for (int e = -149; e < 128; e++) { // and just below the next power
        CHECK_EQ(sq_floor_log2(ldexpf(1, e)), e, "2^%d\n", e);
        CHECK_EQ(sq_floor_log2(nextafterf(e < 127 ? ldexpf(2, e) : INFINITY, 0)), e, "2^%d\n", e);
    }
}

// The nearest of all values, ties to the even code, by search: independent of the bit arithmetic.
static unsigned nearest(const struct values *t, double x)
{
    unsigned lo = 0, hi = t->n - 1;
    if (x >= (double)t->v[hi])
        return hi;
    while (hi - lo > 1) {
        const unsigned mid = (lo + hi) / 2;
        if (x < (double)t->v[mid])
            hi = mid;
        else
            lo = mid;
    }
    const double below = x - (double)t->v[lo], above = (double)t->v[hi] - x; // exact
    return below < above || (below == above && lo % 2 == 0) ? lo : hi;
}

SQ_TEST(random_numbers)
{
    struct sq_rng r = {fixture_seed()};
    unsigned done = 0;
    for (enum sq_element e = 0; e < SQ_ELEMENTS; e++) {
        const struct values t = values_of(e);
        for (unsigned i = 0; i < 1111112; i++) {
            // Exponents around the element's own, one in four of any.
            const uint32_t random = (uint32_t)sq_rng_next(&r);
            const int exponent = 127 + sq_element_emax(e) + 2 - (int)(sq_rng_next(&r) % 24);
            uint32_t bits = i % 4 ? (random & 0x807fffffu) | (uint32_t)exponent << 23 : random;
            float x;
            memcpy(&x, &bits, sizeof x);
            if (!isfinite(x))
                continue;
            const unsigned m = nearest(&t, fabs((double)x));
            CHECK_EQ(sq_element_encode(e, x), code_of(e, m, signbit(x)), "%s %a\n",
                     sq_element_name(e), (double)x);
            done++;
        }
    }
    assert_true(done > 9900000);
}

// The table of elements against their codes: bits, fraction bits, the largest integers, the sign.
SQ_TEST(table_of_types)
{
    for (enum sq_element e = 0; e < SQ_ELEMENTS; e++) {
        const struct sq_element_type *t = sq_element_type(e);
        double most = 0, lowest = 0;
        bool is_odd = false; // a smaller fraction would not do
        assert_string_equal(t->name, sq_element_name(e));
        for (unsigned code = 0; code < 1u << t->bits; code++) {
            const uint8_t minus = sq_element_negative(e, (uint8_t)code);
            const double v = ldexp((double)sq_element_decode(e, (uint8_t)code), (int)t->fraction);
            if (!isfinite(v))
                continue;
            assert_true(v == rint(v));
            is_odd = is_odd || fmod(v, 2) != 0;
            lowest = fmax(lowest, fabs(v));
            if (!sq_element_is_number(e, (uint8_t)code))
                continue;
            most = fmax(most, fabs(v));
            assert_true(ldexp((double)sq_element_decode(e, minus), (int)t->fraction) == -v);
        }
        assert_true(is_odd && most == (double)t->most && lowest == (double)t->lowest);
        assert_false(sq_element_is_number(e, (uint8_t)(1u << (t->bits - 1))) == t->is_int);
    }
}

// The description of a built-in element, in which its lowest integer is no value, with finer units.
static struct sq_bs_table described(enum sq_scaled_element e, unsigned finer)
{
    struct sq_bs_table t = sq_scaled_description(e, NULL, SQ_SCALED_E4M3, 16);
    t.fraction += finer;
    t.most <<= finer;
    for (unsigned g = 0; g < t.n_grids; g++)
        for (unsigned c = 0; c < 1u << t.bits; c++)
            if (e != SQ_SCALED_INT4 && e != SQ_SCALED_INT5 && e != SQ_SCALED_INT8 &&
                e != SQ_SCALED_MXINT8)
                t.value[g][c] = (t.value[g][c] == SQ_BS_NO_VALUE ? SQ_BS_NO_VALUE
                                                                 : t.value[g][c] * (1 << finer));
            else
                t.value[g][c] =
                    (c == 1u << (t.bits - 1) ? SQ_BS_NO_VALUE : t.value[g][c] * (1 << finer));
    return t;
}

SQ_TEST(a_table_of_a_built_in_element_is_that_element)
{
    static const enum sq_scaled_element elements[] = {
        SQ_SCALED_INT4, SQ_SCALED_INT5, SQ_SCALED_E2M1, SQ_SCALED_IF4,    SQ_SCALED_RAZER,
        SQ_SCALED_INT8, SQ_SCALED_E2M3, SQ_SCALED_E3M2, SQ_SCALED_MXINT8, SQ_SCALED_E4M3_ELEMENT};
    unsigned words[SQ_SCALED_TABLE_WORDS];
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        for (unsigned finer = 0; finer < 3; finer++) {
            struct sq_bs_table t = described(elements[i], finer);
            if (t.fraction > SQ_BS_TABLE_FRACTION)
                break;
            assert_int_equal(sq_scaled_element_of_table(&t, words), elements[i]);
            for (unsigned g = 0; g < t.n_grids; g++)
                for (unsigned c = 0; c < 1u << t.bits; c++) {
                    t.value[g][c]++;
                    assert_true(sq_scaled_is_table(sq_scaled_element_of_table(&t, words)));
                    t.value[g][c]--;
                }
            t.n_levels = 1;
            t.level[0].length = 8;
            t.level[0].bits = 1;
            assert_true(sq_scaled_is_table(sq_scaled_element_of_table(&t, words)));
        }
}

SQ_TEST(a_table_comes_back_from_its_number_and_words)
{
    static const unsigned hif4[SQ_SCALED_TABLE_WORDS] = {SQ_HIF4_WORDS};
    unsigned words[SQ_SCALED_TABLE_WORDS];
    const struct sq_bs_table t = sq_scaled_description(SQ_HIF4, hif4, SQ_SCALED_E6M2, 64);
    assert_int_equal(sq_scaled_element_of_table(&t, words), SQ_HIF4);
    assert_memory_equal(words, hif4, sizeof words);
    assert_int_equal(sq_scaled_scale_of_table(&t), SQ_SCALED_E6M2);
    assert_int_equal(t.leaf, 4);
    assert_int_equal(t.sub_bits, 8 + 16);
    assert_int_equal(t.value[0][0xf], -7);
}

SQ_TEST(sub_blocks_of_hif4_have_both_exponents)
{
    static const unsigned hif4[SQ_SCALED_TABLE_WORDS] = {SQ_HIF4_WORDS};
    const struct sq_scaled_codes e = {SQ_HIF4, hif4};
    for (unsigned bit = 0; bit < 24; bit++) {
        int32_t sub[24] = {0};
        uint8_t byte[16];
        sub[bit] = 1;
        sq_scaled_load_subs(e, sub, true, byte);
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal(byte[i], bit < 8 ? i / 2 == bit : i == bit - 8 ? 4 : 0);
    }
}

// NVFP4 on both sides takes 59 bits over 28672 columns; what int64_t does not hold has no width.
SQ_TEST(exact_sums)
{
    const enum sq_scaled_scale s = SQ_SCALED_E4M3;
    const enum sq_scaled_element e[] = {SQ_SCALED_E2M1, SQ_SCALED_INT8};
    const unsigned bits[] = {59, 65};
    for (size_t i = 0; i < LEN(e); i++)
        CHECK_EQ(sq_scaled_sum_bits(sq_scaled_limit(e[i], e[i], s, s, 16, 0, 28672)), bits[i],
                 "element %zu: ", i);
    assert_int_equal(sq_scaled_sum_bits(0), 1);
}
