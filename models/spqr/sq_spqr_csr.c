// SPDX-License-Identifier: Apache-2.0
// Outliers of SpQR: both layouts, their refusals, and the way from one to the other (SPEC H.4).
#include "models/spqr/sq_spqr_csr.h"

#include <string.h>

#include "models/number/sq_half.h"
#include "models/spqr/sq_spqr_dec.h"

enum { T = SQ_SPQR_TILE };

size_t sq_spqr_padded(size_t n)
{
    return n / T * T + (n % T ? T : 0);
}

static size_t n_blocks_of(size_t n)
{
    return sq_spqr_padded(n) / T;
}

// One entry after `last`, the column before it or -1.
static enum sq_status check_entry(size_t row, uint32_t entry, int64_t last, size_t k,
                                  struct sq_error *err)
{
    const uint32_t col = entry & 0xffffu;
    SQ_FAIL_IF(entry == 0, err, SQ_ERR_CODE, "row %zu: an outlier 0x00000000, which means none",
               row);
    SQ_FAIL_IF(col >= k, err, SQ_ERR_INDEX, "row %zu: outlier in column %u, need 0..%zu", row, col,
               k - 1);
    SQ_FAIL_IF((int64_t)col <= last, err, SQ_ERR_INDEX,
               "row %zu: outlier in column %u behind column %lld", row, col, (long long)last);
    SQ_FAIL_IF(!sq_half_is_finite((uint16_t)(entry >> 16)), err, SQ_ERR_NON_FINITE,
               "row %zu column %u: outlier 0x%04x is not finite", row, col,
               (unsigned)(entry >> 16));
    return SQ_OK;
}

// ---- CSR ------------------------------------------------------------------------------------

static enum sq_status check_offsets(const char *name, const uint32_t *offsets, size_t n,
                                    size_t n_offsets, size_t n_entries, struct sq_error *err)
{
    SQ_FAIL_IF(n_offsets != n + 1, err, SQ_ERR_STREAM_LEN, "%s has %zu elements, need %zu", name,
               n_offsets, n + 1);
    SQ_FAIL_IF(offsets[0] != 0, err, SQ_ERR_OFFSETS, "%s[0] = %u, need 0", name, offsets[0]);
    for (size_t i = 0; i < n; i++)
        SQ_FAIL_IF(offsets[i + 1] < offsets[i], err, SQ_ERR_OFFSETS,
                   "%s[%zu] = %u, below %u before it", name, i + 1, offsets[i + 1], offsets[i]);
    SQ_FAIL_IF(offsets[n] != n_entries, err, SQ_ERR_STREAM_LEN,
               "%s ends at %u, the outliers at %zu", name, offsets[n], n_entries);
    return SQ_OK;
}

enum sq_status sq_spqr_csr_validate(const struct sq_spqr_csr *c, size_t n_offsets, size_t n_entries,
                                    size_t k, struct sq_error *err)
{
    SQ_TRY(check_offsets("row_offsets", c->row_offsets, c->n, n_offsets, n_entries, err));
    SQ_FAIL_IF(c->nnz != n_entries, err, SQ_ERR_STREAM_LEN, "%zu outliers, need %zu", n_entries,
               c->nnz);
    for (size_t row = 0; row < c->n; row++) {
        int64_t last = -1;
        for (size_t e = c->row_offsets[row]; e < c->row_offsets[row + 1]; e++) {
            SQ_TRY(check_entry(row, c->col_val[e], last, k, err));
            last = c->col_val[e] & 0xffffu;
        }
    }
    return SQ_OK;
}

size_t sq_spqr_csr_entries(const struct sq_spqr_ptcsr *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_words; i++)
        n += p->word[i] != 0;
    return n;
}

// ---- PTCSR ----------------------------------------------------------------------------------

// Elements of row r of a block; they stop at the first missing one.
static size_t length_of(const struct sq_spqr_ptcsr *p, size_t row)
{
    const size_t begin = p->offsets[row / T], end = p->offsets[row / T + 1];
    size_t n = 0;
    for (size_t i = begin + row % T; i < end && p->word[i] != 0; i += T)
        n++;
    return n;
}

static enum sq_status check_row(const struct sq_spqr_ptcsr *p, size_t row, size_t k,
                                struct sq_error *err)
{
    const size_t begin = p->offsets[row / T] + row % T, end = p->offsets[row / T + 1];
    const size_t length = length_of(p, row);
    int64_t last = -1;
    SQ_FAIL_IF(row >= p->n && length > 0, err, SQ_ERR_PADDING, "an outlier in row %zu of %zu", row,
               p->n);
    for (size_t t = 0; begin + T * t < end; t++) {
        const uint32_t entry = p->word[begin + T * t];
        if (t < length)
            SQ_TRY(check_entry(row, entry, last, k, err));
        else if (entry != 0)
            return SQ_FAIL(err, SQ_ERR_PADDING, "row %zu: outlier %zu stands behind a missing one",
                           row, t);
        last = entry & 0xffffu;
    }
    return SQ_OK;
}

enum sq_status sq_spqr_ptcsr_validate(const struct sq_spqr_ptcsr *p, size_t n_offsets,
                                      size_t n_words, size_t k, struct sq_error *err)
{
    const size_t n_blocks = n_blocks_of(p->n);
    SQ_TRY(check_offsets("offsets", p->offsets, n_blocks, n_offsets, n_words, err));
    SQ_FAIL_IF(p->n_words != n_words, err, SQ_ERR_STREAM_LEN, "%zu words, need %zu", n_words,
               p->n_words);
    for (size_t b = 0; b < n_blocks; b++) {
        const size_t n = p->offsets[b + 1] - p->offsets[b];
        size_t longest = 0;
        SQ_FAIL_IF(n % T != 0, err, SQ_ERR_OFFSETS,
                   "block %zu has %zu words, need a multiple of 16", b, n);
        for (size_t row = b * T; row < (b + 1) * T; row++) {
            SQ_TRY(check_row(p, row, k, err));
            const size_t length = length_of(p, row);
            longest = length > longest ? length : longest;
        }
        SQ_FAIL_IF(n != T * longest, err, SQ_ERR_OFFSETS,
                   "block %zu has %zu words, its longest row needs %zu", b, n, T * longest);
    }
    return SQ_OK;
}

static size_t longest_of(const struct sq_spqr_csr *c, size_t block)
{
    size_t longest = 0;
    for (size_t row = block * T; row < (block + 1) * T && row < c->n; row++) {
        const size_t length = c->row_offsets[row + 1] - c->row_offsets[row];
        longest = length > longest ? length : longest;
    }
    return longest;
}

size_t sq_spqr_ptcsr_words(const struct sq_spqr_csr *c)
{
    size_t n = 0;
    for (size_t b = 0; b < n_blocks_of(c->n); b++)
        n += T * longest_of(c, b);
    return n;
}

// ---- conversions ----------------------------------------------------------------------------

enum sq_status sq_spqr_to_ptcsr(const struct sq_spqr_csr *c, struct sq_spqr_ptcsr *p,
                                struct sq_error *err)
{
    p->n = c->n;
    p->n_words = sq_spqr_ptcsr_words(c);
    SQ_FAIL_IF(p->n_words > UINT32_MAX, err, SQ_ERR_RANGE, "%zu words of outliers, need at most %u",
               p->n_words, UINT32_MAX);
    if (p->n_words > 0)
        memset(p->word, 0, p->n_words * sizeof *p->word);
    p->offsets[0] = 0;
    for (size_t b = 0; b < n_blocks_of(c->n); b++) {
        const size_t begin = p->offsets[b];
        p->offsets[b + 1] = (uint32_t)(begin + T * longest_of(c, b));
        for (size_t row = b * T; row < (b + 1) * T && row < c->n; row++)
            for (size_t e = c->row_offsets[row]; e < c->row_offsets[row + 1]; e++)
                p->word[begin + T * (e - c->row_offsets[row]) + row % T] = c->col_val[e];
    }
    return SQ_OK;
}

void sq_spqr_to_csr(const struct sq_spqr_ptcsr *p, struct sq_spqr_csr *c)
{
    size_t n = 0;
    c->n = p->n;
    for (size_t row = 0; row < p->n; row++) {
        const size_t begin = p->offsets[row / T] + row % T, length = length_of(p, row);
        c->row_offsets[row] = (uint32_t)n;
        for (size_t t = 0; t < length; t++)
            c->col_val[n++] = p->word[begin + T * t];
    }
    c->row_offsets[p->n] = (uint32_t)n;
    c->nnz = n;
}
