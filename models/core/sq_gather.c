// SPDX-License-Identifier: Apache-2.0
// Picks the activations at the masked positions of a bank and clears the mask codes (sq_gather.h).
#include "models/core/sq_gather.h"

#include <assert.h>

#include "models/core/sq_format.h"

bool sq_gather_bank(const int8_t *lo_codes, const int8_t *act, unsigned bank, unsigned k,
                    unsigned low_bits, int8_t *lo_clean, int8_t *gathered)
{
    assert(bank >= 1 && bank <= SQ_BANK_MAX && k <= bank);
    const int mc = sq_mask_code(low_bits);
    unsigned n_masked = 0; // the prefix count of D.8
    for (unsigned t = 0; t < k; t++)
        gathered[t] = 0;
    for (unsigned i = 0; i < bank; i++) {
        const bool is_high = lo_codes[i] == mc;
        lo_clean[i] = is_high ? 0 : lo_codes[i]; // the mask code multiplies as 0, not as MC
        if (is_high && n_masked < k)
            gathered[n_masked] = act[i];
        n_masked += is_high;
    }
    return n_masked == k;
}
