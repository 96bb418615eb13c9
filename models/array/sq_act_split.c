// SPDX-License-Identifier: Apache-2.0
// Chooses the largest codes of a bank, splits every code into two nibbles and clamps the others
// (sq_act_split.h).
#include "models/array/sq_act_split.h"

#include <assert.h>

#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "models/number/sq_grid.h"

void sq_act_split_bank(const int32_t *code, unsigned bank, unsigned k, int32_t *low, int32_t *high,
                       int32_t *mask)
{
    const struct sq_grid grid = {SQ_GRID_SPLIT, 8, 4};
    const int qmax = sq_qmax(grid.low_bits);
    uint16_t mag[SQ_BANK_MAX];
    uint8_t chosen[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++) {
        assert(code[i] >= -136 && code[i] <= 119);
        mag[i] = sq_magnitude_int(code[i]);
    }
    sq_topk_bank(mag, bank, k, chosen);
    for (unsigned i = 0; i < bank; i++) {
        const int clamped = code[i] > qmax ? qmax : code[i] < -qmax ? -qmax : code[i];
        mask[i] = chosen[i];
        low[i] = chosen[i] ? sq_split_lower(&grid, (int16_t)code[i]) : clamped;
        high[i] = sq_split_upper(&grid, (int16_t)code[i]);
    }
}
