// SPDX-License-Identifier: Apache-2.0
// Blocks and their points by name, for tests; one that is not there fails the test.
#pragma once

#include <string.h>

#include "sim/block/flow/sq_block.h"
#include "tests/test.h"

static inline const struct sq_block *block_named(const char *name)
{
    for (size_t i = 0; i < sq_n_blocks; i++)
        if (strcmp(sq_blocks[i]->name, name) == 0)
            return sq_blocks[i];
    fail_msg("no block %s", name);
    return NULL;
}

static inline const struct sq_point *point_named(const struct sq_block *block, const char *name)
{
    for (size_t i = 0; i < block->n_points; i++)
        if (strcmp(block->points[i].name, name) == 0)
            return &block->points[i];
    fail_msg("%s has no point %s", block->name, name);
    return NULL;
}
