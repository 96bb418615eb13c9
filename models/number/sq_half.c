// SPDX-License-Identifier: Apache-2.0
// Rounds arrays of binary32 to binary16, with F16C where the processor has it (sq_half.h).
#include "models/number/sq_half.h"

#include <math.h>

#include "models/number/sq_grid.h"

// clang before 15 cannot ask a processor for F16C.
#if defined(__x86_64__) && (!defined(__clang__) || __clang_major__ > 14)
#define HAS_F16C
#include <immintrin.h>
#endif

static void round_all_portable(const float *x, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = sq_half_round(x[i]);
}

#ifdef HAS_F16C
__attribute__((target("avx2,f16c"))) static void round_all_f16c(const float *x, size_t n,
                                                                float *out)
{
    enum { LANES = 8 };
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
    }
    round_all_portable(x + i, n - i, out + i);
}
#endif

void sq_half_round_all(const float *x, size_t n, float *out)
{
#ifdef HAS_F16C
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
        round_all_f16c(x, n, out);
        return;
    }
#endif
    round_all_portable(x, n, out);
}

enum sq_status sq_half_load(const float *x, size_t n_tokens, size_t k_orig, size_t k, float *out,
                            struct sq_error *err)
{
    for (size_t t = 0; t < n_tokens; t++, out += k) {
        const float *from = x + t * k_orig;
        float amax[2];
        sq_half_round_all(from, k_orig, out);
        sq_grid_amax(out, NULL, k_orig, amax);
        for (size_t i = 0; !isfinite(amax[0]) && i < k_orig; i++)
            SQ_FAIL_IF(!isfinite(out[i]), err, SQ_ERR_OVERFLOW,
                       "x[%zu][%zu] = %g, need at most 65504", t, i, (double)from[i]);
        memset(out + k_orig, 0, (k - k_orig) * sizeof *out);
    }
    return SQ_OK;
}
