// SPDX-License-Identifier: Apache-2.0
// The scan of a whole model before it is encoded, for formats that decide something layer by layer
// (enum sq_scan of sq_format_values.h).
#pragma once

#include "sim/llm/sq_blockwise.h"

// Whether the recipe has something to scan for.
bool sq_layer_scan_is_needed(const struct sq_recipe *r);
// *choice over the calibration tokens; empty where there is nothing to scan for, or after a
// failure. Free it with sq_layer_scan_free.
enum sq_status sq_layer_scan(const struct sq_checkpoint *ck, const struct sq_tokens *calib,
                             const struct sq_recipe *r, struct sq_layer_choice *choice,
                             struct sq_error *err);
void sq_layer_scan_free(struct sq_layer_choice *choice);
