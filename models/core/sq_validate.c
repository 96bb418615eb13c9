// SPDX-License-Identifier: Apache-2.0
// The refusals of SPEC A.8 on stored data. Order: parameters, shape, lengths, then contents, so
// that nothing is read before the declared lengths are known to hold it.
#include <math.h>

#include "models/core/sq_format.h"
#include "models/number/sq_bits.h"

bool sq_scale_is_valid(float s)
{
    return isfinite(s) && s > 0.0f;
}

static enum sq_status check_shape(const struct sq_matrix *m, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_FAIL_IF(m->n == 0 || m->k == 0 || m->k_orig == 0 || m->k_orig > m->k, err, SQ_ERR_SHAPE,
               "N = %zu, K = %zu of which %zu are real, need 1 <= real <= K and N >= 1", m->n, m->k,
               m->k_orig);
    SQ_FAIL_IF(m->k % f->bank != 0, err, SQ_ERR_SHAPE, "K = %zu is no multiple of bank = %u", m->k,
               f->bank);
    SQ_FAIL_IF(f->group && m->k % f->group != 0, err, SQ_ERR_SHAPE,
               "K = %zu is no multiple of group = %u", m->k, f->group);
    SQ_FAIL_IF(sq_group_len(f, m->k) > SQ_GROUP_LEN_MAX, err, SQ_ERR_UNSUPPORTED,
               "scale group of %zu elements, need <= %u for an exact INT32 sum",
               sq_group_len(f, m->k), SQ_GROUP_LEN_MAX);
    return SQ_OK;
}

// got == n * per_row, without overflow.
static enum sq_status check_len(const char *name, size_t got, size_t n, size_t per_row,
                                struct sq_error *err)
{
    SQ_FAIL_IF(got % n != 0 || got / n != per_row, err, SQ_ERR_STREAM_LEN,
               "%s has %zu elements, need %zu rows of %zu", name, got, n, per_row);
    return SQ_OK;
}

static enum sq_status check_scales(const char *name, const float *s, size_t row, size_t n_groups,
                                   struct sq_error *err)
{
    for (size_t g = 0; g < n_groups; g++)
        SQ_FAIL_IF(!sq_scale_is_valid(s[row * n_groups + g]), err, SQ_ERR_SCALE,
                   "row %zu group %zu: %s = %g, need finite and > 0", row, g, name,
                   (double)s[row * n_groups + g]);
    return SQ_OK;
}

// The bits after the last code of a row are 0.
static enum sq_status check_padding(const char *name, const uint8_t *stream, size_t n_codes,
                                    unsigned bits, size_t row, struct sq_error *err)
{
    const unsigned used = (unsigned)(n_codes % 8 * bits % 8); // bits used in the last byte, 0 = all
    const uint8_t last = stream[sq_packed_nbytes(n_codes, bits) - 1];
    SQ_FAIL_IF(used != 0 && last >> used != 0, err, SQ_ERR_PADDING,
               "row %zu: last byte of %s is 0x%02x, need bits %u..7 0", row, name, last, used);
    return SQ_OK;
}

static enum sq_status check_mask_counts(const struct sq_format *f, const uint8_t *lo, size_t k,
                                        size_t row, struct sq_error *err)
{
    const int mc = sq_mask_code(f->low_bits);
    for (size_t bank = 0; bank < k / f->bank; bank++) {
        unsigned count = 0;
        for (size_t i = bank * f->bank; i < (bank + 1) * f->bank; i++)
            count += sq_bits_get(lo, i, f->low_bits) == mc;
        SQ_FAIL_IF(count != f->high_per_bank, err, SQ_ERR_MASK_COUNT,
                   "row %zu bank %zu: %u mask codes, need %u", row, bank, count, f->high_per_bank);
    }
    return SQ_OK;
}

static enum sq_status check_high_codes(const struct sq_format *f, const uint8_t *hi, size_t n_codes,
                                       size_t row, struct sq_error *err)
{
    const int illegal = sq_mask_code(f->high_bits);
    for (size_t c = 0; c < n_codes; c++)
        SQ_FAIL_IF(sq_bits_get(hi, c, f->high_bits) == illegal, err, SQ_ERR_CODE,
                   "row %zu bank %zu: high code %zu is %d, need %d..%d", row, c / f->high_per_bank,
                   c % f->high_per_bank, illegal, illegal + 1, sq_qmax(f->high_bits));
    return SQ_OK;
}

enum sq_status sq_matrix_validate(const struct sq_matrix *m, size_t lo_nbytes, size_t hi_nbytes,
                                  size_t n_scales, struct sq_error *err)
{
    const struct sq_format *f = &m->format;
    SQ_TRY(sq_format_check(f, err));
    SQ_TRY(check_shape(m, err));
    const size_t lo_row = sq_lo_row_nbytes(f, m->k), hi_row = sq_hi_row_nbytes(f, m->k);
    const size_t n_groups = sq_n_groups(f, m->k), n_hi = sq_hi_row_codes(f, m->k);
    SQ_TRY(check_len("lo", lo_nbytes, m->n, lo_row, err));
    SQ_TRY(check_len("hi", hi_nbytes, m->n, hi_row, err));
    SQ_TRY(check_len("s_lo and s_hi", n_scales, m->n, n_groups, err));
    for (size_t row = 0; row < m->n; row++) {
        const uint8_t *lo = m->lo + row * lo_row, *hi = m->hi + row * hi_row;
        SQ_TRY(check_scales("s_lo", m->s_lo, row, n_groups, err));
        SQ_TRY(check_scales("s_hi", m->s_hi, row, n_groups, err));
        SQ_TRY(check_padding("lo", lo, m->k, f->low_bits, row, err));
        SQ_TRY(check_padding("hi", hi, n_hi, f->high_bits, row, err));
        SQ_TRY(check_mask_counts(f, lo, m->k, row, err));
        SQ_TRY(check_high_codes(f, hi, n_hi, row, err));
    }
    return SQ_OK;
}
