// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only the formats on a grid of codes have.
#pragma once

#include "models/number/sq_codes.h"
#include "models/quant/sq_gptq.h"
#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_sq_w, sq_format_dense, sq_format_sq_a_static,
    sq_format_sq_a_dynamic;

struct sq_grid_recipe {
    struct sq_grid weight;
    unsigned stored_bits, scale_nbytes; // of a weight and of a scale in its file; 0: as here
    unsigned rotation;                  // both sides by a Hadamard matrix: 0 none, 1 of 16, 2 of 32
    double sparsity;                    // share of low codes: high_per_bank follows
    struct sq_gptq gptq;                // sq_w
    unsigned is_act_fp8;                // dense: activations in E4M3
    unsigned is_like_ggml;              // dense: weights as ggml encodes Q8_0
    enum sq_select select;              // sq_a: masks of all tokens, or of each
    bool is_mask_by_act;                // sq_a_static: mask by mean |x| alone, not by |x| times |w|
    unsigned topk;                      // sq_a_dynamic, on a machine: the unit, of sq_topk_choice
};
SQ_RECIPE_OPTIONS(sq_grid)
