// SPDX-License-Identifier: Apache-2.0
// The state of sq_spqt_idx, and how long it takes for a vector.
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_cause.h"

// Two stages (thresholds, ranks), each moves where the next one is free, then a buffer that gives
// `lanes` indices a beat and takes a segment when fewer than `lanes` stay.
struct sq_spqt_idx_sim {
    unsigned lanes;
    struct sq_offer stage[2]; // segments of n indices
    uint32_t held;            // indices in the buffer
    bool held_last;           // the end of the vector is in it
};

// `show` of a part (sq_line.h): last: the beat offered is the last of its vector.
void sq_spqt_idx_show(const void *state, struct sq_offer *out);

// Cycles in which a unit of `lanes` scans a vector of `segments`, n_active of whose columns are active
// and spread evenly: from the first segment in to the last indices out.
uint64_t sq_spqt_idx_scan(unsigned lanes, uint64_t segments, uint64_t n_active);
// How many columns of that vector are active before a segment.
static inline uint64_t sq_spqt_idx_before(uint64_t segment, uint64_t segments, uint64_t n_active)
{
    return segment * n_active / segments;
}
// The same of a vector of k columns in the point that `sqsim area --block spqt_idx` prices.
uint64_t sq_spqt_idx_cycles(uint64_t k, uint64_t n_active);

// The engines of this format side by side (sq_unit_engine.h).
extern const struct sq_unit_engine sq_engine_spqt_unit;
enum sq_cause sq_engine_spqt_cause(const void *state, const struct sq_offer *in, bool out_ready);
// The point of the engine that machines have: elements of a segment, columns that are found in a
// cycle, bytes of a beat.
enum { SQ_ENGINE_SPQT_SEG = 16, SQ_ENGINE_SPQT_LANES = 8, SQ_ENGINE_SPQT_BYTES = 16 };
#define SQ_ENGINE_SPQT_POINT "b16"
