// SPDX-License-Identifier: Apache-2.0
// Ranks the magnitudes that hardware compares by the model's own choice, sq_topk (sq_topk.h).
#include "models/core/sq_topk.h"

#include <assert.h>

#include "models/core/sq_format.h"

void sq_topk_bank(const uint16_t *mag, unsigned bank, unsigned k, uint8_t *mask)
{
    float score[SQ_BANK_MAX]; // exact for 16 bits
    assert(bank >= 1 && bank <= SQ_BANK_MAX && k >= 1 && k <= bank);
    for (unsigned i = 0; i < bank; i++)
        score[i] = (float)mag[i];
    sq_topk(score, bank, k, mask);
}
