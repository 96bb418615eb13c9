// SPDX-License-Identifier: Apache-2.0
// The state of sq_array_s, and what it waits for in a cycle: claims of SPEC C.4 are about that.
#ifndef SQ_ARRAY_S_BLOCK_H
#define SQ_ARRAY_S_BLOCK_H

#include "sim/block/sq_block.h"
#include "sim/block/sq_store_sim.h"

struct sq_array_s_sim {
    struct sq_mask_sim mask;   // in front of the store
    struct sq_store_sim store; // two tiles, each given `passes` times
    struct sq_pipeline array;  // behind it
};

enum sq_array_s_wait {
    SQ_ARRAY_S_BUSY,       // the store gave a beat
    SQ_ARRAY_S_WAIT_MASK,  // there is none to give: the array waits for masks
    SQ_ARRAY_S_WAIT_OTHER, // no weights, or the array or the sink does not take it
};
enum sq_array_s_wait sq_array_s_wait(const struct sq_array_s_sim *s, const struct sq_offer *in,
                                     bool out_ready);

#endif
