// SPDX-License-Identifier: Apache-2.0
// The fields of a recipe that only block-scaled formats have; sq_bs_of (sq_bs_format.h) makes a
// struct sq_bs_format of them. Files hold the values of these enums: never renumber them.
#pragma once

#include "sim/format/sq_recipe.h"

extern const struct sq_format_ops sq_format_mxfp4, sq_format_nvfp4, sq_format_nvint4,
    sq_format_sq_b;

// The scale above the blocks of activations (SPEC Q.5b).
enum sq_bs_act_scale {
    SQ_BS_ACT_TOKEN,  // of each token, from its largest magnitude
    SQ_BS_ACT_STATIC, // a constant of the layer, from calibration
    SQ_BS_ACT_TOKEN2, // of each token, the next power of two
};

// How the scale of a block is found (SPEC Q.5c).
enum sq_bs_scale_by {
    SQ_BS_BY_LARGEST, // from its largest element
    SQ_BS_BY_ERROR,   // the one with the least squared error, of weights and activations
    SQ_BS_BY_WEIGHTS, // the same of weights alone, which no hardware searches for
};

// In what the squared errors of activations are compared (SPEC Q.5c, Q.5d).
enum sq_bs_errors { SQ_BS_ERRORS_BINARY64, SQ_BS_ERRORS_INTEGER };

// By a Hadamard matrix.
enum sq_bs_rotation {
    SQ_BS_ROTATE_NONE,
    SQ_BS_ROTATE_16,
    SQ_BS_ROTATE_32,
    SQ_BS_ROTATE_16_INTEGER, // of 16; activations in integers (sq_bs_rotate_integer)
};

struct sq_bs_recipe {
    unsigned element;         // mxfp6, mxfp8: an enum sq_element; sq_b: 0 int, 1 fp
    unsigned rule;            // mx*: enum sq_bs_rule
    unsigned act_scale;       // nv*, sq_b: enum sq_bs_act_scale
    unsigned scale_by;        // nvfp4, nvint4, nvint5: enum sq_bs_scale_by
    unsigned errors;          // nvfp4, nvint4, 46, if4, razer: enum sq_bs_errors
    unsigned rotation;        // enum sq_bs_rotation
    unsigned accumulate;      // those of one part: place in sq_bs_accumulate_choice; 0: SPEC Q.7
    unsigned sum;             // place in sq_sum_choice; 0: SPEC Q.7, or what accumulate says
    unsigned chunk;           // products that are aligned together; with accumulate
    unsigned like;            // nvfp4, 46, mxfp4: enum sq_bs_like
    unsigned is_high_block;   // sq_b: as in struct sq_bs_format
    unsigned is_split;        //
    unsigned is_power_of_two; //
    unsigned is_by_maximum;   //
};
SQ_RECIPE_OPTIONS(sq_bs)
