// SPDX-License-Identifier: Apache-2.0
// Rotations before block-scaled formats (sq_bs_rotate, sq_bs_rotate_integer): SPEC Q.6.
//
// Every unit vector of groups of 16 and 32 elements; of the rotation in integers groups of 4 and 16 and every
// width of 9 to 16 bits. Sampled: the elements. The judge of the integers is their definition in double.
#include <math.h>

#include "models/scaled/sq_bs.h"
#include "tests/unit/fixture.h"

// H H = 1 but for roundings; the first column of H is constant, rows are orthogonal.
SQ_TEST(rotation)
{
    for (unsigned n = 16; n <= 32; n *= 2)
        for (unsigned i = 0; i < n; i++) {
            float x[64] = {0}, y[64];
            x[32 + i] = 1;
            memcpy(y, x, sizeof x);
            sq_bs_rotate(y, 64, n);
            const unsigned from = 32 / n * n + (32 % n); // the group that holds element 32 + i
            for (unsigned j = 0; j < 64; j++) {
                const bool is_here = j >= from && j < from + n;
                const float sign = __builtin_popcount(i & (j - from)) % 2 ? -1 : 1;
                assert_true(y[j] == (is_here ? sign * (float)(1 / sqrt(n)) : 0));
            }
            sq_bs_rotate(y, 64, n);
            for (unsigned j = 0; j < 64; j++)
                assert_true(fabsf(y[j] - x[j]) < 1e-6f);
        }
}

// By its definition, in double: elements of a few binades, of all, and so small that the exponent is
// limited.
SQ_TEST(rotation_in_integers)
{
    struct sq_rng rng = {7};
    for (unsigned round = 0; round < 3000; round++) {
        const unsigned n = round % 3 ? 16 : 4, bits = 9 + round % 8;
        const int center = round % 5 ? (int)sq_rng_below(&rng, 240) - 125 : -130;
        float x[16], y[16];
        double q[16], most = 0;
        for (unsigned i = 0; i < n; i++) {
            const int away = (int)sq_rng_below(&rng, round % 2 ? 4 : 20);
            x[i] = ldexpf((float)sq_rng_below(&rng, 512) - 256, center - away - 8);
            most = fmax(most, fabs((double)x[i]));
        }
        int e = (int)bits - 126;
        while (most >= ldexp(1, e + 1))
            e++;
        const double step = ldexp(1, e - (int)bits + 2);
        for (unsigned i = 0; i < n; i++)
            q[i] = copysign(floor(fabs((double)x[i]) / step + 0.5), (double)x[i]);
        memcpy(y, x, sizeof y);
        sq_bs_rotate_integer(y, n, n, bits);
        for (unsigned j = 0; j < n; j++) {
            double sum = 0;
            for (unsigned i = 0; i < n; i++)
                sum += __builtin_popcount(i & j) % 2 ? -q[i] : q[i];
            assert_true((double)y[j] == sum * step / sqrt(n));
        }
    }
    float x[16] = {1, INFINITY};
    sq_bs_rotate_integer(x, 16, 16, 10);
    for (unsigned i = 0; i < 16; i++)
        assert_true(isnan(x[i]));
    // A magnitude that rounds to 2^(bits-1) stays below it.
    float most[4] = {nextafterf(2, 0)};
    sq_bs_rotate_integer(most, 4, 4, 9);
    assert_true(most[0] == 255.0f / 256);
}
