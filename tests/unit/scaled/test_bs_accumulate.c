// SPDX-License-Identifier: Apache-2.0
// Sums of a tensor core (sq_bs_accumulate, SPEC Q.11).
//
// Worked vectors, then random rows at every width and many chunks. The judge works on integers: all products are
// multiples of 2^-20, a place is cut off by a division, and nothing of binary64 is in it.
#include <math.h>

#include "models/number/sq_fp.h"
#include "models/scaled/sq_bs_accumulate.h"
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

static wide slow(unsigned fraction, unsigned chunk, const double *w, const double *x, size_t k)
{
    const unsigned kept = fraction < 23 ? fraction : fraction == 52 ? 52 : 23;
    wide sum = 0;
    for (size_t first = 0; first < k; first += chunk) {
        const size_t end = first + chunk < k ? first + chunk : k;
        wide term[K_MAX + 1], next = 0;
        unsigned most = 0;
        for (size_t i = first; i <= end; i++) {
            term[i - first] = i < end ? (wide)(w[i] * x[i] * 0x1p20) : sum;
            const unsigned n = length_of(term[i - first]);
            most = n > most ? n : most;
        }
        for (size_t i = first; i <= end; i++)
            next += cut_at(term[i - first], (int)most - 1 - (int)fraction);
        sum = cut_at(next, (int)length_of(next) - 1 - (int)kept);
    }
    return sum;
}

SQ_TEST(worked)
{
    double w[32], x[32];
    for (unsigned i = 0; i < 32; i++) {
        w[i] = i ? 1 : 16384;
        x[i] = 1;
    }
    // One product of 2^14 and 31 of 1: with 13 bits all of these are below the last place, 2.
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){13, 32}, w, x, 32) == 16384);
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){14, 32}, w, x, 32) == 16415);
    // Chunks of 16: the second has no large product, but the accumulator is one.
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){13, 16}, w, x, 32) == 16384);
    w[0] = -16385; // cut off towards zero
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){13, 32}, w, x, 32) == -16384);
    w[0] = 0;
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){13, 32}, w, x, 32) == 31);
    assert_true(sq_bs_accumulate(&(struct sq_bs_accumulator){13, 32}, w, x, 1) == 0);
}

SQ_TEST(random_rows)
{
    static const unsigned fraction[] = {7, 13, 14, 22, 23, 25, 30, 52};
    struct sq_rng rng = {11};
    for (unsigned round = 0; round < 400; round++) {
        double w[K_MAX], x[K_MAX];
        const size_t k = 1 + sq_rng_below(&rng, K_MAX);
        for (size_t i = 0; i < k; i++) { // products are multiples of 2^-20
            w[i] = ldexp((double)sq_rng_below(&rng, 31) - 15, (int)sq_rng_below(&rng, 18) - 10);
            x[i] = ldexp((double)sq_rng_below(&rng, 31) - 15, (int)sq_rng_below(&rng, 18) - 10);
        }
        for (unsigned f = 0; f < sizeof fraction / sizeof *fraction; f++) {
            const unsigned chunk = 1 + (unsigned)sq_rng_below(&rng, SQ_BS_CHUNK_MAX);
            const double got =
                sq_bs_accumulate(&(struct sq_bs_accumulator){fraction[f], chunk}, w, x, k);
            assert_true((wide)(got * 0x1p20) == slow(fraction[f], chunk, w, x, k));
        }
    }
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
        for (unsigned i = 0; i < 64; i++)
            code[i] = (uint8_t)(i % (f ? 0x7f : 16));
        const struct sq_bs c = {.f = format[f],
                                .n = 1,
                                .k = 64,
                                .k_orig = 64,
                                .code = code,
                                .scale = {scale},
                                .global = {no_global}};
        sq_bs_accumulate_load(&c, 0, v);
        for (unsigned i = 0; i < 64; i++) {
            const double s =
                (double)(f ? sq_e8m0_decode(scale[i / 32]) : sq_e4m3_decode(scale[i / 16]));
            assert_true(v[i] == (double)sq_element_decode(format[f].element, code[i]) * s);
        }
    }
}
