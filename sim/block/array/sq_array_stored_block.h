// SPDX-License-Identifier: Apache-2.0
// The state of the cycle model of sq_array_stored, and what the array waits for in a cycle. Tests
// need both, because SPEC C.4 says when it waits.
#ifndef SQ_ARRAY_STORED_BLOCK_H
#define SQ_ARRAY_STORED_BLOCK_H

#include "sim/block/array/sq_buffer_sim.h"
#include "sim/block/flow/sq_block.h"

struct sq_array_stored_sim {
    struct sq_mask_sim mask;    // in front of the store
    struct sq_buffer_sim store; // two tiles, each given `passes` times
    struct sq_pipeline array;   // behind it
};

// topk: an enum sq_topk_arch.
void sq_array_stored_init(struct sq_array_stored_sim *s, unsigned topk);

enum sq_array_stored_wait {
    SQ_ARRAY_STORED_BUSY,       // the store gave a beat
    SQ_ARRAY_STORED_WAIT_MASK,  // there is none to give: the array waits for masks
    SQ_ARRAY_STORED_WAIT_OTHER, // no weights, or the array or the sink does not take it
};
enum sq_array_stored_wait sq_array_stored_wait(const struct sq_array_stored_sim *s,
                                               const struct sq_offer *in, bool out_ready);

#endif
