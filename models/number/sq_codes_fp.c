// SPDX-License-Identifier: Apache-2.0
// Products in binary64 (SPEC A.9, W4A16). Every E2M1 and E4M3 product is a multiple of 2^-18 below
// 2^18, so a sum of up to 2^17 of them is exact in binary64 in any order: the loops may be vectors.
#include "models/number/sq_codes_fp.h"

#include <math.h>
#include <string.h>

#include "models/number/sq_dot.h"
#include "models/number/sq_fp.h"
#include "models/number/sq_half.h"
#include "models/output/sq_combine.h"

enum { CHANNELS = SQ_DOT_COLUMNS, TOKENS = SQ_DOT_TOKENS }; // of a block

static size_t whole_tiles(size_t m)
{
    return (m + TOKENS - 1) / TOKENS * TOKENS;
}

// Weights as [k][CHANNELS], low then high plane, and the tokens.
size_t sq_gemm_fp_scratch(const struct sq_gemm_codes *g)
{
    return (2 * CHANNELS + whole_tiles(g->x->n)) * g->w->k * sizeof(double);
}

// Values of all codes.
struct values {
    double e2m1[256], e4m3[256];
};

static void load_fp_weights(const struct sq_codes *w, const struct values *v, size_t c0, size_t n,
                            double *lo, double *hi)
{
    memset(lo, 0, w->k * CHANNELS * sizeof *lo);
    memset(hi, 0, w->k * CHANNELS * sizeof *hi);
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < w->k; i++) {
            const size_t at = (c0 + c) * w->k + i;
            const uint8_t code = (uint8_t)w->code[at];
            if (w->is_high[at])
                hi[i * CHANNELS + c] = v->e4m3[code];
            else
                lo[i * CHANNELS + c] = v->e2m1[code];
        }
}

// m <= TOKENS tokens.
static void fp_block(const struct sq_gemm_codes *g, size_t token, size_t m, size_t c0, size_t n,
                     const double *x, const double *lo, const double *hi)
{
    const struct sq_codes *w = g->w;
    const size_t n_groups = w->k / w->group;
    float y[TOKENS][CHANNELS] = {{0}};
    for (size_t group = 0; group < n_groups; group++) {
        const size_t at = group * w->group;
        double p_lo[TOKENS][CHANNELS], p_hi[TOKENS][CHANNELS];
        sq_dot_tile(x + at, w->k, lo + at * CHANNELS, w->group, p_lo);
        sq_dot_tile(x + at, w->k, hi + at * CHANNELS, w->group, p_hi);
        for (size_t t = 0; t < m; t++)
            for (size_t c = 0; c < n; c++) {
                const size_t s = (c0 + c) * n_groups + group;
                y[t][c] = sq_combine_sums(SQ_COMBINE_TWO, y[t][c], (float)p_lo[t][c],
                                          (float)p_hi[t][c], w->s_lo[s], w->s_hi[s], 1.0f);
            }
    }
    for (size_t t = 0; t < m; t++)
        for (size_t c = 0; c < n; c++)
            g->y[(token + t) * w->n + c0 + c] =
                sq_combine_end(SQ_COMBINE_TWO, y[t][c], g->x->s_lo[token + t]);
}

void sq_gemm_fp(const struct sq_gemm_codes *g, size_t m0, size_t m1, void *scratch)
{
    const size_t k = g->w->k, m = m1 - m0;
    double *const lo = scratch, *const hi = lo + CHANNELS * k, *const x = hi + CHANNELS * k;
    struct values v;
    for (unsigned i = 0; i < 256; i++) {
        v.e2m1[i] = (double)sq_e2m1_decode((uint8_t)i);
        v.e4m3[i] = (double)sq_e4m3_decode((uint8_t)i);
    }
    for (size_t i = 0; i < m * k; i++)
        x[i] = v.e4m3[(uint8_t)g->x->code[m0 * k + i]];
    memset(x + m * k, 0, (whole_tiles(m) - m) * k * sizeof *x);
    for (size_t c = 0; c < g->w->n; c += CHANNELS) {
        const size_t n = g->w->n - c < CHANNELS ? g->w->n - c : CHANNELS;
        load_fp_weights(g->w, &v, c, n, lo, hi);
        for (size_t t = 0; t < m; t += TOKENS)
            fp_block(g, m0 + t, m - t < TOKENS ? m - t : TOKENS, c, n, x + t * k, lo, hi);
    }
}

// ---- dense weights, binary16 activations ----------------------------------------------------

// Weights as [k][CHANNELS], then the tokens.
size_t sq_gemm_f16_scratch(const struct sq_codes *w, size_t m)
{
    return (CHANNELS + whole_tiles(m)) * w->k * sizeof(double);
}

// m <= TOKENS tokens into y[m][w->n]. A code times a binary16 is exact in binary64.
static void f16_block(const struct sq_codes *w, size_t m, size_t c0, size_t n, const double *x,
                      const double *code, float *y)
{
    const size_t n_groups = w->k / w->group;
    float sum[TOKENS][CHANNELS] = {{0}};
    for (size_t group = 0; group < n_groups; group++) {
        const size_t at = group * w->group;
        double p[TOKENS][CHANNELS];
        sq_dot_tile(x + at, w->k, code + at * CHANNELS, w->group, p);
        for (size_t t = 0; t < m; t++)
            for (size_t c = 0; c < n; c++)
                sum[t][c] = sum[t][c] + (float)p[t][c] * w->s_lo[(c0 + c) * n_groups + group];
    }
    for (size_t t = 0; t < m; t++)
        for (size_t c = 0; c < n; c++)
            y[t * w->n + c0 + c] = sum[t][c] + 0.0f;
}

static enum sq_status load_f16(const float *x, size_t token, size_t k_orig, size_t k, double *out,
                               struct sq_error *err)
{
    enum { CHUNK = 256 };
    for (size_t begin = 0; begin < k_orig; begin += CHUNK) {
        const size_t n = k_orig - begin < CHUNK ? k_orig - begin : CHUNK;
        float half[CHUNK];
        sq_half_round_all(x + begin, n, half);
        for (size_t i = 0; i < n; i++) {
            SQ_FAIL_IF(!isfinite(half[i]), err,
                       isfinite(x[begin + i]) ? SQ_ERR_OVERFLOW : SQ_ERR_NON_FINITE,
                       "x[%zu][%zu] = %g, need a number of binary16, below 65520", token, begin + i,
                       (double)x[begin + i]);
            out[begin + i] = (double)half[i];
        }
    }
    for (size_t i = k_orig; i < k; i++)
        out[i] = 0;
    return SQ_OK;
}

enum sq_status sq_gemm_f16(const struct sq_codes *w, const float *x, size_t m, float *y,
                           void *scratch, struct sq_error *err)
{
    double *const code = scratch, *const token = code + CHANNELS * w->k;
    SQ_FAIL_IF(w->grid.kind != SQ_GRID_DENSE, err, SQ_ERR_UNSUPPORTED,
               "no 16-bit datapath for %s weights", sq_grid_name(w->grid.kind));
    for (size_t t = 0; t < m; t++)
        SQ_TRY(load_f16(x + t * w->k_orig, t, w->k_orig, w->k, token + t * w->k, err));
    memset(token + m * w->k, 0, (whole_tiles(m) - m) * w->k * sizeof *token);
    for (size_t c = 0; c < w->n; c += CHANNELS) {
        const size_t n = w->n - c < CHANNELS ? w->n - c : CHANNELS;
        for (size_t i = 0; i < w->k; i++)
            for (size_t d = 0; d < CHANNELS; d++)
                code[i * CHANNELS + d] = d < n ? (double)w->code[(c + d) * w->k + i] : 0;
        for (size_t t = 0; t < m; t += TOKENS)
            f16_block(w, m - t < TOKENS ? m - t : TOKENS, c, n, token + t * w->k, code,
                      y + t * w->n);
    }
    return SQ_OK;
}
