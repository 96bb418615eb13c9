// SPDX-License-Identifier: Apache-2.0
// Holds the loop of each form of plane for plain C, AVX2 and AVX-512 (sq_bs_dot.h).
#include "models/scaled/sq_bs_dot.h"

#include <assert.h>
#include <string.h>

enum { CHANNELS = SQ_BS_CHANNELS, TOKENS = SQ_BS_TOKENS };

// ---- in C -----------------------------------------------------------------------------------

static inline __attribute__((always_inline)) void combine(const float *p, const float *s_w,
                                                          float s_x, float *a)
{
    for (unsigned c = 0; c < CHANNELS; c++)
        a[c] = a[c] + p[c] * (s_w[c] * s_x);
}

static void int16_portable(const struct sq_bs_run *r)
{
    const uint8_t *w = r->w, *x = r->x;
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const int16_t *cells = (const int16_t *)(const void *)w;
        const int16_t *codes = (const int16_t *)(const void *)x;
        const float *s_w = (const float *)(const void *)(cells + r->block * CHANNELS);
        const float *s_x = (const float *)(const void *)(codes + r->block * TOKENS);
        for (unsigned t = 0; t < TOKENS; t++) {
            int32_t sum[CHANNELS] = {0};
            float p[CHANNELS];
            for (size_t i = 0; i < r->block / 2; i++) {
                const int16_t *v = cells + 2 * CHANNELS * i, *u = codes + 2 * (TOKENS * i + t);
                for (unsigned c = 0; c < CHANNELS; c++)
                    sum[c] += v[2 * c] * u[0] + v[2 * c + 1] * u[1];
            }
            for (unsigned c = 0; c < CHANNELS; c++)
                p[c] = (float)sum[c];
            combine(p, s_w, s_x[t], r->a + t * CHANNELS);
        }
    }
}

// Sums of binary64 that are exact in any order (sq_bs_panel.h).
static inline __attribute__((always_inline)) void wide_body(const struct sq_bs_run *r)
{
    const uint8_t *w = r->w, *x = r->x;
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const double *cells = (const double *)(const void *)w;
        const double *elements = (const double *)(const void *)x;
        const float *s_w = (const float *)(const void *)(cells + r->block * CHANNELS);
        const float *s_x = (const float *)(const void *)(elements + r->block * TOKENS);
        for (unsigned t = 0; t < TOKENS; t++) {
            double sum[CHANNELS] = {0};
            float p[CHANNELS];
            for (size_t i = 0; i < r->block; i++)
                for (unsigned c = 0; c < CHANNELS; c++)
                    sum[c] += cells[i * CHANNELS + c] * elements[i * TOKENS + t];
            for (unsigned c = 0; c < CHANNELS; c++)
                p[c] = (float)sum[c];
            combine(p, s_w, s_x[t], r->a + t * CHANNELS);
        }
    }
}

static void wide_portable(const struct sq_bs_run *r)
{
    wide_body(r);
}

#if defined(__x86_64__)
#include <immintrin.h>

// ---- AVX2 -----------------------------------------------------------------------------------

#define AVX2 __attribute__((target("avx2")))
enum { THREE = TOKENS / 2 };

AVX2 static void wide_avx2(const struct sq_bs_run *r)
{
    wide_body(r);
}

// Sums of one block for three tokens and 16 channels, then their combine.
AVX2 static inline __attribute__((always_inline)) void
int16_avx2_tile(const __m256i *w, const int32_t *x, unsigned n_words, const float *s_w,
                const float *s_x, float *a)
{
    __m256i s[THREE][2];
#pragma GCC unroll 4
    for (unsigned t = 0; t < THREE; t++)
        s[t][0] = s[t][1] = _mm256_setzero_si256();
    for (size_t i = 0; i < n_words; i++) {
        const __m256i w0 = _mm256_loadu_si256(w + i * (CHANNELS / 8));
        const __m256i w1 = _mm256_loadu_si256(w + i * (CHANNELS / 8) + 1);
#pragma GCC unroll 4
        for (unsigned t = 0; t < THREE; t++) {
            const __m256i u = _mm256_set1_epi32(x[i * TOKENS + t]);
            s[t][0] = _mm256_add_epi32(s[t][0], _mm256_madd_epi16(w0, u));
            s[t][1] = _mm256_add_epi32(s[t][1], _mm256_madd_epi16(w1, u));
        }
    }
#pragma GCC unroll 4
    for (unsigned t = 0; t < THREE; t++)
#pragma GCC unroll 2
        for (unsigned v = 0; v < 2; v++) {
            float *to = a + t * CHANNELS + 8 * v;
            const __m256 scale =
                _mm256_mul_ps(_mm256_loadu_ps(s_w + 8 * v), _mm256_set1_ps(s_x[t]));
            const __m256 p = _mm256_mul_ps(_mm256_cvtepi32_ps(s[t][v]), scale);
            _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), p));
        }
}

AVX2 static void int16_avx2(const struct sq_bs_run *r)
{
    const uint8_t *w = r->w, *x = r->x;
    const unsigned n_words = r->block / 2;
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const float *s_w = (const float *)(const void *)(w + r->block * CHANNELS * 2);
        const float *s_x = (const float *)(const void *)(x + r->block * TOKENS * 2);
        const int32_t *words = (const int32_t *)(const void *)x;
        for (unsigned c = 0; c < CHANNELS; c += 16)
            for (unsigned t = 0; t < TOKENS; t += THREE)
                int16_avx2_tile((const __m256i *)(const void *)(w + 4 * c), words + t, n_words,
                                s_w + c, s_x + t, r->a + t * CHANNELS + c);
    }
}

// ---- AVX-512 --------------------------------------------------------------------------------

// The sums of a tile stay in registers only if every loop over tokens is unrolled: hence the
// pragmas. The instructions are not their intrinsics: GCC 12 copies each of their accumulators
// twice (sq_gemm.c).
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define INLINE static inline __attribute__((always_inline))
#define EACH_TOKEN _Pragma("GCC unroll 8") for (unsigned t = 0; t < TOKENS; t++)

VNNI INLINE __m512i add_int8(__m512i sum, __m512i w, __m512i x)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
}

VNNI INLINE __m512i add_int16(__m512i sum, __m512i w, __m512i x)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
    return sum;
}

VNNI INLINE void load_tile(const float *from, __m512 a[TOKENS][2])
{
    EACH_TOKEN
    {
        a[t][0] = _mm512_loadu_ps(from + t * CHANNELS);
        a[t][1] = _mm512_loadu_ps(from + t * CHANNELS + 16);
    }
}

VNNI INLINE void store_tile(float *to, __m512 a[TOKENS][2])
{
    EACH_TOKEN
    {
        _mm512_storeu_ps(to + t * CHANNELS, a[t][0]);
        _mm512_storeu_ps(to + t * CHANNELS + 16, a[t][1]);
    }
}

// A + P * s_x * s_w, all of it exact but the sum: P from its bits, scaled by s_x, by one fused
// product, which takes MAGIC * s_x off again.
VNNI INLINE __m512 add_exact(__m512 a, __m512i sum, __m512 s_w, float s_x, float magic_x)
{
    const __m512 p =
        _mm512_fmadd_ps(_mm512_castsi512_ps(sum), _mm512_set1_ps(s_x), _mm512_set1_ps(magic_x));
    return _mm512_fmadd_ps(p, s_w, a);
}

// Three roundings; `magic` with what offsets of the tokens have added (sq_bs_panel.h).
VNNI INLINE __m512 add_rounded(__m512 a, __m512i sum, __m512 s_w, float s_x, __m512 magic)
{
    const __m512 p = _mm512_sub_ps(_mm512_castsi512_ps(sum), magic);
    const __m512 scaled = _mm512_mul_ps(p, _mm512_mul_ps(s_w, _mm512_set1_ps(s_x)));
    return _mm512_add_ps(a, scaled);
}

VNNI INLINE void int8_body(const struct sq_bs_run *r, unsigned n_words, bool is_rounded)
{
    const uint8_t *w = r->w, *x = r->x;
    __m512 a[TOKENS][2];
    load_tile(r->a, a);
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const int32_t *words = (const int32_t *)(const void *)x, *start = words + n_words * TOKENS;
        const float *s_x = (const float *)(const void *)(start + TOKENS), *magic = s_x + TOKENS;
        const float *s_w = (const float *)(const void *)(w + n_words * 4 * CHANNELS);
        __m512i s[TOKENS][2];
        EACH_TOKEN s[t][0] = s[t][1] = _mm512_set1_epi32(start[t]);
#pragma GCC unroll 8
        for (unsigned i = 0; i < n_words; i++) {
            const __m512i w0 = _mm512_loadu_si512(w + i * 128);
            const __m512i w1 = _mm512_loadu_si512(w + i * 128 + 64);
            EACH_TOKEN
            {
                const __m512i u = _mm512_set1_epi32(words[i * TOKENS + t]);
                s[t][0] = add_int8(s[t][0], w0, u);
                s[t][1] = add_int8(s[t][1], w1, u);
            }
        }
#pragma GCC unroll 2
        for (unsigned v = 0; v < 2; v++) {
            const __m512 scale = _mm512_loadu_ps(s_w + 16 * v);
            if (is_rounded) {
                const __m512 own = _mm512_loadu_ps(s_w + CHANNELS + 16 * v);
                EACH_TOKEN a[t][v] = add_rounded(a[t][v], s[t][v], scale, s_x[t], own);
            } else {
                EACH_TOKEN a[t][v] = add_exact(a[t][v], s[t][v], scale, s_x[t], magic[t]);
            }
        }
    }
    store_tile(r->a, a);
}

VNNI static void int8_exact(const struct sq_bs_run *r)
{
    if (r->block == 16)
        int8_body(r, 4, false);
    else if (r->block == 32)
        int8_body(r, 8, false);
    else
        int8_body(r, r->block / 4, false);
}

VNNI static void int8_rounded(const struct sq_bs_run *r)
{
    if (r->block == 16)
        int8_body(r, 4, true);
    else if (r->block == 32)
        int8_body(r, 8, true);
    else
        int8_body(r, r->block / 4, true);
}

VNNI static void int16_vnni(const struct sq_bs_run *r)
{
    const uint8_t *w = r->w, *x = r->x;
    const unsigned n_words = r->block / 2;
    __m512 a[TOKENS][2];
    load_tile(r->a, a);
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const int32_t *words = (const int32_t *)(const void *)x;
        const float *s_x = (const float *)(const void *)(words + n_words * TOKENS);
        const float *s_w = (const float *)(const void *)(w + n_words * 4 * CHANNELS);
        __m512i s[TOKENS][2];
        EACH_TOKEN s[t][0] = s[t][1] = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (unsigned i = 0; i < n_words; i++) {
            const __m512i w0 = _mm512_loadu_si512(w + i * 128);
            const __m512i w1 = _mm512_loadu_si512(w + i * 128 + 64);
            EACH_TOKEN
            {
                const __m512i u = _mm512_set1_epi32(words[i * TOKENS + t]);
                s[t][0] = add_int16(s[t][0], w0, u);
                s[t][1] = add_int16(s[t][1], w1, u);
            }
        }
#pragma GCC unroll 2
        for (unsigned v = 0; v < 2; v++) {
            const __m512 scale = _mm512_loadu_ps(s_w + 16 * v);
            EACH_TOKEN
            {
                const __m512 by = _mm512_mul_ps(scale, _mm512_set1_ps(s_x[t]));
                a[t][v] = _mm512_add_ps(a[t][v], _mm512_mul_ps(_mm512_cvtepi32_ps(s[t][v]), by));
            }
        }
    }
    store_tile(r->a, a);
}

// Only the words of a token that hold a high element.
VNNI INLINE void sparse_body(const struct sq_bs_run *r, unsigned n_high)
{
    const uint8_t *w = r->w, *x = r->x;
    __m512 a[TOKENS][2];
    load_tile(r->a, a);
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const int32_t *words = (const int32_t *)(const void *)x, *at = words + n_high * TOKENS,
                      *start = at + n_high * TOKENS;
        const float *s_x = (const float *)(const void *)(start + TOKENS), *magic = s_x + TOKENS;
        const float *s_w = (const float *)(const void *)(w + r->block * CHANNELS);
        const __m512 scale0 = _mm512_loadu_ps(s_w), scale1 = _mm512_loadu_ps(s_w + 16);
        __m512i s[TOKENS][2];
        EACH_TOKEN s[t][0] = s[t][1] = _mm512_set1_epi32(start[t]);
#pragma GCC unroll 2
        for (unsigned i = 0; i < n_high; i++)
            EACH_TOKEN
            {
                const uint8_t *cell = w + at[i * TOKENS + t];
                const __m512i u = _mm512_set1_epi32(words[i * TOKENS + t]);
                s[t][0] = add_int8(s[t][0], _mm512_loadu_si512(cell), u);
                s[t][1] = add_int8(s[t][1], _mm512_loadu_si512(cell + 64), u);
            }
        EACH_TOKEN
        {
            a[t][0] = add_exact(a[t][0], s[t][0], scale0, s_x[t], magic[t]);
            a[t][1] = add_exact(a[t][1], s[t][1], scale1, s_x[t], magic[t]);
        }
    }
    store_tile(r->a, a);
}

VNNI static void sparse_vnni(const struct sq_bs_run *r)
{
    if (r->n_high == 1)
        sparse_body(r, 1);
    else if (r->n_high == 2)
        sparse_body(r, 2);
    else
        sparse_body(r, r->n_high);
}

#define VBMI __attribute__((target("avx512f,avx512bw,avx512vnni,avx512vbmi")))

// Up to four high weights of each of 16 channels of a block, and what tokens have at their places:
// low elements, then high ones. With one or two a word holds both.
VBMI INLINE void gather_half(const struct sq_bs_run *r, unsigned v, bool is_both, bool is_summed)
{
    const uint8_t *w = r->w + 64 * v, *x = r->x;
    __m512 a[TOKENS], a2[TOKENS];
    EACH_TOKEN
    {
        a[t] = _mm512_loadu_ps(r->a + t * CHANNELS + 16 * v);
        a2[t] = _mm512_loadu_ps(r->a2 + t * CHANNELS + 16 * v);
    }
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const float *s_lo = (const float *)(const void *)(x + 64 * TOKENS), *m_lo = s_lo + TOKENS,
                    *s_hi = m_lo + TOKENS, *m_hi = s_hi + TOKENS;
        const __m512i at = _mm512_loadu_si512(w), by_lo = _mm512_loadu_si512(w + 128),
                      by_hi = _mm512_loadu_si512(w + 256), start = _mm512_loadu_si512(w + 384);
        const __m512i at_hi = _mm512_or_si512(at, _mm512_set1_epi8(32));
        const __m512 scale = _mm512_loadu_ps(w + 512);
        EACH_TOKEN
        {
            const __m512i all = _mm512_loadu_si512(x + 64 * t);
            const __m512i lo = _mm512_permutexvar_epi8(at, all);
            const __m512i hi = is_both ? lo : _mm512_permutexvar_epi8(at_hi, all);
            a[t] = add_exact(a[t], add_int8(start, lo, by_lo), scale, s_lo[t], m_lo[t]);
            a2[t] = is_summed
                        ? _mm512_castsi512_ps(add_int8(_mm512_castps_si512(a2[t]), hi, by_hi))
                        : add_exact(a2[t], add_int8(start, hi, by_hi), scale, s_hi[t], m_hi[t]);
        }
    }
    EACH_TOKEN
    {
        _mm512_storeu_ps(r->a + t * CHANNELS + 16 * v, a[t]);
        _mm512_storeu_ps(r->a2 + t * CHANNELS + 16 * v, a2[t]);
    }
}

VBMI INLINE void gather_body(const struct sq_bs_run *r, bool is_both, bool is_summed)
{
    gather_half(r, 0, is_both, is_summed);
    gather_half(r, 1, is_both, is_summed);
}

VBMI static void gather_vbmi(const struct sq_bs_run *r)
{
    if (r->n_high <= 2)
        gather_body(r, true, false);
    else
        gather_body(r, false, false);
}

VBMI static void gather_vbmi_summed(const struct sq_bs_run *r)
{
    if (r->n_high <= 2)
        gather_body(r, true, true);
    else
        gather_body(r, false, true);
}

VNNI static void wide_avx512(const struct sq_bs_run *r)
{
    const uint8_t *w = r->w, *x = r->x;
    for (size_t j = 0; j < r->n_blocks; j++, w += r->w_block, x += r->x_block) {
        const double *cells = (const double *)(const void *)w;
        const double *elements = (const double *)(const void *)x;
        const float *s_w = (const float *)(const void *)(cells + r->block * CHANNELS);
        const float *s_x = (const float *)(const void *)(elements + r->block * TOKENS);
        __m512d s[TOKENS][4];
        EACH_TOKEN s[t][0] = s[t][1] = s[t][2] = s[t][3] = _mm512_setzero_pd();
        for (size_t i = 0; i < r->block; i++) {
            __m512d c[4];
#pragma GCC unroll 4
            for (unsigned v = 0; v < 4; v++)
                c[v] = _mm512_loadu_pd(cells + i * CHANNELS + 8 * v);
            EACH_TOKEN
            {
                const __m512d u = _mm512_set1_pd(elements[i * TOKENS + t]);
#pragma GCC unroll 4
                for (unsigned v = 0; v < 4; v++)
                    s[t][v] = _mm512_fmadd_pd(c[v], u, s[t][v]);
            }
        }
        EACH_TOKEN
        {
            float *a = r->a + t * CHANNELS;
#pragma GCC unroll 4
            for (unsigned v = 0; v < 4; v++) {
                const __m256 by =
                    _mm256_mul_ps(_mm256_loadu_ps(s_w + 8 * v), _mm256_set1_ps(s_x[t]));
                const __m256 p = _mm256_mul_ps(_mm512_cvtpd_ps(s[t][v]), by);
                _mm256_storeu_ps(a + 8 * v, _mm256_add_ps(_mm256_loadu_ps(a + 8 * v), p));
            }
        }
    }
}

static sq_bs_dot_fn *const int8_dot[2] = {int8_exact, int8_rounded};
static sq_bs_dot_fn *const gather_dot[2] = {gather_vbmi, gather_vbmi_summed};
static sq_bs_dot_fn *const int16_dot[SQ_GEMM_N_KERNELS] = {0, int16_portable, int16_avx2,
                                                           int16_vnni};
static sq_bs_dot_fn *const wide_dot[SQ_GEMM_N_KERNELS] = {0, wide_portable, wide_avx2, wide_avx512};
#else
#define sparse_vnni NULL
static sq_bs_dot_fn *const int8_dot[2] = {0}, *const gather_dot[2] = {0};
static sq_bs_dot_fn *const int16_dot[SQ_GEMM_N_KERNELS] = {0, int16_portable, 0, 0};
static sq_bs_dot_fn *const wide_dot[SQ_GEMM_N_KERNELS] = {0, wide_portable, 0, 0};
#endif

bool sq_bs_has_int8(enum sq_gemm_kernel kernel)
{
    return kernel == SQ_GEMM_VNNI;
}

bool sq_bs_has_gather(enum sq_gemm_kernel kernel)
{
#if defined(__x86_64__)
    return kernel == SQ_GEMM_VNNI && __builtin_cpu_supports("avx512vbmi");
#else
    (void)kernel;
    return false;
#endif
}

sq_bs_dot_fn *sq_bs_dot_of(enum sq_gemm_kernel kernel, enum sq_bs_form form, bool is_rounded,
                           bool is_summed)
{
    assert(sq_gemm_kernel_is_supported(kernel));
    return form == SQ_BS_INT8     ? int8_dot[is_rounded]
           : form == SQ_BS_INT16  ? int16_dot[kernel]
           : form == SQ_BS_WIDE   ? wide_dot[kernel]
           : form == SQ_BS_SPARSE ? sparse_vnni
                                  : gather_dot[is_summed];
}
