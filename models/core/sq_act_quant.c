// SPDX-License-Identifier: Apache-2.0
// Chooses the largest activations of a bank and requantises the others (sq_act_quant.h).
#include "models/core/sq_act_quant.h"

#include <assert.h>

#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "models/output/sq_requant.h"

struct sq_act_quant sq_act_quant_of(float s8, float s_lo, unsigned low_bits, unsigned high_bits)
{
    struct sq_act_quant q = {.low_bits = low_bits, .high_bits = high_bits};
    if (!sq_requant_choose((double)s8 / (double)s_lo, &q.mul, &q.shift))
        return (struct sq_act_quant){.low_bits = low_bits, .high_bits = high_bits};
    return q;
}

void sq_act_quant_bank(const struct sq_act_quant *q, const int8_t *code, unsigned bank, unsigned k,
                       int8_t *lo, int8_t *hi)
{
    const uint16_t most = (uint16_t)((1u << (q->high_bits - 1)) - 1); // qmax of SPEC 0.3
    uint16_t mag[SQ_BANK_MAX];
    uint8_t mask[SQ_BANK_MAX];
    assert(bank >= 1 && bank <= SQ_BANK_MAX && q->high_bits >= 2 && q->high_bits <= 8);
    for (unsigned i = 0; i < bank; i++) {
        mag[i] = sq_magnitude_int(code[i]);
        if (mag[i] > most)
            mag[i] = most;
    }
    sq_topk_bank(mag, bank, k, mask);
    for (unsigned i = 0; i < bank; i++) {
        lo[i] = mask[i] ? (int8_t)sq_mask_code(q->low_bits)
                        : sq_requant(code[i], q->mul, q->shift, q->low_bits);
        if (mask[i])
            *hi++ = code[i];
    }
}
