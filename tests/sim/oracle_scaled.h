// SPDX-License-Identifier: Apache-2.0
// The blocks of block-scaled formats as recurrences (oracle_blocks.h).
#pragma once

#include "tests/sim/oracle_blocks.h"

// Q.7: operands, for split codes selects made of them first; a block's sum; times its scale where
// that is rounded to binary32 before it is added, or where exact sums have registers. Sums that are cut off (Acc 2, 3) stay in
// place until they are taken; with 3 the sum of a step is rounded, and then added in binary32.
static struct tail scaled_tail(const struct input *in)
{
    const unsigned acc = param(in, "Acc"), split = param(in, "HighPerBank") > 0;
    return (struct tail){.depth = 2u + split + (acc == 0) + param(in, "Cut") + (acc == 3 ? 2 : 0),
                         .in_place = param(in, "Carry") > 0 || acc >= 2};
}

static void predict_array_scaled(const struct input *in, struct prediction *w)
{
    predict_tail(in, w, scaled_tail(in), NULL);
}

// Q.3, Q.5: for split codes the mask first; then the largest magnitude, the scale, the codes. Where a
// scale is chosen (Q.5d), the errors of all candidates stand between their scales and the codes.
static void predict_act_scale(const struct input *in, struct prediction *w)
{
    struct unit mask = mask_unit(in, 15), codes = {.depth = param(in, "Choose") ? 4 : 3};
    if (param(in, "HighPerBank") == 0) {
        predict_unit(w, codes);
        return;
    }
    for (size_t i = 0; i < w->in[0].n; i++) {
        const uint64_t t = w->in[0].taken[i] = unit_enter(&mask, w->in[0].offered[i]);
        if (t >= w->end)
            break;
        const uint64_t masked = unit_show(&mask, t), entered = unit_enter(&codes, masked);
        unit_leave(&mask, masked, entered);
        const uint64_t shown = unit_show(&codes, entered);
        unit_leave(&codes, shown, give(w, shown));
    }
}
