// SPDX-License-Identifier: Apache-2.0
// Products in binary64 (SPEC A.9, W4A16). Every E2M1 and E4M3 product is a multiple of 2^-18 below
// 2^18, so a sum of up to 2^17 of them is exact in binary64 in any order: the loops may be vectors.
#include "models/sq_codes_fp.h"

#include <math.h>

#include "models/sq_dot.h"
#include "models/sq_fp.h"

enum { CHANNELS = SQ_DOT_CHANNELS }; // of a block

// Weights as [k][CHANNELS], low then high plane, and one token's activations.
size_t sq_gemm_fp_scratch(const struct sq_gemm_codes *g)
{
    return (2 * CHANNELS + 1) * g->w->k * sizeof(double);
}

static void load_fp_weights(const struct sq_codes *w, size_t c0, size_t n, double *lo, double *hi)
{
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < w->k; i++) {
            const size_t at = (c0 + c) * w->k + i;
            const bool is_high = c < n && w->is_high[at];
            lo[i * CHANNELS + c] =
                c < n && !is_high ? (double)sq_e2m1_decode((uint8_t)w->code[at]) : 0;
            hi[i * CHANNELS + c] = is_high ? (double)sq_e4m3_decode((uint8_t)w->code[at]) : 0;
        }
}

static void fp_block(const struct sq_gemm_codes *g, size_t token, size_t c0, size_t n,
                     const double *x, const double *lo, const double *hi)
{
    const struct sq_codes *w = g->w;
    float y[CHANNELS] = {0};
    for (size_t group = 0; group < w->k / w->group; group++) {
        const size_t at = group * w->group;
        double p_lo[CHANNELS], p_hi[CHANNELS];
        sq_dot(x + at, lo + at * CHANNELS, w->group, p_lo);
        sq_dot(x + at, hi + at * CHANNELS, w->group, p_hi);
        for (size_t c = 0; c < n; c++) {
            const size_t s = (c0 + c) * (w->k / w->group) + group;
            const float t1 = (float)p_lo[c] * w->s_lo[s], t2 = (float)p_hi[c] * w->s_hi[s];
            y[c] = y[c] + (t1 + t2);
        }
    }
    for (size_t c = 0; c < n; c++)
        g->y[token * w->n + c0 + c] = y[c] * g->x->s_lo[token] + 0.0f;
}

void sq_gemm_fp(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch)
{
    const size_t k = g->w->k;
    double *const lo = scratch, *const hi = lo + CHANNELS * k, *const x = hi + CHANNELS * k;
    double e4m3[256];
    for (unsigned i = 0; i < 256; i++)
        e4m3[i] = (double)sq_e4m3_decode((uint8_t)i);
    for (size_t c = 0; c < g->w->n; c += CHANNELS) {
        const size_t n = g->w->n - c < CHANNELS ? g->w->n - c : CHANNELS;
        load_fp_weights(g->w, c, n, lo, hi);
        for (size_t t = m0; t < m1; t++) {
            for (size_t i = 0; i < k; i++)
                x[i] = e4m3[(uint8_t)g->x->code[t * k + i]];
            fp_block(g, t, c, n, x, lo, hi);
        }
    }
}

// ---- dense weights, binary16 activations ----------------------------------------------------

// binary16 and back; infinity where it overflows.
static double through_f16(float x)
{
    const uint16_t h = sq_f32_to_f16(x);
    const unsigned exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    const double m = exponent == 31 ? INFINITY
                     : exponent     ? ldexp(1024 + fraction, (int)exponent - 25)
                                    : ldexp(fraction, -24);
    return (h & 0x8000u) ? -m : m;
}

// Weights as [k][CHANNELS], then the tokens.
size_t sq_gemm_f16_scratch(const struct sq_codes *w, size_t m)
{
    return (CHANNELS + m) * w->k * sizeof(double);
}

static void f16_block(const struct sq_codes *w, size_t c0, size_t n, const double *x,
                      const double *code, float *y)
{
    float sum[CHANNELS] = {0};
    for (size_t group = 0; group < w->k / w->group; group++) {
        double p[CHANNELS];
        sq_dot(x + group * w->group, code + group * w->group * CHANNELS, w->group, p);
        for (size_t c = 0; c < n; c++)
            sum[c] = sum[c] + (float)p[c] * w->s_lo[(c0 + c) * (w->k / w->group) + group];
    }
    for (size_t c = 0; c < n; c++)
        y[c0 + c] = sum[c] + 0.0f;
}

static enum sq_status load_f16(const float *x, size_t token, size_t k_orig, size_t k, double *out,
                               struct sq_error *err)
{
    for (size_t i = 0; i < k; i++) {
        out[i] = i < k_orig ? through_f16(x[i]) : 0;
        if (!isfinite(out[i]))
            return SQ_FAIL(err, isfinite(x[i]) ? SQ_ERR_OVERFLOW : SQ_ERR_NON_FINITE,
                           "x[%zu][%zu] = %g, need a number of binary16, below 65520", token, i,
                           (double)x[i]);
    }
    return SQ_OK;
}

enum sq_status sq_gemm_f16(const struct sq_codes *w, const float *x, size_t m, float *y,
                           void *scratch, struct sq_error *err)
{
    double *const code = scratch, *const token = code + CHANNELS * w->k;
    if (w->grid.kind != SQ_GRID_DENSE)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no 16-bit datapath for %s weights",
                       sq_grid_name(w->grid.kind));
    for (size_t t = 0; t < m; t++)
        SQ_TRY(load_f16(x + t * w->k_orig, t, w->k_orig, w->k, token + t * w->k, err));
    for (size_t c = 0; c < w->n; c += CHANNELS) {
        const size_t n = w->n - c < CHANNELS ? w->n - c : CHANNELS;
        for (size_t i = 0; i < w->k; i++)
            for (size_t d = 0; d < CHANNELS; d++)
                code[i * CHANNELS + d] = d < n ? (double)w->code[(c + d) * w->k + i] : 0;
        for (size_t t = 0; t < m; t++)
            f16_block(w, c, n, token + t * w->k, code, y + t * w->n);
    }
    return SQ_OK;
}
