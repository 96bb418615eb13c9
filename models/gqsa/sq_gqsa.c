// SPDX-License-Identifier: Apache-2.0
// Packs, checks, decodes and multiplies GQSA weights (sq_gqsa.h).
#include "models/gqsa/sq_gqsa.h"

#include <math.h>
#include <string.h>

#include "models/number/sq_codes.h"
#include "models/number/sq_half.h"

enum { MAX_CODE = 15, MAX_COLUMNS = 65536 };

unsigned sq_gqsa_bits(const struct sq_gqsa *m)
{
    return m->bits ? m->bits : 4;
}

unsigned sq_gqsa_max_code(const struct sq_gqsa *m)
{
    return (1u << sq_gqsa_bits(m)) - 1;
}

size_t sq_gqsa_padded(size_t k_orig, unsigned group)
{
    return (k_orig + group - 1) / group * group;
}

size_t sq_gqsa_zero_nbytes(size_t nnz)
{
    return (nnz + 1) / 2;
}

// ---- refusals -------------------------------------------------------------------------------

enum sq_status sq_gqsa_check_shape(const struct sq_gqsa *m, struct sq_error *err)
{
    const unsigned g = m->group;
    SQ_FAIL_IF(g < 4 || g > 128 || (g & (g - 1)) != 0, err, SQ_ERR_UNSUPPORTED,
               "group = %u, need 4, 8, 16, 32, 64 or 128", g);
    SQ_FAIL_IF(m->bits != 0 && m->bits != 4 && m->bits != 8 && m->bits != 16, err,
               SQ_ERR_UNSUPPORTED, "bits = %u of a value, need 4, 8 or 16", m->bits);
    SQ_FAIL_IF(m->n == 0 || m->k == 0 || m->k % g != 0, err, SQ_ERR_SHAPE,
               "N x K = %zu x %zu, need rows and a multiple of %u", m->n, m->k, g);
    SQ_FAIL_IF(m->k_orig == 0 || m->k != sq_gqsa_padded(m->k_orig, g), err, SQ_ERR_SHAPE,
               "K = %zu is padded to %zu, not to %zu", m->k_orig, sq_gqsa_padded(m->k_orig, g),
               m->k);
    SQ_FAIL_IF(m->k / g > MAX_COLUMNS, err, SQ_ERR_SHAPE, "K / G = %zu, need 1..%d", m->k / g,
               MAX_COLUMNS);
    return SQ_OK;
}

static enum sq_status validate_offsets(const struct sq_gqsa *m, struct sq_error *err)
{
    SQ_FAIL_IF(m->row_index[0] != 0, err, SQ_ERR_OFFSETS, "row_index[0] = %u, need 0",
               m->row_index[0]);
    for (size_t r = 0; r < m->n; r++)
        SQ_FAIL_IF(m->row_index[r + 1] < m->row_index[r], err, SQ_ERR_OFFSETS,
                   "row_index[%zu] = %u, need at least %u", r + 1, m->row_index[r + 1],
                   m->row_index[r]);
    SQ_FAIL_IF(m->row_index[m->n] != m->nnz, err, SQ_ERR_OFFSETS,
               "row_index[%zu] = %u, need %zu, the groups kept", m->n, m->row_index[m->n], m->nnz);
    return SQ_OK;
}

static enum sq_status validate_group(const struct sq_gqsa *m, size_t row, size_t e,
                                     struct sq_error *err)
{
    const unsigned at = m->groups[e];
    const float scale = sq_gqsa_scale(m, e);
    SQ_FAIL_IF(at >= m->k / m->group, err, SQ_ERR_INDEX, "groups[%zu] = %u, need 0..%zu", e, at,
               m->k / m->group - 1);
    SQ_FAIL_IF(e > m->row_index[row] && at <= m->groups[e - 1], err, SQ_ERR_INDEX,
               "groups[%zu] = %u after %u in row %zu, need ascending", e, at, m->groups[e - 1],
               row);
    SQ_FAIL_IF(!isfinite(scale) || !(scale > 0), err, SQ_ERR_SCALE,
               "scale[%zu] = %g, need finite and > 0", e, (double)scale);
    SQ_FAIL_IF(m->bits != 16 && m->zero[e] > sq_gqsa_max_code(m), err, SQ_ERR_CODE,
               "zero[%zu] = %u, need 0..%u", e, m->zero[e], sq_gqsa_max_code(m));
    for (size_t i = 0; i < m->group; i++) {
        const size_t column = at * (size_t)m->group + i;
        SQ_FAIL_IF(!isfinite(sq_gqsa_value(m, e, i)), err, SQ_ERR_CODE,
                   "group %zu, column %zu: no finite number", e, column);
        SQ_FAIL_IF(column >= m->k_orig && sq_gqsa_value(m, e, i) != 0, err, SQ_ERR_PADDING,
                   "group %zu, column %zu: padding is not zero", e, column);
    }
    return SQ_OK;
}

enum sq_status sq_gqsa_validate(const struct sq_gqsa *m, struct sq_error *err)
{
    SQ_TRY(sq_gqsa_check_shape(m, err));
    SQ_TRY(validate_offsets(m, err));
    for (size_t row = 0; row < m->n; row++)
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++)
            SQ_TRY(validate_group(m, row, e, err));
    return SQ_OK;
}

// ---- elements -------------------------------------------------------------------------------

static unsigned get_nibble(const uint8_t *in, size_t i)
{
    return (unsigned)in[i / 2] >> (i % 2 * 4) & 15u;
}

static void set_nibble(uint8_t *out, size_t i, unsigned v)
{
    const unsigned shift = i % 2 * 4;
    out[i / 2] = (uint8_t)(((unsigned)out[i / 2] & ~(15u << shift)) | v << shift);
}

unsigned sq_gqsa_code(const struct sq_gqsa *m, size_t e, size_t i)
{
    const size_t at = e * m->group + i;
    const uint8_t *c = m->codes;
    return m->bits == 16  ? (unsigned)(c[2 * at] | c[2 * at + 1] << 8)
           : m->bits == 8 ? c[at]
                          : get_nibble(c, at);
}

float sq_gqsa_scale(const struct sq_gqsa *m, size_t e)
{
    return m->bits == 16 ? 1 : sq_half_to_float(m->scale[e]);
}

float sq_gqsa_value(const struct sq_gqsa *m, size_t e, size_t i)
{
    const unsigned code = sq_gqsa_code(m, e, i);
    return m->bits == 16 ? sq_half_to_float((uint16_t)code) : (float)((int)code - m->zero[e]);
}

void sq_gqsa_set_code(struct sq_gqsa *m, size_t e, size_t i, unsigned code)
{
    const size_t at = e * m->group + i;
    if (m->bits == 16) {
        m->codes[2 * at] = (uint8_t)code;
        m->codes[2 * at + 1] = (uint8_t)(code >> 8);
    } else if (m->bits == 8)
        m->codes[at] = (uint8_t)code;
    else
        set_nibble(m->codes, at, code);
}

void sq_gqsa_pack_zeros(const uint8_t *zero, size_t nnz, uint8_t *packed)
{
    memset(packed, 0, sq_gqsa_zero_nbytes(nnz));
    for (size_t e = 0; e < nnz; e++)
        set_nibble(packed, e, zero[e]);
}

enum sq_status sq_gqsa_unpack_zeros(const uint8_t *packed, size_t nnz, uint8_t *zero,
                                    struct sq_error *err)
{
    SQ_FAIL_IF(nnz % 2 != 0 && packed[nnz / 2] >> 4 != 0, err, SQ_ERR_PADDING,
               "the last byte of the zeros is 0x%02x, need an upper half of 0", packed[nnz / 2]);
    for (size_t e = 0; e < nnz; e++)
        zero[e] = (uint8_t)get_nibble(packed, e);
    return SQ_OK;
}

// ---- quantizer ------------------------------------------------------------------------------

unsigned sq_gqsa_quantize(float w, float scale, unsigned zero, unsigned max_code)
{
    const float q = rintf(w / scale) + (float)zero;
    return q < 0 ? 0 : q > (float)max_code ? max_code : (unsigned)q;
}

enum sq_status sq_gqsa_quantize_group(const float *w, size_t len, uint8_t *codes, uint16_t *scale,
                                      uint8_t *zero, struct sq_error *err)
{
    return sq_gqsa_quantize_bits(4, w, len, codes, scale, zero, err);
}

enum sq_status sq_gqsa_quantize_bits(unsigned bits, const float *w, size_t len, uint8_t *codes,
                                     uint16_t *scale, uint8_t *zero, struct sq_error *err)
{
    const unsigned most = (1u << bits) - 1;
    float min = 0, max = 0;
    for (size_t i = 0; i < len; i++) {
        SQ_FAIL_IF(!isfinite(w[i]), err, SQ_ERR_NON_FINITE,
                   "w[%zu] of a group = %g, need a finite number", i, (double)w[i]);
        min = fminf(min, w[i]);
        max = fmaxf(max, w[i]);
    }
    const float exact = max == min ? 1.0f : (max - min) / (float)most;
    const uint16_t rounded = sq_f32_to_f16(exact);
    SQ_FAIL_IF(!sq_half_is_finite(rounded), err, SQ_ERR_OVERFLOW,
               "scale = %g of a group, need at most 65504", (double)exact);
    *scale = rounded == 0 ? 1 : rounded; // 2^-24, SPEC 0.3
    const float s = sq_half_to_float(*scale), z = -rintf(min / s);
    *zero = (uint8_t)(z > (float)most ? (float)most : z);
    for (size_t i = 0; i < len; i++)
        codes[i] = (uint8_t)sq_gqsa_quantize(w[i], s, *zero, most);
    return SQ_OK;
}

// ---- products -------------------------------------------------------------------------------

void sq_gqsa_decode_row(const struct sq_gqsa *m, size_t row, float *out)
{
    memset(out, 0, m->k_orig * sizeof *out);
    for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
        const size_t at = (size_t)m->groups[e] * m->group;
        for (size_t i = 0; i < m->group && at + i < m->k_orig; i++)
            out[at + i] = sq_gqsa_value(m, e, i) * sq_gqsa_scale(m, e) + 0.0f;
    }
}

void sq_gqsa_gemv(const struct sq_gqsa *m, const float *x, float *y)
{
    for (size_t row = 0; row < m->n; row++) {
        float sum = 0;
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            const float *at = x + (size_t)m->groups[e] * m->group;
            float inner = 0;
            for (size_t i = 0; i < m->group; i++)
                inner += sq_gqsa_value(m, e, i) * at[i];
            sum += inner * sq_gqsa_scale(m, e);
        }
        y[row] = sum + 0.0f;
    }
}

void sq_gqsa_gemv_int8(const struct sq_gqsa *m, const int8_t *x, float s_a, int32_t *sum_x,
                       float *y, int32_t *acc)
{
    for (size_t g = 0; g < m->k / m->group; g++) {
        sum_x[g] = 0;
        for (size_t i = 0; i < m->group; i++)
            sum_x[g] += x[g * m->group + i];
    }
    for (size_t row = 0; row < m->n; row++) {
        float sum = 0;
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            const int8_t *at = x + (size_t)m->groups[e] * m->group;
            int32_t dot = 0;
            for (size_t i = 0; i < m->group; i++)
                dot += (int32_t)sq_gqsa_code(m, e, i) * at[i];
            dot -= m->zero[e] * sum_x[m->groups[e]];
            sum += (float)dot * sq_gqsa_scale(m, e);
            if (acc)
                acc[e] = dot;
        }
        y[row] = sum * s_a + 0.0f;
    }
}

struct sq_codes sq_gqsa_codes(const struct sq_gqsa *m)
{
    return (struct sq_codes){
        // Differences of 8 bits have 9: the planes of split codes are wide enough for them.
        .grid = m->bits == 8 ? (struct sq_grid){SQ_GRID_SPLIT, 8, 4}
                             : (struct sq_grid){SQ_GRID_DENSE, 0, 8},
        .n = m->n,
        .k = m->k,
        .k_orig = m->k,
        .group = m->group};
}

void sq_gqsa_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                 float *s_hi)
{
    const struct sq_gqsa *m = from;
    (void)stride;
    memset(plane, 0, m->k * sizeof *plane);
    for (size_t g = 0; g < m->k / m->group; g++)
        s_lo[g] = s_hi[g] = 0;
    for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
        const size_t g = m->groups[e];
        for (size_t i = 0; i < m->group; i++)
            plane[g * m->group + i] = (int16_t)sq_gqsa_value(m, e, i);
        s_lo[g] = s_hi[g] = sq_gqsa_scale(m, e);
    }
}
