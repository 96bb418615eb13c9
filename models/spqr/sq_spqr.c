// SPDX-License-Identifier: Apache-2.0
// Packs, checks, decodes and multiplies SpQR weights (sq_spqr.h).
#include "models/spqr/sq_spqr.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_grid.h"
#include "models/number/sq_half.h"

enum { T = SQ_SPQR_TILE };

size_t sq_spqr_n_words(size_t n, size_t k)
{
    return sq_spqr_padded(n) * (sq_spqr_padded(k) / T);
}

// ---- tiles ----------------------------------------------------------------------------------

static unsigned byte_of(uint64_t word)
{
    return (unsigned)(word >> 54) & 255u;
}

void sq_spqr_pack(const struct sq_spqr_tile *t, uint64_t word[T])
{
    uint64_t v = 0;
    for (unsigned i = 0; i < SQ_SPQR_SECONDS; i++)
        v |= (uint64_t)t->second[i] << (16 * i);
    for (unsigned r = 0; r < T; r++) {
        word[r] = (v >> (8 * (r / 2)) & 255u) << 54 | (uint64_t)t->zero[r] << 3 | t->scale[r];
        for (unsigned j = 0; j < T; j++)
            word[r] |= (uint64_t)t->code[r][j] << (6 + 3 * j);
    }
}

static enum sq_status check_words(const uint64_t word[T], struct sq_error *err)
{
    for (unsigned r = 0; r < T; r++)
        SQ_FAIL_IF(word[r] >> 62 != 0, err, SQ_ERR_PADDING,
                   "row %u: word 0x%016llx, need bits 63:62 0", r, (unsigned long long)word[r]);
    for (unsigned r = 0; r < T; r += 2)
        SQ_FAIL_IF(byte_of(word[r]) != byte_of(word[r + 1]), err, SQ_ERR_DAMAGED,
                   "rows %u and %u: second-order bytes 0x%02x and 0x%02x, need equal ones", r,
                   r + 1, byte_of(word[r]), byte_of(word[r + 1]));
    return SQ_OK;
}

enum sq_status sq_spqr_unpack(const uint64_t word[T], struct sq_spqr_tile *t, struct sq_error *err)
{
    static const char *const name[SQ_SPQR_SECONDS] = {"q_ss", "q_zs", "q_sz", "q_zz"};
    SQ_TRY(check_words(word, err));
    sq_spqr_dec_tile(word, t);
    for (unsigned i = 0; i < SQ_SPQR_SECONDS; i++)
        SQ_FAIL_IF(!sq_half_is_finite(t->second[i]), err, SQ_ERR_SCALE,
                   "%s = 0x%04x, need a finite binary16", name[i], t->second[i]);
    return SQ_OK;
}

// q (code - zero) in binary16.
static float half_affine(float q, unsigned code, float zero)
{
    const float difference = sq_half_round((float)code - zero);
    return sq_half_round(q * difference);
}

void sq_spqr_row(const struct sq_spqr_tile *t, unsigned row, float *s, float *z)
{
    float q[SQ_SPQR_SECONDS];
    for (unsigned i = 0; i < SQ_SPQR_SECONDS; i++)
        q[i] = sq_half_to_float(t->second[i]);
    *s = half_affine(q[SQ_SPQR_SS], t->scale[row], q[SQ_SPQR_SZ]);
    *z = half_affine(q[SQ_SPQR_ZS], t->zero[row], q[SQ_SPQR_ZZ]);
}

float sq_spqr_value(float s, float z, unsigned code)
{
    return half_affine(s, code, z);
}

// ---- matrix ---------------------------------------------------------------------------------

static enum sq_status check_shape(const struct sq_spqr *m, size_t n_words, struct sq_error *err)
{
    SQ_FAIL_IF(m->n == 0 || m->n >= UINT32_MAX - T || m->k == 0 || m->k > SQ_SPQR_K_MAX, err,
               SQ_ERR_SHAPE, "N = %zu, K = %zu, need N >= 1 and K = 1..%d", m->n, m->k,
               SQ_SPQR_K_MAX);
    SQ_FAIL_IF(n_words != sq_spqr_n_words(m->n, m->k), err, SQ_ERR_STREAM_LEN,
               "%zu words of tile rows, need %zu: N and K in tiles of 16", n_words,
               sq_spqr_n_words(m->n, m->k));
    SQ_FAIL_IF(m->outliers.n != m->n, err, SQ_ERR_SHAPE, "outliers of %zu rows, need %zu",
               m->outliers.n, m->n);
    return SQ_OK;
}

static enum sq_status check_perm(const struct sq_spqr *m, uint8_t *seen, struct sq_error *err)
{
    if (!m->in_perm)
        return SQ_OK;
    memset(seen, 0, m->k);
    for (size_t j = 0; j < m->k; j++) {
        SQ_FAIL_IF(m->in_perm[j] >= m->k || seen[m->in_perm[j]], err, SQ_ERR_INDEX,
                   "in_perm[%zu] = %u, need each of 0..%zu once", j, m->in_perm[j], m->k - 1);
        seen[m->in_perm[j]] = 1;
    }
    return SQ_OK;
}

// Whether one of the eight values of a row leaves binary16.
static bool overflows(const struct sq_spqr_tile *t, unsigned row)
{
    float s, z;
    bool is_bad = false;
    sq_spqr_row(t, row, &s, &z);
    for (unsigned code = 0; code < 8; code++)
        is_bad |= !isfinite(sq_spqr_value(s, z, code));
    return is_bad;
}

static enum sq_status check_tiles(const struct sq_spqr *m, struct sq_error *err)
{
    const size_t n_tiles = sq_spqr_padded(m->k) / T, count = sq_spqr_padded(m->n) / T * n_tiles;
    for (size_t i = 0; i < count; i++) {
        struct sq_spqr_tile t;
        struct sq_error e;
        const enum sq_status status = sq_spqr_unpack(m->dense + T * i, &t, &e);
        SQ_FAIL_IF(status != SQ_OK, err, status, "tile (%zu, %zu) %.180s", i / n_tiles, i % n_tiles,
                   e.text);
        for (unsigned r = 0; r < T; r++)
            SQ_FAIL_IF(overflows(&t, r), err, SQ_ERR_OVERFLOW,
                       "tile (%zu, %zu) row %u: a weight beyond 65504 in binary16", i / n_tiles,
                       i % n_tiles, r);
    }
    return SQ_OK;
}

enum sq_status sq_spqr_validate(const struct sq_spqr *m, size_t n_words, size_t n_offsets,
                                size_t n_entries, uint8_t *seen, struct sq_error *err)
{
    SQ_TRY(check_shape(m, n_words, err));
    SQ_TRY(check_perm(m, seen, err));
    SQ_TRY(check_tiles(m, err));
    return sq_spqr_csr_validate(&m->outliers, n_offsets, n_entries, m->k, err);
}

void sq_spqr_decode_dense(const struct sq_spqr *m, float *plane)
{
    const size_t n_words = sq_spqr_n_words(m->n, m->k);
    for (size_t i = 0; i < n_words; i += T) { // tile i / 16; its columns are 16 rows each
        struct sq_spqr_tile t;
        const enum sq_status status = sq_spqr_unpack(m->dense + i, &t, NULL);
        assert(status == SQ_OK);
        (void)status;
        for (unsigned r = 0; r < T; r++) {
            float s, z;
            sq_spqr_row(&t, r, &s, &z);
            for (unsigned j = 0; j < T; j++)
                plane[T * (i + j) + r] = sq_spqr_value(s, z, t.code[r][j]);
        }
    }
}

void sq_spqr_decode_row(const struct sq_spqr *m, const float *plane, size_t row, bool is_replace,
                        float *w)
{
    const float *column = plane + row / T * sq_spqr_padded(m->k) * T + row % T;
    for (size_t j = 0; j < m->k; j++)
        w[m->in_perm ? m->in_perm[j] : j] = column[T * j];
    for (size_t e = m->outliers.row_offsets[row]; e < m->outliers.row_offsets[row + 1]; e++) {
        const uint32_t entry = m->outliers.col_val[e], j = entry & 0xffffu;
        float *to = &w[m->in_perm ? m->in_perm[j] : j];
        const float value = sq_half_to_float((uint16_t)(entry >> 16));
        *to = is_replace ? value : *to + value;
    }
}

// ---- product --------------------------------------------------------------------------------

unsigned sq_spqr_workers(size_t k)
{
    const size_t n_tiles = sq_spqr_padded(k) / T;
    unsigned workers = 16;
    while (n_tiles % workers != 0)
        workers /= 2;
    return workers;
}

// The first channel that is no binary16.
static enum sq_status refuse_input(const struct sq_spqr *m, const float *x, struct sq_error *err)
{
    for (size_t j = 0; j < m->k; j++) {
        const size_t channel = m->in_perm ? m->in_perm[j] : j;
        SQ_FAIL_IF(!isfinite(x[channel]), err, SQ_ERR_NON_FINITE,
                   "x[%zu] = %g, need a finite number", channel, (double)x[channel]);
        SQ_FAIL_IF(!isfinite(sq_half_round(x[channel])), err, SQ_ERR_OVERFLOW,
                   "x[%zu] = %g, need at most 65504 in binary16", channel, (double)x[channel]);
    }
    return SQ_OK;
}

enum sq_status sq_spqr_load(const struct sq_spqr *m, const float *x, float *out,
                            struct sq_error *err)
{
    float amax[2];
    for (size_t j = 0; j < m->k; j++)
        out[j] = x[m->in_perm ? m->in_perm[j] : j];
    sq_half_round_all(out, m->k, out);
    sq_grid_amax(out, NULL, m->k, amax);
    if (!isfinite(amax[0]))
        SQ_TRY(refuse_input(m, x, err));
    memset(out + m->k, 0, (sq_spqr_padded(m->k) - m->k) * sizeof *out);
    return SQ_OK;
}

// The product of two binary16 numbers is exact in binary32 (22 bits, exponents -48..31), so that a
// product and a sum round like one fma.
static void multiply_tile(float *restrict acc, const float *restrict w, const float *x)
{
    for (unsigned j = 0; j < T; j++)
        for (unsigned r = 0; r < T; r++)
            acc[r] += x[j] * w[T * j + r];
}

static void add_entry(float acc[][T], unsigned workers, size_t t, unsigned r, uint32_t entry,
                      const float *x)
{
    acc[t % workers][r] += sq_half_to_float((uint16_t)(entry >> 16)) * x[entry & 0xffffu];
}

static void add_csr(float acc[][T], unsigned workers, const struct sq_spqr_csr *c, size_t row,
                    const float *x)
{
    for (unsigned r = 0; r < T && row + r < c->n; r++)
        for (size_t e = c->row_offsets[row + r]; e < c->row_offsets[row + r + 1]; e++)
            add_entry(acc, workers, e - c->row_offsets[row + r], r, c->col_val[e], x);
}

static void add_ptcsr(float acc[][T], unsigned workers, const struct sq_spqr_ptcsr *p, size_t row,
                      const float *x)
{
    const size_t begin = p->offsets[row / T], end = p->offsets[row / T + 1];
    for (unsigned r = 0; r < T; r++)
        for (size_t i = begin + r; i < end && p->word[i] != 0; i += T)
            add_entry(acc, workers, (i - begin) / T, r, p->word[i], x);
}

enum sq_status sq_spqr_gemv(const struct sq_spqr *m, const struct sq_spqr_ptcsr *p,
                            const float *plane, const float *x, float *y, struct sq_error *err)
{
    const size_t k = sq_spqr_padded(m->k);
    const unsigned workers = sq_spqr_workers(m->k);
    for (size_t row = 0; row < m->n; row += T) {
        float acc[16][T] = {{0}};
        for (size_t j = 0; j < k; j += T)
            multiply_tile(acc[j / T % workers], plane + row * k + T * j, x + j);
        if (p)
            add_ptcsr(acc, workers, p, row, x);
        else
            add_csr(acc, workers, &m->outliers, row, x);
        for (unsigned r = 0; r < T && row + r < m->n; r++) {
            float sum = acc[0][r];
            for (unsigned u = 1; u < workers; u++)
                sum += acc[u][r];
            y[row + r] = sq_half_round(sum);
            SQ_FAIL_IF(!isfinite(y[row + r]), err, SQ_ERR_OVERFLOW,
                       "y[%zu] = %g, need at most 65504 in binary16", row + r, (double)sum);
        }
    }
    return SQ_OK;
}
