// SPDX-License-Identifier: Apache-2.0
// Keeps columns by their magnitude and packs their indices into beats (sq_spqt_idx.h).
#include "models/spqt/sq_spqt_idx.h"

#include <assert.h>
#include <string.h>

#include "models/core/sq_topk.h"

bool sq_spqt_keep_int8(int8_t x, unsigned theta)
{
    return sq_magnitude_int(x) >= theta;
}

bool sq_spqt_keep_fp16(uint16_t x, unsigned theta)
{
    return sq_magnitude_fp(x) >= theta;
}

bool sq_spqt_is_legal_int8(int8_t x)
{
    return x != INT8_MIN;
}

bool sq_spqt_is_legal_fp16(uint16_t x)
{
    return (x & 0x7c00u) != 0x7c00u;
}

size_t sq_spqt_collect(const uint8_t *mask, size_t k, uint32_t *idx)
{
    size_t n = 0;
    for (size_t i = 0; i < k; i++)
        if (mask[i])
            idx[n++] = (uint32_t)i;
    return n;
}

size_t sq_spqt_pack(const uint8_t *mask, size_t segments, size_t width, size_t lanes,
                    struct sq_spqt_beat *beat)
{
    size_t done = 0; // beats that are complete
    uint32_t total = 0;
    assert(lanes >= 1 && lanes <= SQ_SPQT_LANES_MAX && segments >= 1);
    memset(&beat[0], 0, sizeof beat[0]);
    for (size_t i = 0; i < segments * width; i++) {
        const bool is_full = beat[done].n == lanes;
        // A full beat leaves at the next index, or when its segment ends and more follow.
        if (is_full && (mask[i] || i % width == 0))
            memset(&beat[++done], 0, sizeof beat[0]);
        if (mask[i]) {
            beat[done].index[beat[done].n++] = (uint32_t)i;
            beat[done].total = ++total;
        }
    }
    beat[done].total = total;
    beat[done].last = true;
    return done + 1;
}
