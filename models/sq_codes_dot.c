// SPDX-License-Identifier: Apache-2.0
#include "models/sq_codes_dot.h"

#include <assert.h>
#include <string.h>

enum { CHANNELS = SQ_CODES_CHANNELS, TOKENS = SQ_CODES_TOKENS };

static void dot_portable(const void *x, size_t stride, const void *cell, size_t n,
                         const int32_t bias[CHANNELS], int32_t sum[TOKENS][CHANNELS])
{
    for (unsigned t = 0; t < TOKENS; t++) {
        const int16_t *a = (const int16_t *)x + 2 * t * stride, *w = cell;
        int32_t s[CHANNELS];
        for (unsigned c = 0; c < CHANNELS; c++)
            s[c] = -bias[c];
        for (size_t i = 0; i < n; i++, a += 2, w += 2 * CHANNELS)
            for (unsigned c = 0; c < CHANNELS; c++)
                s[c] += a[0] * w[2 * c] + a[1] * w[2 * c + 1];
        memcpy(sum[t], s, sizeof s);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

// Accumulators stay in registers only if every loop over tokens is unrolled: hence the pragmas.
#define AVX2 __attribute__((target("avx2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

enum { HALF = TOKENS / 2 };

AVX2 static void dot_avx2_half(const int32_t *x, size_t stride, const __m256i *w, size_t n,
                               const __m256i *bias, int32_t sum[][CHANNELS])
{
    __m256i s[HALF][2];
#pragma GCC unroll 8
    for (unsigned t = 0; t < HALF; t++) {
        s[t][0] = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_loadu_si256(bias));
        s[t][1] = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_loadu_si256(bias + 1));
    }
    for (size_t i = 0; i < n; i++) {
        const __m256i w0 = _mm256_loadu_si256(w + 2 * i), w1 = _mm256_loadu_si256(w + 2 * i + 1);
#pragma GCC unroll 8
        for (unsigned t = 0; t < HALF; t++) {
            const __m256i a = _mm256_set1_epi32(x[t * stride + i]);
            s[t][0] = _mm256_add_epi32(s[t][0], _mm256_madd_epi16(w0, a));
            s[t][1] = _mm256_add_epi32(s[t][1], _mm256_madd_epi16(w1, a));
        }
    }
#pragma GCC unroll 8
    for (unsigned t = 0; t < HALF; t++) {
        _mm256_storeu_si256((__m256i *)(void *)sum[t], s[t][0]);
        _mm256_storeu_si256((__m256i *)(void *)sum[t] + 1, s[t][1]);
    }
}

AVX2 static void dot_avx2(const void *x, size_t stride, const void *cell, size_t n,
                          const int32_t bias[CHANNELS], int32_t sum[TOKENS][CHANNELS])
{
    const __m256i *b = (const __m256i *)(const void *)bias;
    const int32_t *a = x;
    dot_avx2_half(a, stride, cell, n, b, sum);
    dot_avx2_half(a + HALF * stride, stride, cell, n, b, sum + HALF);
}

// Not the intrinsics: GCC 12 copies each of their accumulators twice (sq_gemm.c).
#define DOT_VNNI(name, instruction)                                                                \
    VNNI static void name(const void *x, size_t stride, const void *cell, size_t n,                \
                          const int32_t bias[CHANNELS], int32_t sum[TOKENS][CHANNELS])             \
    {                                                                                              \
        const int32_t *a = x;                                                                      \
        const __m512i *w = cell;                                                                   \
        __m512i s[TOKENS];                                                                         \
        _Pragma("GCC unroll 8") for (unsigned t = 0; t < TOKENS; t++) s[t] =                       \
            _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_loadu_si512(bias));                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            const __m512i cell_i = _mm512_loadu_si512(w + i);                                      \
            _Pragma("GCC unroll 8") for (unsigned t = 0; t < TOKENS; t++) __asm__(                 \
                instruction " %2, %1, %0" : "+v"(s[t]) :                                           \
                "v"(_mm512_set1_epi32(a[t * stride + i])), "v"(cell_i));                           \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (unsigned t = 0; t < TOKENS; t++)                              \
            _mm512_storeu_si512(sum[t], s[t]);                                                     \
    }
DOT_VNNI(dot_vnni_int8, "vpdpbusd")
DOT_VNNI(dot_vnni_int16, "vpdpwssd")

static sq_codes_dot_fn *const int16_dot[SQ_GEMM_N_KERNELS] = {0, dot_portable, dot_avx2,
                                                              dot_vnni_int16};
static sq_codes_dot_fn *const int8_dot[SQ_GEMM_N_KERNELS] = {0, 0, 0, dot_vnni_int8};
#else
static sq_codes_dot_fn *const int16_dot[SQ_GEMM_N_KERNELS] = {0, dot_portable, 0, 0};
static sq_codes_dot_fn *const int8_dot[SQ_GEMM_N_KERNELS] = {0};
#endif

struct sq_codes_dot sq_codes_dot_of(enum sq_gemm_kernel kernel, bool is_int8)
{
    if (kernel == SQ_GEMM_AUTO)
        for (kernel = SQ_GEMM_N_KERNELS - 1; !sq_gemm_kernel_is_supported(kernel);)
            kernel--;
    assert(sq_gemm_kernel_is_supported(kernel));
    if (is_int8 && int8_dot[kernel])
        return (struct sq_codes_dot){1, int8_dot[kernel]};
    return (struct sq_codes_dot){2, int16_dot[kernel]};
}
