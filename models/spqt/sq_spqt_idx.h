// SPDX-License-Identifier: Apache-2.0
// What the index collector of SpQt must deliver (SPEC G.2, G.6): the columns whose |x| reaches the
// threshold, ascending, `lanes` of them a beat.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQ_SPQT_LANES_MAX = 64 };

// INT8 code, theta 0..128 in steps of the same scale; FP16 pattern, theta a pattern without sign.
// Keep iff |x| >= theta. Legal: not -128 (SPEC 0.3); neither infinity nor NaN.
bool sq_spqt_keep_int8(int8_t x, unsigned theta);
bool sq_spqt_keep_fp16(uint16_t x, unsigned theta);
bool sq_spqt_is_legal_int8(int8_t x);
bool sq_spqt_is_legal_fp16(uint16_t x);

// mask[k] -> idx, room for k; returns how many.
size_t sq_spqt_collect(const uint8_t *mask, size_t k, uint32_t *idx);

// A beat of up to `lanes` indices; those beyond n are 0.
struct sq_spqt_beat {
    uint32_t index[SQ_SPQT_LANES_MAX];
    uint32_t n;
    uint32_t total; // indices up to and including this beat: n_ns in the last one
    bool last;      // the vector ends; may be empty
};

// The beats of a vector of `segments` segments of `width` elements. A beat leaves as soon as it is
// full; the last segment completes the last one. Room for ceil(k / lanes) + 1 beats; returns how
// many.
size_t sq_spqt_pack(const uint8_t *mask, size_t segments, size_t width, size_t lanes,
                    struct sq_spqt_beat *beat);
