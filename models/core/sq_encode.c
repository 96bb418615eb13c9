// SPDX-License-Identifier: Apache-2.0
// Writing a matrix (SPEC A.6, A.8). The mask of a row lives in its LO stream: a first pass writes
// the mask codes, a second one the scales and all other codes. So no buffer grows with K.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/number/sq_codes.h"

// What one row of the output is made of.
struct row {
    const struct sq_format *f;
    const float *w; // [k_orig]; elements k_orig..k-1 are the padding and read as 0
    size_t k, k_orig;
    uint8_t *lo, *hi;
    float *s_lo, *s_hi;
};

static struct row row_of(const float *w, struct sq_matrix *m, size_t row)
{
    const struct sq_format *f = &m->format;
    const size_t n_groups = sq_n_groups(f, m->k);
    return (struct row){.f = f,
                        .w = w,
                        .k = m->k,
                        .k_orig = m->k_orig,
                        .lo = m->lo + row * sq_lo_row_nbytes(f, m->k),
                        .hi = m->hi + row * sq_hi_row_nbytes(f, m->k),
                        .s_lo = m->s_lo + row * n_groups,
                        .s_hi = m->s_hi + row * n_groups};
}

static float weight(const struct row *r, size_t i)
{
    return i < r->k_orig ? r->w[i] : 0.0f;
}

static bool is_high(const struct row *r, size_t i)
{
    return sq_bits_get(r->lo, i, r->f->low_bits) == sq_mask_code(r->f->low_bits);
}

static enum sq_status check_shape(const struct sq_matrix *m, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(sq_format_check(f, err));
    if (m->n == 0 || m->k_orig == 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "N = %zu, K = %zu, need both >= 1", m->n, m->k_orig);
    if (m->k != sq_k_padded(f, m->k_orig))
        return SQ_FAIL(err, SQ_ERR_SHAPE, "padded K = %zu, need %zu for K = %zu, bank %u, group %u",
                       m->k, sq_k_padded(f, m->k_orig), m->k_orig, f->bank, f->group);
    if (sq_group_len(f, m->k) > SQ_GROUP_LEN_MAX)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "scale group of %zu elements, need <= %u for an exact INT32 sum",
                       sq_group_len(f, m->k), SQ_GROUP_LEN_MAX);
    return SQ_OK;
}

static enum sq_status check_finite(const struct row *r, size_t row, struct sq_error *err)
{
    float amax[2];
    sq_grid_amax(r->w, NULL, r->k_orig, amax);
    for (size_t i = 0; !isfinite(amax[0]) && i < r->k_orig; i++)
        if (!isfinite(r->w[i]))
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "w[%zu][%zu] = %g, need a finite number", row, i,
                           (double)r->w[i]);
    return SQ_OK;
}

// The masks of n elements, whole banks, by magnitude. Padding scores 0 and lies after every real
// element, so the lowest index of equal scores is a real one while there is one.
enum { CHUNK = 16 * SQ_BANK_MAX }; // a multiple of every bank
static void select_banks(const struct row *r, size_t first, size_t n, uint8_t *mask)
{
    float score[CHUNK];
    for (size_t i = 0; i < n; i++)
        score[i] = fabsf(weight(r, first + i));
    sq_mask_row(score, n, n, r->f->bank, r->f->high_per_bank, mask);
}

static void put_mask(const struct row *r, size_t first, const uint8_t *mask, size_t n)
{
    const int8_t mc = (int8_t)sq_mask_code(r->f->low_bits);
    for (size_t i = 0; i < n; i++)
        if (mask[i])
            sq_bits_put(r->lo, first + i, r->f->low_bits, mc);
}

// s_lo and s_hi of group g from the largest unmasked and masked magnitude.
static void put_scales(const struct row *r, size_t g)
{
    const size_t len = sq_group_len(r->f, r->k);
    float amax_lo = 0.0f, amax_hi = 0.0f;
    for (size_t i = g * len; i < (g + 1) * len; i++) {
        float *amax = is_high(r, i) ? &amax_hi : &amax_lo;
        const float magnitude = fabsf(weight(r, i));
        *amax = magnitude > *amax ? magnitude : *amax;
    }
    r->s_lo[g] = sq_scale_from_amax(amax_lo, r->f->low_bits);
    r->s_hi[g] = sq_scale_from_amax(amax_hi, r->f->high_bits);
}

// All codes of a row whose mask and scales are in place.
static void put_codes(const struct row *r)
{
    const size_t len = sq_group_len(r->f, r->k);
    size_t c = 0;
    for (size_t g = 0, i = 0; i < r->k; g++)
        for (const size_t end = i + len; i < end; i++) {
            if (is_high(r, i))
                sq_bits_put(r->hi, c++, r->f->high_bits,
                            sq_quantize(weight(r, i), r->s_hi[g], r->f->high_bits));
            else
                sq_bits_put(r->lo, i, r->f->low_bits,
                            sq_quantize(weight(r, i), r->s_lo[g], r->f->low_bits));
        }
    assert(c == sq_hi_row_codes(r->f, r->k));
}

static void clear(const struct row *r)
{
    memset(r->lo, 0, sq_lo_row_nbytes(r->f, r->k));
    memset(r->hi, 0, sq_hi_row_nbytes(r->f, r->k));
}

static void put_all_scales(const struct row *r)
{
    for (size_t g = 0; g < sq_n_groups(r->f, r->k); g++)
        put_scales(r, g);
}

enum sq_status sq_encode_rtn(const float *w, struct sq_matrix *m, struct sq_error *err)
{
    SQ_TRY(check_shape(m, err));
    for (size_t row = 0; row < m->n; row++) {
        const struct row r = row_of(w + row * m->k_orig, m, row);
        SQ_TRY(check_finite(&r, row, err));
        clear(&r);
        for (size_t first = 0; first < r.k; first += CHUNK) {
            const size_t n = r.k - first < CHUNK ? r.k - first : CHUNK;
            uint8_t mask[CHUNK];
            select_banks(&r, first, n, mask);
            put_mask(&r, first, mask, n);
        }
        put_all_scales(&r);
        put_codes(&r);
    }
    return SQ_OK;
}
