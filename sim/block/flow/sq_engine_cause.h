// SPDX-License-Identifier: Apache-2.0
// What the multipliers of an engine do in a cycle, for units of engines side by side: `state` is that of
// the engine's cycle model, `in` what its streams offer.
//
//   BUSY            a step of products is taken; FILLING a job or its activations
//   WAIT_INDEX      what says which products come next: offsets, active columns, outliers on their way
//                   in, the way to the next one, steps without products
//   WAIT_WEIGHT     headers of superblocks; words of the first tile
//   BLOCKED_OUTPUT  a step waits for those before it; DRAINING nothing is left to be taken
#ifndef SQ_ENGINE_CAUSE_H
#define SQ_ENGINE_CAUSE_H

#include "sim/block/flow/sq_block.h"
#include "sim/block/flow/sq_cause.h"

enum sq_cause sq_engine_gqsa_cause(const void *state, const struct sq_offer *in, bool out_ready);
enum sq_cause sq_engine_spqt_cause(const void *state, const struct sq_offer *in, bool out_ready);
enum sq_cause sq_engine_spqr_cause(const void *state, const struct sq_offer *in, bool out_ready);

// The point of sq_engine_spqt that machines have: elements of a segment, columns that are found in a
// cycle, bytes of a beat.
enum { SQ_ENGINE_SPQT_SEG = 16, SQ_ENGINE_SPQT_LANES = 8, SQ_ENGINE_SPQT_BYTES = 16 };
#define SQ_ENGINE_SPQT_POINT "b16"
// Outliers that 16 rows of a job of sq_engine_spqr have at most, at its widest.
enum { SQ_ENGINE_SPQR_OUTLIER_W = 16 };

#endif
