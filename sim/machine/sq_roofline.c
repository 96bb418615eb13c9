// SPDX-License-Identifier: Apache-2.0
// Computes the closed forms (sq_roofline.h).
#include "sim/machine/sq_roofline.h"

#include <math.h>

#include "sim/io/sq_checked.h"

static uint64_t up(double v)
{
    return v < 0x1p63 ? (uint64_t)ceil(v - 1e-6) : SQ_COUNT_OVER;
}

static double macs(uint64_t m, uint64_t n, uint64_t k)
{
    return (double)m * (double)n * (double)k;
}

uint64_t sq_roof_weight_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t r_lo, uint64_t r_hi,
                               double s)
{
    const double low = macs(m, n, k) / (double)r_lo;
    const double high = macs(m, n, k) * (1 - s) / (double)r_hi;
    return up(fmax(low, high));
}

uint64_t sq_roof_act_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t r_lo, uint64_t r_hi,
                            double s)
{
    return up(macs(m, n, k) * ((1 - s) / (double)r_hi + s / (double)r_lo));
}

uint64_t sq_roof_dense_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t rate)
{
    return up(macs(m, n, k) / (double)rate);
}

// SPEC D.4: time of static activation SQ over W4A8: (1-s) + s/r; the speedup is its inverse.
// r = time W4A8 / time W4A4. Gather and quantisation, which also take time, are left out.
static double act_speedup(double s, double r)
{
    return 1 / ((1 - s) + s / r);
}

const struct sq_table10 sq_table10[SQ_TABLE10_MODELS] = {
    {"Llama-3-70B",
     608,
     316,
     {.5, .75, .875},
     {1.32, 1.56, 1.71},
     {462, 389, 355},
     {14.27, 16.94, 18.54}},
    {"Llama-3-8B",
     48,
     38,
     {.5, .75, .875},
     {1.07, 1.14, 1.17},
     {45, 42, 41},
     {35.75, 36.90, 38.19}},
};

double sq_table10_speedup(const struct sq_table10 *t, unsigned row)
{
    return act_speedup(t->sparsity[row], t->w4a8_s / t->w4a4_s);
}

double sq_roof_seconds(double m, double n, double k, double ops_per_s, double nbytes,
                       double nbytes_per_s)
{
    return fmax(2 * m * n * k / ops_per_s, nbytes / nbytes_per_s);
}

uint64_t sq_scalesim_os_cycles(uint64_t m, uint64_t n, uint64_t k, uint64_t rows, uint64_t cols)
{
    const uint64_t tiles = sq_sat_mul((m + rows - 1) / rows, (n + cols - 1) / cols);
    const uint64_t cycles = sq_sat_mul(k + rows + cols - 2, tiles);
    return cycles == SQ_COUNT_OVER ? cycles : cycles - 1;
}
