// SPDX-License-Identifier: Apache-2.0
// Packs, checks and multiplies weights in 2:4 INT8 (sq_sp24.h).
#include "models/sp24/sq_sp24.h"

#include <math.h>
#include <string.h>

#include "models/number/sq_codes.h"

enum { TILE = SQ_SP24_TILE };

size_t sq_sp24_padded(size_t k_orig)
{
    return (k_orig + TILE - 1) / TILE * TILE;
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
    if (m->n == 0 || m->k == 0 || m->k % TILE != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "N x K = %zu x %zu, need rows and a multiple of %d", m->n,
                       m->k, TILE);
    if (m->k_orig % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu, need a multiple of 4", m->k_orig);
    if (m->k_orig == 0 || m->k != sq_sp24_padded(m->k_orig))
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu is padded to %zu, not to %zu", m->k_orig,
                       sq_sp24_padded(m->k_orig), m->k);
    return SQ_OK;
}

// One tile of columns at a time, so that nothing is allocated.
enum sq_status sq_sp24_pack_row(struct sq_sp24 *m, size_t row, const int8_t *codes,
                                struct sq_error *err)
{
    for (size_t j = 0; j < m->k; j += TILE) {
        const size_t real = m->k_orig - j < TILE ? m->k_orig - j : TILE;
        int8_t dense[TILE] = {0};
        uint8_t nibble[TILE / 4];
        struct sq_error e;
        memcpy(dense, codes + j, real);
        if (memchr(dense, -128, TILE))
            return SQ_FAIL(err, SQ_ERR_CODE, "row %zu, columns from %zu: code -128, need -127..127",
                           row, j);
        if (sq_meta24_encode(dense, TILE, m->value + row * (m->k / 2) + j / 2, nibble, &e) != SQ_OK)
            return SQ_FAIL(err, e.code, "row %zu, columns from %zu: %.150s", row, j, e.text);
        for (size_t i = 0; i < TILE / 8; i++)
            m->meta[row * (m->k / 8) + j / 8 + i] =
                (uint8_t)(nibble[2 * i] | nibble[2 * i + 1] << 4);
    }
    return SQ_OK;
}

void sq_sp24_unpack_row(const struct sq_sp24 *m, size_t row, int8_t *codes)
{
    const int8_t *value = values_of(m, row);
    memset(codes, 0, m->k);
    for (size_t g = 0; g < m->k / 4; g++) {
        unsigned i0 = 0, i1 = 1;
        sq_meta24_decode(nibble_of(m, row, g), &i0, &i1);
        codes[4 * g + i0] = value[2 * g];
        codes[4 * g + i1] = value[2 * g + 1];
    }
}

static enum sq_status validate_row(const struct sq_sp24 *m, size_t row, struct sq_error *err)
{
    const int8_t *value = values_of(m, row);
    for (size_t g = 0; g < m->k / 4; g++) {
        const unsigned nibble = nibble_of(m, row, g);
        unsigned i0, i1;
        if (!sq_meta24_decode(nibble, &i0, &i1))
            return SQ_FAIL(err, SQ_ERR_INDEX,
                           "row %zu, columns %zu..%zu: metadata 0x%x, need two ascending indices",
                           row, 4 * g, 4 * g + 3, nibble);
        if (value[2 * g] == -128 || value[2 * g + 1] == -128)
            return SQ_FAIL(err, SQ_ERR_CODE, "row %zu, columns %zu..%zu: code -128, need -127..127",
                           row, 4 * g, 4 * g + 3);
        if (4 * g >= m->k_orig && (value[2 * g] != 0 || value[2 * g + 1] != 0))
            return SQ_FAIL(err, SQ_ERR_PADDING, "row %zu, columns %zu..%zu: padding is not zero",
                           row, 4 * g, 4 * g + 3);
    }
    return SQ_OK;
}

enum sq_status sq_sp24_validate(const struct sq_sp24 *m, size_t value_nbytes, size_t meta_nbytes,
                                size_t n_scales, struct sq_error *err)
{
    SQ_TRY(sq_sp24_check_shape(m, err));
    if (value_nbytes != m->n * (m->k / 2) || meta_nbytes != m->n * (m->k / 8) || n_scales != m->n)
        return SQ_FAIL(err, SQ_ERR_STREAM_LEN,
                       "%zu, %zu bytes of values, metadata and %zu scales, need %zu, %zu and %zu",
                       value_nbytes, meta_nbytes, n_scales, m->n * (m->k / 2), m->n * (m->k / 8),
                       m->n);
    for (size_t row = 0; row < m->n; row++) {
        SQ_TRY(validate_row(m, row, err));
        if (!isfinite(m->scale[row]) || !(m->scale[row] > 0))
            return SQ_FAIL(err, SQ_ERR_SCALE, "scale[%zu] = %g, need finite and > 0", row,
                           (double)m->scale[row]);
    }
    return SQ_OK;
}

int32_t sq_sp24_dot(const struct sq_sp24 *m, size_t row, const int8_t *act)
{
    const int8_t *value = values_of(m, row);
    int32_t sum = 0;
    for (size_t g = 0; g < m->k / 4; g++) {
        int8_t taken[2];
        sq_meta24_select(nibble_of(m, row, g), act + 4 * g, taken);
        sum += value[2 * g] * taken[0] + value[2 * g + 1] * taken[1];
    }
    return sum;
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

// A row for n <= CHUNK tokens: every tile is unpacked once for all of them.
enum { CHUNK = 32 };
static void dot_chunk(const struct sq_sp24 *m, size_t row, const int8_t *act, size_t n,
                      int32_t sum[CHUNK])
{
    memset(sum, 0, n * sizeof *sum);
    for (size_t j = 0; j < m->k; j += TILE) {
        int8_t dense[TILE];
        unpack_tile(m, row, j, dense);
        for (size_t t = 0; t < n; t++)
            for (size_t i = 0; i < TILE; i++)
                sum[t] += dense[i] * act[t * m->k + j + i];
    }
}

void sq_gemm_sp24(const struct sq_sp24 *m, const int8_t *act, const float *s_a, size_t n_tokens,
                  float *y, int32_t *p)
{
    for (size_t first = 0; first < n_tokens; first += CHUNK) {
        const size_t n = n_tokens - first < CHUNK ? n_tokens - first : CHUNK;
        for (size_t row = 0; row < m->n; row++) {
            int32_t sum[CHUNK];
            dot_chunk(m, row, act + first * m->k, n, sum);
            for (size_t t = 0; t < n; t++) {
                y[(first + t) * m->n + row] =
                    ((float)sum[t] * m->scale[row]) * s_a[first + t] + 0.0f;
                if (p)
                    p[(first + t) * m->n + row] = sum[t];
            }
        }
    }
}

struct sq_codes sq_sp24_codes(const struct sq_sp24 *m)
{
    return (struct sq_codes){
        .grid = {SQ_GRID_DENSE, 0, 8}, .n = m->n, .k = m->k, .k_orig = m->k, .group = m->k};
}

void sq_sp24_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                 float *s_hi)
{
    const struct sq_sp24 *m = from;
    (void)stride;
    for (size_t j = 0; j < m->k; j += TILE) {
        int8_t dense[TILE];
        unpack_tile(m, row, j, dense);
        for (size_t i = 0; i < TILE; i++)
            plane[j + i] = dense[i];
    }
    *s_lo = *s_hi = m->scale[row];
}

double sq_sp24_stored_bits_per_weight(const struct sq_sp24 *m)
{
    const double weights = (double)m->n * (double)m->k_orig;
    return ((double)m->n * (double)m->k * (4 + 1) + 32 * (double)m->n) / weights;
}
