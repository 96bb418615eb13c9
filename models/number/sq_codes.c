// SPDX-License-Identifier: Apache-2.0
// Rows of codes: conversion, masks, scales, round to nearest. The products are in sq_codes_gemm.c.
#include "models/number/sq_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/core/sq_act_quant.h"
#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/number/sq_transpose.h"
#include "models/output/sq_requant.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static size_t n_groups(const struct sq_codes *c)
{
    return c->k / c->group;
}

static bool is_high_at(const struct sq_codes *c, size_t row, size_t i)
{
    return c->is_high && c->is_high[row * c->k + i];
}

// ---- conversions ----------------------------------------------------------------------------

static enum sq_status check_same(const struct sq_codes *c, const struct sq_matrix *m,
                                 struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_FAIL_IF((c->grid.kind != SQ_GRID_OWN && c->grid.kind != SQ_GRID_TIED) ||
                   f->high_bits != c->grid.high_bits || f->low_bits != c->grid.low_bits ||
                   f->bank != c->bank || f->high_per_bank != c->high_per_bank,
               err, SQ_ERR_UNSUPPORTED, "%s codes %u/%u bank %u are no SQ(%u,%u) with bank %u",
               sq_grid_name(c->grid.kind), c->grid.high_bits, c->grid.low_bits, c->bank,
               f->high_bits, f->low_bits, f->bank);
    SQ_FAIL_IF(m->n != c->n || m->k != c->k || m->k_orig != c->k_orig ||
                   sq_group_len(f, m->k) != c->group,
               err, SQ_ERR_SHAPE, "codes %zu x %zu by %zu, matrix %zu x %zu by %zu", c->n, c->k,
               c->group, m->n, m->k, sq_group_len(f, m->k));
    return SQ_OK;
}

enum sq_status sq_codes_pack(const struct sq_codes *c, struct sq_matrix *m, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(check_same(c, m, err));
    const size_t lo_nbytes = sq_lo_row_nbytes(f, m->k), hi_nbytes = sq_hi_row_nbytes(f, m->k);
    const size_t n_scales = c->n * n_groups(c);
    memcpy(m->s_lo, c->s_lo, n_scales * sizeof(float));
    memcpy(m->s_hi, c->s_hi, n_scales * sizeof(float));
    memset(m->lo, 0, c->n * lo_nbytes);
    memset(m->hi, 0, c->n * hi_nbytes);
    for (size_t row = 0; row < c->n; row++) {
        const int16_t *code = c->code + row * c->k;
        const size_t row_codes = sq_hi_row_codes(f, m->k);
        size_t n_high = 0;
        for (size_t i = 0; i < c->k; i++) {
            const bool is_high = is_high_at(c, row, i);
            const int low = is_high ? sq_mask_code(f->low_bits) : code[i];
            sq_bits_put(m->lo + row * lo_nbytes, i, f->low_bits, (int8_t)low);
            if (is_high && n_high < row_codes)
                sq_bits_put(m->hi + row * hi_nbytes, n_high, f->high_bits, (int8_t)code[i]);
            n_high += is_high;
        }
    }
    return sq_matrix_validate(m, c->n * lo_nbytes, c->n * hi_nbytes, n_scales, err);
}

void sq_codes_decode_row(const struct sq_codes *c, size_t row, float *out)
{
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    for (size_t g = 0; g < n_groups(c) && g * c->group < c->k_orig; g++) {
        const size_t first = g * c->group, at = row * n_groups(c) + g;
        const size_t n = c->k_orig - first < c->group ? c->k_orig - first : c->group;
        sq_grid_values(&c->grid, c->code + row * c->k + first, is_high ? is_high + first : NULL, n,
                       c->s_lo[at], c->s_hi[at], out + first);
    }
}

// ---- masks ----------------------------------------------------------------------------------

// SPEC 0.4 (iii) on the bit patterns, whose order is that of the magnitudes: the largest T such that
// high_per_bank keys reach it. Padding has the key -1 and fills up what real elements leave.
static inline __attribute__((always_inline)) void
mask_one_body(const int32_t *key, unsigned bank, unsigned high_per_bank, uint8_t *is_high)
{
    int32_t threshold = 0;
    unsigned count = 0;
    for (int bit = 30; bit >= 0 && count != high_per_bank; bit--) {
        const int32_t t = threshold | INT32_C(1) << bit;
        unsigned reach = 0;
#pragma omp simd reduction(+ : reach)
        for (unsigned i = 0; i < bank; i++)
            reach += key[i] >= t;
        if (reach >= high_per_bank) {
            threshold = t;
            count = reach;
        }
    }
    unsigned left = high_per_bank;
    for (unsigned i = 0; i < bank; i++)
        left -= is_high[i] = key[i] > threshold;
    for (unsigned i = 0; i < bank && left; i++)
        if (key[i] == threshold)
            left -= is_high[i] = 1;
    for (unsigned i = 0; i < bank && left; i++)
        if (key[i] < 0)
            left -= is_high[i] = 1;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void mask_one_avx2(const int32_t *key, unsigned bank,
                                                          unsigned high_per_bank, uint8_t *is_high)
{
    mask_one_body(key, bank, high_per_bank, is_high);
}
#endif

static int32_t key_of(const float *score, size_t i, size_t n)
{
    int32_t key;
    if (i >= n)
        return -1;
    memcpy(&key, &score[i], sizeof key);
    return key & INT32_MAX;
}

// A bank alone: cheaper than LANES of them as below.
static void mask_one(const float *score, size_t n, unsigned bank, unsigned high_per_bank,
                     uint8_t *is_high)
{
    int32_t key[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++)
        key[i] = key_of(score, i, n);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        mask_one_avx2(key, bank, high_per_bank, is_high);
        return;
    }
#endif
    mask_one_body(key, bank, high_per_bank, is_high);
}

// The high_per_bank-th largest key of a bank by a sorting network (Batcher's merge exchange), LANES
// banks side by side; and those that SPEC 0.4 selects: all above it, then the lowest that equal it.
enum { LANES = 16 };
typedef int32_t keys[LANES];

static inline __attribute__((always_inline)) void order(keys *key, unsigned larger,
                                                        unsigned smaller)
{
#pragma omp simd
    for (unsigned l = 0; l < LANES; l++) {
        const int32_t a = key[larger][l], b = key[smaller][l];
        key[larger][l] = a > b ? a : b;
        key[smaller][l] = a > b ? b : a;
    }
}

static inline __attribute__((always_inline)) void sort_body(keys *key, unsigned bank)
{
    for (unsigned p = bank / 2; p > 0; p /= 2) {
        unsigned r = 0, d = p;
        for (unsigned q = bank / 2;; q /= 2) {
            for (unsigned run = r; run + d < bank; run += 2 * p) // of places i with (i & p) == r
                for (unsigned i = run; i < run + p && i + d < bank; i++)
                    order(key, i, i + d);
            if (q == p)
                break;
            d = q - p;
            r = p;
        }
    }
}

// Rows of bits of LANES banks: bit i of mask[i / 32][l] is that of element i of bank l.
enum { WORD = 32 };
typedef uint32_t masks[LANES];

// What SPEC 0.4 selects of the banks in the columns of key[bank].
static inline __attribute__((always_inline)) void select_body(keys *key, unsigned bank,
                                                              unsigned high_per_bank, masks *mask)
{
    _Alignas(64) keys sorted[SQ_BANK_MAX], threshold, left;
    for (unsigned i = 0; i < bank; i++)
        memcpy(sorted[i], key[i], sizeof *sorted);
    sort_body(sorted, bank);
    memcpy(threshold, sorted[high_per_bank - 1], sizeof threshold);
    for (unsigned l = 0; l < LANES; l++)
        left[l] = (int32_t)high_per_bank;
    for (unsigned i = 0; i < bank; i++)
#pragma omp simd
        for (unsigned l = 0; l < LANES; l++)
            left[l] -= key[i][l] > threshold[l];
    for (unsigned i = 0; i < bank; i++)
#pragma omp simd
        for (unsigned l = 0; l < LANES; l++) {
            const int32_t a = key[i][l], t = threshold[l];
            const int32_t is_last = (a == t) & (left[l] > 0);
            left[l] -= is_last;
            mask[i / WORD][l] |= (uint32_t)((a > t) | is_last) << i % WORD;
        }
}

static void load_banks(const float *score, size_t n, unsigned bank, keys *key)
{
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned i = 0; i < bank; i++)
            key[i][l] = key_of(score, l * bank + i, n);
}

static void store_banks(masks *mask, unsigned bank, unsigned n_banks, uint8_t *is_high)
{
    for (unsigned l = 0; l < n_banks; l++)
        for (unsigned i = 0; i < bank; i++)
            is_high[l * bank + i] = (uint8_t)(mask[i / WORD][l] >> i % WORD & 1);
}

// The masks of n_banks <= LANES banks, of whose scores n are real.
typedef void mask_fn(const float *score, size_t n, unsigned bank, unsigned high_per_bank,
                     unsigned n_banks, uint8_t *is_high);

static void mask_portable(const float *score, size_t n, unsigned bank, unsigned high_per_bank,
                          unsigned n_banks, uint8_t *is_high)
{
    _Alignas(64) keys key[SQ_BANK_MAX];
    masks mask[SQ_BANK_MAX / WORD] = {{0}};
    load_banks(score, n, bank, key);
    select_body(key, bank, high_per_bank, mask);
    store_banks(mask, bank, n_banks, is_high);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void mask_avx2(const float *score, size_t n, unsigned bank,
                                                      unsigned high_per_bank, unsigned n_banks,
                                                      uint8_t *is_high)
{
    _Alignas(64) keys key[SQ_BANK_MAX];
    _Alignas(64) masks mask[SQ_BANK_MAX / WORD] = {{0}};
    load_banks(score, n, bank, key);
    select_body(key, bank, high_per_bank, mask);
    store_banks(mask, bank, n_banks, is_high);
}

#if defined(__clang__) // leaves out all of an attribute of which it does not know one word
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,popcnt")))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,popcnt,prefer-vector-width=512")))
#endif

#define FORCED static inline __attribute__((always_inline))

// Columns of 16 banks by transposition, or by gathers of short ones.
AVX512 static void load_banks_avx512(const float *score, unsigned bank, keys *key)
{
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)bank));
    for (unsigned i = 0; bank % LANES != 0 && i < bank; i++)
        _mm512_store_si512(key[i],
                           _mm512_and_si512(_mm512_i32gather_epi32(at, score + i, 4), magnitude));
    for (unsigned i = 0; bank % LANES == 0 && i < bank; i += LANES) {
        __m512i v[LANES];
#pragma GCC unroll 16
        for (unsigned l = 0; l < LANES; l++)
            v[l] = _mm512_and_si512(_mm512_loadu_si512(score + l * bank + i), magnitude);
        sq_transpose16(v);
#pragma GCC unroll 16
        for (unsigned l = 0; l < LANES; l++)
            _mm512_store_si512(key[i + l], v[l]);
    }
}

enum { FEW = 4, EIGHT = 8 };

// The k-th largest key of each column, k <= FEW: the k largest so far, in order.
AVX512 FORCED __m512i kth_of_few(keys *key, unsigned bank, unsigned k)
{
    __m512i top[FEW];
#pragma GCC unroll 4
    for (unsigned r = 0; r < k; r++)
        top[r] = _mm512_set1_epi32(INT32_MIN);
    for (unsigned i = 0; i < bank; i++) {
        __m512i x = _mm512_load_si512(key[i]);
#pragma GCC unroll 4
        for (unsigned r = 0; r < k; r++) {
            const __m512i smaller = _mm512_min_epi32(top[r], x);
            top[r] = _mm512_max_epi32(top[r], x);
            x = smaller;
        }
    }
    return top[k - 1];
}

AVX512 FORCED void order_two(__m512i v[EIGHT], unsigned larger, unsigned smaller)
{
    const __m512i a = v[larger], b = v[smaller];
    v[larger] = _mm512_max_epi32(a, b);
    v[smaller] = _mm512_min_epi32(a, b);
}

// Eight keys of each column, the largest first: Batcher's network of 19 comparators.
AVX512 FORCED void sort_eight(__m512i v[EIGHT])
{
    static const uint8_t pair[19][2] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 2}, {1, 3}, {4, 6},
                                        {5, 7}, {2, 4}, {3, 5}, {0, 1}, {2, 3}, {4, 5}, {6, 7},
                                        {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 19
    for (unsigned i = 0; i < 19; i++)
        order_two(v, pair[i][0], pair[i][1]);
}

// The k-th largest key, k <= EIGHT, of banks of whole eights: the eight largest so far, in order.
// The larger ones of them and of the next eight, in opposite order, are the eight largest of both,
// and three rounds sort them.
AVX512 FORCED __m512i kth_of_eights(keys *key, unsigned bank, unsigned k)
{
    __m512i top[EIGHT];
    for (unsigned i = 0; i < bank; i += EIGHT) {
        __m512i v[EIGHT];
#pragma GCC unroll 8
        for (unsigned r = 0; r < EIGHT; r++)
            v[r] = _mm512_load_si512(key[i + r]);
        sort_eight(v);
#pragma GCC unroll 8
        for (unsigned r = 0; r < EIGHT; r++)
            top[r] = i ? _mm512_max_epi32(top[r], v[EIGHT - 1 - r]) : v[r];
#pragma GCC unroll 3
        for (unsigned d = EIGHT / 2; i && d > 0; d /= 2)
#pragma GCC unroll 8
            for (unsigned r = 0; r < EIGHT; r++)
                if ((r & d) == 0)
                    order_two(top, r, r + d);
    }
    _Alignas(64) keys sorted[EIGHT];
#pragma GCC unroll 8
    for (unsigned r = 0; r < EIGHT; r++)
        _mm512_store_si512(sorted[r], top[r]);
    return _mm512_load_si512(sorted[k - 1]);
}

AVX512 FORCED __m512i kth_of_all(keys *key, unsigned bank, unsigned k)
{
    _Alignas(64) keys sorted[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++)
        memcpy(sorted[i], key[i], sizeof *sorted);
    sort_body(sorted, bank);
    return _mm512_load_si512(sorted[k - 1]);
}

// The masks of the keys that reach the k-th largest; false: in some column they are more than k.
AVX512 FORCED bool reaching(keys *key, unsigned bank, unsigned k, __m512i kth, masks *mask)
{
    const unsigned words = (bank + WORD - 1) / WORD;
    unsigned n_wrong = 0;
    for (unsigned w = 0; w < words; w++) {
        __m512i bits = _mm512_setzero_si512(), bit = _mm512_set1_epi32(1);
        for (unsigned i = w * WORD; i < bank && i < (w + 1) * WORD; i++) {
            const __mmask16 reach = _mm512_cmpge_epi32_mask(_mm512_load_si512(key[i]), kth);
            bits = _mm512_mask_or_epi32(bits, reach, bits, bit);
            bit = _mm512_add_epi32(bit, bit);
        }
        _mm512_store_si512(mask[w], bits);
    }
    for (unsigned l = 0; l < LANES; l++) {
        unsigned n = 0;
        for (unsigned w = 0; w < words; w++)
            n += (unsigned)__builtin_popcount(mask[w][l]);
        n_wrong += n != k;
    }
    return n_wrong == 0;
}

AVX512 FORCED void select_avx512(keys *key, unsigned bank, unsigned k, masks *mask)
{
    const __m512i kth = k == 1                            ? kth_of_few(key, bank, 1)
                        : k == 2                          ? kth_of_few(key, bank, 2)
                        : k <= FEW                        ? kth_of_few(key, bank, k)
                        : k <= EIGHT && bank % EIGHT == 0 ? kth_of_eights(key, bank, k)
                                                          : kth_of_all(key, bank, k);
    if (reaching(key, bank, k, kth, mask))
        return;
    memset(mask, 0, SQ_BANK_MAX / WORD * sizeof *mask);
    select_body(key, bank, k, mask);
}

AVX512 static void mask_avx512(const float *score, size_t n, unsigned bank, unsigned high_per_bank,
                               unsigned n_banks, uint8_t *is_high)
{
    _Alignas(64) keys key[SQ_BANK_MAX];
    _Alignas(64) masks mask[SQ_BANK_MAX / WORD] = {{0}};
    if (n >= (size_t)bank * LANES)
        load_banks_avx512(score, bank, key);
    else
        load_banks(score, n, bank, key);
    if (bank == WORD) // loops of known length
        select_avx512(key, WORD, high_per_bank, mask);
    else
        select_avx512(key, bank, high_per_bank, mask);
    if (bank % WORD != 0) {
        store_banks(mask, bank, n_banks, is_high);
        return;
    }
    for (unsigned l = 0; l < n_banks; l++)
        for (unsigned w = 0; w < bank / WORD; w++)
            _mm256_storeu_si256((__m256i *)(void *)(is_high + l * bank + w * WORD),
                                _mm256_maskz_set1_epi8(mask[w][l], 1));
}

static mask_fn *select_mask(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? mask_avx512
           : __builtin_cpu_supports("avx2")                                         ? mask_avx2
                                                                                    : mask_portable;
}
#else
static mask_fn *select_mask(void)
{
    return mask_portable;
}
#endif

void sq_mask_row(const float *score, size_t k, size_t k_orig, unsigned bank, unsigned high_per_bank,
                 uint8_t *is_high)
{
    mask_fn *const mask = select_mask();
    const size_t n_banks = k / bank;
    assert(bank <= SQ_BANK_MAX && k % bank == 0 && high_per_bank >= 1 && high_per_bank <= bank);
    for (size_t b = 0; b < n_banks; b += LANES) {
        const size_t at = b * bank, left = n_banks - b, n = k_orig > at ? k_orig - at : 0;
        if (left == 1)
            mask_one(score + at, n, bank, high_per_bank, is_high + at);
        else
            mask(score + at, n, bank, high_per_bank, left < LANES ? (unsigned)left : LANES,
                 is_high + at);
    }
}

// ---- round to nearest -----------------------------------------------------------------------

static void encode_group(struct sq_codes *c, size_t row, size_t g, const float *x)
{
    const size_t begin = g * c->group, end = begin + c->group;
    const size_t real = end < c->k_orig ? end : c->k_orig;
    const uint8_t *is_high = c->is_high ? c->is_high + row * c->k : NULL;
    int16_t *code = c->code + row * c->k;
    float amax[2] = {0, 0}; // of the low and the high elements
    if (real > begin)
        sq_grid_amax(x + begin, is_high ? is_high + begin : NULL, real - begin, amax);
    float *s_lo = &c->s_lo[row * n_groups(c) + g], *s_hi = &c->s_hi[row * n_groups(c) + g];
    sq_grid_scales(&c->grid, amax[0], amax[1], s_lo, s_hi);
    if (real > begin)
        sq_grid_codes(&c->grid, x + begin, is_high ? is_high + begin : NULL, real - begin, *s_lo,
                      *s_hi, code + begin);
    for (size_t i = real > begin ? real : begin; i < end; i++)
        code[i] = 0;
}

// Row `row` from x[k_orig]: scales per group from the elements, then codes. Mixed grids need
// is_high of that row to be set. x is finite.
static void encode_row(struct sq_codes *c, size_t row, const float *x)
{
    for (size_t g = 0; g < n_groups(c); g++)
        encode_group(c, row, g, x);
}

static enum sq_status check_finite(const char *what, const float *x, size_t row, size_t n,
                                   struct sq_error *err)
{
    float amax[2];
    sq_grid_amax(x, NULL, n, amax);
    for (size_t i = 0; !isfinite(amax[0]) && i < n; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE,
                   "%s[%zu][%zu] = %g, need a finite number", what, row, i, (double)x[i]);
    return SQ_OK;
}

static void mask_by_magnitude(struct sq_codes *c, size_t row, const float *x)
{
    sq_mask_row(x, c->k, c->k_orig, c->bank, c->high_per_bank, c->is_high + row * c->k);
}

enum sq_status sq_codes_encode_rtn(struct sq_codes *c, const float *w, struct sq_error *err)
{
    for (size_t row = 0; row < c->n; row++) {
        const float *x = w + row * c->k_orig;
        SQ_TRY(check_finite("w", x, row, c->k_orig, err));
        if (c->is_high)
            mask_by_magnitude(c, row, x);
        encode_row(c, row, x);
    }
    return SQ_OK;
}

static enum sq_status encode_q8_0_group(struct sq_codes *c, size_t row, size_t g, const float *x,
                                        size_t n, struct sq_error *err)
{
    float amax[2];
    sq_grid_amax(x, NULL, n, amax);
    const float d = amax[0] / 127, by = d > 0 ? 1 / d : 0, s = sq_half_round(d);
    SQ_FAIL_IF(isinf(s), err, SQ_ERR_NON_FINITE, "scale %zu of row %zu = %g, need at most 65504", g,
               row, (double)d);
    c->s_lo[row * (c->k / c->group) + g] = c->s_hi[row * (c->k / c->group) + g] = s > 0 ? s : 1;
    for (size_t i = 0; i < n; i++)
        c->code[row * c->k + g * c->group + i] = s > 0 ? (int16_t)roundf(x[i] * by) : 0;
    return SQ_OK;
}

enum sq_status sq_codes_encode_q8_0(struct sq_codes *c, const float *w, struct sq_error *err)
{
    assert(c->group == 32 && c->grid.low_bits == 8);
    for (size_t row = 0; row < c->n; row++) {
        const float *x = w + row * c->k_orig;
        SQ_TRY(check_finite("w", x, row, c->k_orig, err));
        memset(c->code + row * c->k, 0, c->k * sizeof *c->code);
        for (size_t g = 0; g < c->k / c->group; g++) {
            const size_t first = g * c->group, left = c->k_orig - first;
            SQ_TRY(encode_q8_0_group(c, row, g, x + first, left < c->group ? left : c->group, err));
        }
    }
    return SQ_OK;
}

// ---- activations ----------------------------------------------------------------------------

// The token as INT8 codes and back: what a pipeline that only has those sees. Selection by |code|
// and by |code * s| agree, and the high codes come out as the INT8 codes themselves. Returns s.
static float through_int8(const float *x, size_t n, float *out)
{
    float amax[2];
    sq_grid_amax(x, NULL, n, amax);
    const float s = sq_scale_from_amax(amax[0], 8);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)sq_quantize(x[i], s, 8) * s;
    return s;
}

// Low codes of row `row` anew, of the INT8 codes of x with scale s8: what sq_act_quant.sv makes.
static void multiply_low(struct sq_codes *c, size_t row, const float *x, float s8)
{
    const struct sq_act_quant q = sq_act_quant_of(s8, c->s_lo[row], c->grid.low_bits, 8);
    for (size_t i = 0; i < c->k_orig; i++)
        if (!c->is_high[row * c->k + i])
            c->code[row * c->k + i] =
                sq_requant(sq_quantize(x[i], s8, 8), q.mul, q.shift, q.low_bits);
}

enum sq_status sq_codes_encode_act(struct sq_codes *c, const float *x, enum sq_select select,
                                   const uint8_t *mask, float *score, struct sq_error *err)
{
    float *const token = score + c->k; // second half of the scratch
    const bool is_mul = c->is_high && select == SQ_SELECT_DYNAMIC_INT8_MUL;
    const bool is_int8 = is_mul || (c->is_high && select == SQ_SELECT_DYNAMIC_INT8);
    assert(c->group == c->k &&
           (!is_mul || (c->grid.kind == SQ_GRID_OWN && c->grid.high_bits == 8)));
    for (size_t row = 0; row < c->n; row++) {
        const float *in = x + row * c->k_orig;
        SQ_TRY(check_finite("x", in, row, c->k_orig, err));
        float s8 = 1;
        if (is_int8) {
            s8 = through_int8(in, c->k_orig, token);
            in = token;
        }
        if (c->is_high && select == SQ_SELECT_STATIC)
            memcpy(c->is_high + row * c->k, mask, c->k);
        else if (c->is_high)
            mask_by_magnitude(c, row, in);
        encode_row(c, row, in);
        if (is_mul)
            multiply_low(c, row, x + row * c->k_orig, s8);
    }
    return SQ_OK;
}
