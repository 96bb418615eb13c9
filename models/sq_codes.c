// SPDX-License-Identifier: Apache-2.0
// Rows of codes: conversion, masks, scales, round to nearest. The products are in sq_codes_gemm.c.
#include "models/sq_codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/sq_bits.h"

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
    if ((c->grid.kind != SQ_GRID_OWN && c->grid.kind != SQ_GRID_TIED) ||
        f->high_bits != c->grid.high_bits || f->low_bits != c->grid.low_bits ||
        f->bank != c->bank || f->high_per_bank != c->high_per_bank)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s codes %u/%u bank %u are no SQ(%u,%u) with bank %u",
                       sq_grid_name(c->grid.kind), c->grid.high_bits, c->grid.low_bits, c->bank,
                       f->high_bits, f->low_bits, f->bank);
    if (m->n != c->n || m->k != c->k || m->k_orig != c->k_orig || sq_group_len(f, m->k) != c->group)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "codes %zu x %zu by %zu, matrix %zu x %zu by %zu", c->n,
                       c->k, c->group, m->n, m->k, sq_group_len(f, m->k));
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

enum sq_status sq_codes_unpack(const struct sq_matrix *m, struct sq_codes *c, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(check_same(c, m, err));
    memcpy(c->s_lo, m->s_lo, c->n * n_groups(c) * sizeof(float));
    memcpy(c->s_hi, m->s_hi, c->n * n_groups(c) * sizeof(float));
    for (size_t row = 0; row < c->n; row++) {
        const uint8_t *lo = m->lo + row * sq_lo_row_nbytes(f, m->k);
        const uint8_t *hi = m->hi + row * sq_hi_row_nbytes(f, m->k);
        size_t n_high = 0;
        for (size_t i = 0; i < c->k; i++) {
            const int low = sq_bits_get(lo, i, f->low_bits);
            const bool is_high = low == sq_mask_code(f->low_bits);
            c->is_high[row * c->k + i] = is_high;
            c->code[row * c->k + i] =
                (int16_t)(is_high ? sq_bits_get(hi, n_high++, f->high_bits) : low);
        }
    }
    return SQ_OK;
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

// SPEC 0.4 (iii) on the bit patterns, whose order is that of the scores: the largest T such that
// high_per_bank keys reach it. Padding has the key -1 and fills up what real elements leave.
static inline __attribute__((always_inline)) void
mask_body(const int32_t *key, unsigned bank, unsigned high_per_bank, uint8_t *is_high)
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
__attribute__((target("avx2"))) static void mask_avx2(const int32_t *key, unsigned bank,
                                                      unsigned high_per_bank, uint8_t *is_high)
{
    mask_body(key, bank, high_per_bank, is_high);
}
#endif

static void mask_bank(const int32_t *key, unsigned bank, unsigned high_per_bank, uint8_t *is_high)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        mask_avx2(key, bank, high_per_bank, is_high);
        return;
    }
#endif
    mask_body(key, bank, high_per_bank, is_high);
}

void sq_mask_row(const float *score, size_t k, size_t k_orig, unsigned bank, unsigned high_per_bank,
                 uint8_t *is_high)
{
    assert(bank <= SQ_BANK_MAX && k % bank == 0);
    for (size_t first = 0; first < k; first += bank) {
        int32_t key[SQ_BANK_MAX];
        for (unsigned i = 0; i < bank; i++) {
            if (first + i < k_orig)
                memcpy(&key[i], &score[first + i], sizeof key[i]);
            else
                key[i] = -1;
        }
        mask_bank(key, bank, high_per_bank, is_high + first);
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
    for (size_t i = begin; i < real; i++) {
        const bool high = is_high && is_high[i];
        amax[high] = fabsf(x[i]) > amax[high] ? fabsf(x[i]) : amax[high];
    }
    float *s_lo = &c->s_lo[row * n_groups(c) + g], *s_hi = &c->s_hi[row * n_groups(c) + g];
    sq_grid_scales(&c->grid, amax[0], amax[1], s_lo, s_hi);
    if (real > begin)
        sq_grid_codes(&c->grid, x + begin, is_high ? is_high + begin : NULL, real - begin, *s_lo,
                      *s_hi, code + begin);
    for (size_t i = real > begin ? real : begin; i < end; i++)
        code[i] = 0;
}

void sq_codes_encode_row(struct sq_codes *c, size_t row, const float *x)
{
    for (size_t g = 0; g < n_groups(c); g++)
        encode_group(c, row, g, x);
}

static enum sq_status check_finite(const char *what, const float *x, size_t row, size_t n,
                                   struct sq_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "%s[%zu][%zu] = %g, need a finite number", what,
                           row, i, (double)x[i]);
    return SQ_OK;
}

static void mask_by_magnitude(struct sq_codes *c, size_t row, const float *x, float *score)
{
    for (size_t i = 0; i < c->k_orig; i++)
        score[i] = fabsf(x[i]);
    sq_mask_row(score, c->k, c->k_orig, c->bank, c->high_per_bank, c->is_high + row * c->k);
}

enum sq_status sq_codes_encode_rtn(struct sq_codes *c, const float *w, float *score,
                                   struct sq_error *err)
{
    for (size_t row = 0; row < c->n; row++) {
        const float *x = w + row * c->k_orig;
        SQ_TRY(check_finite("w", x, row, c->k_orig, err));
        if (c->is_high)
            mask_by_magnitude(c, row, x, score);
        sq_codes_encode_row(c, row, x);
    }
    return SQ_OK;
}

// ---- activations ----------------------------------------------------------------------------

// The token as INT8 codes and back: what a pipeline that only has those sees. Selection by |code|
// and by |code * s| agree, and the high codes come out as the INT8 codes themselves.
static void through_int8(const float *x, size_t n, float *out)
{
    float amax = 0;
    for (size_t i = 0; i < n; i++)
        amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    const float s = sq_scale_from_amax(amax, 8);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)sq_quantize(x[i], s, 8) * s;
}

enum sq_status sq_codes_encode_act(struct sq_codes *c, const float *x, enum sq_select select,
                                   const uint8_t *mask, float *score, struct sq_error *err)
{
    float *const token = score + c->k; // second half of the scratch
    assert(c->group == c->k);
    for (size_t row = 0; row < c->n; row++) {
        const float *in = x + row * c->k_orig;
        SQ_TRY(check_finite("x", in, row, c->k_orig, err));
        if (c->is_high && select == SQ_SELECT_DYNAMIC_INT8) {
            through_int8(in, c->k_orig, token);
            in = token;
        }
        if (c->is_high && select == SQ_SELECT_STATIC)
            memcpy(c->is_high + row * c->k, mask, c->k);
        else if (c->is_high)
            mask_by_magnitude(c, row, in, score);
        sq_codes_encode_row(c, row, in);
    }
    return SQ_OK;
}
