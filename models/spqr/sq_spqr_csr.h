// SPDX-License-Identifier: Apache-2.0
// The outliers of SpQR, by row or by tile row (SPEC H.4). Nothing here allocates.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

size_t sq_spqr_padded(size_t n); // to a multiple of 16, the rows and columns of a tile

// CSR: entries row_offsets[n] .. row_offsets[n+1]-1 of row n, binary16 << 16 | column, columns
// ascending; none is 0x00000000.
struct sq_spqr_csr {
    size_t n, nnz;
    uint32_t *row_offsets; // [n + 1]
    uint32_t *col_val;     // [nnz]
};

// PTCSR: a block of 16 rows with c = its largest row count takes 16 c words; element t of row r of
// the block is word offsets[block] + 16 t + r, missing elements are 0x00000000.
struct sq_spqr_ptcsr {
    size_t n, n_words;
    uint32_t *offsets; // [ceil(n / 16) + 1]
    uint32_t *word;    // [n_words]
};

// Stored outliers of a matrix of k columns with the lengths the container declares. SQ_ERR_OFFSETS,
// SQ_ERR_STREAM_LEN, SQ_ERR_INDEX (column >= k or not ascending), SQ_ERR_CODE (a zero word),
// SQ_ERR_NON_FINITE, and for PTCSR SQ_ERR_PADDING (an element behind a missing one, or in a row
// that does not exist) and SQ_ERR_OFFSETS (a block longer than its longest row).
enum sq_status sq_spqr_csr_validate(const struct sq_spqr_csr *c, size_t n_offsets, size_t n_entries,
                                    size_t k, struct sq_error *err);
enum sq_status sq_spqr_ptcsr_validate(const struct sq_spqr_ptcsr *p, size_t n_offsets,
                                      size_t n_words, size_t k, struct sq_error *err);

// Words that a valid CSR takes as PTCSR; entries that a valid PTCSR takes as CSR.
size_t sq_spqr_ptcsr_words(const struct sq_spqr_csr *c);
size_t sq_spqr_csr_entries(const struct sq_spqr_ptcsr *p);
// Converts valid operands into buffers of those sizes; it sets all fields of the result but the
// pointers. SQ_ERR_RANGE where the words pass 2^32-1.
enum sq_status sq_spqr_to_ptcsr(const struct sq_spqr_csr *c, struct sq_spqr_ptcsr *p,
                                struct sq_error *err);
void sq_spqr_to_csr(const struct sq_spqr_ptcsr *p, struct sq_spqr_csr *c);
