// SPDX-License-Identifier: Apache-2.0
// Multiplies a tile of tokens by a block of channels, in plain C, AVX2, VNNI or AMX
// (sq_codes_dot.h).
#include "models/number/sq_codes_dot.h"

#include <assert.h>
#include <string.h>

enum { CHANNELS = SQ_CODES_CHANNELS, TOKENS_MAX = SQ_CODES_TOKENS_MAX };

static void dot_portable(const struct sq_codes_tile *tile, int32_t sum[TOKENS_MAX][CHANNELS])
{
    for (unsigned t = 0; t < tile->n_tokens; t++) {
        const int16_t *a = (const void *)((const char *)tile->x + t * tile->stride);
        const int16_t *w = tile->cell;
        int32_t s[CHANNELS];
        memcpy(s, tile->start, sizeof s);
        for (size_t i = 0; i < tile->n; i++, a += 2, w += 2 * CHANNELS)
            for (unsigned c = 0; c < CHANNELS; c++)
                s[c] += a[0] * w[2 * c] + a[1] * w[2 * c + 1];
        memcpy(sum[t], s, sizeof s);
    }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

// Accumulators stay in registers only if every loop over tokens is unrolled: hence the pragmas.
// n_tokens is a constant in each inlined copy.
#define INLINE static inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

// Word i of token t, in every lane.
INLINE int32_t word_of(const struct sq_codes_tile *tile, unsigned t, size_t i)
{
    int32_t word;
    memcpy(&word, (const char *)tile->x + t * tile->stride + i * sizeof word, sizeof word);
    return word;
}

// ---- AVX2: two tokens, pairs of int16 ---------------------------------------------------------

enum { AVX2_TOKENS = 2, YMM = CHANNELS / 8 };

AVX2 INLINE void dot_avx2_tokens(const struct sq_codes_tile *tile, unsigned n_tokens,
                                 int32_t sum[][CHANNELS])
{
    const __m256i *w = tile->cell, *start = (const void *)tile->start;
    __m256i s[AVX2_TOKENS][YMM];
#pragma GCC unroll 8
    for (unsigned t = 0; t < n_tokens; t++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < YMM; v++)
            s[t][v] = _mm256_loadu_si256(start + v);
    for (size_t i = 0; i < tile->n; i++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < YMM; v++) {
            const __m256i cell = _mm256_load_si256(w + YMM * i + v);
#pragma GCC unroll 8
            for (unsigned t = 0; t < n_tokens; t++)
                s[t][v] = _mm256_add_epi32(
                    s[t][v], _mm256_madd_epi16(cell, _mm256_set1_epi32(word_of(tile, t, i))));
        }
#pragma GCC unroll 8
    for (unsigned t = 0; t < n_tokens; t++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < YMM; v++)
            _mm256_storeu_si256((__m256i *)(void *)sum[t] + v, s[t][v]);
}

AVX2 static void dot_avx2(const struct sq_codes_tile *tile, int32_t sum[TOKENS_MAX][CHANNELS])
{
    if (tile->n_tokens == AVX2_TOKENS)
        dot_avx2_tokens(tile, AVX2_TOKENS, sum);
    else
        dot_avx2_tokens(tile, 1, sum);
}

// ---- AVX-512 VNNI: twelve tokens, two vectors of channels -------------------------------------

// 24 sums hide the latency of the instruction, and a word of a token is read for both vectors. Not
// the intrinsics: GCC 12 copies each of their accumulators twice, which costs half the rate.
enum { VNNI_TOKENS = 12 };

#define DOT_VNNI(name, instruction)                                                                \
    VNNI INLINE void name##_tokens(const struct sq_codes_tile *tile, unsigned first,               \
                                   unsigned n_tokens, int32_t sum[][CHANNELS])                     \
    {                                                                                              \
        const __m512i *w = tile->cell;                                                             \
        __m512i s[VNNI_TOKENS][2];                                                                 \
        _Pragma("GCC unroll 16") for (unsigned t = 0; t < n_tokens; t++)                           \
        {                                                                                          \
            s[t][0] = _mm512_loadu_si512(tile->start);                                             \
            s[t][1] = _mm512_loadu_si512(tile->start + 16);                                        \
        }                                                                                          \
        for (size_t i = 0; i < tile->n; i++) {                                                     \
            const __m512i w0 = _mm512_load_si512(w + 2 * i),                                       \
                          w1 = _mm512_load_si512(w + 2 * i + 1);                                   \
            _Pragma("GCC unroll 16") for (unsigned t = 0; t < n_tokens; t++)                       \
            {                                                                                      \
                const __m512i a = _mm512_set1_epi32(word_of(tile, first + t, i));                  \
                __asm__(instruction " %2, %1, %0" : "+v"(s[t][0]) : "v"(a), "v"(w0));              \
                __asm__(instruction " %2, %1, %0" : "+v"(s[t][1]) : "v"(a), "v"(w1));              \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (unsigned t = 0; t < n_tokens; t++)                           \
        {                                                                                          \
            _mm512_storeu_si512(sum[first + t], s[t][0]);                                          \
            _mm512_storeu_si512(sum[first + t] + 16, s[t][1]);                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    VNNI static void name(const struct sq_codes_tile *tile, int32_t sum[TOKENS_MAX][CHANNELS])     \
    {                                                                                              \
        if (tile->n_tokens > 8) {                                                                  \
            name##_tokens(tile, 0, VNNI_TOKENS, sum);                                              \
            return;                                                                                \
        }                                                                                          \
        for (unsigned t = 0; t < tile->n_tokens; t += 4)                                           \
            name##_tokens(tile, t, 4, sum);                                                        \
    }
DOT_VNNI(dot_vnni_int8, "vpdpbusd")
DOT_VNNI(dot_vnni_int16, "vpdpwssd")

// ---- AMX: 32 tokens, two tiles of channels ----------------------------------------------------

// Both sides signed, so that sums start at 0. Assembly in one block each, since the registers of
// tiles are unknown to the compiler.
enum { AMX_TOKENS = 32, TILE_ROWS = 16 };

#define TILE_ROWS_OF_CELLS                                                                         \
    "tileloadd (%[w], %[row], 1), %%tmm6\n\ttileloadd 64(%[w], %[row], 1), %%tmm7\n\t"

static void amx_half(const char *x, long stride, const struct sq_codes_tile *tile, char *sum)
{
    const char *w = tile->cell;
    const size_t n_steps = tile->n / (SQ_CODES_STEP / SQ_CODES_WORD);
    const long row = CHANNELS * SQ_CODES_WORD;
    __asm__ volatile("tilezero %tmm0\n\ttilezero %tmm1");
    for (size_t i = 0; i < n_steps; i++, x += SQ_CODES_STEP, w += TILE_ROWS * row)
        __asm__ volatile("tileloadd (%[x], %[stride], 1), %%tmm4\n\t" TILE_ROWS_OF_CELLS
                         "tdpbssd %%tmm6, %%tmm4, %%tmm0\n\ttdpbssd %%tmm7, %%tmm4, %%tmm1"
                         :
                         : [x] "r"(x), [stride] "r"(stride), [w] "r"(w), [row] "r"(row)
                         : "memory");
    __asm__ volatile("tilestored %%tmm0, (%[sum], %[row], 1)\n\t"
                     "tilestored %%tmm1, 64(%[sum], %[row], 1)"
                     :
                     : [sum] "r"(sum), [row] "r"(row)
                     : "memory");
}

static void amx_whole(const char *x, long stride, const struct sq_codes_tile *tile, char *sum)
{
    const char *w = tile->cell, *x2 = x + TILE_ROWS * stride;
    const size_t n_steps = tile->n / (SQ_CODES_STEP / SQ_CODES_WORD);
    const long row = CHANNELS * SQ_CODES_WORD;
    __asm__ volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
    for (size_t i = 0; i < n_steps;
         i++, x += SQ_CODES_STEP, x2 += SQ_CODES_STEP, w += TILE_ROWS * row)
        __asm__ volatile(
            "tileloadd (%[x], %[stride], 1), %%tmm4\n\t"
            "tileloadd (%[x2], %[stride], 1), %%tmm5\n\t" TILE_ROWS_OF_CELLS
            "tdpbssd %%tmm6, %%tmm4, %%tmm0\n\ttdpbssd %%tmm7, %%tmm4, %%tmm1\n\t"
            "tdpbssd %%tmm6, %%tmm5, %%tmm2\n\ttdpbssd %%tmm7, %%tmm5, %%tmm3"
            :
            : [x] "r"(x), [x2] "r"(x2), [stride] "r"(stride), [w] "r"(w), [row] "r"(row)
            : "memory");
    __asm__ volatile("tilestored %%tmm0, (%[sum], %[row], 1)\n\t"
                     "tilestored %%tmm1, 64(%[sum], %[row], 1)\n\t"
                     "tilestored %%tmm2, (%[sum2], %[row], 1)\n\t"
                     "tilestored %%tmm3, 64(%[sum2], %[row], 1)"
                     :
                     : [sum] "r"(sum), [sum2] "r"(sum + TILE_ROWS * row), [row] "r"(row)
                     : "memory");
}

static void dot_amx(const struct sq_codes_tile *tile, int32_t sum[TOKENS_MAX][CHANNELS])
{
    const long stride = (long)tile->stride;
    if (tile->n_tokens > TILE_ROWS)
        amx_whole(tile->x, stride, tile, (char *)sum);
    else
        amx_half(tile->x, stride, tile, (char *)sum);
}

// Every tile as 16 rows of 64 bytes.
static void amx_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_nbytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (unsigned i = 0; i < 8; i++) {
        config.row_nbytes[i] = SQ_CODES_STEP;
        config.rows[i] = TILE_ROWS;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

static void amx_end(void)
{
    __asm__ volatile("tilerelease");
}

// The processor has int8 tiles and the system lets this process use them: Linux wants to be asked
// (arch_prctl), once for all threads. Asking takes microseconds on a virtual machine, so the answer
// is kept.
static bool ask_for_amx(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    const unsigned tile = 1u << 24, int8 = 1u << 25; // CPUID 7.0, EDX
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tile) && (d & int8) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

static bool has_amx(void)
{
    static int answer; // 1: no, 2: yes
    int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == 0) {
        known = ask_for_amx() ? 2 : 1;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

static const struct sq_codes_dot int16_dot[SQ_GEMM_N_KERNELS] = {
    [SQ_GEMM_PORTABLE] = {SQ_GEMM_PORTABLE, 2, 4, 0, dot_portable},
    [SQ_GEMM_AVX2] = {SQ_GEMM_AVX2, 2, AVX2_TOKENS, 0, dot_avx2},
    [SQ_GEMM_VNNI] = {SQ_GEMM_VNNI, 2, VNNI_TOKENS, 0, dot_vnni_int16},
};
static const struct sq_codes_dot int8_dot[SQ_GEMM_N_KERNELS] = {
    [SQ_GEMM_VNNI] = {SQ_GEMM_VNNI, 1, VNNI_TOKENS, 128, dot_vnni_int8},
    [SQ_GEMM_AMX] = {SQ_GEMM_AMX, 1, AMX_TOKENS, 0, dot_amx},
};

bool sq_gemm_kernel_is_supported(enum sq_gemm_kernel kernel)
{
    if (kernel == SQ_GEMM_AVX2)
        return __builtin_cpu_supports("avx2");
    if (kernel == SQ_GEMM_VNNI || kernel == SQ_GEMM_AMX) {
        if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vnni"))
            return false;
        return kernel == SQ_GEMM_VNNI || has_amx();
    }
    return kernel == SQ_GEMM_AUTO || kernel == SQ_GEMM_PORTABLE;
}
#else
static void amx_begin(void)
{
}

static void amx_end(void)
{
}

static const struct sq_codes_dot int16_dot[SQ_GEMM_N_KERNELS] = {
    [SQ_GEMM_PORTABLE] = {SQ_GEMM_PORTABLE, 2, 4, 0, dot_portable},
};
static const struct sq_codes_dot int8_dot[SQ_GEMM_N_KERNELS];

bool sq_gemm_kernel_is_supported(enum sq_gemm_kernel kernel)
{
    return kernel == SQ_GEMM_AUTO || kernel == SQ_GEMM_PORTABLE;
}
#endif

const char *sq_gemm_kernel_name(enum sq_gemm_kernel kernel)
{
    static const char *const name[SQ_GEMM_N_KERNELS] = {"auto", "portable", "avx2", "vnni", "amx"};
    assert((unsigned)kernel < SQ_GEMM_N_KERNELS);
    return name[kernel];
}

struct sq_codes_dot sq_codes_dot_of(enum sq_gemm_kernel kernel, bool is_int8, bool is_stepped)
{
    if (kernel == SQ_GEMM_AUTO)
        for (kernel = SQ_GEMM_N_KERNELS - 1; !sq_gemm_kernel_is_supported(kernel);)
            kernel--;
    assert(sq_gemm_kernel_is_supported(kernel));
    if (kernel == SQ_GEMM_AMX && !(is_int8 && is_stepped))
        kernel = SQ_GEMM_VNNI;
    return is_int8 && int8_dot[kernel].dot ? int8_dot[kernel] : int16_dot[kernel];
}

void sq_codes_dot_begin(const struct sq_codes_dot *d)
{
    if (d->kernel == SQ_GEMM_AMX)
        amx_begin();
}

void sq_codes_dot_end(const struct sq_codes_dot *d)
{
    if (d->kernel == SQ_GEMM_AMX)
        amx_end();
}
