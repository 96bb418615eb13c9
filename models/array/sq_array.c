// SPDX-License-Identifier: Apache-2.0
// Expands the coded line of a bank by its mask or metadata and sums the products (sq_array.h).
#include "models/array/sq_array.h"

#include <assert.h>
#include <string.h>

#include "models/array/sq_meta24.h"
#include "models/core/sq_format.h"

unsigned sq_array_low_lanes(const struct sq_array_config *c)
{
    return c->layout == SQ_ARRAY_COMPACT ? c->bank - c->high_per_bank
           : c->layout == SQ_ARRAY_SP24  ? c->bank / 2
                                         : c->bank;
}

unsigned sq_array_mask_len(const struct sq_array_config *c)
{
    return c->layout == SQ_ARRAY_SP24                                      ? c->bank / 4
           : c->layout == SQ_ARRAY_DENSE || c->layout == SQ_ARRAY_SENTINEL ? 0
                                                                           : c->bank;
}

// The line as two integers per element, low and high.
static bool expand_24(const struct sq_array_config *c, const struct sq_array_line *line,
                      int32_t *low)
{
    bool ok = true;
    memset(low, 0, c->bank * sizeof *low);
    for (unsigned g = 0; g < c->bank / 4; g++) {
        unsigned i0, i1;
        if (!sq_meta24_decode((unsigned)line->mask[g] & 15u, &i0, &i1)) {
            ok = false;
            continue;
        }
        low[4 * g + i0] = line->low[2 * g];
        low[4 * g + i1] = line->low[2 * g + 1];
    }
    return ok;
}

static bool expand_mixed(const struct sq_array_config *c, const struct sq_array_line *line,
                         int32_t *low, int32_t *high)
{
    const bool is_sentinel = c->layout == SQ_ARRAY_SENTINEL;
    const bool is_compact = c->layout == SQ_ARRAY_COMPACT;
    const int mc = sq_mask_code(c->low_bits);
    const unsigned slack = c->has_window ? c->bank - c->high_per_bank : c->bank;
    const unsigned low_slack = c->has_window ? c->high_per_bank : c->bank;
    unsigned n_high = 0, n_low = 0;
    for (unsigned i = 0; i < c->bank; i++) {
        const bool is_high = is_sentinel ? line->low[i] == mc : (line->mask[i] & 1) != 0;
        if (is_compact)
            low[i] = is_high || n_low >= sq_array_low_lanes(c) || i > low_slack + n_low
                         ? 0
                         : line->low[n_low];
        else
            low[i] = is_sentinel && is_high ? 0 : line->low[i];
        high[i] = 0;
        if (is_high && n_high < c->high_per_bank && i <= slack + n_high)
            high[i] = line->high[c->high_len == c->bank ? i : n_high];
        n_high += is_high;
        n_low += !is_high;
    }
    return n_high == c->high_per_bank;
}

static uint32_t dot(const int32_t *a, const int32_t *b, unsigned n)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += (uint32_t)(a[i] * b[i]);
    return sum;
}

bool sq_array_bank(const struct sq_array_config *c, const struct sq_array_line *line,
                   const int32_t *plain, uint32_t *p_lo, uint32_t *p_hi)
{
    int32_t low[SQ_BANK_MAX], high[SQ_BANK_MAX] = {0};
    bool ok = true;
    assert(c->bank <= SQ_BANK_MAX);
    if (c->layout == SQ_ARRAY_DENSE)
        memcpy(low, line->low, c->bank * sizeof *low);
    else if (c->layout == SQ_ARRAY_SP24)
        ok = expand_24(c, line, low);
    else
        ok = expand_mixed(c, line, low, high);

    const uint32_t lo = dot(low, plain, c->bank), hi = dot(high, plain, c->bank);
    const bool is_mixed = c->layout != SQ_ARRAY_DENSE && c->layout != SQ_ARRAY_SP24;
    if (!is_mixed || !c->one_acc) {
        *p_lo += lo;
        *p_hi += hi;
    } else if (c->layout == SQ_ARRAY_SPLIT) {
        *p_lo += lo + (hi << c->low_bits);
    } else {
        *p_lo += (lo << (c->high_bits - c->low_bits)) + hi;
    }
    return ok;
}
