// SPDX-License-Identifier: Apache-2.0
// What the walker of group indices must deliver (SPEC F.4): the kept groups of a BSR matrix row by
// row, one step each, and one step for a row that has none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Why a step is refused; several may apply. A row whose offset decreases is walked as an empty one,
// and the next row starts where it would have.
enum sq_gqsa_error {
    SQ_GQSA_OFFSET = 1, // row_index[0] is not 0 (row 0), or row_index decreases
    SQ_GQSA_RANGE = 2,  // group index >= K/G
    SQ_GQSA_ORDER = 4,  // not above the group before it in its row
};

struct sq_gqsa_step {
    uint32_t row;
    uint32_t at;      // place in values, scale and zero; of an empty row where it would start
    uint32_t group;   // group column k/G; 0 in an empty row
    bool first, last; // of its row; both in an empty one
    bool empty;
    bool end; // last of the matrix
    unsigned error;
};

// row_index[n_rows + 1], n_rows >= 1; groups as many as the largest offset minus row_index[0] asks
// for; limit = K/G. Steps go to `step`, room for that many and n_rows more; returns how many.
size_t sq_gqsa_walk(const uint32_t *row_index, size_t n_rows, const uint16_t *groups,
                    uint32_t limit, struct sq_gqsa_step *step);
