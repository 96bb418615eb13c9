// SPDX-License-Identifier: Apache-2.0
// All 65536 pairs of 8-bit operands through every multiplier width: exhausted, nothing sampled.
#include <cstdio>

#include "Vsq_mul_all.h"

static int low_bits(int v, int bits)
{
    const int m = v & ((1 << bits) - 1);
    return m >= 1 << (bits - 1) ? m - (1 << bits) : m;
}

static unsigned mismatches;

static void check(const char *name, int a, int b, int a_bits, int b_bits, int got)
{
    const int x = low_bits(a, a_bits), y = low_bits(b, b_bits);
    const int want = x * y, bits = a_bits + b_bits;
    if (low_bits(got, bits) == want)
        return;
    if (mismatches++ < 16)
        std::printf("# %s: a=0x%02x b=0x%02x got=%d want=%d\n", name, x & 0xff, y & 0xff,
                    low_bits(got, bits), want);
}

int main()
{
    Vsq_mul_all top;
    for (int a = -128; a < 128; a++)
        for (int b = -128; b < 128; b++) {
            top.a_i = static_cast<CData>(a);
            top.b_i = static_cast<CData>(b);
            top.eval();
            check("8x8", a, b, 8, 8, top.p88_o);
            check("8x4", a, b, 8, 4, top.p84_o);
            check("4x8", a, b, 4, 8, top.p48_o);
            check("8x3", a, b, 8, 3, top.p83_o);
            check("8x2", a, b, 8, 2, top.p82_o);
            check("4x4", a, b, 4, 4, top.p44_o);
            check("4x3", a, b, 4, 3, top.p43_o);
            check("4x2", a, b, 4, 2, top.p42_o);
            check("6x6", a, b, 6, 6, top.p66_o);
            check("8x6", a, b, 8, 6, top.p86_o);
        }
    std::printf("%s tb_sq_mul pairs=65536 widths=10 mismatches=%u\n", mismatches ? "FAIL" : "PASS",
                mismatches);
    return mismatches != 0;
}
