// SPDX-License-Identifier: Apache-2.0
// The state of a block, for tests of its cycle model.
#pragma once

#include "sim/block/flow/sq_block.h"
#include "tests/test.h"

// A block at a point of these parameters, reset.
static inline void *start(const struct sq_block *block, const unsigned *value)
{
    void *state = fixture_zeros(1, block->timing->nbytes);
    assert_non_null(state);
    block->init(value, state);
    return state;
}
