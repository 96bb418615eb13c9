// SPDX-License-Identifier: Apache-2.0
// Packs, checks, decodes and multiplies weights in 2:4 (sq_sp24.h).
#include "models/sp24/sq_sp24.h"

#include <math.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_codes.h"
#include "models/number/sq_half.h"

enum { TILE = SQ_SP24_TILE };

size_t sq_sp24_padded(size_t k_orig, size_t group)
{
    const size_t unit = group > TILE ? group : TILE;
    return (k_orig + unit - 1) / unit * unit;
}

unsigned sq_sp24_bits(const struct sq_sp24 *m)
{
    return m->bits ? m->bits : 8;
}

size_t sq_sp24_groups(const struct sq_sp24 *m)
{
    return m->bits == 16 ? 0 : m->group ? m->k / m->group : 1;
}

// Group g of a row: even groups in the low nibbles.
static unsigned nibble_of(const struct sq_sp24 *m, size_t row, size_t g)
{
    return (unsigned)m->meta[row * (m->k / 8) + g / 2] >> (g % 2 * 4) & 15u;
}

static const int8_t *values_of(const struct sq_sp24 *m, size_t row)
{
    return m->value + row * (m->k / 2);
}

enum sq_status sq_sp24_check_shape(const struct sq_sp24 *m, struct sq_error *err)
{
    const unsigned bits = sq_sp24_bits(m);
    SQ_FAIL_IF((bits < 4 || bits > 8) && bits != 16, err, SQ_ERR_UNSUPPORTED,
               "bits = %u of a value, need 4..8 or 16", bits);
    SQ_FAIL_IF(m->group != 0 &&
                   (m->group < 16 || m->group > 128 || (m->group & (m->group - 1)) != 0),
               err, SQ_ERR_UNSUPPORTED, "group = %zu, need 16, 32, 64, 128 or row", m->group);
    SQ_FAIL_IF(m->n == 0 || m->k == 0 || m->k % TILE != 0, err, SQ_ERR_SHAPE,
               "N x K = %zu x %zu, need rows and a multiple of %d", m->n, m->k, TILE);
    SQ_FAIL_IF(m->k_orig % 4 != 0, err, SQ_ERR_SHAPE, "K = %zu, need a multiple of 4", m->k_orig);
    SQ_FAIL_IF(m->k_orig == 0 || m->k != sq_sp24_padded(m->k_orig, m->group), err, SQ_ERR_SHAPE,
               "K = %zu is padded to %zu, not to %zu", m->k_orig,
               sq_sp24_padded(m->k_orig, m->group), m->k);
    return SQ_OK;
}

// One tile of columns at a time, so that nothing is allocated.
enum sq_status sq_sp24_pack_row(struct sq_sp24 *m, size_t row, const int8_t *codes,
                                struct sq_error *err)
{
    for (size_t j = 0; j < m->k; j += TILE) {
        const size_t left = j < m->k_orig ? m->k_orig - j : 0, real = left < TILE ? left : TILE;
        int8_t dense[TILE] = {0}, marks[TILE / 2];
        int8_t *const to = m->half ? marks : m->value + row * (m->k / 2) + j / 2;
        uint8_t nibble[TILE / 4];
        struct sq_error e;
        memcpy(dense, codes + j, real);
        SQ_FAIL_IF(memchr(dense, -128, TILE), err, SQ_ERR_CODE,
                   "row %zu, columns from %zu: code -128, need -127..127", row, j);
        SQ_FAIL_IF(sq_meta24_encode(dense, TILE, to, nibble, &e) != SQ_OK, err, e.code,
                   "row %zu, columns from %zu: %.150s", row, j, e.text);
        for (size_t i = 0; i < TILE / 8; i++)
            m->meta[row * (m->k / 8) + j / 8 + i] =
                (uint8_t)(nibble[2 * i] | nibble[2 * i + 1] << 4);
    }
    return SQ_OK;
}

// Stored value i of a row, without its scale.
static float stored(const struct sq_sp24 *m, size_t row, size_t i)
{
    const size_t at = row * (m->k / 2) + i;
    return m->half ? sq_half_to_float(m->half[at]) : (float)m->value[at];
}

void sq_sp24_decode_row(const struct sq_sp24 *m, size_t row, float *out)
{
    const size_t n = sq_sp24_groups(m);
    memset(out, 0, m->k_orig * sizeof *out);
    for (size_t g = 0; g < m->k_orig / 4; g++) {
        const float scale = n ? m->scale[row * n + 4 * g * n / m->k] : 1;
        unsigned i0 = 0, i1 = 1;
        sq_meta24_decode(nibble_of(m, row, g), &i0, &i1);
        out[4 * g + i0] = stored(m, row, 2 * g) * scale + 0.0f;
        out[4 * g + i1] = stored(m, row, 2 * g + 1) * scale + 0.0f;
    }
}

static enum sq_status validate_row(const struct sq_sp24 *m, size_t row, struct sq_error *err)
{
    const float most = m->half ? 65504 : (float)sq_qmax(sq_sp24_bits(m));
    for (size_t g = 0; g < m->k / 4; g++) {
        const unsigned nibble = nibble_of(m, row, g);
        unsigned i0, i1;
        SQ_FAIL_IF(!sq_meta24_decode(nibble, &i0, &i1), err, SQ_ERR_INDEX,
                   "row %zu, columns %zu..%zu: metadata 0x%x, need two ascending indices", row,
                   4 * g, 4 * g + 3, nibble);
        for (size_t i = 2 * g; i < 2 * g + 2; i++) {
            const float v = stored(m, row, i);
            SQ_FAIL_IF(!(fabsf(v) <= most), err, SQ_ERR_CODE,
                       "row %zu, columns %zu..%zu: code %g, need -%g..%g", row, 4 * g, 4 * g + 3,
                       (double)v, (double)most, (double)most);
            SQ_FAIL_IF(4 * g >= m->k_orig && v != 0, err, SQ_ERR_PADDING,
                       "row %zu, columns %zu..%zu: padding is not zero", row, 4 * g, 4 * g + 3);
        }
    }
    return SQ_OK;
}

enum sq_status sq_sp24_validate(const struct sq_sp24 *m, size_t n_values, size_t meta_nbytes,
                                size_t n_scales, struct sq_error *err)
{
    SQ_TRY(sq_sp24_check_shape(m, err));
    const size_t all = m->n * sq_sp24_groups(m);
    SQ_FAIL_IF(n_values != m->n * (m->k / 2) || meta_nbytes != m->n * (m->k / 8) || n_scales != all,
               err, SQ_ERR_STREAM_LEN,
               "%zu values, %zu bytes of metadata and %zu scales, need %zu, %zu and %zu", n_values,
               meta_nbytes, n_scales, m->n * (m->k / 2), m->n * (m->k / 8), all);
    for (size_t row = 0; row < m->n; row++)
        SQ_TRY(validate_row(m, row, err));
    for (size_t i = 0; i < all; i++)
        SQ_FAIL_IF(!isfinite(m->scale[i]) || !(m->scale[i] > 0), err, SQ_ERR_SCALE,
                   "scale[%zu] = %g, need finite and > 0", i, (double)m->scale[i]);
    return SQ_OK;
}

// Columns [j, j + TILE) of a row, dense.
static void unpack_tile(const struct sq_sp24 *m, size_t row, size_t j, int8_t dense[TILE])
{
    const int8_t *value = values_of(m, row) + j / 2;
    memset(dense, 0, TILE);
    for (size_t g = 0; g < TILE / 4; g++) {
        unsigned i0 = 0, i1 = 1;
        sq_meta24_decode(nibble_of(m, row, j / 4 + g), &i0, &i1);
        dense[4 * g + i0] = value[2 * g];
        dense[4 * g + i1] = value[2 * g + 1];
    }
}

// A group of a row, columns [from, to), for n <= CHUNK tokens: every tile is unpacked once for all of them.
enum { CHUNK = 32 };
static void dot_chunk(const struct sq_sp24 *m, size_t row, size_t from, size_t to,
                      const int8_t *act, size_t n, int32_t sum[CHUNK])
{
    memset(sum, 0, n * sizeof *sum);
    for (size_t j = from; j < to; j = j / TILE * TILE + TILE) {
        const size_t end = to - j / TILE * TILE < TILE ? to - j / TILE * TILE : TILE;
        int8_t dense[TILE];
        unpack_tile(m, row, j / TILE * TILE, dense);
        for (size_t t = 0; t < n; t++)
            for (size_t i = j % TILE; i < end; i++)
                sum[t] += dense[i] * act[t * m->k + j / TILE * TILE + i];
    }
}

void sq_gemm_sp24(const struct sq_sp24 *m, const int8_t *act, const float *s_a, size_t n_tokens,
                  float *y, int32_t *p)
{
    const size_t groups = sq_sp24_groups(m), length = m->k / groups;
    for (size_t first = 0; first < n_tokens; first += CHUNK) {
        const size_t n = n_tokens - first < CHUNK ? n_tokens - first : CHUNK;
        for (size_t row = 0; row < m->n; row++) {
            float total[CHUNK] = {0};
            for (size_t g = 0; g < groups; g++) {
                int32_t sum[CHUNK];
                dot_chunk(m, row, g * length, (g + 1) * length, act + first * m->k, n, sum);
                for (size_t t = 0; t < n; t++) {
                    total[t] = total[t] + (float)sum[t] * m->scale[row * groups + g];
                    if (p)
                        p[((first + t) * m->n + row) * groups + g] = sum[t];
                }
            }
            for (size_t t = 0; t < n; t++)
                y[(first + t) * m->n + row] = total[t] * s_a[first + t] + 0.0f;
        }
    }
}

void sq_gemm_sp24_f16(const struct sq_sp24 *m, const float *x, size_t n_tokens, float *y)
{
    const size_t scales = sq_sp24_groups(m), length = m->k / 2 / (scales ? scales : 1);
    for (size_t first = 0; first < n_tokens; first += CHUNK) {
        const size_t n = n_tokens - first < CHUNK ? n_tokens - first : CHUNK;
        for (size_t row = 0; row < m->n; row++) {
            float total[CHUNK] = {0};
            double sum[CHUNK] = {0};
            for (size_t i = 0; i < m->k / 2; i++) {
                unsigned at[2] = {0, 1};
                sq_meta24_decode(nibble_of(m, row, i / 2), &at[0], &at[1]);
                const float *from = x + first * m->k + i / 2 * 4 + at[i % 2];
                const double v = (double)stored(m, row, i);
                for (size_t t = 0; t < n; t++)
                    sum[t] += v * (double)from[t * m->k];
                if ((i + 1) % length != 0)
                    continue;
                const float scale = scales ? m->scale[row * scales + i / length] : 1;
                for (size_t t = 0; t < n; t++, sum[t - 1] = 0)
                    total[t] = total[t] + (float)sum[t] * scale;
            }
            for (size_t t = 0; t < n; t++)
                y[(first + t) * m->n + row] = total[t] + 0.0f;
        }
    }
}

struct sq_codes sq_sp24_codes(const struct sq_sp24 *m)
{
    return (struct sq_codes){.grid = {SQ_GRID_DENSE, 0, 8},
                             .n = m->n,
                             .k = m->k,
                             .k_orig = m->k,
                             .group = m->k / sq_sp24_groups(m)};
}

void sq_sp24_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                 float *s_hi)
{
    const struct sq_sp24 *m = from;
    const size_t groups = sq_sp24_groups(m);
    (void)stride;
    for (size_t j = 0; j < m->k; j += TILE) {
        int8_t dense[TILE];
        unpack_tile(m, row, j, dense);
        for (size_t i = 0; i < TILE; i++)
            plane[j + i] = dense[i];
    }
    for (size_t g = 0; g < groups; g++)
        s_lo[g] = s_hi[g] = m->scale[row * groups + g];
}
