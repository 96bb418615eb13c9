// SPDX-License-Identifier: Apache-2.0
// One sparsity per layer for SpQt (SPEC G.2, TEAL): inside each decoder block the projections share
// a budget, and each step goes to the input that costs the block's output least. Projections of one
// input (q, k, v; gate, up) have one threshold, so that its active columns are found once.
#pragma once

#include "sim/llm/sq_blockwise.h"

#define SQ_SCAN_STEP 0.01 // of a block's weights, per step
#define SQ_SCAN_LIMIT 0.95
#define SQ_SCAN_TOKENS 256

// sparsity[ck->n_layers], of mean `target` in each block, weighted by the layers' sizes. Errors
// are squared differences of the block's output to the unquantized block, over the first sequences
// of `calib` that hold SQ_SCAN_TOKENS, at least one sequence; the layers are Q4_K. Calibration
// inputs are those of the unquantized model.
enum sq_status sq_sparsity_scan_layers(const struct sq_checkpoint *ck,
                                       const struct sq_tokens *calib, const struct sq_recipe *r,
                                       double target, double *sparsity, struct sq_error *err);
