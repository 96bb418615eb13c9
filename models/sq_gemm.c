// SPDX-License-Identifier: Apache-2.0
// Y = X W^T in blocks of SQ_GEMM_COLS channels x TOKENS tokens.
//
// A block's two planes become 16 weight lanes, low plane of channels 0..7 then high plane, in cells
// of 4 consecutive k:
//
//     cell[k/4][lane][k%4]       one 64-byte vector per 4 k: 16 lanes x 4 codes
//
// so a kernel multiplies one vector by 4 broadcast activations and never sums across lanes: lane c
// of the accumulator is P_lo of channel c, lane 8 + c its P_hi.
#include <assert.h>
#include <string.h>

#include "models/sq_combine.h"
#include "models/sq_gemm_kernels.h"

#define LANES (2 * SQ_GEMM_COLS)
#define CELL 4u                    // k per cell; divides every bank
#define CELL_NBYTES (LANES * CELL) // 64
#define TOKENS 16u                 // tokens of a block
#define CHUNK 512u                 // codes of k per kernel call, a multiple of CELL

_Static_assert(127LL * 128 * SQ_GROUP_LEN_MAX <= INT32_MAX, "a group's sums fit INT32");

// acc[t][lane] += sum over i < len of w[lane][i] * act[t * stride + i], for n_tokens <= TOKENS and
// len <= CHUNK, a multiple of CELL.
typedef void dot_fn(const int8_t *w, const int8_t *act, size_t stride, unsigned n_tokens,
                    size_t len, int32_t acc[][LANES]);

static void dot_portable(const int8_t *w, const int8_t *act, size_t stride, unsigned n_tokens,
                         size_t len, int32_t acc[][LANES])
{
    for (unsigned t = 0; t < n_tokens; t++) {
        int32_t sum[LANES] = {0};
        for (size_t i = 0; i < len; i += CELL) {
            const int8_t *a = act + t * stride + i, *cell = w + i * LANES;
            for (unsigned lane = 0; lane < LANES; lane++, cell += CELL)
                sum[lane] += cell[0] * a[0] + cell[1] * a[1] + cell[2] * a[2] + cell[3] * a[3];
        }
        for (unsigned lane = 0; lane < LANES; lane++)
            acc[t][lane] += sum[lane];
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

// The accumulators of a token block stay in registers only if every loop over tokens is unrolled:
// hence the pragmas, for -O2. n_tokens is a constant in each inlined copy.
#define INLINE static inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

// Activations widened to int16: products of any two int8, and sums of two of them, are exact. One
// 256-bit register holds 4 lanes of a cell; the two pairs of k of a lane are added at the end.
AVX2 INLINE void dot_avx2_tokens(const int8_t *w, const int16_t *act, unsigned n_tokens, size_t len,
                                 int32_t acc[][LANES])
{
    __m256i sum[2][4];
#pragma GCC unroll 16
    for (unsigned t = 0; t < n_tokens; t++)
#pragma GCC unroll 16
        for (unsigned q = 0; q < 4; q++)
            sum[t][q] = _mm256_setzero_si256();
    for (size_t i = 0; i < len; i += CELL) {
        __m256i a[2];
#pragma GCC unroll 16
        for (unsigned t = 0; t < n_tokens; t++) {
            int64_t a4;
            memcpy(&a4, act + t * CHUNK + i, sizeof a4);
            a[t] = _mm256_set1_epi64x(a4);
        }
#pragma GCC unroll 16
        for (unsigned q = 0; q < 4; q++) {
            const __m128i *cell = (const __m128i *)(const void *)(w + i * LANES) + q;
            const __m256i w16 = _mm256_cvtepi8_epi16(_mm_load_si128(cell));
#pragma GCC unroll 16
            for (unsigned t = 0; t < n_tokens; t++)
                sum[t][q] = _mm256_add_epi32(sum[t][q], _mm256_madd_epi16(w16, a[t]));
        }
    }
#pragma GCC unroll 16
    for (unsigned t = 0; t < n_tokens; t++) {
        int32_t pair[2 * LANES];
#pragma GCC unroll 16
        for (unsigned q = 0; q < 4; q++)
            _mm256_storeu_si256((__m256i *)(void *)(pair + 8 * q), sum[t][q]);
        for (unsigned lane = 0; lane < LANES; lane++)
            acc[t][lane] += pair[2 * lane] + pair[2 * lane + 1];
    }
}

AVX2 static void widen(const int8_t *act, size_t len, int16_t *wide)
{
    size_t i = 0;
    for (; i + 16 <= len; i += 16) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(act + i));
        _mm256_storeu_si256((__m256i *)(void *)(wide + i), _mm256_cvtepi8_epi16(a));
    }
    for (; i < len; i++)
        wide[i] = act[i];
}

AVX2 static void dot_avx2(const int8_t *w, const int8_t *act, size_t stride, unsigned n_tokens,
                          size_t len, int32_t acc[][LANES])
{
    int16_t wide[2 * CHUNK];
    unsigned t = 0;
    for (; t + 2 <= n_tokens; t += 2) {
        widen(act + t * stride, len, wide);
        widen(act + (t + 1) * stride, len, wide + CHUNK);
        dot_avx2_tokens(w, wide, 2, len, acc + t);
    }
    if (t < n_tokens) {
        widen(act + t * stride, len, wide);
        dot_avx2_tokens(w, wide, 1, len, acc + t);
    }
}

// acc += a . w in every lane. Not the intrinsic: GCC 12 copies each of its accumulators twice,
// which costs half the rate.
VNNI INLINE __m512i dot_add(__m512i acc, __m512i a, __m512i w)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(w));
    return acc;
}

// vpdpbusd multiplies unsigned by signed bytes. The activations enter as a + 128, and 128 * sum(w),
// accumulated beside them, is taken off again: exact, since both sums wrap modulo 2^32.
VNNI INLINE void dot_vnni_tokens(const int8_t *w, const uint8_t *act, unsigned n_tokens, size_t len,
                                 int32_t acc[][LANES])
{
    const __m512i offset = _mm512_set1_epi8((char)0x80);
    __m512i sum[TOKENS], bias = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (unsigned t = 0; t < n_tokens; t++)
        sum[t] = _mm512_setzero_si512();
    for (size_t i = 0; i < len; i += CELL) {
        const __m512i cell = _mm512_load_si512(w + i * LANES);
        bias = dot_add(bias, offset, cell);
#pragma GCC unroll 16
        for (unsigned t = 0; t < n_tokens; t++) {
            int32_t a4;
            memcpy(&a4, act + t * CHUNK + i, sizeof a4);
            sum[t] = dot_add(sum[t], _mm512_set1_epi32(a4), cell);
        }
    }
#pragma GCC unroll 16
    for (unsigned t = 0; t < n_tokens; t++) {
        const __m512i before = _mm512_loadu_si512(acc[t]);
        _mm512_storeu_si512(acc[t], _mm512_add_epi32(before, _mm512_sub_epi32(sum[t], bias)));
    }
}

VNNI static void add_offset(const int8_t *act, size_t len, uint8_t *biased)
{
    for (size_t i = 0; i < len; i += 64) {
        const __mmask64 rest = len - i < 64 ? (UINT64_C(1) << (len - i)) - 1 : UINT64_MAX;
        const __m512i a = _mm512_maskz_loadu_epi8(rest, act + i);
        _mm512_storeu_si512(biased + i, _mm512_xor_si512(a, _mm512_set1_epi8((char)0x80)));
    }
}

VNNI static void dot_vnni(const int8_t *w, const int8_t *act, size_t stride, unsigned n_tokens,
                          size_t len, int32_t acc[][LANES])
{
    uint8_t biased[TOKENS * CHUNK]; // CHUNK is a multiple of 64: whole vectors are stored
    unsigned t = 0;
    for (unsigned u = 0; u < n_tokens; u++)
        add_offset(act + u * stride, len, biased + u * CHUNK);
    if (n_tokens == TOKENS) {
        dot_vnni_tokens(w, biased, TOKENS, len, acc);
        return;
    }
    for (; t + 4 <= n_tokens; t += 4)
        dot_vnni_tokens(w, biased + t * CHUNK, 4, len, acc + t);
    for (; t < n_tokens; t++)
        dot_vnni_tokens(w, biased + t * CHUNK, 1, len, acc + t);
}

static dot_fn *const dot[SQ_GEMM_N_KERNELS] = {0, dot_portable, dot_avx2, dot_vnni};

bool sq_gemm_kernel_is_supported(enum sq_gemm_kernel kernel)
{
    if (kernel == SQ_GEMM_AVX2)
        return __builtin_cpu_supports("avx2");
    if (kernel == SQ_GEMM_VNNI)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
    return kernel == SQ_GEMM_AUTO || kernel == SQ_GEMM_PORTABLE;
}
#else
static dot_fn *const dot[SQ_GEMM_N_KERNELS] = {0, dot_portable, 0, 0};

bool sq_gemm_kernel_is_supported(enum sq_gemm_kernel kernel)
{
    return kernel == SQ_GEMM_AUTO || kernel == SQ_GEMM_PORTABLE;
}
#endif

const char *sq_gemm_kernel_name(enum sq_gemm_kernel kernel)
{
    static const char *const name[SQ_GEMM_N_KERNELS] = {"auto", "portable", "avx2", "vnni"};
    assert((unsigned)kernel < SQ_GEMM_N_KERNELS);
    return name[kernel];
}

static dot_fn *select_kernel(enum sq_gemm_kernel kernel)
{
    if (kernel == SQ_GEMM_AUTO)
        for (kernel = SQ_GEMM_N_KERNELS - 1; !sq_gemm_kernel_is_supported(kernel);)
            kernel--;
    assert(sq_gemm_kernel_is_supported(kernel));
    return dot[kernel];
}

// Scratch: the cells of a block, then one row of each plane on its way there.
size_t sq_gemm_scratch_nbytes(const struct sq_matrix *w)
{
    return (LANES + 2) * w->k;
}

// Channels n0 .. n0 + n_cols - 1 into cells; the lanes of absent channels are 0.
static void load_block(const struct sq_matrix *w, size_t n0, unsigned n_cols, int8_t *cells)
{
    int8_t *lo = cells + LANES * w->k, *hi = lo + w->k;
    if (n_cols < SQ_GEMM_COLS)
        memset(cells, 0, LANES * w->k);
    for (unsigned c = 0; c < n_cols; c++) {
        sq_row_planes(w, n0 + c, lo, hi, NULL);
        for (size_t i = 0; i < w->k; i += CELL) {
            memcpy(cells + i * LANES + c * CELL, lo + i, CELL);
            memcpy(cells + i * LANES + (SQ_GEMM_COLS + c) * CELL, hi + i, CELL);
        }
    }
}

// What one product is about; the fields are the arguments of sq_gemm_sq_w.
struct gemm {
    const struct sq_matrix *w;
    const int8_t *act;
    const float *s_a;
    float *y;
    int32_t *p_lo, *p_hi;
    dot_fn *dot;
    size_t group, n_groups;
};

// The integers of one group of a block: tokens m0.., the block's channels, k0 .. k0 + group.
static void dot_block(const struct gemm *j, const int8_t *cells, size_t m0, unsigned n_tokens,
                      size_t k0, int32_t acc[][LANES])
{
    memset(acc, 0, n_tokens * sizeof acc[0]);
    for (size_t i = 0; i < j->group; i += CHUNK) {
        const size_t len = j->group - i < CHUNK ? j->group - i : CHUNK;
        j->dot(cells + (k0 + i) * LANES, j->act + m0 * j->w->k + k0 + i, j->w->k, n_tokens, len,
               acc);
    }
}

// One group's three roundings per output (SPEC A.7).
static void combine_block(int32_t acc[][LANES], const float s_lo[], const float s_hi[],
                          unsigned n_tokens, float sum[][SQ_GEMM_COLS])
{
    for (unsigned t = 0; t < n_tokens; t++)
        for (unsigned c = 0; c < SQ_GEMM_COLS; c++)
            sum[t][c] = sq_combine_group(SQ_COMBINE_TWO, sum[t][c], acc[t][c],
                                         acc[t][SQ_GEMM_COLS + c], s_lo[c], s_hi[c], 1.0f);
}

static void store_integers(const struct gemm *j, int32_t acc[][LANES], size_t m0, unsigned n_tokens,
                           size_t n0, unsigned n_cols, size_t g)
{
    for (unsigned t = 0; t < n_tokens; t++)
        for (unsigned c = 0; c < n_cols; c++) {
            const size_t at = ((m0 + t) * j->w->n + n0 + c) * j->n_groups + g;
            if (j->p_lo)
                j->p_lo[at] = acc[t][c];
            if (j->p_hi)
                j->p_hi[at] = acc[t][SQ_GEMM_COLS + c];
        }
}

static void gemm_block(const struct gemm *j, const int8_t *cells, size_t m0, unsigned n_tokens,
                       size_t n0, unsigned n_cols)
{
    int32_t acc[TOKENS][LANES];
    float sum[TOKENS][SQ_GEMM_COLS] = {{0}};
    float s_lo[SQ_GEMM_COLS] = {0}, s_hi[SQ_GEMM_COLS] = {0};
    for (size_t g = 0; g < j->n_groups; g++) {
        for (unsigned c = 0; c < n_cols; c++) {
            s_lo[c] = j->w->s_lo[(n0 + c) * j->n_groups + g];
            s_hi[c] = j->w->s_hi[(n0 + c) * j->n_groups + g];
        }
        dot_block(j, cells, m0, n_tokens, g * j->group, acc);
        if (j->p_lo || j->p_hi)
            store_integers(j, acc, m0, n_tokens, n0, n_cols, g);
        combine_block(acc, s_lo, s_hi, n_tokens, sum);
    }
    for (unsigned t = 0; t < n_tokens; t++)
        for (unsigned c = 0; c < n_cols; c++)
            j->y[(m0 + t) * j->w->n + n0 + c] =
                sq_combine_end(SQ_COMBINE_TWO, sum[t][c], j->s_a[m0 + t]);
}

void sq_gemm_sq_w_with(enum sq_gemm_kernel kernel, const struct sq_matrix *w, const int8_t *act,
                       const float *s_a, size_t m, size_t n0, size_t n1, float *y, int32_t *p_lo,
                       int32_t *p_hi, void *scratch)
{
    assert(n1 <= w->n && (uintptr_t)scratch % CELL_NBYTES == 0);
    const struct gemm j = {.w = w,
                           .act = act,
                           .s_a = s_a,
                           .y = y,
                           .p_lo = p_lo,
                           .p_hi = p_hi,
                           .dot = select_kernel(kernel),
                           .group = sq_group_len(&w->format, w->k),
                           .n_groups = sq_n_groups(&w->format, w->k)};
    int8_t *cells = scratch;
    for (size_t n = n0; n < n1; n += SQ_GEMM_COLS) {
        const unsigned n_cols = n1 - n < SQ_GEMM_COLS ? (unsigned)(n1 - n) : SQ_GEMM_COLS;
        load_block(w, n, n_cols, cells);
        for (size_t t = 0; t < m; t += TOKENS)
            gemm_block(&j, cells, t, m - t < TOKENS ? (unsigned)(m - t) : TOKENS, n, n_cols);
    }
}

void sq_gemm_sq_w(const struct sq_matrix *w, const int8_t *act, const float *s_a, size_t m,
                  size_t n0, size_t n1, float *y, int32_t *p_lo, int32_t *p_hi, void *scratch)
{
    sq_gemm_sq_w_with(SQ_GEMM_AUTO, w, act, s_a, m, n0, n1, y, p_lo, p_hi, scratch);
}
