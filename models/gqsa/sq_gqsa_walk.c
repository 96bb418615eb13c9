// SPDX-License-Identifier: Apache-2.0
// Turns the offsets and indices of a BSR matrix into steps (sq_gqsa_walk.h).
#include "models/gqsa/sq_gqsa_walk.h"

#include <assert.h>

size_t sq_gqsa_walk(const uint32_t *row_index, size_t n_rows, const uint16_t *groups,
                    uint32_t limit, struct sq_gqsa_step *step)
{
    size_t n = 0;
    uint32_t at = row_index[0];
    assert(n_rows >= 1);
    for (size_t r = 0; r < n_rows; r++) {
        const bool is_bad = row_index[r + 1] < at || (r == 0 && row_index[0] != 0);
        const uint32_t start = at, end = row_index[r + 1] < at ? at : row_index[r + 1];
        const unsigned offset = is_bad ? SQ_GQSA_OFFSET : 0;
        if (start == end)
            step[n++] = (struct sq_gqsa_step){.row = (uint32_t)r,
                                              .at = at,
                                              .first = true,
                                              .last = true,
                                              .empty = true,
                                              .error = offset};
        for (; at < end; at++) {
            const uint16_t group = *groups++;
            const bool is_first = at == start;
            step[n++] = (struct sq_gqsa_step){
                .row = (uint32_t)r,
                .at = at,
                .group = group,
                .first = is_first,
                .last = at + 1 == end,
                .error = offset | (group >= limit ? SQ_GQSA_RANGE : 0) |
                         (!is_first && group <= groups[-2] ? SQ_GQSA_ORDER : 0)};
        }
    }
    step[n - 1].end = true;
    return n;
}
