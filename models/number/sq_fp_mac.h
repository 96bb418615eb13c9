// SPDX-License-Identifier: Apache-2.0
// Dot products in binary32 in a given order, as rtl/number/sq_fp_mac.sv makes them: shares of a row (SPEC
// G.7, H.7: workers) are summed from +0, one product and one sum a step, each rounded; the row is
// the sum of its shares, ascending. A struct of zeros has summed nothing yet.
#pragma once

#include <stdbool.h>

struct sq_fp_mac {
    float acc, sum;
    bool has_share; // sum holds one
};

static inline void sq_fp_mac_step(struct sq_fp_mac *m, float w, float x, bool is_end)
{
    m->acc += w * x;
    if (!is_end)
        return;
    m->sum = m->has_share ? m->sum + m->acc : m->acc;
    m->has_share = true;
    m->acc = 0.0f;
}
