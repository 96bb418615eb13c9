// SPDX-License-Identifier: Apache-2.0
// Encodes, checks and decodes SpQt weights, and multiplies their active columns (sq_spqt.h).
#include "models/spqt/sq_spqt.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---- storage --------------------------------------------------------------------------------

size_t sq_spqt_n_rows(size_t n)
{
    return n / SQ_Q4K_LEN + (n % SQ_Q4K_LEN != 0);
}

size_t sq_spqt_n_blocks(size_t n, size_t k)
{
    return sq_spqt_n_rows(n) * k;
}

size_t sq_spqt_address(size_t k, size_t block_row, size_t col)
{
    return SQ_Q4K_NBYTES * (block_row * k + col);
}

static enum sq_status check_shape(size_t n, size_t k, struct sq_error *err)
{
    SQ_FAIL_IF(n == 0 || k == 0 || n > UINT32_MAX || k > UINT32_MAX, err, SQ_ERR_SHAPE,
               "N = %zu, K = %zu, need 1..2^32-1", n, k);
    return SQ_OK;
}

enum sq_status sq_spqt_encode(const float *w, struct sq_spqt *m, struct sq_error *err)
{
    SQ_TRY(check_shape(m->n, m->k, err));
    for (size_t r = 0; r < sq_spqt_n_rows(m->n); r++)
        for (size_t c = 0; c < m->k; c++) {
            float v[SQ_Q4K_LEN] = {0};
            struct sq_q4k s;
            struct sq_error e;
            for (size_t i = 0; i < SQ_Q4K_LEN && r * SQ_Q4K_LEN + i < m->n; i++)
                v[i] = w[(r * SQ_Q4K_LEN + i) * m->k + c];
            const enum sq_status status = sq_q4k_encode(v, &s, &e);
            SQ_FAIL_IF(status != SQ_OK, err, status, "rows from %zu, column %zu: %.180s",
                       r * SQ_Q4K_LEN, c, e.text);
            sq_q4k_pack(&s, m->block + sq_spqt_address(m->k, r, c));
        }
    return SQ_OK;
}

enum sq_status sq_spqt_validate(const struct sq_spqt *m, size_t nbytes, struct sq_error *err)
{
    SQ_TRY(check_shape(m->n, m->k, err));
    SQ_FAIL_IF(nbytes % SQ_Q4K_NBYTES != 0 ||
                   nbytes / SQ_Q4K_NBYTES != sq_spqt_n_blocks(m->n, m->k),
               err, SQ_ERR_STREAM_LEN,
               "%zu bytes, need %zu superblocks of %d: one for every 256 rows of a column", nbytes,
               sq_spqt_n_blocks(m->n, m->k), SQ_Q4K_NBYTES);
    for (size_t i = 0; i < sq_spqt_n_blocks(m->n, m->k); i++) {
        struct sq_q4k s;
        struct sq_error e;
        sq_q4k_unpack(m->block + SQ_Q4K_NBYTES * i, &s);
        const enum sq_status status = sq_q4k_check(&s, &e);
        SQ_FAIL_IF(status != SQ_OK, err, status, "superblock row %zu column %zu: %.180s", i / m->k,
                   i % m->k, e.text);
    }
    return SQ_OK;
}

void sq_spqt_decode(const struct sq_spqt *m, float *plane)
{
    for (size_t i = 0; i < sq_spqt_n_blocks(m->n, m->k); i++) {
        struct sq_q4k s;
        sq_q4k_unpack(m->block + SQ_Q4K_NBYTES * i, &s);
        sq_q4k_decode(&s, plane + SQ_Q4K_LEN * i);
    }
}

// ---- index collection -----------------------------------------------------------------------

enum sq_status sq_spqt_check(const float *x, size_t k, float theta, struct sq_error *err)
{
    SQ_FAIL_IF(!(theta >= 0 && isfinite(theta)), err, SQ_ERR_RANGE,
               "theta = %g, need a finite number >= 0", (double)theta);
    for (size_t i = 0; i < k; i++)
        SQ_FAIL_IF(!isfinite(x[i]), err, SQ_ERR_NON_FINITE, "x[%zu] = %g, need a finite number", i,
                   (double)x[i]);
    return SQ_OK;
}

// Blelloch: sums of pairs upwards, then every node hands its left child what lies before it.
void sq_spqt_scan(uint32_t *a, size_t n)
{
    assert(n >= 1 && (n & (n - 1)) == 0);
    for (size_t step = 1; step < n; step *= 2)
        for (size_t i = 2 * step - 1; i < n; i += 2 * step)
            a[i] += a[i - step];
    a[n - 1] = 0;
    for (size_t step = n / 2; step >= 1; step /= 2)
        for (size_t i = 2 * step - 1; i < n; i += 2 * step) {
            const uint32_t left = a[i - step];
            a[i - step] = a[i];
            a[i] += left;
        }
}

size_t sq_spqt_active(const float *x, size_t k, float theta, unsigned segment, uint32_t *idx)
{
    uint32_t offset[SQ_SPQT_SEGMENT];
    size_t base = 0;
    assert(segment >= 1 && segment <= SQ_SPQT_SEGMENT);
    for (size_t begin = 0; begin < k; begin += segment) {
        const size_t n = k - begin < segment ? k - begin : segment;
        size_t count = 0;
        memset(offset, 0, sizeof offset);
        for (size_t i = 0; i < n; i++)
            count += offset[i] = fabsf(x[begin + i]) >= theta;
        sq_spqt_scan(offset, segment);
        for (size_t i = 0; i < n; i++)
            if (fabsf(x[begin + i]) >= theta)
                idx[base + offset[i]] = (uint32_t)(begin + i);
        base += count;
    }
    return base;
}

// ---- products -------------------------------------------------------------------------------

void sq_spqt_share(size_t n, unsigned workers, unsigned p, size_t *begin, size_t *end)
{
    *begin = (size_t)((uint64_t)p * n / workers);
    *end = (size_t)(((uint64_t)p + 1) * n / workers);
}

static void multiply_column(float *restrict acc, const float *restrict w, float x)
{
    for (size_t i = 0; i < SQ_Q4K_LEN; i++) {
        const float product = x * w[i];
        acc[i] += product;
    }
}

// The position of the first index that is not below `column`.
static size_t lower_bound(const uint32_t *idx, size_t n, size_t column)
{
    size_t begin = 0;
    while (n > 0) {
        const size_t half = n / 2;
        if (idx[begin + half] < column) {
            begin += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return begin;
}

// The part of idx that is worker p's.
static void part_of(size_t k, const uint32_t *idx, size_t n_idx, unsigned workers, unsigned p,
                    enum sq_spqt_schedule schedule, size_t *begin, size_t *end)
{
    if (schedule == SQ_SPQT_BALANCED) {
        sq_spqt_share(n_idx, workers, p, begin, end);
        return;
    }
    sq_spqt_share(k, workers, p, begin, end);
    *begin = lower_bound(idx, n_idx, *begin);
    *end = lower_bound(idx, n_idx, *end);
}

void sq_spqt_gemv(const struct sq_spqt *m, const float *plane, const float *x, const uint32_t *idx,
                  size_t n_idx, unsigned workers, enum sq_spqt_schedule schedule, float *y)
{
    for (size_t r = 0; r < sq_spqt_n_rows(m->n); r++) {
        const size_t row = r * SQ_Q4K_LEN, rest = m->n - row;
        float sum[SQ_Q4K_LEN] = {0};
        for (unsigned p = 0; p < workers; p++) {
            float acc[SQ_Q4K_LEN] = {0};
            size_t begin, end;
            part_of(m->k, idx, n_idx, workers, p, schedule, &begin, &end);
            if (begin == end)
                continue; // adding +0 changes nothing: sum is never -0
            for (size_t e = begin; e < end; e++)
                multiply_column(acc, plane + SQ_Q4K_LEN * (r * m->k + idx[e]), x[idx[e]]);
            for (size_t i = 0; i < SQ_Q4K_LEN; i++)
                sum[i] += acc[i];
        }
        memcpy(y + row, sum, (rest < SQ_Q4K_LEN ? rest : SQ_Q4K_LEN) * sizeof *y);
    }
}

void sq_spqt_gemm_dense(const struct sq_spqt *m, const float *plane, const float *x,
                        size_t m_tokens, unsigned workers, float *y)
{
    for (size_t r = 0; r < sq_spqt_n_rows(m->n); r++)
        for (size_t t = 0; t < m_tokens; t++) {
            const size_t row = r * SQ_Q4K_LEN, rest = m->n - row;
            float sum[SQ_Q4K_LEN] = {0};
            for (unsigned p = 0; p < workers; p++) {
                float acc[SQ_Q4K_LEN] = {0};
                size_t begin, end;
                sq_spqt_share(m->k, workers, p, &begin, &end);
                for (size_t c = begin; c < end; c++)
                    multiply_column(acc, plane + SQ_Q4K_LEN * (r * m->k + c), x[t * m->k + c]);
                for (size_t i = 0; i < SQ_Q4K_LEN; i++)
                    sum[i] += acc[i];
            }
            memcpy(y + t * m->n + row, sum, (rest < SQ_Q4K_LEN ? rest : SQ_Q4K_LEN) * sizeof *y);
        }
}
