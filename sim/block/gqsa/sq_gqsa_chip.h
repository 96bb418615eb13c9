// SPDX-License-Identifier: Apache-2.0
// sq_engine_gqsa on the chip (sq_top_gqsa.sv): its table, and what it shares with the block of the engine.
#pragma once

#include "sim/block/flow/sq_indexed.h"

// A beat of weights: index, codes [G], zero, scale.
extern const struct sq_indexed sq_gqsa_indexed;

bool sq_gqsa_chip_is_scale(int32_t bits); // a binary16 that is a positive number
// Returns y, the sum of a token, plus a kept group times its activations x[G]; x = NULL: zeros.
float sq_gqsa_chip_add(unsigned group, float y, const int32_t *kept, const int32_t *x);
// Draws n codes of activations.
void sq_gqsa_chip_draw_act(size_t n, struct sq_rng *rng, enum sq_stimulus kind, int32_t *code);
// Draws codes, zero and scale of a kept group, not its index.
void sq_gqsa_chip_draw_kept(unsigned group, struct sq_rng *rng, enum sq_stimulus kind,
                            int32_t *kept);
