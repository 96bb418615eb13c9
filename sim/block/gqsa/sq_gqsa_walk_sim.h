// SPDX-License-Identifier: Apache-2.0
// What blocks with a walker in them (sq_engine_gqsa) ask of its cycle model, sq_gqsa_walk_block.
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_cause.h"

// One row at a time, a step per group, one step for a row without groups; an output register.
struct sq_gqsa_walk_sim {
    bool has_start, has_row; // row_index[0] was read; a row is being walked
    bool row_last;           // it is the last one
    uint32_t at, left;       // groups walked; groups left in the row
    bool has_step;           // the output register, and of its step:
    bool ends_row, ends_all; // the last of its row, of the matrix
};

// `show` of a part of a line (sq_line.h): last: the step ends its row; n: 1 where it ends the matrix.
void sq_gqsa_walk_show(const void *state, struct sq_offer *out);

// The engines of this format side by side (sq_unit_engine.h).
extern const struct sq_unit_engine sq_engine_gqsa_unit;
enum sq_cause sq_engine_gqsa_cause(const void *state, const struct sq_offer *in, bool out_ready);
