// SPDX-License-Identifier: Apache-2.0
// Sums of a tensor core (sq_bs_accumulate.h).
#include "models/scaled/sq_bs_accumulate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/scaled/sq_bs_kind.h"

enum { SINGLE = 23, DOUBLE = 52 }; // fraction bits of binary32 and binary64

void sq_bs_accumulate_load(const struct sq_bs *c, size_t row, double *out)
{
    const size_t b = c->f.block;
    struct sq_bs_block block;
    assert(sq_bs_n_parts(&c->f) == 1);
    for (size_t j = 0; j < c->k / b; j++) {
        sq_bs_get_block(c, row, j, &block);
        const double scale = (double)sq_bs_scale(&c->f, 0, block.scale[0]);
        for (size_t i = 0; i < b; i++)
            out[j * b + i] =
                (double)sq_bs_element(&c->f, &block, i, sq_bs_get(c, row, j * b + i)) * scale;
    }
}

// v without the bits below `fraction` bits behind its leading one.
static double cut(double v, unsigned fraction)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= ~((UINT64_C(1) << (DOUBLE - fraction)) - 1);
    memcpy(&v, &bits, sizeof v);
    return v;
}

// What the accumulator keeps between chunks.
static unsigned kept(unsigned fraction)
{
    return fraction < SINGLE ? fraction : fraction == SQ_BS_FRACTION_MAX ? DOUBLE : SINGLE;
}

// accumulator + the sum of t[n], each cut off at the same place.
static double add_chunk(double accumulator, const double *t, size_t n, unsigned fraction)
{
    double most = fabs(accumulator);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(t[i]));
    if (most == 0)
        return 0;
    const int last = ilogb(most) - (int)fraction; // exponent of the last bit that is kept
    const double up = ldexp(1, -last);
    int64_t sum = (int64_t)(accumulator * up); // at most 2^53 each, and so many that they fit
    for (size_t i = 0; i < n; i++)
        sum += (int64_t)(t[i] * up);
    // A sum of more bits than binary64 has keeps the upper ones: the accumulator has no more.
    const uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    uint64_t upper = magnitude;
    int dropped = 0;
    for (; upper >> (DOUBLE + 1); upper >>= 1)
        dropped++;
    const double v = ldexp((double)upper, dropped + last);
    return cut(sum < 0 ? -v : v, kept(fraction));
}

double sq_bs_accumulate(const struct sq_bs_accumulator *a, const double *w, const double *x,
                        size_t k)
{
    double t[SQ_BS_CHUNK_MAX], sum = 0;
    assert(a->fraction >= SQ_BS_FRACTION_MIN && a->fraction <= SQ_BS_FRACTION_MAX);
    assert(a->chunk >= 1 && a->chunk <= SQ_BS_CHUNK_MAX);
    for (size_t first = 0; first < k; first += a->chunk) {
        const size_t n = k - first < a->chunk ? k - first : a->chunk;
        for (size_t i = 0; i < n; i++)
            t[i] = w[first + i] * x[first + i];
        sum = add_chunk(sum, t, n, a->fraction);
    }
    return sum;
}
