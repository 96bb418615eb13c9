// SPDX-License-Identifier: Apache-2.0
#include "models/sq_codes_combine.h"

#include "models/sq_combine.h"

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
static inline __attribute__((always_inline)) void
combine_body(const struct sq_gemm_codes *j, size_t token, unsigned n, const float *s_lo,
             const float *s_hi, sq_codes_sums *lo, sq_codes_sums *hi, sq_codes_outputs *y)
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

static void combine_portable(const struct sq_gemm_codes *j, size_t token, unsigned n,
                             const float *s_lo, const float *s_hi, sq_codes_sums *lo,
                             sq_codes_sums *hi, sq_codes_outputs *y)
{
    combine_body(j, token, n, s_lo, s_hi, lo, hi, y);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,prefer-vector-width=512"))) static void
combine_avx512(const struct sq_gemm_codes *j, size_t token, unsigned n, const float *s_lo,
               const float *s_hi, sq_codes_sums *lo, sq_codes_sums *hi, sq_codes_outputs *y)
{
    combine_body(j, token, n, s_lo, s_hi, lo, hi, y);
}

__attribute__((target("avx2"))) static void
combine_avx2(const struct sq_gemm_codes *j, size_t token, unsigned n, const float *s_lo,
             const float *s_hi, sq_codes_sums *lo, sq_codes_sums *hi, sq_codes_outputs *y)
{
    combine_body(j, token, n, s_lo, s_hi, lo, hi, y);
}

sq_codes_combine_fn *sq_codes_combine_of(void)
{
    return __builtin_cpu_supports("avx512f") ? combine_avx512
           : __builtin_cpu_supports("avx2")  ? combine_avx2
                                             : combine_portable;
}
#else
sq_codes_combine_fn *sq_codes_combine_of(void)
{
    return combine_portable;
}
#endif

void sq_codes_finish(const struct sq_codes *x, size_t token, const float *y, unsigned n, float *out)
{
    const float lo = x->s_lo[token], hi = x->s_hi[token];
    if (x->grid.kind == SQ_GRID_OWN) {
        for (unsigned c = 0; c < n; c++)
            out[c] = sq_combine_end(SQ_COMBINE_SCALED, y[c], 1.0f);
        return;
    }
    const float s = x->grid.kind == SQ_GRID_SHIFT ? (lo < hi ? lo : hi)
                                                  : sq_grid_single_scale(&x->grid, lo, hi);
    for (unsigned c = 0; c < n; c++)
        out[c] = sq_combine_end(SQ_COMBINE_ONE, y[c], s);
}
