// SPDX-License-Identifier: Apache-2.0
// Draws biased codes, splits them as the mask unit does and adds up the sums of an array
// (sq_split_act.h).
#include "sim/block/array/sq_split_act.h"

#include "models/array/sq_act_split.h"
#include "models/array/sq_array.h"
#include "models/core/sq_format.h"

enum { CODE_MIN = -136, CODE_MAX = 119, BIAS = 8 };

int32_t sq_split_draw(struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t which = sq_rng_below(rng, 4);
    int code = (int)sq_rng_below(rng, 256) + CODE_MIN;
    if (kind == SQ_STIMULUS_EXTREME) // ends of the range, equal magnitudes or next to it, the clamp
        code = (int[]){CODE_MIN, CODE_MIN + 1,  CODE_MAX, CODE_MAX - 1, -8,
                       8,        -CODE_MAX - 1, -CODE_MAX}[sq_rng_below(rng, 8)];
    else if (kind == SQ_STIMULUS_FEW)
        code = (int)which * 8 - 16;
    else if (which < 3) // mostly small, as activations are
        code = (int)sq_rng_below(rng, 21) - 10;
    return code + BIAS;
}

int64_t sq_split_bank_max(unsigned bank, unsigned k)
{
    return -CODE_MIN * (int64_t)k + sq_qmax(4) * (int64_t)(bank - k);
}

void sq_split_bank(const int32_t *biased, unsigned bank, unsigned k, int32_t *low, int32_t *high,
                   int32_t *mask)
{
    int32_t code[SQ_BANK_MAX];
    for (unsigned i = 0; i < bank; i++)
        code[i] = biased[i] - BIAS;
    sq_act_split_bank(code, bank, k, low, high, mask);
}

void sq_split_add(unsigned banks, unsigned bank, unsigned k, const int32_t *act,
                  const int32_t *weight, uint32_t *p)
{
    const struct sq_array_config c = {.layout = SQ_ARRAY_SPLIT,
                                      .one_acc = true,
                                      .bank = bank,
                                      .high_per_bank = k,
                                      .high_len = bank,
                                      .low_bits = 4,
                                      .high_bits = 4};
    int32_t low[SQ_BANK_MAX], high[SQ_BANK_MAX], mask[SQ_BANK_MAX];
    uint32_t unused = 0;
    for (unsigned b = 0; b < banks; b++) {
        sq_split_bank(act + b * bank, bank, k, low, high, mask);
        (void)sq_array_bank(&c, &(struct sq_array_line){low, high, mask}, weight + b * bank, p,
                            &unused);
    }
}
