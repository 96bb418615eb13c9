// SPDX-License-Identifier: Apache-2.0
// Rounds the sums of groups to FP32 outputs, in plain C, AVX2 or AVX-512 (sq_codes_combine.h).
#include "models/number/sq_codes_combine.h"

#include "models/number/sq_lanes.h"
#include "models/output/sq_combine.h"

enum { CHANNELS = SQ_CODES_CHANNELS };

// One accumulator: the products of the larger scale shifted left, exact in 41 bits.
static void combine_shifted(const struct sq_codes *x, size_t token, const float *s_w,
                            const int32_t *lo, const int32_t *hi, float *y)
{
    const int e = sq_grid_shift(x->s_lo[token], x->s_hi[token]);
    const int64_t by_lo = INT64_C(1) << (e < 0 ? -e : 0), by_hi = INT64_C(1) << (e > 0 ? e : 0);
    for (unsigned c = 0; c < CHANNELS; c++)
        y[c] = y[c] + (float)(lo[c] * by_lo + hi[c] * by_hi) * s_w[c];
}

// One group of a block: the FP32 roundings of sq_codes.h for CHANNELS channels of n tokens.
SQ_LANES_BODY void combine_body(const struct sq_gemm_codes *j, size_t token, unsigned n,
                                const float *s_lo, const float *s_hi, sq_codes_sums *lo,
                                sq_codes_sums *hi, sq_codes_outputs *y)
{
    if (j->w->grid.kind == SQ_GRID_OWN) {
        for (unsigned t = 0; t < n; t++)
#pragma omp simd
            for (unsigned c = 0; c < CHANNELS; c++)
                y[t][c] = sq_combine_group(SQ_COMBINE_TWO, y[t][c], lo[t][c], hi[t][c], s_lo[c],
                                           s_hi[c], 1.0f);
    } else if (j->x->grid.kind == SQ_GRID_SHIFT) {
        for (unsigned t = 0; t < n; t++)
            combine_shifted(j->x, token + t, s_lo, lo[t], hi[t], y[t]);
    } else if (j->x->grid.kind == SQ_GRID_OWN) {
        for (unsigned t = 0; t < n; t++) {
            const float x_lo = j->x->s_lo[token + t], x_hi = j->x->s_hi[token + t];
#pragma omp simd
            for (unsigned c = 0; c < CHANNELS; c++)
                y[t][c] = sq_combine_group(SQ_COMBINE_SCALED, y[t][c], lo[t][c], hi[t][c], x_lo,
                                           x_hi, s_lo[c]);
        }
    } else {
        for (unsigned t = 0; t < n; t++)
#pragma omp simd
            for (unsigned c = 0; c < CHANNELS; c++)
                y[t][c] =
                    sq_combine_group(SQ_COMBINE_ONE, y[t][c], lo[t][c], 0, s_lo[c], 1.0f, 1.0f);
    }
}

SQ_LANES_BODY void finish_some(const struct sq_gemm_codes *j, size_t token, size_t n_tokens,
                               size_t channel, unsigned n_channels, sq_codes_outputs *y)
{
    const struct sq_codes *x = j->x;
    for (size_t t = 0; t < n_tokens; t++) {
        const float lo = x->s_lo[token + t], hi = x->s_hi[token + t];
        float *out = j->y + (token + t) * j->w->n + channel;
        if (x->grid.kind == SQ_GRID_OWN) {
            for (unsigned c = 0; c < n_channels; c++)
                out[c] = sq_combine_end(SQ_COMBINE_SCALED, y[t][c], 1.0f);
            continue;
        }
        const float s = x->grid.kind == SQ_GRID_SHIFT ? (lo < hi ? lo : hi)
                                                      : sq_grid_single_scale(&x->grid, lo, hi);
        for (unsigned c = 0; c < n_channels; c++)
            out[c] = sq_combine_end(SQ_COMBINE_ONE, y[t][c], s);
    }
}

SQ_LANES_BODY void finish_body(const struct sq_gemm_codes *j, size_t token, size_t n_tokens,
                               size_t channel, unsigned n_channels, sq_codes_outputs *y)
{
    if (n_channels == CHANNELS) // loops of known length
        finish_some(j, token, n_tokens, channel, CHANNELS, y);
    else
        finish_some(j, token, n_tokens, channel, n_channels, y);
}

SQ_LANES_EACH(void, , combine,
              (const struct sq_gemm_codes *j, size_t token, unsigned n, const float *s_lo,
               const float *s_hi, sq_codes_sums *lo, sq_codes_sums *hi, sq_codes_outputs *y),
              j, token, n, s_lo, s_hi, lo, hi, y)
SQ_LANES_EACH(void, , finish,
              (const struct sq_gemm_codes *j, size_t token, size_t n_tokens, size_t channel,
               unsigned n_channels, sq_codes_outputs *y),
              j, token, n_tokens, channel, n_channels, y)

sq_codes_combine_fn *sq_codes_combine_of(void)
{
    return SQ_LANES_BEST(combine);
}

sq_codes_finish_fn *sq_codes_finish_of(void)
{
    return SQ_LANES_BEST(finish);
}
