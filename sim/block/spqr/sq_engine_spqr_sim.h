// SPDX-License-Identifier: Apache-2.0
// Cycle model of sq_engine_spqr: the models of its decoder, scales and sums side by side, and which step
// goes next. It computes times and no values (those are in sq_engine_spqr_block.c).
#pragma once

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_cause.h"

extern const struct sq_timing sq_engine_spqr_timing;
void sq_engine_spqr_init(const unsigned *v, void *state);

// The engines of this format side by side (sq_unit_engine.h).
extern const struct sq_unit_engine sq_engine_spqr_unit;
enum sq_cause sq_engine_spqr_cause(const void *state, const struct sq_offer *in, bool out_ready);
// Outliers that 16 rows of a job have at most, at its widest.
enum { SQ_ENGINE_SPQR_OUTLIER_W = 16 };
